# Lets the session's hooks end at once, without Python, when an event does not concern them.

# Whether `.project/$1` exists in or above the session's project or the event's folder. If in doubt,
# yes: hook.py checks again.
near() {
  local cwd folder
  case $event in *'"cwd":"'*) ;; *) return 0 ;; esac
  cwd=${event#*'"cwd":"'}
  cwd=${cwd:0:2048}
  case $cwd in *'"'*) ;; *) return 0 ;; esac
  cwd=${cwd%%'"'*}
  case $cwd in *'\'* | '') return 0 ;; esac # it has escapes
  for folder in "${CLAUDE_PROJECT_DIR:-}" "$cwd"; do
    while [ -n "$folder" ]; do
      [ -e "$folder/.project/$1" ] && return 0
      case $folder in */*) folder=${folder%/*} ;; *) break ;; esac
    done
  done
  [ -e "/.project/$1" ]
}

# Whether this session has read a dossier: its folder (sessions.py) says so.
near_read() {
  local id
  case $event in *'"session_id":"'*) ;; *) return 0 ;; esac
  id=${event#*'"session_id":"'}
  id=${id:0:65}
  case $id in *'"'*) ;; *) return 0 ;; esac
  id=${id%%'"'*}
  case $id in *[!a-zA-Z0-9_-]*) return 0 ;; esac
  [ "${#id}" -ge 8 ] || return 0
  near ".state/sessions/$id/read"
}

# Whether a gates file is near, or the command changes to a folder that may have one.
near_or_elsewhere() {
  case $event in *'cd '* | *'pushd '* | *'-C '* | *--prefix* | *--cwd* | *--dir*) return 0 ;; esac
  near gates
}

# Ends the hook, after reading the rest of the event, so that writing it does not fail.
pass() {
  [ -z "$rest" ] || cat >/dev/null 2>&1
  leave
}

# Whether the event contains the name of one of Preread's agents (OUR_AGENTS in agent_gate.py).
names_own_agent() {
  case $event in *test-planner* | *test-generator* | *test-healer* | *failure-classifier* | *pattern-learner*) return 0 ;; esac
  [ -n "$rest" ] # it may be in the part that was not read
}

# Whether the command may run tests: the tool's input contains a word of the table in runners.py.
may_run_tests() {
  local input
  case $event in *'"tool_input":'*) ;; *) return 0 ;; esac
  input=${event#*'"tool_input":'}
  # Quotes inside texts are escaped, so these can only be keys; the command's output follows them.
  case $input in
    *'"tool_response":'*) input=${input%%'"tool_response":'*} ;;
    *'"error":'*) input=${input%%'"error":'*} ;;
    *) [ -z "$rest" ] || return 0 ;; # the command continues in the part that was not read
  esac
  case $input in
    *test* | *tst* | *tox* | *nox* | *jest* | *mocha* | *spec* | *php* | *pest* | *e2e* | *cypress* | *' t'[!A-Za-z]*) return 0 ;;
    *'\u00'[2-7]*) return 0 ;; # a letter as an escape
    *check* | *verify*) case $input in *make* | *mvn* | *gradle* | *just* | *rake* | *task*) return 0 ;; esac ;;
  esac
  return 1
}

# What the session's hooks have beside _front.sh: they leave at once where nothing concerns them, in bash alone.

# Whether there is `.project/$1` in or above the session's project or the event's folder. More may be near than
# hook.py then finds; where that cannot be told it has to look.
near() {
  local cwd folder
  case $event in *'"cwd":"'*) ;; *) return 0 ;; esac
  cwd=${event#*'"cwd":"'}
  cwd=${cwd:0:2048}
  case $cwd in *'"'*) ;; *) return 0 ;; esac
  cwd=${cwd%%'"'*}
  case $cwd in *'\'* | '') return 0 ;; esac # escaped, so bash does not know it
  for folder in "${CLAUDE_PROJECT_DIR:-}" "$cwd"; do
    while [ -n "$folder" ]; do
      [ -e "$folder/.project/$1" ] && return 0
      case $folder in */*) folder=${folder%/*} ;; *) break ;; esac
    done
  done
  [ -e "/.project/$1" ]
}

# Whether a gates file is near, or the command goes to another folder, where one may be.
near_or_elsewhere() {
  case $event in *'cd '* | *'pushd '* | *'-C '* | *--prefix* | *--cwd* | *--dir*) return 0 ;; esac
  near gates
}

# Ends the hook; what was not read yet is read, for whoever writes it.
pass() {
  [ -z "$rest" ] || cat >/dev/null 2>&1
  leave
}

# Whether a name of Preread's own agents (gatelib/agents.py) stands in the event.
names_own_agent() {
  case $event in *test-planner* | *test-generator* | *test-healer* | *failure-classifier* | *pattern-learner*) return 0 ;; esac
  [ -n "$rest" ] # it may stand in what was not read
}

# Whether the command may run tests: a word of the table of runners (gatelib/runners.py) stands in the tool's input.
may_run_tests() {
  local input
  case $event in *'"tool_input":'*) ;; *) return 0 ;; esac
  input=${event#*'"tool_input":'}
  # A quote inside a text is escaped, so these can only be keys; what follows is what the command said.
  case $input in
    *'"tool_response":'*) input=${input%%'"tool_response":'*} ;;
    *'"error":'*) input=${input%%'"error":'*} ;;
    *) [ -z "$rest" ] || return 0 ;; # the command goes on beyond what was read
  esac
  case $input in
    *test* | *tst* | *tox* | *nox* | *jest* | *mocha* | *spec* | *php* | *pest* | *e2e* | *cypress* | *' t'[!A-Za-z]*) return 0 ;;
    *'\u00'[2-7]*) return 0 ;; # a letter that is written as its number
    *check* | *verify*) case $input in *make* | *mvn* | *gradle* | *just* | *rake* | *task*) return 0 ;; esac ;;
  esac
  return 1
}

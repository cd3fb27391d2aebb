# Recognises calls of the file tools and of Bash that are certain to pass. Anything unusual is a no:
# it may say no to a call that would pass, but never yes to one that hook.py would not pass. Sourced
# after _front.sh.

BLANK=$' \t'

is_certain_pass() {
  local head tail
  [ -z "$rest" ] || return 1
  # The head is everything before the tool's input, at the top level of the event: it has no other
  # brace and no escape. A key that has escapes or occurs twice is unusual.
  head=${event%%',"tool_input":{"'*}
  tail=${event:${#head}+16}
  case $event in *'\u'*) return 1 ;; esac
  case ${head/'"effort":{"level":"'/} in '{"'*) ;; *) return 1 ;; esac
  case ${head/'"effort":{"level":"'/} in ?*['{\']*) return 1 ;; esac
  case $tail in *'"tool_input"'* | *'"tool_name"'* | *'"file_path"'* | *'"notebook_path"'* | *'"command"'*) return 1 ;; esac
  case $head$'\n'$tail in
    *',"tool_name":"'Write'"'$'\n''file_path":"'* | *',"tool_name":"'Edit'"'$'\n''file_path":"'*) ;;
    *',"tool_name":"'MultiEdit'"'$'\n''file_path":"'* | *',"tool_name":"'NotebookEdit'"'$'\n''notebook_path":"'*) ;;
    *',"tool_name":"'Bash'"'$'\n''command":"'[!\"]*)
      writes_nothing "${tail:10}"
      return
      ;;
    *) return 1 ;;
  esac
  tail=${tail#*'":"'}
  case $tail in *'"'*) is_ungated "${tail%%'"'*}" ;; *) return 1 ;; esac
}

# Whether no rule can apply to an absolute path; false for a path through a link.
is_ungated() {
  local folder=$1 root='' found=''
  case $1 in
    [!/]* | *[[:cntrl:]\\]* | *//* | */./* | */../* | */. | */.. | */) return 1 ;;
    "${CLAUDE_PLUGIN_DATA:-/}"/*) return 1 ;;
    '' | *.draft/* | *.[pP][rR][oO][jJ][eE][cC][tT]*) return 1 ;;
  esac
  [ ! -L "$1" ] || return 1
  while [ -n "$folder" ]; do
    folder=${folder%/*}
    [ ! -L "$folder" ] || return 1
    if [ -z "$found" ] && { [ -d "$folder/.project" ] || [ -e "$folder/.git" ]; }; then
      root=$folder found=1
    fi
  done
  [ -n "$found" ] && [ -d "$root/.project" ] || return 0
  [ -x "$root/.project" ] || return 1
  [ -e "$root/.project/gates" ] || return 0
  no_rule_for "${1:${#root}+1}" "$root/.project/gates"
}

# Whether no rule in the file $2 can match the relative path $1. Compares only the literal parts of a
# rule: its start, and the start and end of its last part.
no_rule_for() {
  local path=$1 name=${1##*/} text='' line last lead start end IFS=$'\n'
  [ -f "$2" ] && [ -r "$2" ] || return 1
  IFS= read -r -d '' text <"$2" && return 1 # it has a NUL
  [ "${#text}" -le 65536 ] || return 1
  case $text in *[$'\x80'-$'\xff']*) return 1 ;; esac
  for line in $text; do
    case $line in *[$' \t\r#']*) clean_line || return 1 ;; esac
    case $line in
      '') continue ;;
      mode | agent | '!agent' | alias | *[[:blank:]]*)
        is_plain_directive "$line" || return 1
        continue
        ;;
      '!' | '!/' | '!./' | / | ./) return 1 ;;
      '!'*) continue ;;
      ./*) line=${line:2} ;;
      /*) line=${line:1} ;;
    esac
    last=${line##*/}
    start=${last%%['*?{']*}
    end=${last##*['*?}']}
    case $last in *'**'*) start= ;; esac
    lead=${line%%['*?{']*}
    case $name in "$start"*) case $name in *"$end") case $path in "$lead"*) return 1 ;; esac ;; esac ;; esac
  done
  return 0
}

# Removes the comment and white space from `line`, as hook.py does.
clean_line() {
  line=${line%$'\r'}
  line=${line#"${line%%[!$BLANK]*}"}
  case $line in '#'*) line= ;; *[$BLANK]'#'*) line=${line%%[$BLANK]'#'*} ;; esac
  line=${line%"${line##*[!$BLANK]}"}
}

# Whether $1 is a directive in its usual form.
is_plain_directive() {
  local words=${1#* } one two
  case $1 in
    'mode block' | 'mode warn' | 'mode off') return 0 ;;
    'agent '* | '!agent '*) case $words in '' | *[[:blank:]]*) return 1 ;; *) return 0 ;; esac ;;
    'alias '*' '*) one=${words%% *} two=${words#* } ;;
    *) return 1 ;;
  esac
  case $one$two in *[!a-z0-9-]*) return 1 ;; esac
  case -$one-$two- in *--* | *-con-* | *-prn-* | *-aux-* | *-nul-* | *-com[1-9]-* | *-lpt[1-9]-*) return 1 ;; esac
  [ "${#one}" -le 64 ] && [ "${#two}" -le 64 ]
}

# Whether a command, in JSON and with everything after it, certainly writes nothing: it has no
# redirection and no name of a command that writes, however quoted.
writes_nothing() {
  local text=$1 harmless
  [ "${#text}" -le 4096 ] || return 1
  case $text in *"\$'"* | *'$\"'* | *'\\\n'*) return 1 ;; esac
  text=${text//'\n'/ }
  text=${text//'\t'/ }
  case $text in
    *'>'*)
      # Redirections to nowhere or to a descriptor; a bare quote is the end of the JSON string.
      [ ! -e /.project ] && [ ! -e /.git ] || return 1
      for harmless in '>/dev/null' '> /dev/null' '>&[12]'; do
        harmless=$harmless'[ ;&|)"]' # a variable, because bash 3.2 ends a quoted pattern at a slash
        text=${text//$harmless/ }
      done
      case $text in *'>'*) return 1 ;; esac
      ;;
  esac
  text=" ${text//[\"\'\\]/} "
  case $text in *preread*gates* | *preread*--undo*) return 1 ;; esac
  case $text in *[!a-zA-Z0-9_.-]rm[!a-zA-Z0-9_.-]* | *[!a-zA-Z0-9_.-][cm][pv][!a-zA-Z0-9_.-]*) return 1 ;; esac
  case $text in *[!a-zA-Z0-9_.-]tee[!a-zA-Z0-9_.-]* | *[!a-zA-Z0-9_.-]touch[!a-zA-Z0-9_.-]*) return 1 ;; esac
  case $text in *[!a-zA-Z0-9_.-]ln[!a-zA-Z0-9_.-]* | *[!a-zA-Z0-9_.-]install[!a-zA-Z0-9_.-]*) return 1 ;; esac
  case $text in *unlink* | *truncate* | *sponge* | *patch* | *wget* | *of=*) return 1 ;; esac
  case $text in *curl*-*[oO]* | *sort*-*o* | *perl*-*i*) return 1 ;; esac
  case $text in
    *[!a-zA-Z0-9_.-]sed[!a-zA-Z0-9_.-]*)
      # Without the other letters, an `i` in a cluster of options is next to its hyphen.
      case ${text//[a-hj-zA-Z]/} in *-i* | *--*) return 1 ;; esac
      ;;
  esac
  return 0
}

# What all hooks share: reads the event, and lets hook.py decide. It is sourced; bash 3.2 syntax.
# No process is started before `exact`, so that the calls that pass here cost almost nothing.
# A hook always exits 0, because status 2 would lock the person out.

LC_ALL=C
set -f
IFS=$' \t\n'
NAME=${0##*/}
HOOKS=${BASH_SOURCE[0]%/*}
MAX_EVENT=16384 # bytes that one variable may hold on every system; most events are smaller
SECONDS=0
event='' rest=1

leave() { exit 0; }

# Shows the person one line; $1 must be text that needs no JSON escapes.
failure() {
  printf '{"systemMessage": "preread: %s; nothing was blocked"}\n' "$1"
  leave
}

# Sets `event` to the start of the event; `rest` is empty if that is all. NUL bytes are dropped, as
# in hook.py.
read_event() {
  case $OSTYPE in msys* | cygwin*) return ;; esac # they rewrite variables that look like paths
  if [ "${BASH_VERSINFO[0]}${BASH_VERSINFO[1]}" -ge 41 ]; then
    # -N reads blocks, -n and -d single bytes.
    IFS= read -r -N "$MAX_EVENT" event || rest=''
  else
    IFS= read -r -d '' -n "$MAX_EVENT" event || rest=''
  fi 2>/dev/null
}

# Whether the Python in the folder `$1` may be used: not if it is relative or inside the project,
# which must not choose what runs.
is_outside() {
  case $1 in
    "$PWD" | "$PWD"/* | "${CLAUDE_PROJECT_DIR:-$PWD}" | "${CLAUDE_PROJECT_DIR:-$PWD}"/*) return 1 ;;
    /*) return 0 ;;
  esac
  return 1
}

# Sets `python`: the launcher's, else the first on PATH that is not a shim, without starting any.
find_python() {
  local folder name shim='' IFS=:
  python=${CLAUDE_PLUGIN_DATA:+$CLAUDE_PLUGIN_DATA/python}
  [ -n "$python" ] && is_program "$python" && return
  for name in python3 python; do
    for folder in ${PATH:-} /usr/local/bin /opt/homebrew/bin /usr/bin /bin; do
      python=$folder/$name
      is_outside "$folder" && is_program "$python" || continue
      case $OSTYPE:$folder in
        *:*/shims | *:*/WindowsApps) shim=${shim:-$python} ;;
        # Without its developer tools, Apple's stub asks the person to install them.
        darwin*:/usr/bin) [ -x /Library/Developer/CommandLineTools/usr/bin/python3 ] && return ;;
        *) return ;;
      esac
    done
  done
  python=$shim
}

is_program() { [ -f "$1" ] && [ -x "$1" ]; }

# Lets hook.py decide, and prints its answer: one line of JSON, or `-` for a pass.
exact() {
  local python answer='' from=part
  find_python
  [ -n "$python" ] || failure "no Python was found for $NAME"
  [ -n "$rest" ] || from=whole
  if [ -n "${CLAUDE_PLUGIN_DATA:-}" ]; then
    set -- -X "pycache_prefix=$CLAUDE_PLUGIN_DATA/pycache"
  else
    set -- -B
  fi
  # Not as an argument, because anybody on the machine can read those.
  export PREREAD_EVENT=$event
  run_limited "$python" -I -S -X utf8 "$@" "$HOOKS/hook.py" "$NAME" "$from"
  case $answer in
    -) ;;
    '{'*'}') printf '%s\n' "$answer" ;;
    *)
      [ "$SECONDS" -lt 5 ] || failure "$NAME took longer than five seconds"
      failure "$NAME could not be decided, because Python failed"
      ;;
  esac
  leave
}

# Sets `answer` to what a command prints. hook.py ends itself after five seconds; a Python that does
# not get that far is killed after seven, unless bash is too old to set `$!` here.
run_limited() {
  local first=''
  if [ ! -e /dev/fd/0 ]; then
    answer=$("$@" 2>/dev/null)
    return
  fi
  { exec 3< <(exec "$@" <&4 2>/dev/null 4<&-); } 4<&0
  if [ "${BASH_VERSINFO[0]}${BASH_VERSINFO[1]}" -ge 41 ]; then
    # Only the first byte is read with a time limit, because that costs system calls for each byte.
    IFS= read -r -t 7 -N 1 first <&3 && IFS= read -r -N 1000000 answer <&3
    answer=$first$answer
  else
    IFS= read -r -t 7 answer <&3
  fi 2>/dev/null
  answer=${answer%$'\n'}
  [ "$SECONDS" -lt 7 ] || [ -z "${!:-}" ] || kill "$!" 2>/dev/null
}

# Passes when nothing is gated: in a dossier's own build, and after PREREAD_GATES=off.
pass_when_off() {
  [ -z "${PREREAD_CHILD:-}" ] && [ "${PREREAD_GATES:-}" != off ] && return
  [ -z "$rest" ] || cat >/dev/null 2>&1
  leave
}

read_event
pass_when_off

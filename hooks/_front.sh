# The part of every hook that is bash: it reads the event, says "pass" by itself where that is certain, and lets hook.py
# decide all else. It is sourced; bash 3.2 syntax; no process is started before the exact path.
# Whatever happens, a hook ends with status 0: status 2 would lock the person out.

LC_ALL=C
set -f
IFS=$' \t\n'
NAME=${0##*/}
HOOKS=${BASH_SOURCE[0]%/*}
LIMIT=16384 # bytes: what one variable may hold on every system, and more than a usual event needs
SECONDS=0
event='' rest=1

leave() { exit 0; }

# One visible line; $1 holds nothing that JSON would want escaped.
failure() {
  printf '{"systemMessage": "preread: %s; this call was let through"}\n' "$1"
  leave
}

# Fills `event`; `rest` is empty when that is all of it. NUL bytes are dropped, here as in hook.py.
read_event() {
  case $OSTYPE in msys* | cygwin*) return ;; esac # there a variable would be rewritten where it looks like a path
  if [ "${BASH_VERSINFO[0]}${BASH_VERSINFO[1]}" -ge 41 ]; then
    # -N reads in blocks, where -n and -d read each byte by itself.
    IFS= read -r -N "$LIMIT" event || rest=''
  else
    IFS= read -r -d '' -n "$LIMIT" event || rest=''
  fi 2>/dev/null
}

# Fills `python`: the launcher's, else the first on PATH that is no shim, without starting any to find out.
find_python() {
  local folder name shim='' IFS=:
  python=${CLAUDE_PLUGIN_DATA:+$CLAUDE_PLUGIN_DATA/python}
  [ -n "$python" ] && is_program "$python" && return
  for name in python3 python; do
    for folder in ${PATH:-} /usr/local/bin /opt/homebrew/bin /usr/bin /bin; do
      python=$folder/$name
      is_program "$python" || continue
      case $OSTYPE:$folder in
        *:*/shims | *:*/WindowsApps) shim=${shim:-$python} ;;
        # Apple's stub asks the person to install something where its tools are not there.
        darwin*:/usr/bin) [ -x /Library/Developer/CommandLineTools/usr/bin/python3 ] && return ;;
        *) return ;;
      esac
    done
  done
  python=$shim
}

is_program() { [ -f "$1" ] && [ -x "$1" ]; }

# Lets hook.py decide, and prints what it says: an answer is one line, `-` for a pass, or JSON.
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
  # Not an argument: those anybody on the machine can read.
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

# Fills `answer` with what a command prints. hook.py ends itself after five seconds; a Python that does not even get
# there is left behind.
run_limited() {
  local first=''
  if [ ! -e /dev/fd/0 ]; then
    answer=$("$@" 2>/dev/null)
    return
  fi
  { exec 3< <(exec "$@" <&4 2>/dev/null 4<&-); } 4<&0
  if [ "${BASH_VERSINFO[0]}${BASH_VERSINFO[1]}" -ge 41 ]; then
    # The wait is for the first byte alone: with a time limit each byte costs system calls.
    IFS= read -r -t 7 -N 1 first <&3 && IFS= read -r -N 1000000 answer <&3
    answer=$first$answer
  else
    IFS= read -r -t 7 answer <&3
  fi 2>/dev/null
  answer=${answer%$'\n'}
  [ "$SECONDS" -lt 7 ] || kill "${!:-0}" 2>/dev/null
}

# Passes where nothing is ever gated: in a dossier's own build, and where the person has switched the gates off.
pass_when_off() {
  [ -z "${PREREAD_CHILD:-}" ] && [ "${PREREAD_GATES:-}" != off ] && return
  [ -z "$rest" ] || cat >/dev/null 2>&1
  leave
}

read_event
pass_when_off

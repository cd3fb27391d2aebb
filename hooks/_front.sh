# The part of every hook that is bash: it reads the event, says "pass" by itself where that is certain, and lets hook.py
# decide all else. It is sourced; bash 3.2 syntax; no process is started before the exact path.
# Whatever happens, the hook ends with status 0: status 2 would lock the person out.

LC_ALL=C
set -f
event='' rest=1
HOOKS=${BASH_SOURCE[0]%/*}
LIMIT=16384 # bytes: what an argument may hold on every system, and a usual event needs

leave() { exit 0; }

# One visible line; $1 holds nothing that JSON would want escaped.
failure() {
  printf '{"systemMessage": "preread: %s; this call was let through"}\n' "$1"
  leave
}

# Fills `event`; `rest` is empty when that is all of it. NUL bytes are dropped, here as in hook.py.
read_event() {
  case $OSTYPE in msys* | cygwin*) return ;; esac # there an argument would be rewritten where it looks like a path
  if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 401)); then
    # -N reads in blocks, where -n and -d read each byte by itself.
    IFS= read -r -N "$LIMIT" event 2>/dev/null || rest=''
  else
    IFS= read -r -d '' -n "$LIMIT" event 2>/dev/null || rest=''
  fi
}

# Fills `python`: the launcher's, else the first on PATH that is no shim, without starting any to find out.
find_python() {
  local folder name shims='' IFS=:
  python=${CLAUDE_PLUGIN_DATA:+$CLAUDE_PLUGIN_DATA/python}
  [ -n "$python" ] && [ -x "$python" ] && [ ! -d "$python" ] && return
  for name in python3 python; do
    for folder in ${PATH:-} /usr/local/bin /opt/homebrew/bin /usr/bin; do
      python=$folder/$name
      [ -x "$python" ] && [ ! -d "$python" ] || continue
      case $OSTYPE:$folder in
        *:*/shims | *:*/WindowsApps) shims=${shims:-$python} ;;
        # Apple's stub asks the person to install something when its tools are not there.
        darwin*:/usr/bin) [ -x /Library/Developer/CommandLineTools/usr/bin/python3 ] && return ;;
        *) return ;;
      esac
    done
  done
  python=$shims
}

# Lets hook.py decide, and prints what it says. An answer is one line: `-` for a pass, or JSON.
exact() {
  local python answer='' from=part
  find_python
  [ -n "$python" ] || failure "no Python was found for $NAME"
  [ -n "$rest" ] || from=whole
  set -- -I -S -X utf8 -B
  [ -z "${CLAUDE_PLUGIN_DATA:-}" ] || set -- -I -S -X utf8 -X "pycache_prefix=$CLAUDE_PLUGIN_DATA/pycache"
  set -- "$@" "$HOOKS/hook.py" "$NAME"
  [ -z "$event" ] || set -- "$@" "$from" "$event"
  answer=$("$python" "$@" 2>/dev/null)
  case $? in
    0) ;;
    142 | 14) failure "$NAME took longer than five seconds" ;;
    *) failure "$NAME could not be decided: Python failed" ;;
  esac
  case $answer in
    -) ;;
    '{'*'}') printf '%s\n' "$answer" ;;
    *) [ -z "$event" ] && [ -z "$answer" ] || failure "$NAME could not be decided: Python said nothing" ;;
  esac
  leave
}

# Passes where nothing can be gated: in a dossier's own build, and where the person has switched the gates off.
pass_when_off() {
  [ -z "${PREREAD_CHILD:-}" ] && [ "${PREREAD_GATES:-}" != off ] && return
  [ -z "$rest" ] || cat >/dev/null 2>&1
  leave
}

NAME=${0##*/}
read_event
pass_when_off

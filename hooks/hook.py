"""`hook.py NAME < event`: the decision of one hook, printed once as JSON; a pass prints nothing. Always exits 0.

`hook.py NAME whole` and `hook.py NAME part < rest` are how the bash front calls it, which has read the event, or its
start, into PREREAD_EVENT: there a pass prints `-`, so that silence is known for a failure. What
`hook.py --explain` takes and gives, gatelib/explain.py says.

All else is in gatelib/entry.py, which Python keeps compiled; this file is compiled each time.
"""

import sys

sys.dont_write_bytecode = sys.dont_write_bytecode or not sys.pycache_prefix
sys.path.insert(0, __file__.rpartition("/")[0] or ".")
try:
    from gatelib.entry import main
except BaseException as error:
    why = "the gates cannot be loaded (" + type(error).__name__ + ")"
    sys.stdout.write('{"systemMessage": "preread: ' + why + '; this call was let through"}\n')
else:
    main(sys.argv[1:])

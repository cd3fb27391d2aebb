"""Decides one hook: `hook.py NAME < event` prints one line of JSON, or nothing for a pass.

The bash front has already read the event, or its start, into PREREAD_EVENT, and calls `hook.py NAME
whole` or `hook.py NAME part < rest`. A pass then prints `-`, so that silence means failure.
preread/gates/explain.py documents `hook.py --explain`.

Always exits 0. Most of the code is in preread/gates/entry.py, because Python does not cache the
bytecode of the file that it is started with.
"""

import sys

sys.dont_write_bytecode = sys.dont_write_bytecode or not sys.pycache_prefix
try:
    import os

    here = os.path.dirname(os.path.abspath(__file__))
    # In a checkout and in the plugin the package is in ../server. In an installed wheel this folder
    # is preread/data/hooks, so the package's parent is three levels up.
    folder = os.path.join(os.path.dirname(here), "server")
    if not os.path.isfile(os.path.join(folder, "preread", "__init__.py")):
        folder = os.path.dirname(os.path.dirname(os.path.dirname(here)))
    sys.path.insert(0, folder)
    import preread  # noqa: F401

    del sys.path[0]  # so that no module beside the package shadows the standard library
    from preread.gates.entry import main
except BaseException as error:
    why = "the gates cannot be loaded (" + type(error).__name__ + ")"
    sys.stdout.write('{"systemMessage": "preread: ' + why + '; nothing was blocked"}\n')
else:
    main(sys.argv[1:])

"""How git is run, so that no setting of a repository runs a program or reaches the network."""

from __future__ import annotations

from preread.gates import search_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

COMMAND = (
    "git", "--no-pager", "--literal-pathspecs",
    "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null",
    "-c", "log.showSignature=false", "-c", "core.quotePath=false", "-c", "protocol.allow=never",
    "-c", "core.attributesFile=/dev/null",
)  # fmt: skip
_ENVIRON = {
    "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1",
    "GIT_PAGER": "cat", "GIT_NO_REPLACE_OBJECTS": "1", "LC_ALL": "C.UTF-8",
}  # fmt: skip
# Lists the settings of filters. Git does not run a filter whose program is empty.
LIST_FILTERS = ("config", "--includes", "-z", "--name-only", "--get-regexp", r"^filter\.")
_PROGRAMS = ("clean", "smudge", "process")


def environ(root: str, given: Mapping[str, str]) -> dict[str, str]:
    """The environment of a git that runs in `root`."""
    own = {name: value for name, value in given.items() if not name.startswith("GIT_")}
    return {**own, "PATH": search_path.outside(root, given), **_ENVIRON}


def without_filters(listed: bytes) -> Iterable[str] | None:
    """Options that disable the filters that LIST_FILTERS printed; None if one cannot be disabled.

    Otherwise git runs a file's filter to see whether its content has changed.
    """
    import os

    keys = [os.fsdecode(key) for key in listed.split(b"\0") if key]
    drivers = {key.rpartition(".")[0] for key in keys}
    if any("=" in driver or "\n" in driver for driver in drivers):
        return None  # `-c` would set another name
    settings = [f"{driver}.{name}=" for driver in sorted(drivers) for name in _PROGRAMS]
    settings += [f"{driver}.required=false" for driver in sorted(drivers)]
    return [word for setting in settings for word in ("-c", setting)]

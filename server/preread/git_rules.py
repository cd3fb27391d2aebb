"""Git rules for `.project/`: what is never committed, and the setup of a new project."""

from preread.infra import atomic
from preread.infra.reading import names_in, plain_bytes
from preread.layout import Layout
from preread.settings import Settings

PRIVATE = (".cache/", ".state/")  # never committed
# Hides itself too, so that trying Preread leaves git's status as it was. `init` replaces it.
PROVISIONAL = b"# Until `preread init` has decided what to commit.\n*\n"


def text(*, share: bool) -> str:
    """The text of `.project/.gitignore`."""
    return "".join(f"{line}\n" for line in ignored(share=share))


def ignored(*, share: bool) -> tuple[str, ...]:
    """The lines of `.project/.gitignore`."""
    return PRIVATE if share else (*PRIVATE, "context/")


def is_own(data: bytes | None) -> bool:
    """Whether `.project/.gitignore` is as Preread writes it, or is not there."""
    return data in {None, PROVISIONAL, text(share=True).encode(), text(share=False).encode()}


def is_provisional(layout: Layout) -> bool:
    """Whether `.project/.gitignore` is the one from before `init`."""
    return plain_bytes(layout.project / ".gitignore") == PROVISIONAL


def prepare(layout: Layout, settings: Settings) -> tuple[str, ...]:
    """Have git ignore a `.project/` that this call creates; returns what the caller should know.

    A `.project/` that has files from people or from `init` stays as it is. Raises E_WRITE and
    Unreadable.
    """
    own = {name.rstrip("/") for name in PRIVATE}
    if set(names_in(layout.project)) - own:
        return ()
    if not settings.share:
        atomic.write(layout.project / ".gitignore", PROVISIONAL)
    if (layout.root / ".git").exists():
        return ()
    why = f"{layout.root} had neither .project nor .git, and is a project now"
    other = "If you meant another folder, delete the new .project and name that one"
    return (f"{why}. {other} (`--project DIR`).",)

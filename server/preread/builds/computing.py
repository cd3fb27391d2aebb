"""Brings computed facts up to date while a project is watched, in a thread of its own.

Any file, and HEAD, can change what the rules compute, but most changes do not. So the dossiers are
refreshed; where only a load may do that (git tracks the dossier, a person is editing it, or the
watcher only reports), a refresh without publishing shows whether the dossier would change.
"""

import os
import threading
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from preread import inputs, passed_checks, signatures
from preread.builds import refreshing, rehearsal
from preread.dossier import published
from preread.errors import Cancelled, PrereadError, Unreadable
from preread.infra.plural import counted
from preread.layout import Layout
from preread.records.stale_hints import COMPUTED
from preread.services import Progress, Services

# For these times, a pass begins further dossiers: stale ones, and ones whose files changed.
REFRESH_SECONDS, COMPUTE_SECONDS = 10.0, 2.0
REST_SHARE = 5  # pause after a pass over changed files, per duration of the pass
HEAD_SECONDS = 2.0

Files = tuple[tuple[str, str], ...]  # name, digest


class Verdict(NamedTuple):
    """Whether a dossier's computed facts are out of date."""

    why: str  # empty if they are not
    files: Files  # the texts that it is about


class Pass(NamedTuple):
    """What a pass has found."""

    stale: tuple[str, ...]  # the dossiers that were to be refreshed
    verdicts: dict[str, Verdict]
    refreshed: frozenset[str] = frozenset()
    left: frozenset[str] | None = None  # the changed files, if there was no time for all dossiers


class Computing:
    """Runs one pass at a time; a thread other than the pass's uses it."""

    def __init__(
        self, services: Callable[[], Services], layout: Layout, *, refreshes: bool
    ) -> None:
        self._make_services, self._layout, self._refreshes = services, layout, refreshes
        self._is_due = True
        self._changed: set[str] = set()  # paths, since the last pass over changed files
        self._unlisted: set[str] = set()  # files that changed and are not the project's
        self._head, self._head_at, self._rest_until = "", 0.0, 0.0
        self._thread: threading.Thread | None = None
        self._result: Pass | Exception | None = None
        self._progress: Progress | None = None
        self._is_stopped = False
        # Only used by the pass: the state of the project and the dossier at the last verdict, and
        # when it was each dossier's turn.
        self._settled: dict[str, tuple[str, Files]] = {}
        self._turns: dict[str, int] = {}

    def note(self, changed: Iterable[str] | None) -> bool:
        """Note that files changed (None: any may have); returns whether that may matter.

        Paths are relative to the project.
        """
        if changed is None:
            self._is_due = True
            return True
        paths = {*changed} - self._unlisted
        if any(path.rpartition("/")[2] == ".gitignore" for path in paths):
            self._unlisted.clear()
        own = self._layout.project.name
        theirs = {path for path in paths if path.partition("/")[0] != own}
        context = f"{self._layout.relative(self._layout.context)}/"
        if theirs or any(path.startswith(context) for path in paths):
            self._is_due = True
        self._changed |= theirs
        return bool(paths)

    def begin(self, stale: Iterable[str]) -> None:
        """Begin a pass unless one is running: over the stale dossiers, and if it is due, over
        those whose files changed.
        """
        if self._thread is not None:
            return
        self._look_at_head()
        names, is_due = tuple(stale), self._is_due and time.monotonic() >= self._rest_until
        if not names and not is_due:
            return
        changed: set[str] | None = None
        if is_due:
            changed, self._changed, self._is_due = self._changed, set(), False
        # A daemon, so that the process never waits for it.
        self._thread = threading.Thread(target=self._run, args=(names, changed), daemon=True)
        self._thread.start()

    def _look_at_head(self) -> None:
        """A commit can change facts without changing a file."""
        now = time.monotonic()
        if now - self._head_at >= HEAD_SECONDS:
            head, self._head_at = signatures.of_head([], self._make_services().tree), now
            self._is_due |= head != self._head
            self._head = head

    def finished(self) -> Pass | None:
        """What a pass has found that ended since the last call. Raises what the pass raised."""
        if self._thread is None or self._thread.is_alive():
            return None
        self._thread, result, self._result = None, self._result, None
        if isinstance(result, Exception):
            raise result
        if result is not None and result.left is not None:
            self._is_due = True
            self._changed |= result.left
        return result

    def stop(self) -> None:
        """End a running pass, for good."""
        self._is_stopped = True
        if self._progress is not None:
            self._progress.stop()
        if self._thread is not None:
            self._thread.join()

    # -- in the pass's thread

    def _run(self, stale: tuple[str, ...], changed: set[str] | None) -> None:
        begun = time.monotonic()
        try:
            if stale:
                self._refresh(stale, REFRESH_SECONDS)
            self._result = Pass(stale, {})
            if changed is not None:
                self._result = self._compute(stale, changed)
        except Cancelled:
            pass
        except Exception as error:
            self._result = error
        if changed is not None:
            done = time.monotonic()
            self._rest_until = done + REST_SHARE * (done - begun)

    def _services(self) -> Services:
        services = self._make_services()
        self._progress = services.progress
        if self._is_stopped:
            services.progress.stop()
        return services

    def _refresh(self, features: Iterable[str], seconds: float) -> dict[str, str]:
        import anyio

        return anyio.run(refreshing.refresh, self._services, features, seconds)

    def _compute(self, stale: tuple[str, ...], changed: set[str]) -> Pass:
        services = self._services()
        try:
            signature = signatures.of_project(services.tree)
        except Unreadable:  # nothing better can be computed now
            return Pass(stale, {})
        listed = {*inputs.watched(services.tree)}
        self._unlisted = {
            path for path in (self._unlisted | changed) - listed if self._is_file(path)
        }
        features = published.features(self._layout)
        current = passed_checks.with_unchanged_files(services, features, signature)
        verdicts = {name: Verdict("", ()) for name in current}
        why, refreshed = _why(changed & listed), set[str]()
        left: frozenset[str] | None = None
        end = time.monotonic() + COMPUTE_SECONDS
        wanted = self._in_turn({*features} - current, signature)
        for number, (feature, state) in enumerate(wanted):
            if number and time.monotonic() > end:
                left = frozenset(changed)
                break
            self._turns[feature] = 1 + max(self._turns.values(), default=0)
            if self._refreshes and self._refresh([feature], 0):
                refreshed.add(feature)
                verdicts[feature] = Verdict("", ())
            elif (is_outdated := self._is_outdated(feature)) is not None:
                self._settled[feature] = state
                verdicts[feature] = Verdict(why if is_outdated else "", state[1])
        return Pass(stale, verdicts, frozenset(refreshed), left)

    def _is_file(self, path: str) -> bool:
        return os.path.isfile(f"{self._layout.root}/{path}")  # noqa: PTH113

    def _in_turn(
        self, features: set[str], signature: str
    ) -> Iterable[tuple[str, tuple[str, Files]]]:
        """Those of the dossiers without a verdict about their present state, with that state."""
        for feature in sorted(features, key=lambda name: (self._turns.get(name, 0), name)):
            found = published.read(self._layout, feature)
            if found is not None:
                state = (signature, files_of(found))
                if not signature or self._settled.get(feature) != state:
                    yield feature, state

    def _is_outdated(self, feature: str) -> bool | None:
        try:
            return rehearsal.would_change(self._services(), feature)
        except PrereadError as error:
            if isinstance(error, Cancelled):
                raise
            return None  # the next load reports it


def files_of(found: published.Published) -> Files:
    """The name and digest of each of a dossier's texts."""
    digests = {name: published.digest(text.encode()) for name, text in found.texts.items()}
    return tuple(sorted(digests.items()))


def _why(changed: set[str]) -> str:
    """Why a dossier is out of date, with one of the files that changed, where that is known."""
    if not changed:
        return COMPUTED
    more = f" and {counted(len(changed) - 1, 'other')}" if len(changed) > 1 else ""
    return f"{COMPUTED}: {min(changed)}{more}"

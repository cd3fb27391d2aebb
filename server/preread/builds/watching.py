"""Watch a project: as its files change, look up the dossiers that depend on them.

Sets and clears the hints for the gates. In a server, the watcher also refreshes dossiers that git
does not track. `.git` and folders that git ignores are not watched. What rules computed from the
files is brought up to date later, once nothing changes any more: see `computing`.
"""

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from preread import inputs
from preread.builds import staleness
from preread.builds.computing import Computing, Files, Verdict, files_of
from preread.builds.file_events import Batches, Unwatchable, has_other_folders
from preread.dossier import published, sources
from preread.errors import PrereadError
from preread.models import Manifest
from preread.project.globs import glob_pattern
from preread.records import stale_hints
from preread.services import Services

MANY = 1_000  # changed files; then everything is looked up
# Events can get lost when the queue is full or while the machine sleeps.
EVERYTHING_SECONDS, SLEPT_SECONDS = 600.0, 30.0
# The queue can only be full after events that did arrive. So once nothing changes any more after
# events, everything is looked up once more: after LOST_SECONDS, and at least POLL_SHARE times as
# long as that takes.
LOST_SECONDS = 3.0
POLL_SECONDS, POLL_SHARE = 1.0, 20  # minimum pause between polls; pause per duration of a poll
# Stale dossiers are refreshed when nothing has changed for a while; at the latest after that time.
QUIET_SECONDS, LATEST_SECONDS = 2.0, 30.0
NO_DOSSIERS_SECONDS = 5.0
OWN = ("config.toml", "gates", "knowledge.md", ".state/knowledge.md", ".state/results.jsonl")


class DossierState(NamedTuple):
    """The state of a dossier at a look-up."""

    why: str  # it is stale; empty if it is not
    files: Files


class News(NamedTuple):
    """What has changed about the dossiers since the last look-up."""

    now: dict[str, DossierState]  # the dossiers whose state has changed
    gone: frozenset[str]
    new: frozenset[str]
    checked: int  # dossiers that were looked up
    before: dict[str, DossierState]  # what was known of those that changed or are gone


class Watcher:
    """Watches one project in the thread that calls `run`; `tell` is called there, too."""

    def __init__(
        self,
        services: Callable[[], Services],
        tell: Callable[[News], object],
        say: Callable[[str], object] = lambda _: None,
        *,
        expected: Callable[[Exception], PrereadError],
        refreshes: bool = False,
    ) -> None:
        """With `refreshes`, stale dossiers are refreshed once nothing has changed for a while.

        `expected` turns any exception into what a person is told, and writes down a bug.
        """
        self._expected = expected
        self._services, self._tell, self._say = services, tell, say
        self._refreshes, self._tried = refreshes, dict[str, DossierState]()
        self._layout = services().layout
        self._computing = Computing(services, self._layout, refreshes=refreshes)
        self._outdated: dict[str, Verdict] = {}  # the dossiers whose computed facts are
        self._known: dict[str, DossierState] = {}
        self._is_first = True  # the first look-up reports a dossier only if it is stale
        self._depends: dict[str, _Depends] = {}
        self.stop = threading.Event()

    def run(self) -> None:
        """Watch until `stop` is set."""
        try:
            self._run()
        finally:
            self._computing.stop()

    def _run(self) -> None:
        polls, said = False, ""
        while not self.stop.is_set():
            try:
                self._wait_for_dossiers()
                self._poll() if polls else self._watch()
            except Unwatchable as error:
                polls = True
                self._say(f"Polling for changes, because they cannot be watched: {error}.")
            except BrokenPipeError:  # nobody reads what it tells
                raise
            except Exception as error:
                if self.stop.is_set():
                    return
                said = self._say_once(error, said)
                self.stop.wait(NO_DOSSIERS_SECONDS)

    def _say_once(self, error: Exception, said: str) -> str:
        """Say what keeps it from watching, unless that was `said` last; returns what was."""
        now = repr(error)
        if now != said:
            told = self._expected(error)
            again = f"Watching tries again every {NO_DOSSIERS_SECONDS:.0f} s."
            self._say(" ".join(filter(None, (told.message, told.hint, again))))
        return now

    def _wait_for_dossiers(self) -> None:
        while not (self._known or self.stop.is_set() or published.features(self._layout)):
            self._is_first = False
            self.stop.wait(NO_DOSSIERS_SECONDS)

    # -- by notification

    def _watch(self) -> None:
        """Watch by notification. Raises Unwatchable."""
        while not self.stop.is_set():
            folders = self._folders()
            try:
                batches = Batches(folders, self.stop)
            except FileNotFoundError:  # a folder was deleted: list them again
                continue
            self._watch_folders(batches, folders)

    def _watch_folders(self, batches: Batches, folders: set[str]) -> None:
        """Watch these folders until others have to be watched."""
        pause = self._check_all()  # for what changed before the watches were in place
        last = checked_at = active_at = computed_at = time.time()
        due = EVERYTHING_SECONDS
        for found in batches:
            self._take_computed()
            now = time.time()
            has_slept = abs(now - last) > SLEPT_SECONDS  # or the clock was set
            last = now
            is_idle = not found and not has_slept and now - checked_at < due
            batch = set() if is_idle else found | batches.rest_of_checkout(self._layout.root)
            if self._computing.note(self._relative(batch)):
                active_at = time.time()
            is_late = not 0 <= now - computed_at < LATEST_SECONDS
            if is_late or now - active_at >= QUIET_SECONDS:
                self._compute()
                computed_at = now
            if is_idle:
                continue
            checked_at = now
            if has_slept or not batch or len(batch) > MANY:
                pause, due = self._check_all(), EVERYTHING_SECONDS
            else:
                self.check(batch)
                due = pause
            if has_other_folders(batch, folders) and self._folders() != folders:
                return
            last = time.time()

    def _check_all(self) -> float:
        """Look up every dossier; returns after how long to do so again because of lost events."""
        begun = time.monotonic()
        self._computing.note(None)
        self.check(None)
        return max(LOST_SECONDS, POLL_SHARE * (time.monotonic() - begun))

    def _folders(self) -> set[str]:
        """The folders to watch: those with files that git does not ignore, and Preread's own."""
        services = self._services()
        root = str(self._layout.root)
        found = {""}
        for path in inputs.watched(services.tree):
            folder = path.rpartition("/")[0]
            while folder not in found:
                found.add(folder)
                folder = folder.rpartition("/")[0]
        own_folders = [self._layout.project, self._layout.context, self._layout.ticket("x").parent]
        own_folders += [self._layout.state]
        own_folders += [self._layout.dossier(name) for name in published.features(self._layout)]
        reports = (root + "/" + folder for folder in inputs.report_folders(services.settings))
        whole = {f"{root}/{folder}" if folder else root for folder in found}
        return {path for path in (*whole, *map(str, own_folders), *reports) if os.path.isdir(path)}  # noqa: PTH112

    # -- by polling

    def _poll(self) -> None:
        marks = self._marks()
        self._check_all()
        pause = POLL_SECONDS
        while not self.stop.wait(pause):
            begun = time.monotonic()
            self._take_computed()
            now = self._marks()
            changed = {path for path, _ in marks.items() ^ now.items()}
            marks = now
            if changed:
                self._computing.note(self._relative(changed))
                self.check(changed)
            else:
                self._compute()
            pause = max(POLL_SECONDS, POLL_SHARE * (time.monotonic() - begun))

    def _marks(self) -> dict[str, tuple[int, int]]:
        """The time and size of every file that matters."""
        services, layout = self._services(), self._layout
        paths = [f"{layout.root}/{path}" for path in inputs.watched(services.tree)]
        paths += [str(layout.project / name) for name in OWN]
        for feature in published.features(layout):
            paths += map(str, layout.dossier(feature).iterdir())
        found = {}
        for path in paths:
            with suppress(OSError):
                info = os.stat(path)  # noqa: PTH116 - thousands of them
                found[path] = (info.st_mtime_ns, info.st_size)
        return found

    # -- what changed, and what that means

    def check(self, changed: Iterable[str] | None) -> None:
        """Look up the dossiers that depend on these files, or all (None); report what changed."""
        features = published.features(self._layout)
        wanted = features if changed is None else list(self._depending(features, changed))
        self._report(features, wanted)

    def _report(self, features: list[str], wanted: list[str]) -> None:
        """Look up the wanted dossiers; report those that have changed, and what is gone."""
        services = self._services()
        now: dict[str, DossierState] = {}
        for feature in wanted:
            seen = self._look_up(services, feature)
            if seen is not None and seen != self._known.get(feature):
                now[feature] = seen
        gone, new = self._known.keys() - set(features), now.keys() - self._known.keys()
        before = {name: self._known[name] for name in {*now, *gone} - new}
        for feature in gone:
            del self._known[feature]
            self._outdated.pop(feature, None)
        is_first, self._is_first = self._is_first, False
        self._known.update(now)
        if (now or gone) and not is_first:
            self._tell(News(now, frozenset(gone), frozenset(new), len(wanted), before))
        elif is_first and (stale := {name: one for name, one in now.items() if one.why}):
            self._tell(News(stale, frozenset(), frozenset(), len(wanted), {}))

    def _compute(self) -> None:
        """Begin to bring up to date what is out of date; see `computing`.

        A refresh that did not help is not repeated before a change.
        """
        stale = {
            name: seen
            for name, seen in self._known.items()
            if seen.why and name not in self._outdated and self._tried.get(name) != seen
        }
        self._computing.begin(stale if self._refreshes else ())

    def _take_computed(self) -> None:
        """Report what has been brought up to date, or was found to be out of date."""
        done = self._computing.finished()
        if done is None:
            return
        changed = {*done.stale, *done.refreshed}
        for feature, verdict in done.verdicts.items():
            known = self._outdated.get(feature)
            if verdict.why and (known is None or known.files != verdict.files):
                self._outdated[feature] = verdict
                changed.add(feature)
            elif not verdict.why and self._is_called_outdated(feature):
                self._outdated.pop(feature, None)
                stale_hints.clear(self._layout, feature)
                changed.add(feature)
        if changed:
            features = published.features(self._layout)
            self._report(features, [name for name in features if name in changed])
        self._tried |= {name: self._known[name] for name in done.stale if name in self._known}

    def _is_called_outdated(self, feature: str) -> bool:
        """Whether this watcher, or the hint of another one, says so."""
        hint = stale_hints.reason(self._layout, feature)
        return feature in self._outdated or hint.startswith(stale_hints.COMPUTED)

    def _relative(self, paths: Iterable[str]) -> set[str]:
        root = f"{self._layout.root}/"
        return {path.removeprefix(root) for path in paths}

    def _depending(self, features: list[str], changed: Iterable[str]) -> Iterator[str]:
        paths = self._relative(changed)
        if any(map(self._affects_all, paths)):
            yield from features
            return
        context = f"{self._layout.relative(self._layout.context)}/"
        edited = {
            path.removeprefix(context).partition("/")[0]
            for path in paths
            if path.startswith(context)
        }
        for feature in features:
            depends = self._depends.get(feature)
            if feature in edited or depends is None or depends.on(paths):
                yield feature

    def _affects_all(self, path: str) -> bool:
        """Whether every dossier may depend on this file: an ignore rule, a setting, a ticket, …"""
        if path.rpartition("/")[2] == ".gitignore":
            return True
        folder, _, name = path.partition("/")
        is_own = folder == self._layout.project.name
        return is_own and (name in OWN or name.startswith("tickets/"))

    def _look_up(self, services: Services, feature: str) -> DossierState | None:
        """The state of a dossier now; sets or clears its hint."""
        found = published.read(self._layout, feature)
        if found is None or found.manifest is None:
            return None
        manifest = found.manifest
        self._depends[feature] = _Depends(services, manifest)
        lookup = staleness.look_up(services, manifest)
        files = files_of(found)
        why = lookup.why if not lookup.covers else self._why_outdated(feature, files)
        if why:
            stale_hints.mark(self._layout, feature, why)
        else:
            stale_hints.clear_cited(self._layout, feature)
        return DossierState(why, files)

    def _why_outdated(self, feature: str, files: Files) -> str:
        """Why the computed facts in these texts are out of date; empty if nothing says so."""
        verdict = self._outdated.get(feature)
        return verdict.why if verdict is not None and verdict.files == files else ""


class _Depends:
    """The files that a dossier depends on: those it cites, and globs that nothing may match.

    If it says that something is absent, also any test.
    """

    def __init__(self, services: Services, manifest: Manifest) -> None:
        self._paths: set[str] = set()
        self._on_tests = False
        self._patterns = [glob_pattern(glob) for glob in services.settings.reports]
        for text in manifest.spans:
            ref = sources.parse(text)
            if ref is not None and ref.kind == "absent":
                self._patterns.append(glob_pattern(ref.path))
                self._on_tests = True
            elif ref is not None and ref.path:
                self._paths.add(ref.path)

    def on(self, changed: set[str]) -> bool:
        if self._paths & changed or (self._on_tests and any(map(_is_test, changed))):
            return True
        return any(pattern.fullmatch(path) for pattern in self._patterns for path in changed)


def _is_test(path: str) -> bool:
    from preread.roles import TESTS, role_of  # most dossiers do not need it

    return role_of(path) in TESTS


def described(news: News) -> Iterator[str]:
    """One line for each dossier, for people."""
    for feature, seen in news.now.items():
        yield f"{feature} is stale: {seen.why}" if seen.why else f"{feature} is up to date"
    yield from (f"{feature} is gone" for feature in sorted(news.gone))

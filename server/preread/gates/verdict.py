"""What the gates on files and agents share: the call that they check, and the verdict on it."""

from __future__ import annotations

from preread.gates import dossiers, events, modes, paths, rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from preread.gates.modes import EffectiveMode
    from preread.gates.rules import Rules


class Verdict:
    """`block`, `remark`, `failure` or `pass`, and the answer to print for it."""

    __slots__ = ("answer", "kind")

    def __init__(self, kind: str, answer: events.Answer = None) -> None:
        self.kind = kind
        self.answer = answer


PASS = Verdict("pass")


def failure(why: str) -> Verdict:
    return Verdict("failure", events.failure(why))


class Call:
    """A tool call, and the rules that were read for it."""

    def __init__(self, event: events.Event, environ: Mapping[str, str], noun: str) -> None:
        self.event = event
        self.environ = environ
        self.noun = noun  # what messages call it: "retry this Write"
        self.session = paths.session_root(event, environ)
        self._rules: dict[str, Rules | None] = {}

    @property
    def cwd(self) -> str:
        cwd = self.event.get("cwd")
        return cwd if isinstance(cwd, str) else ""

    def rules(self, root: str) -> Rules | None:
        """The rules of a project, read once. Raises rules.Broken."""
        if root not in self._rules:
            self._rules[root] = rules.read(root)
        return self._rules[root]

    def roots(self, root: str) -> list[str]:
        """Where to look for dossiers: in the file's project, then in the session's."""
        return [root] if self.session in (None, root) else [root, str(self.session)]

    def mode(self, found: Rules, root: str) -> EffectiveMode:
        return modes.effective_mode(found, self.roots(root), self.environ)

    def blocked(self, text: str, person: str, found: Rules, root: str) -> Verdict:
        """A block; in mode `warn` only a remark, in mode `off` a pass."""
        mode = self.mode(found, root)
        if mode.mode != "block":
            return _remark(text, mode)
        from preread.gates import messages

        answer = events.block(text, messages.for_person(person))
        return Verdict("block", events.with_notes(answer, mode.notes))

    def demanded(self, feature: str, text: str, person: str, found: Rules, root: str) -> Verdict:
        """A block that asks for a dossier; a remark when this session cannot get it."""
        verdict = self.blocked(text, person, found, root)
        if verdict.kind != "block":
            return verdict
        from preread.gates import load_calls, messages

        why = load_calls.why_cannot_load(self.event, feature, found, load_calls.PATIENCE)
        why = why or load_calls.why_unknown(self.event, root, feature)
        if not why:
            return verdict
        answer = events.remark(messages.let_through(feature, why, self.noun))
        notes = [*self.mode(found, root).notes, person + ", but goes on without it: " + why]
        return Verdict("remark", events.with_notes(answer, notes))

    def remarked(self, text: str, found: Rules, root: str) -> Verdict:
        return _remark(text, self.mode(found, root))

    def news_of(self, feature: str, found: Rules, root: str) -> str:
        """`stale` if the dossier that would be used was found to be.

        `refreshed`, once, if a refresh has changed its facts since the session read it and the
        session has not been told.
        """
        session = self.event.get("session_id")
        used = next((r for r in self.roots(root) if not dossiers.problem(r, feature)), None)
        if used is None:
            return ""
        is_stale = dossiers.is_stale(used, feature)
        if isinstance(session, str) and session and self.mode(found, root).mode != "off":
            from preread.gates import refreshes

            if is_stale:
                refreshes.told(used, session, feature)
            elif refreshes.is_news(used, session, feature):
                return "refreshed"
        return "stale" if is_stale else ""


def _remark(text: str, mode: EffectiveMode) -> Verdict:
    if mode.mode == "off":
        return PASS
    return Verdict("remark", events.with_notes(events.remark(text), mode.notes))

"""What both gates share: one call that is looked at, and the verdict on it."""

from __future__ import annotations

from gatelib import events, places, rules, switches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gatelib.rules import Rules


class Verdict:
    """`block`, `remark`, `failure` or `pass`, and what is printed for it."""

    __slots__ = ("answer", "kind")

    def __init__(self, kind: str, answer: events.Answer = None) -> None:
        self.kind = kind
        self.answer = answer


PASS = Verdict("pass")


class Call:
    """A tool call, with what was read for it."""

    def __init__(self, event: events.Event, environ: Mapping[str, str], word: str) -> None:
        self.event = event
        self.environ = environ
        self.word = word  # what a text calls it: "retry this Write"
        self.session = places.session_root(event, environ)
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
        """Where dossiers are looked for: the project of the file, then that of the session."""
        return [root] if self.session in (None, root) else [root, str(self.session)]

    def blocked(self, text: str, person: str, found: Rules, root: str) -> Verdict:
        """A block, as far as the mode goes."""
        switch = switches.switch(found, self.roots(root), self.environ)
        if switch.mode != "block":
            return self._remark(text, switch)
        from gatelib import texts

        return Verdict(
            "block", events.with_notes(events.block(text, texts.person(person)), switch.notes)
        )

    def remarked(self, text: str, found: Rules, root: str) -> Verdict:
        return self._remark(text, switches.switch(found, self.roots(root), self.environ))

    def _remark(self, text: str, switch: switches.Switch) -> Verdict:
        if switch.mode == "off":
            return PASS
        return Verdict("remark", events.with_notes(events.remark(text), switch.notes))

    def stale(self, feature: str, root: str) -> bool:
        """Whether the dossier, where it stands, was found to be stale."""
        return next(
            (
                places.stale(each, feature)
                for each in self.roots(root)
                if not places.problem(each, feature)
            ),
            False,
        )


def failure(line: str) -> Verdict:
    return Verdict("failure", events.note(line))

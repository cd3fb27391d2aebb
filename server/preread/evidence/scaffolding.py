"""How the feature's tests are set up: fixtures, what runs around them, shared helpers."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from preread.dossier import code
from preread.evidence import phrases
from preread.evidence.cases import counted
from preread.evidence.view import FileView, HotCase, View
from preread.models import Finding
from preread.sources import Ref

BUILTIN_FIXTURES = frozenset(
    """tmp_path tmpdir monkeypatch capsys capfd caplog request recwarn page browser context expect pytester mocker
    benchmark tmp_path_factory""".split()
)


def fixtures(view: View) -> Iterator[Finding]:
    """Fixtures that the feature's tests ask for, with where they are made."""
    asked = {id(hot): _asked(hot) for hot in view.cases}
    counts = Counter(name for names in asked.values() for name in names)
    total = len(view.cases)
    for name, n in counts.most_common(12):
        if not phrases.provable(name) or (n == 1 and total > 4) or n * 16 < total:
            continue
        if name in BUILTIN_FIXTURES and n * 2 < total:
            continue  # every runner has it
        user = next(hot for hot in view.cases if name in asked[id(hot)])
        used = _line_with(
            user.file, max(1, user.case.start - 6), min(user.case.end, user.case.start + 6), name
        )
        made = None if name in BUILTIN_FIXTURES else _fixture_definition(view, name)
        sources = [s for s in (made[0] if made else "", user.file.cite(used) if used else "") if s]
        if not sources:
            continue
        said = f": {made[1]}" if made and made[1] else ""
        yield Finding(
            rule="fixtures",
            kind="setup",
            text=f"fixture {code(name)} in {n} of {counted(total)}{said}",
            sources=tuple(sources),
            reason="the feature's tests ask for it",
            score=0.35 + 0.35 * n / total + (0.2 if made else -0.1),
        )


def _asked(hot: HotCase) -> tuple[str, ...]:
    """The fixtures that a test asks for, by parameters and by marks."""
    marked = [
        name
        for mark in hot.case.marks
        if "usefixtures" in mark
        for name in re.findall(r"[\"'](\w+)[\"']", mark)
    ]
    return tuple(dict.fromkeys((*hot.case.params, *marked)))


def _line_with(file: FileView, start: int, end: int, name: str) -> int:
    pattern = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    return next(
        (
            n
            for n in range(start, end + 1)
            if n <= len(file.lines) and pattern.search(file.lines[n - 1])
        ),
        0,
    )


def _fixture_definition(view: View, name: str) -> tuple[str, str] | None:
    """Where a fixture is made, and what is said of it or done in it."""
    for path in sorted(
        view.candidates(name, ("support", "test")),
        key=lambda p: ("conftest" not in p and "fixture" not in p, p),
    )[:30]:
        text = view.services.tree.text(path) or ""
        if not re.search(r"fixture|\.extend", text):
            continue
        lines = view.services.tree.lines(path) or []
        for symbol in view.outline(path).symbols:
            if symbol.name == name and any("fixture" in d for d in symbol.decorators):
                said = (
                    phrases.plain(phrases.sentence(symbol.doc, 90))
                    if symbol.doc
                    else _gives(lines, symbol.start, symbol.end)
                )
                return str(Ref("lines", path, symbol.start, symbol.end)), said
        for number, line in enumerate(lines, 1):
            if re.match(rf"\s*{re.escape(name)}\s*:\s*(async\s*\(|\[)", line):
                end = next(
                    (
                        n
                        for n in range(number, min(len(lines), number + 30))
                        if re.match(r"\s*\}\s*\]?,?\s*$", lines[n])
                    ),
                    number,
                )
                return str(Ref("lines", path, number, max(number, end + 1))), _gives(
                    lines, number, end + 1
                )
    return None


def _gives(lines: list[str], start: int, end: int) -> str:
    """What a fixture hands to the test."""
    for line in lines[start - 1 : end]:
        if match := re.search(
            r"\b(?:yield from|yield|return)\s+([^;]+?);?\s*$|\buse\((.+)\);?\s*$", line
        ):
            value = (match[1] or match[2]).strip()
            return f"gives {phrases.quote(value, 60)}" if len(value) >= 4 else ""
    return ""


def hooks(view: View) -> Iterator[Finding]:
    """What runs around each test of the feature's files."""
    for file in view.tests[:4]:
        if not any(hot.file is file for hot in view.cases):
            continue
        lines: dict[str, list[int]] = defaultdict(list)
        for call in file.details.calls:
            if (
                call.hook
                and not call.hook.startswith("fixture:")
                and call.line not in lines[call.hook]
            ):
                lines[call.hook].append(call.line)
        for hook, numbers in lines.items():
            shown = {
                n: phrases.quote_line(file, n, 80)
                for n in sorted(numbers)
                if hook not in file.lines[n - 1]
            }
            inner = [n for n, quoted in shown.items() if phrases.balanced(quoted)][:3]
            inner = sorted({file.lines[n - 1].strip(): n for n in reversed(inner)}.values())
            if not inner:
                continue
            yield Finding(
                rule="hooks",
                kind="setup",
                text=f"{hook}: " + ", ".join(shown[n] for n in inner),
                sources=(file.cite(inner[0], inner[-1]),),
                reason="it runs around each of the feature's tests",
                score=0.7,
            )

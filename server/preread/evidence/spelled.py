"""Whether tests have a member of a family or a type by other means than its name, or nothing hangs on it."""

import re

from preread.evidence.proofs import absent
from preread.evidence.view import FileView, View
from preread.syntax import Member, Symbol, enclosing

WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")  # of a name
MOST_USERS = 20  # files that a member is looked for in
TAG = re.compile(
    r"\b(?:json|yaml|toml|xml|form|mapstructure):\"([A-Za-z][\w-]{3,})"
)  # what Go reads a field by


def is_reached_otherwise(view: View, file: FileView, member: Member) -> bool:
    """Whether no test that names a member can be missed: tests reach it otherwise, or it is only listed."""
    if member.kind == "field":
        return _is_read_by_tag(view, file, member) or _is_set_by_method(view, file, member)
    return _is_named_otherwise(view, member) or _is_only_listed(view, member)


def _is_read_by_tag(view: View, file: FileView, field: Member) -> bool:
    """Whether tests or what they read have the name that a field is read by from a text."""
    told = TAG.search(file.lines[field.line - 1])
    return told is not None and not absent(view, told[1], view.test_paths)


def _is_set_by_method(view: View, file: FileView, field: Member) -> bool:
    """Whether a method of another name sets a field, and tests have that."""
    sets = re.compile(rf"\w\.{re.escape(field.name)}\s*=[^=]")
    lines = (n for n, line in enumerate(file.lines, 1) if sets.search(line))
    around = (enclosing(file.outline, n) for n in lines)
    names = {one.name for one in around if isinstance(one, Symbol) and one.kind == "method"} - {
        field.name
    }
    return any(
        view.holds(f".{name}(", view.candidates(name, ("test", "support")))
        for name in sorted(names)
    )


def _is_named_otherwise(view: View, member: Member) -> bool:
    """Whether a test of another language has a member as that one writes it: FROM_NOTHING for FromNothing."""
    parts = [part.lower() for part in WORDS.findall(member.name)]
    if len(parts) < 2 or member.kind == "field":
        return False
    twins = {"_".join(parts), "_".join(parts).upper(), "".join(part.title() for part in parts)} - {
        member.name
    }
    return any(
        view.holds(twin, view.candidates(twin, ("test", "support"))) for twin in sorted(twins)
    )


def _is_only_listed(view: View, member: Member) -> bool:
    """Whether code has a member only as the value of a key, as in a list of choices: nothing hangs on it."""
    if member.kind != "enum" or not member.owner:
        return False
    owner, name = re.escape(member.owner.rpartition(".")[2]), re.escape(member.name)
    used = re.compile(rf"(?<![\w.]){owner}(?:\.|::){name}\b")
    listed = re.compile(rf"\s*[\"']?\w+[\"']?\s*:\s*{used.pattern}\s*\}}?,?\s*")
    paths = view.candidates(member.name, ("source",))[:MOST_USERS]
    lines = [
        line for path in paths for line in view.services.tree.lines(path) or () if used.search(line)
    ]
    return bool(lines) and all(map(listed.fullmatch, lines))

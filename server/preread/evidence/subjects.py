"""Subjects: what a commit's message tells: whether it changed what the code does, whether it turned round, and why."""

import re
from collections import Counter
from collections.abc import Iterable

from preread.evidence import phrases
from preread.evidence.nearness import nearness
from preread.evidence.view import View, once
from preread.index import gitlog, words
from preread.index.gitlog import CHORE, NOISE, Commit
from preread.syntax.languages import own_role

TURN = re.compile(
    r"(?i)^(drop|remove|disable|stop|switch|swap|hide|undo|restore|bring back|add back|put back|do not|don['’]?t)"
    r"\b(?!-| for\b)"
    r"|\b(no longer|add(?:ed)? back|taken? out|put back|in favou?r of|renamed? (?:to|from)"
    r"|(?:was|were|been|now) (?:removed|deprecated|disabled)|default (?:to|from|is|of)|set default"
    r"|(?:no|not) any ?more|back to|again|warning instead|instead of (?:an? )?(?:error|warning|raising|failing))\b"
)
LINKED = re.compile(
    r"(?i)(?:[,;.]?\s*[(,]?(?:(?:fix(?:es)?|closes|resolves|refs?|see)\s+)?"
    r"(?:\[?#\d+\]?(?:\(\S+\))?|:?\{?(?:pr|issue|ref)\}?:?`\d+`|Pull #\d+)\)?)+\.?$"
)


EMPTY = re.compile(
    r"(?i)https?://\S+|#\d+|\b(?:fix(?:e[sd]|ing)?|issues?|bugs?|patch|hotfix|tweaks?|follow.?up|update[sd]?|improve\w*|some|more"
    r"|small|minor|stuff|things?|the|an?|of|for|in|it|this|and|again|review|feedback|regression|problems?|errors?)\b"
)
HOT = 0.5  # of a definition whose name tells that a title is about the feature
CODE, HALF = frozenset({"source", "test", "support"}), 0.5
TELLING = 2  # words beside the feature's own that a fix without a reason has to have
MORE = 2  # letters that a name has beyond another's when it is no plural of it
GOES = re.compile(
    r"(?i)\b(?:remov|renam|deprecat|drop|replac)\w*|\binstead of\b"
)  # what it names need not stand any more
CODED = re.compile(
    r"`([^`]+)`|(--[a-z][\w-]{3,}|\b[A-Za-z]+(?:_[A-Za-z]+)+|\b[a-z]{2,}(?:[A-Z][a-z]+)+\w*|\b(?:[A-Z][a-z]+){3,}\b)"
)
NAME = re.compile(
    r"--[a-z][\w-]{3,}|\b[A-Za-z]+(?:_[A-Za-z]+)+|\b[A-Za-z]*[a-z][A-Z]\w+"
)  # of an option or of code
TITLE = 140  # characters of a subject that are told
CLAUSE = re.compile(
    r"[,;:.]? [(–—-]|[,;:.](?= )| (?=(?:in order )?(?:to|so|and|but|when|if|because|by|for) )"
)  # where one ends
GENERIC = frozenset(
    words.stem(word)
    for word in """
    fixed fixes fix correct again error errors bug regression issue crash prevent handle handling support improve better
    properly should would could when with without from into that this make allow ensure using used after before instead
    behavior behaviour case cases test tests code function method option options value values remove refactor simplify
    update change changes more some only also logic cleanup clean move rename rewrite implement introduce missing wrong
    broken edge work works working show return call back default public client server custom long false true none small
    name names large skip split allow include multiple init initial small extra
    """.split()
)


def is_change(commit: Commit) -> bool:
    """Whether a commit changed what the code does, as far as its subject tells."""
    return not (commit.is_revert or NOISE.search(commit.subject) or CHORE.search(commit.subject))


def turned(commit: Commit) -> bool:
    """Whether a subject tells of a change of mind."""
    return TURN.search(phrases.subject(commit.subject)) is not None


def says(commit: Commit) -> bool:
    """Whether a subject says what was changed: `Fix patch` and `Fix issue <address>` do not."""
    return len(words.IDENTIFIER.findall(EMPTY.sub(" ", short(commit)))) > 1


def names(view: View) -> frozenset[str]:
    """Names of the feature's definitions, and those that its description spells out: no plain words."""
    return _names(view)[0]


@once
def _names(view: View) -> list[frozenset[str]]:
    hot = {hot.symbol.name for hot in view.symbols if hot.score >= HOT and view.is_telling(hot)}
    spelled = {name for name in hot if "_" in name.strip("_") or re.search(r"[a-z][A-Z]", name)}
    return [
        view.spelled | {name for name in spelled if all(_holds(name, stem) for stem in view.wanted)}
    ]


def holds_most(view: View, text: str) -> bool:
    """Whether a text holds the words of the feature's name, in whatever form: two of them, where it has more."""
    found = words.IDENTIFIER.findall(text)
    held = sum(any(_holds(name, stem) for name in found) for stem in view.wanted)
    return held >= min(2, len(view.wanted))


def _holds(name: str, stem: str) -> bool:
    """Whether a name has a word or another form of it: `complete` for `completion`."""
    return any(
        part.startswith(stem) or (len(part) > 3 and stem.startswith(part))
        for part in words.stems(name)
    )


def compact(text: str) -> str:
    """A text as names of options, settings and code share it: `--line-ranges` and `line_ranges` are one."""
    return re.sub(r"[-_]+", "", text).lower()


def without_others(view: View, text: str) -> str:
    """A text without names of code and options that hold more than the feature's and stand neither in its description
    nor in its first files: `--watch-extensions` tells nothing of `watch`."""
    own = compact("".join(view.query.feature))
    if own not in compact(text):
        return text
    here = compact(" ".join([view.request.description, *(file.text for file in view.sources[:2])]))

    def kept(match: re.Match[str]) -> str:
        name = compact(match[0])
        more = name.startswith(own) and len(name) > len(own) + MORE
        more |= own in name and len(words.parts(match[0])) > len(view.query.feature) + 1
        return " " if more and name not in here else match[0]

    return NAME.sub(kept, text)


def is_named(view: View, commit: Commit) -> bool:
    """Whether a subject holds the feature's name, or that of one of its definitions."""
    subject = phrases.subject(commit.subject)
    return nearness(view).named_in(subject) or holds_name(view, subject)


def holds_name(view: View, text: str) -> bool:
    """Whether a text holds the name of one of the feature's definitions."""
    return not names(view).isdisjoint(words.IDENTIFIER.findall(text))


def topic_of(subject: str, shortest: int = 4) -> set[str]:
    """Stems of the words of a subject that say what it is about."""
    found = {
        words.stem(word)
        for word in words.of_sentence(phrases.subject(subject))
        if len(word) >= shortest
    }
    return {stem for stem in found if stem not in GENERIC}


def tells(view: View, subject: str) -> bool:
    """Whether a subject says more than that something of the feature was fixed."""
    found = (
        name
        for name in words.IDENTIFIER.findall(subject)
        if not all(_holds(name, one) for one in view.wanted)
    )
    return len(topic_of(" ".join(found), 3) - view.wanted) >= TELLING


def code_of(commit: Commit) -> list[str]:
    """The files of code that a commit changed, tests too."""
    return [path for path in commit.files if own_role(path) in CODE]


def only_tests(commit: Commit) -> bool:
    """Whether a commit changed how something is tested, not what it does."""
    code = code_of(commit)
    return bool(code) and all(own_role(path) != "source" for path in code)


def stands(view: View, commit: Commit) -> bool:
    """Whether a commit was about the feature, nobody took it back, and something of what it names is left."""
    back = any(commit.sha.startswith(sha) for sha in _taken_back(view))
    return not (back or _is_elsewhere(view, commit) or is_gone(view, commit.subject, but_own=True))


def is_gone(view: View, said: str, *, but_own: bool = False) -> bool:
    """Whether nothing of the code that a text names stands anywhere, though it does not tell that it went; names that
    hold the feature's can be taken for standing, under another name."""
    if view.whole_project or GOES.search(said):
        return False
    spans = [span or name for span, name in CODED.findall(said)]
    found = dict.fromkeys(name for span in spans for name in NAME.findall(span))
    own = but_own and any(all(_holds(name, stem) for stem in view.wanted) for name in found)
    return bool(found) and not own and not any(_is_here(view, name) for name in found)


def _is_here(view: View, name: str) -> bool:
    (files,) = _files_compact(view)
    return compact(name) in files or view.holds(name, view.candidates(name.strip("-"), ("source",)))


@once
def _files_compact(view: View) -> list[str]:
    return [compact("\n".join(file.text for file in view.sources))]


@once
def _taken_back(view: View) -> list[str]:
    return sorted(gitlog.taken_back(view.kept.log))


def _is_elsewhere(view: View, commit: Commit) -> bool:
    """Whether a commit changed other parts of the project: no file of the feature, none that is called so, and not
    mostly code that is gone since; or what is gone with all its words."""
    if view.whole_project or not commit.files:
        return False
    here, code = view.services.tree.files, code_of(commit)
    if any(
        path in _own_files(view) or view.relevance(path) >= HALF for path in code or commit.files
    ):
        return False
    if 2 * sum(path in here for path in code) >= len(code):
        return True
    left = topic_of(commit.subject) - view.wanted
    (said,) = _said(view)
    return bool(left) and not any(stem[:-1] in said for stem in left)


@once
def _own_files(view: View) -> list[str]:
    """The files that were chosen for the feature and hold a word of its name."""
    held = [stem[:-1] for stem in view.wanted]
    files = (*view.sources, *view.tests, *view.docs)
    return [
        file.path
        for file in files
        if any(word in f"{file.path}\n{file.text}".lower() for word in held)
    ]


@once
def _said(view: View) -> list[str]:
    return ["\n".join(file.text for file in view.sources[:4]).lower()]


def is_moved(view: View, commit: Commit) -> bool:
    """Whether a commit put the same lines elsewhere in the feature's files, as far as its patches are known."""
    gone, new = Counter[str](), Counter[str]()
    for patch in view.patches:
        if patch.commit.sha == commit.sha:
            gone.update(map(str.strip, patch.removed))
            new.update(map(str.strip, patch.added))
    gone[""] = new[""] = 0
    return gone == new and gone.total() > 0


def without_twins(commits: Iterable[Commit]) -> list[Commit]:
    """The commits without those that were picked onto another branch: of several with one subject the first."""
    return list({short(commit).lower(): commit for commit in reversed(list(commits))}.values())[
        ::-1
    ]


def short(commit: Commit) -> str:
    """A commit's subject without its prefix and the number of its review."""
    return short_of(commit.subject)


def short_of(subject: str) -> str:
    """A subject without its prefix and the number of its review."""
    return LINKED.sub("", phrases.subject(subject))


def title(commit: Commit) -> str:
    """A commit's subject as a quote, with the part of the project that it begins with; whole, or to a clause's end."""
    text, scope = short(commit), re.match(r"([\w-]+): ", commit.subject)
    folders = {part.lower() for path in commit.files for part in re.split(r"[/.]", path)}
    if scope and scope[1].lower() in folders and text in commit.subject:
        text = scope[0] + text
    return quoted(text)


def quoted(text: str) -> str:
    """A title as a quote, whole, or up to where a clause of it ends and no bracket is open."""
    if len(text) > TITLE or not phrases.complete(text):
        ends = [m.start() for m in CLAUSE.finditer(text[: TITLE + 1]) if m.start() >= TITLE // 5]
        text = next((text[:end] for end in reversed(ends) if phrases.complete(text[:end])), text)
    return phrases.quote(text, TITLE)


def because(commit: Commit) -> str:
    """The first sentence that a commit's author wrote of it beside the subject, of those who wrote any."""
    first = (
        re.sub(
            r"This reverts commit [0-9a-f]+(?:, reversing\s+changes made to [0-9a-f]+)?[.,]?",
            "",
            commit.body,
        )
        .strip()
        .partition("\n\n")[0]
    )
    said = phrases.sentence(first, 200) if _is_prose(first) else ""
    if said.endswith(":") or said.lower() == short(commit).lower():
        return ""  # what a colon leads to is not told
    return phrases.plain(said)


def _is_prose(first: str) -> bool:
    return len(first) > 25 and not re.match(
        r"(?i)[*#<-]|co-authored|signed-off|git-svn|https?:|closes|fixes|resolves|refs?\b|bumps|\(cherry|this reverts"
        r"|also\b",
        first,
    )

"""A commit's message as a task: without anything that names the files, the issue, the author or
the tool.
"""

import re

MOST_CHARACTERS = 2_000  # of a body; more is a list of squashed commits
_EXTENSIONS = (
    "py pyi pyx js jsx mjs cjs ts tsx mts cts go rs java kt kts c h cc cpp hpp cs rb php swift lua "
    "sh bash sql html htm"
    " vue svelte css scss less json jsonc ya?ml toml ini cfg md mdx rst txt lock snap xml csproj "
    "sln gradle proto tf"
    " hcl"
).replace(" ", "|")
_FILE = re.compile(
    rf"(?<![\w@])[\w@./\\\-\[\]]*[\w\])]\.(?:{_EXTENSIONS})(?::\d+)*(?![\w/])(?!\.\w)"
)
_SLASHED = re.compile(r"(?<![\w@.])[@.~]?[\w.\-]*(?:/[\w.\-@]+)+/?")
_REMOVED = (
    re.compile(r"<!--.*?-->", re.DOTALL),
    re.compile(r"\b\w+://\S+|\bwww\.\S+"),
    re.compile(r"^\s*[-*]\s*\[[ xX]\].*$", re.MULTILINE),  # a pull request template's boxes
    re.compile(r"^\s*\(?cherry[- ]picked from.*$", re.MULTILINE | re.IGNORECASE),
    re.compile(
        r"^\s*[*>\s]*[A-Za-z][A-Za-z\-]*-(by|session|id|to|on|link|issue)\s*:.*$",
        re.MULTILINE | re.IGNORECASE,
    ),
    re.compile(
        r"^\s*(cc|refs?|see|issue|bug|link|pr|ticket|reviewers?)\s*:.*$",
        re.MULTILINE | re.IGNORECASE,
    ),
    re.compile(r"\[PR #[^\]]*\](\[[\w.]+\])?", re.IGNORECASE),
    re.compile(
        r"\(?\b(?:(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?|refs?|references|see|from|gh|pr"
        r"|pull request|issue"
        r"|follow[- ]up (?:on|to))"
        r"[:\s]+)*(?:[\w.\-]+/[\w.\-]+)?(?:#|\bGH-)\d+\b\)?",
        re.IGNORECASE,
    ),
    re.compile(r"\(?#\d+\)?"),
    re.compile(r"<?[\w.+\-]+@[\w\-]+\.[\w.\-]+>?|(?<!\w)@[\w\-]+(?=[\s,.)]|$)"),
    re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b"),
)
WORD = re.compile(r"[^\W\d_]{3,}")
_IDLE = frozenset(
    "the and for with from that this add adds added fix fixes fixed use uses used make makes when "
    "into not feat chore"
    " update updates remove removes removed refactor test tests testing minor some more improve "
    "docs doc change changes"
    " support".split()
)


def clean(text: str, places: frozenset[str] = frozenset()) -> str:
    """The text without URLs, trailers, references, addresses, commit ids, file names, and paths in
    `places`.
    """
    for pattern in _REMOVED:
        text = pattern.sub(" ", text)
    text = _FILE.sub(" ", text)
    text = _SLASHED.sub(lambda found: " " if _is_path(found[0], places) else found[0], text)
    lines = (re.sub(r"\s+", " ", line).strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if WORD.search(line))[:MOST_CHARACTERS]


def _is_path(token: str, places: frozenset[str]) -> bool:
    """`and/or` and `GET/POST` stay; `src/app/login` goes, and whatever is a folder or a file of
    the tree.
    """
    bare = token.strip("./~@").lower()
    return bare.count("/") > 1 or bare in places


def places_of(paths: list[str]) -> frozenset[str]:
    """Every tail, of two names or more, of every folder and of every file with and without its
    suffix.
    """
    found: set[str] = set()
    for path in paths:
        names = path.lower().split("/")
        names[-1] = names[-1].split(".", 1)[0] or names[-1]
        for end in range(2, len(names) + 1):
            found.update("/".join(names[begin:end]) for begin in range(end - 1))
    return frozenset(found)


def named_words(text: str) -> list[str]:
    """The different words of a text that say something about a place in the code, in their order."""
    return list(dict.fromkeys(word for word in WORD.findall(text) if word.lower() not in _IDLE))


def telling_words(text: str) -> int:
    return len({word.lower() for word in named_words(text)})


def subject_key(subject: str) -> str:
    """What two commits with the same task have in common: the words of the subject, without
    numbers and references.
    """
    return " ".join(word.lower() for word in WORD.findall(clean(subject)))

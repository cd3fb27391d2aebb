"""What must never be published: keys and tokens by their well-known shapes, and the values of `.env` files."""

import math
import os
import re
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple


class Shape(NamedTuple):
    """A kind of secret: texts of which one stands in every such secret, and the pattern, compiled only then.

    No pattern begins inside a run of its own characters, so that a search costs a text's length, not its square.
    `random` is for the kinds that words could look like: what matched has to look random, too.
    """

    kind: str
    marks: tuple[str, ...]
    pattern: str
    random: bool = False


_START = r"(?<![A-Za-z0-9_-])"
_KEYED = re.compile(
    r"(?i)(?:passw(?:or)?d|passphrase|pwd|secret|token|(?:api|access|private|auth|account|encryption|signing)[_-]?key"
    r"|credentials?)[\w-]{0,20}+[\"'`\])]{0,3}[ \t]{0,4}(?:=>|:=|[:=])[ \t]{0,4}[\"'`]{0,2}"
    r"([A-Za-z0-9+/=_.~!@#$%^&*-]{12,512}+)(?![(\[{<\\])"
)
_KEY_WORDS = ("passw", "passphrase", "pwd", "secret", "token", "key", "credential")
_BASIC_AUTH = re.compile(r"://([^\s/:@\"'`<>]{0,80}):([^\s/@\"'`<>]{4,200})@([\w.-]{1,253})")
_LOCAL = re.compile(
    r"localhost|127\..*|0\.0\.0\.0|.*\b(?:example|invalid|test|local)(?:\.(?:com|org|net|edu))?|[^.]*"
)
# Texts that say of a value that it stands for another one.
_PLACEHOLDER = re.compile(
    r"(?i)example|your|placeholder|change[_-]?me|redacted|dummy|fake|sample|insert|replace|to[_-]?do"
    r"|x{4}|\*{3}|\.{3}|0{6}|012345|123456|abcdef|\$\{|\$\(|\{\{|process\.env|environ|<[a-z]"
)


def _row(kind: str, marks: str, pattern: str, *, random: bool = False) -> Shape:
    return Shape(kind, tuple(marks.split()), _START + pattern, random)


# Compare the rules of gitleaks, detect-secrets and GitHub's secret scanning.
SHAPES: tuple[Shape, ...] = (
    _row("AWS access key", "AKIA ASIA", r"A[KS]IA[A-Z2-7]{16}(?![A-Za-z0-9])"),
    _row("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[oprsu]_[A-Za-z0-9]{36,}+"),
    _row("GitHub token", "github_pat_", r"github_pat_\w{22,}+"),
    _row("GitLab token", "gl", r"gl(?:pat|ptt|dt|rt|cbt|ft|soat|oas|imt|agent)-[\w-]{20,}+"),
    _row("Slack token", "xox xapp-", r"(?:xox[abeoprs]|xapp-\d)-[A-Za-z0-9-]{10,}+", random=True),
    _row(
        "Slack webhook",
        "hooks.slack.com/",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/[\w/]{30,}+",
    ),
    _row(
        "Stripe key",
        "_live_ _test_ _prod_",
        r"[rs]k_(?:live|test|prod)_[A-Za-z0-9]{16,}+",
        random=True,
    ),
    _row("webhook secret", "whsec_", r"whsec_[A-Za-z0-9+/=]{24,}+", random=True),
    _row("key of a model's service", "sk-", r"sk-[\w-]{20,}+", random=True),
    _row(
        "key of a model's service",
        "gsk_ xai- pplx- r8_",
        r"(?:gsk_|xai-|pplx-|r8_)[A-Za-z0-9]{36,}+",
        random=True,
    ),
    _row("Hugging Face token", "hf_", r"hf_[A-Za-z]{34}(?!\w)"),
    _row("Google API key", "AIza", r"AIza[\w-]{35}(?![\w-])"),
    _row("Google secret", "GOCSPX- ya29.", r"(?:GOCSPX-[\w-]{28}|ya29\.[\w-]{20,}+)"),
    _row("npm token", "npm_", r"npm_[A-Za-z0-9]{36}(?!\w)"),
    _row("PyPI token", "pypi-", r"pypi-[\w-]{50,}+"),
    _row("JSON web token", "eyJ", r"eyJ[\w-]{8,}+\.eyJ[\w-]{8,}+\.[\w-]{8,}+"),
    _row("SendGrid key", "SG.", r"SG\.[\w-]{20,24}\.[\w-]{39,50}(?![\w-])"),
    _row("Twilio key", "SK AC", r"(?:SK|AC)[0-9a-f]{32}(?!\w)"),
    _row(
        "Azure key",
        "AccountKey= SharedAccessKey=",
        r"(?:AccountKey|SharedAccessKey)=[A-Za-z0-9+/]{40,}+=*",
    ),
    _row("Telegram token", ":AA", r"\d{8,10}:AA[\w-]{32,34}(?![\w-])"),
    _row("Discord token", ".", r"[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,40}(?![\w-])", random=True),
    _row(
        "Discord webhook",
        "/api/webhooks/",
        r"discord(?:app)?\.com/api/webhooks/\d{10,}+/[\w-]{40,}+",
    ),
    _row("DigitalOcean token", "_v1_", r"do[opr]_v1_[0-9a-f]{64}"),
    _row("Shopify token", "shp", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    _row("Databricks token", "dapi", r"dapi[0-9a-f]{32}"),
    _row("Linear key", "lin_api_", r"lin_api_[A-Za-z0-9]{40}"),
    _row("Mailgun key", "key-", r"key-[0-9a-f]{32}(?!\w)"),
    _row("Mailchimp key", "-us", r"[0-9a-f]{32}-us\d{1,2}(?!\w)"),
    _row("New Relic key", "NRAK-", r"NRAK-[A-Z0-9]{27}"),
    _row("Sentry token", "sntry", r"sntry[su]_[\w+/=-]{40,}+"),
    _row("Vault token", "hvs.", r"hvs\.[\w-]{24,}+"),
    _row("Postman key", "PMAK-", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    _row("Atlassian token", "ATATT3 ATCTT3", r"AT[AC]TT3[\w=-]{40,}+"),
    _row("Supabase key", "sbp_ sb_secret_", r"(?:sbp_[0-9a-f]{40}|sb_secret_[\w-]{20,}+)"),
    _row("age key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    Shape(
        "private key",
        ("PRIVATE KEY",),
        r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY(?: BLOCK)?-----[\s\\nr\"'`+,]{1,40}+[A-Za-z0-9+/=:]{8}",
    ),
    Shape("private key", ("MII",), r"(?<![A-Za-z0-9+/])MII(?![BC]IjANBg)[A-Za-z0-9+/]{57,}+"),
    Shape("bearer token", ("earer ",), r"\b[Bb]earer +([\w.~+/=-]{20,}+)", random=True),
)
_MARKED = tuple((mark, row) for row in SHAPES for mark in row.marks)


def shape(text: str) -> str:
    """What kind of secret stands in a text, by its shape alone; empty when none does."""
    for mark, row in _MARKED:
        if mark in text:
            for match in re.finditer(row.pattern, text):
                value = match[match.lastindex or 0]
                if not _is_placeholder(value) and (not row.random or looks_random(value)):
                    return row.kind
    if (
        "://" in text
        and "@" in text
        and any(_is_login(*match.groups()) for match in _BASIC_AUTH.finditer(text))
    ):
        return "password in a URL"
    lower = text.lower()
    if any(word in lower for word in _KEY_WORDS) and any(
        _is_real(match[1]) for match in _KEYED.finditer(text)
    ):
        return "password or key"
    return ""


def _is_placeholder(value: str) -> bool:
    """Whether a value stands for another one; in a long random one four letters are a word by chance."""
    return len(value) <= 64 and _PLACEHOLDER.search(value) is not None


def _is_login(user: str, password: str, host: str) -> bool:
    """Whether `user:password@host` would let somebody in; examples and databases on one's own machine would not."""
    plain = password.lower() in {user.lower(), "pass", "token"} or re.search(
        r"(?i)passw|secret|foobar", password
    )
    return not (
        plain or _is_placeholder(password) or "$" in password[:1] or _LOCAL.fullmatch(host.lower())
    )


def _is_real(value: str) -> bool:
    """Whether what is assigned to a password or a key is one: not code, a word, a path or a placeholder."""
    value = value.rstrip(".")
    is_code = re.fullmatch(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+", value)
    return not (is_code or _is_placeholder(value)) and looks_random(value)


CHANGES = (
    0.22  # from one class of characters to another, a character; random letters and digits have 0.4
)
ENTROPY = 3.0  # bits a character; 16 hex digits have at most 4


def looks_random(text: str) -> bool:
    """Whether a text is nothing that a person would write: letters and digits mixed, within its words, too.

    Its entropy alone does not tell a key from an identifier: `oauth2TokenProviderV2` has 4 bits a character.
    """
    pieces = re.findall(r"[A-Za-z0-9]+", text)
    size = sum(map(len, pieces))
    changes = sum(len(re.findall(r"[A-Z]*[a-z]+|[A-Z]+|[0-9]+", piece)) - 1 for piece in pieces)
    return (
        size >= 12
        and changes >= CHANGES * size
        and entropy(text) >= ENTROPY
        and any(c.isdigit() for c in text)
    )


def entropy(text: str) -> float:
    """Shannon's entropy of a text's characters, in bits a character."""
    counts = Counter(text)
    return -sum(n / len(text) * math.log2(n / len(text)) for n in counts.values())


class Credentials:
    """The secrets that one project's texts are searched for. Made anew for each check: `.env` files change."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @cached_property
    def values(self) -> tuple[str, ...]:
        """The values of the project's `.env` files that nothing else would say."""
        return _secrets(self.root)

    def found(self, text: str) -> str:
        """What kind of secret stands in a text, in words that do not repeat it; empty when none does."""
        if kind := shape(text):
            return kind
        return "value of a .env file" if any(value in text for value in self.values) else ""

    def without(self, text: str) -> str:
        """A text without its lines that hold a secret; nothing of it where one goes over several lines."""
        if not text or not self.found(text):
            return text
        kept = "\n".join(line for line in text.split("\n") if not self.found(line))
        return "" if self.found(kept) else kept


# -- values of `.env` files, which are mostly ignored by git and so looked for on the disk

MOST_FOLDERS, MOST_ENTRIES = 300, 20_000
MOST_FILES, MOST_BYTES = 50, 64_000
MOST_VALUES, LEAST_LENGTH = 1000, 8
EXAMPLES = ("example", "sample", "template", "dist", "defaults")
ENV_FOLDER = "/.envs/"  # all files below are env files
SKIPPED = frozenset(
    """
    .git .hg .svn .project node_modules bower_components vendor venv .venv env .tox .nox __pycache__ site-packages
    dist build target coverage .next .nuxt .cache .gradle .terraform .mypy_cache .pytest_cache .ruff_cache Pods .idea
    """.split()
)
_ASSIGNED = re.compile(r"\s*(?:export\s+)?([A-Za-z_][\w.]{0,200})\s*[=:]\s*(.*)")
_SECRET_NAME = re.compile(
    r"(?i).*(?:pass(?:wor[dt]|wd|phrase)?|pwd|secret|token|credentials?"
    r"|(?:api|secret|private|access|encryption|signing|account|auth)_?key)(?:_?base|_?\d+)?"
)
_COMMON = re.compile(r"(?i)passw|^test|1234")  # of passwords that nobody keeps secret
_WORD = re.compile(r"[A-Za-z]+")
_PLAIN = re.compile(
    r"[\d\s.,:/+%TZ-]+|[.~]{0,2}/[\w./ @-]*|[A-Za-z]:\\[\w.\\ -]*|\w[\w.+-]*@[\w-]+\.[\w.-]+"
)
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://\S*")  # its parts are looked at one by one
_PARTS = re.compile(r"[\s,;:\"'{}()&?=@/|<>\[\]]+")


def _secrets(root: Path) -> tuple[str, ...]:
    """The values in `.env` files that are not said by their examples, and that no ordinary text would hold."""
    files = _env_files(root)
    examples = "\n".join(_text(path) for path, is_example in files if is_example)
    found: dict[str, None] = {}
    for path, is_example in files:
        for name, value in () if is_example else _assignments(_text(path)):
            found |= dict.fromkeys(v for v in _secret_parts(name, value) if v not in examples)
        if len(found) > MOST_VALUES:
            break
    return tuple(found)[:MOST_VALUES]


def _env_files(root: Path) -> list[tuple[str, bool]]:
    """The `.env` files of a project, shallow folders first, and whether each is an example; no link is followed."""
    found: list[tuple[str, bool]] = []
    folders, entries = [str(root)], 0
    for folder in folders:  # it grows while it is walked
        all_are = ENV_FOLDER in f"{folder[len(folders[0]) :]}/"
        try:
            with os.scandir(folder) as listed:
                for entry in listed:
                    entries += 1
                    name = entry.name
                    if (all_are or _is_named_env(name)) and entry.is_file(follow_symlinks=False):
                        found.append((entry.path, _is_example(name)))
                    if (
                        name not in SKIPPED
                        and len(folders) < MOST_FOLDERS
                        and entry.is_dir(follow_symlinks=False)
                    ):
                        folders.append(entry.path)
        except OSError:
            continue  # unreadable, or gone meanwhile
        if entries > MOST_ENTRIES or len(found) >= MOST_FILES:
            break
    return found[:MOST_FILES]


def is_env_file(name: str) -> bool:
    """Whether a file of this name holds a machine's variables, and not the example of them."""
    return _is_named_env(name) and not _is_example(name)


def _is_named_env(name: str) -> bool:
    return name.startswith(".env") or name.endswith(".env")


def _is_example(name: str) -> bool:
    return any(word in EXAMPLES for word in name.lower().split("."))


def _text(path: str) -> str:
    """The beginning of a regular file; empty for everything else."""
    try:
        handle = os.open(
            path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        )
    except OSError:
        return ""
    try:
        with os.fdopen(handle, "rb") as file:
            return file.read(MOST_BYTES).decode("utf-8", "replace")
    except OSError:  # a folder, or a pipe with nothing in it
        return ""


def _assignments(text: str) -> Iterator[tuple[str, str]]:
    """Names and values; a quoted value can go over several lines, which are given one by one."""
    lines = iter(text.split("\n"))
    for line in lines:
        match = _ASSIGNED.match(line)
        if not match:
            continue
        name, value = match[1], match[2].strip()
        quote = value[:1] if value[:1] in {'"', "'", "`"} else ""
        if not quote:
            value = re.split(r"\s#", value, maxsplit=1)[0].strip()
        elif quote in value[1:]:
            value = value[1 : value.index(quote, 1)]
        else:
            value = value[1:]
            for more in lines:
                yield name, more.split(quote)[0].strip()
                if quote in more:
                    break
        yield from ((name, part.strip()) for part in value.split("\\n"))


def _secret_parts(name: str, value: str) -> Iterator[str]:
    """A value if it is a secret, and the parts of it that are secrets by themselves: of a URL, of JSON."""
    if len(value) >= LEAST_LENGTH and _is_secret(name, value):
        yield value
    for login in _BASIC_AUTH.finditer(value):
        if (
            len(login[2]) >= LEAST_LENGTH
            and not _WORD.fullmatch(login[2])
            and not _is_common(login[2])
        ):
            yield login[2]
    yield from (part for part in _PARTS.split(value) if part != value and looks_random(part))


def _is_secret(name: str, value: str) -> bool:
    if (
        _PLAIN.fullmatch(value)
        or _URL.fullmatch(value)
        or _WORD.fullmatch(value)
        or _is_common(value)
    ):
        return False
    if _SECRET_NAME.fullmatch(name) or looks_random(value):
        return True
    kinds = (r"[a-zA-Z]", r"\d", r"[!#$%^&*~+=?]")
    return " " not in value and all(re.search(kind, value) for kind in kinds)


def _is_common(value: str) -> bool:
    return _is_placeholder(value) or _COMMON.search(value) is not None

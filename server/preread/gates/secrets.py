"""Keys, tokens and passwords in text: finds them by their shape, and hides them.

Finding would rather miss one than drop a true fact; hiding would rather hide too much. The patterns
are for Python 3.8, which has no possessive quantifiers.
"""

from __future__ import annotations

import re

from preread.gates import named_secrets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Match

HIDDEN = "***"


class Shape:
    """A kind of secret: its pattern, and `marks`, one of which is in every such secret.

    The pattern is compiled only when a mark is found. No pattern begins inside a run of its own
    characters, so that a search takes linear time. `random` is for kinds that ordinary words could
    match: a match has to look random, too.
    """

    __slots__ = ("kind", "marks", "pattern", "random")

    def __init__(
        self, kind: str, marks: tuple[str, ...], pattern: str, random: bool = False
    ) -> None:
        self.kind = kind
        self.marks = marks
        self.pattern = pattern
        self.random = random


_START = r"(?<![A-Za-z0-9_-])"
# `password = "…"`. The lookahead works as an atomic group: a value that is part of code does not
# match.
_ASSIGNED = re.compile(
    r"(?i)(?:passw(?:or)?d|passphrase|pwd|secret|token|credentials?"
    r"|(?:api|access|private|auth|account|encryption|signing)[_-]?key)"
    r"[\w-]{0,20}[\"'`\])]{0,3}[ \t]{0,4}(?:=>|:=|[:=])[ \t]{0,4}[\"'`]{0,2}"
    r"(?=([A-Za-z0-9+/=_.~!@#$%^&*-]{12,512}))\1(?![(\[{<\\])"
)
_ASSIGNED_MARKS = ("passw", "passphrase", "pwd", "secret", "token", "key", "credential")
_LOGIN = re.compile(r"://([^\s/:@\"'`<>]{0,80}):([^\s/@\"'`<>]{4,200})@([\w.-]{1,253})")
_LOCAL_HOST = re.compile(
    r"localhost|127\..*|0\.0\.0\.0|[^.]*"
    r"|.*\b(?:example|invalid|test|local)(?:\.(?:com|org|net|edu))?"
)
# Parts of a value that is only a placeholder for a real one.
_PLACEHOLDER = re.compile(
    r"(?i)example|your|placeholder|change[_-]?me|redacted|dummy|fake|sample|insert|replace"
    r"|to[_-]?do|x{4}|\*{3}|\.{3}|0{6}|012345|123456|abcdef|\$\{|\$\(|\{\{"
    r"|process\.env|environ|<[a-z]"
)


def _row(kind: str, marks: str, pattern: str, random: bool = False) -> Shape:
    return Shape(kind, tuple(marks.split()), _START + pattern, random)


SHAPES = (
    _row("AWS access key", "AKIA ASIA", r"A[KS]IA[A-Z2-7]{16}(?![A-Za-z0-9])"),
    _row("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[oprsu]_[A-Za-z0-9]{36,}"),
    _row("GitHub token", "github_pat_", r"github_pat_\w{22,}"),
    _row("GitLab token", "gl", r"gl(?:pat|ptt|dt|rt|cbt|ft|soat|oas|imt|agent)-[\w-]{20,}"),
    _row("Slack token", "xox xapp-", r"(?:xox[abeoprs]|xapp-\d)-[A-Za-z0-9-]{10,}", random=True),
    _row(
        "Slack webhook",
        "hooks.slack.com/",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/[\w/]{30,}",
    ),
    _row(
        "Stripe key",
        "_live_ _test_ _prod_",
        r"[rs]k_(?:live|test|prod)_[A-Za-z0-9]{16,}",
        random=True,
    ),
    _row("webhook secret", "whsec_", r"whsec_[A-Za-z0-9+/=]{24,}", random=True),
    _row("key of a model's service", "sk-", r"sk-[\w-]{20,}", random=True),
    _row(
        "key of a model's service",
        "gsk_ xai- pplx- r8_",
        r"(?:gsk_|xai-|pplx-|r8_)[A-Za-z0-9]{36,}",
        random=True,
    ),
    _row("Hugging Face token", "hf_", r"hf_[A-Za-z]{34}(?!\w)"),
    _row("Google API key", "AIza", r"AIza[\w-]{35}(?![\w-])"),
    _row("Google secret", "GOCSPX- ya29.", r"(?:GOCSPX-[\w-]{28}|ya29\.[\w-]{20,})"),
    _row("npm token", "npm_", r"npm_[A-Za-z0-9]{36}(?!\w)"),
    _row("PyPI token", "pypi-", r"pypi-[\w-]{50,}"),
    _row("JSON web token", "eyJ", r"eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}"),
    _row("SendGrid key", "SG.", r"SG\.[\w-]{20,24}\.[\w-]{39,50}(?![\w-])"),
    _row("Twilio key", "SK AC", r"(?:SK|AC)[0-9a-f]{32}(?!\w)"),
    _row(
        "Azure key",
        "AccountKey= SharedAccessKey=",
        r"(?:AccountKey|SharedAccessKey)=[A-Za-z0-9+/]{40,}=*",
    ),
    _row("Telegram token", ":AA", r"\d{8,10}:AA[\w-]{32,34}(?![\w-])"),
    _row("Discord token", ".", r"[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,40}(?![\w-])", random=True),
    _row(
        "Discord webhook",
        "/api/webhooks/",
        r"discord(?:app)?\.com/api/webhooks/\d{10,}/[\w-]{40,}",
    ),
    _row("DigitalOcean token", "_v1_", r"do[opr]_v1_[0-9a-f]{64}"),
    _row("Shopify token", "shp", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    _row("Databricks token", "dapi", r"dapi[0-9a-f]{32}"),
    _row("Linear key", "lin_api_", r"lin_api_[A-Za-z0-9]{40}"),
    _row("Mailgun key", "key-", r"key-[0-9a-f]{32}(?!\w)"),
    _row("Mailchimp key", "-us", r"[0-9a-f]{32}-us\d{1,2}(?!\w)"),
    _row("New Relic key", "NRAK-", r"NRAK-[A-Z0-9]{27}"),
    _row("Sentry token", "sntry", r"sntry[su]_[\w+/=-]{40,}"),
    _row("Vault token", "hvs.", r"hvs\.[\w-]{24,}"),
    _row("Postman key", "PMAK-", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    _row("Atlassian token", "ATATT3 ATCTT3", r"AT[AC]TT3[\w=-]{40,}"),
    _row("Supabase key", "sbp_ sb_secret_", r"(?:sbp_[0-9a-f]{40}|sb_secret_[\w-]{20,})"),
    _row("age key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    Shape(
        "private key",
        ("PRIVATE KEY",),
        r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY(?: BLOCK)?-----[\s\\nr\"'`+,]{1,40}"
        r"[A-Za-z0-9+/=:]{8}",
    ),
    Shape("private key", ("MII",), r"(?<![A-Za-z0-9+/])MII(?![BC]IjANBg)[A-Za-z0-9+/]{57,}"),
    Shape("bearer token", ("earer ",), r"\b[Bb]earer +([\w.~+/=-]{20,})", random=True),
)
_MARKED = tuple((mark, row) for row in SHAPES for mark in row.marks)
MIN_CHANGES = 0.22  # changes of character class for each character; random letters and digits: 0.4
MIN_ENTROPY = 3.0  # bits for each character; 16 hex digits have at most 4
MIN_RANDOM = 12  # letters and digits


def kind_of_secret(text: str) -> str:
    """What kind of secret a text contains, by shape alone; empty when it contains none."""
    for mark, row in _MARKED:
        if mark in text and any(_is_match(row, found) for found in re.finditer(row.pattern, text)):
            return row.kind
    if "://" in text and "@" in text and any(map(is_login, _LOGIN.finditer(text))):
        return "password in a URL"
    lower = text.lower()
    has_mark = any(mark in lower for mark in _ASSIGNED_MARKS)
    if has_mark and any(_is_real(found[1]) for found in _ASSIGNED.finditer(text)):
        return "password or key"
    return "password or salt by its name" if named_secrets.contains(text) else ""


def _is_match(row: Shape, found: Match[str]) -> bool:
    value = found[found.lastindex or 0]
    return not is_placeholder(value) and (not row.random or looks_random(value))


def is_placeholder(value: str) -> bool:
    """Whether a value is a placeholder. In a long value, such a word can occur by chance."""
    return len(value) <= 64 and _PLACEHOLDER.search(value) is not None


def logins(text: str) -> list[Match[str]]:
    """Each `://user:password@host` in a text; its groups are those three."""
    return list(_LOGIN.finditer(text))


def is_login(found: Match[str]) -> bool:
    """Whether a login would let somebody in: not an example, or a database on one's own machine."""
    user, password, host = found.groups()
    is_plain = password.lower() in (user.lower(), "pass", "token") or re.search(
        r"(?i)passw|secret|foobar", password
    )
    if is_plain or is_placeholder(password) or password.startswith("$"):
        return False
    return not _LOCAL_HOST.fullmatch(host.lower())


def _is_real(value: str) -> bool:
    """Whether the value of a password or key is real: not code, a word, a path or a placeholder."""
    value = value.rstrip(".")
    is_code = re.fullmatch(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+", value)
    return not (is_code or is_placeholder(value)) and looks_random(value)


def looks_random(text: str) -> bool:
    """Whether a text looks random: letters and digits mixed even within words.

    Entropy alone does not distinguish keys from names: `oauth2TokenProviderV2` has 4 bits a
    character.
    """
    pieces = re.findall(r"[A-Za-z0-9]+", text)
    size = sum(map(len, pieces))
    changes = sum(len(re.findall(r"[A-Z]*[a-z]+|[A-Z]+|[0-9]+", piece)) - 1 for piece in pieces)
    return (
        size >= MIN_RANDOM
        and changes >= MIN_CHANGES * size
        and entropy(text) >= MIN_ENTROPY
        and any(char.isdigit() for char in text)
    )


def entropy(text: str) -> float:
    """Shannon's entropy of a text's characters, in bits a character."""
    import math

    shares = [text.count(char) / len(text) for char in set(text)]
    return -sum(share * math.log2(share) for share in shares)


# -- hiding

_NAME = (
    r"[\w.-]{0,40}(?:token|secret|passw(?:or)?d|passphrase|(?:api|private|access)[-_]?key"
    r"|credential|cookie|authorization)[\w.-]{0,40}"
)
_OPTION = re.compile(r"^-{0,2}" + _NAME + r"$", re.IGNORECASE)
_VALUE = re.compile(
    r"(?<![\w.-])(-{0,2}" + _NAME + r"[\"']?\s?(?:=(?!=)|:(?!:|\d+\b))\s?[\"']?)"
    r"[^\s\"',;)}\]]+",
    re.IGNORECASE,
)
# Looser than SHAPES: the prefix alone is enough.
_PREFIXES = re.compile(
    r"(?<![\w-])(?:"
    r"(?:sk|pk|rk)[-_][A-Za-z0-9_-]{10,}|gh[a-z]_[A-Za-z0-9]{16,}|github_pat_\w{16,}"
    r"|glpat-[\w-]{10,}|xox[a-z]-[\w-]{8,}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{12,}|AIza[\w-]{20,}|npm_[A-Za-z0-9]{20,}|eyJ[\w-]{8,}\.[\w.-]{8,}"
    r"|-----BEGIN [A-Z ]+-----.*"
    r"|(?:[Bb]earer|[Bb]asic) [\w.~+/=-]{8,})"
)
_URL_LOGIN = re.compile(r"(?<=://)[^\s/@\"']{1,200}@")
_LONG_RUN = re.compile(r"[A-Za-z0-9+_=-]{32,}")
_PLAIN_WORD = frozenset("@%+=:,./_-*~[]{}^")


def redacted(text: str) -> str:
    """A text with what looks like a secret hidden."""
    text = _URL_LOGIN.sub(HIDDEN + "@", text)
    text = _PREFIXES.sub(HIDDEN, text)
    for mark, row in _MARKED:
        if mark in text:
            text = re.sub(row.pattern, _hidden_if(row), text)
    text = _VALUE.sub(lambda found: found[1] + HIDDEN, text)
    return _LONG_RUN.sub(_hidden_if_mixed, text)


def _hidden_if(row: Shape) -> Callable[[Match[str]], str]:
    return lambda found: HIDDEN if _is_match(row, found) else found[0]


def _hidden_if_mixed(found: Match[str]) -> str:
    """A long run is hidden when it mixes digits and letters of both cases, as no name does."""
    run = found[0]
    is_mixed = all(any(map(test, run)) for test in (str.isdigit, str.isupper, str.islower))
    return HIDDEN if is_mixed else run


def redacted_command(words: list[str]) -> str:
    """A command's words on one line without secrets; the word after `--token` is hidden, too."""
    shown, hides_next = [], False
    for word in words:
        is_option = word.startswith("-")
        is_hidden = hides_next and not is_option
        hides_next = is_option and "=" not in word and bool(_OPTION.match(word))
        shown.append(HIDDEN if is_hidden else _quoted(redacted(word)))
    return " ".join(shown)


def _quoted(word: str) -> str:
    is_plain = bool(word) and all(char.isalnum() or char in _PLAIN_WORD for char in word)
    return word if is_plain else "'" + word.replace("'", "'\\''") + "'"

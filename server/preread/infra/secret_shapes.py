"""Recognize secrets by their shape: well-known keys and tokens, passwords, random values."""

import math
import re
from collections import Counter
from typing import NamedTuple


class Shape(NamedTuple):
    """A kind of secret: its pattern, and `marks`, one of which is part of every such secret.

    The pattern is only compiled when a mark is found. No pattern starts inside a run of its own
    characters, so that a search takes linear time. With `random`, a match must also look random,
    because ordinary words could match.
    """

    kind: str
    marks: tuple[str, ...]
    pattern: str
    random: bool = False


_START = r"(?<![A-Za-z0-9_-])"
_KEYED = re.compile(
    r"(?i)(?:passw(?:or)?d|passphrase|pwd|secret|token"
    r"|(?:api|access|private|auth|account|encryption|signing)[_-]?key"
    r"|credentials?)[\w-]{0,20}+[\"'`\])]{0,3}[ \t]{0,4}(?:=>|:=|[:=])[ \t]{0,4}[\"'`]{0,2}"
    r"([A-Za-z0-9+/=_.~!@#$%^&*-]{12,512}+)(?![(\[{<\\])"
)
_KEY_WORDS = ("passw", "passphrase", "pwd", "secret", "token", "key", "credential")
BASIC_AUTH = re.compile(r"://([^\s/:@\"'`<>]{0,80}):([^\s/@\"'`<>]{4,200})@([\w.-]{1,253})")
_LOCAL = re.compile(
    r"localhost|127\..*|0\.0\.0\.0"
    r"|.*\b(?:example|invalid|test|local)(?:\.(?:com|org|net|edu))?|[^.]*"
)
# Texts in a value that show it is a placeholder.
_PLACEHOLDER = re.compile(
    r"(?i)example|your|placeholder|change[_-]?me|redacted|dummy|fake|sample|insert|replace"
    r"|to[_-]?do|x{4}|\*{3}|\.{3}|0{6}|012345|123456|abcdef|\$\{|\$\(|\{\{|process\.env|environ|<[a-z]"
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
        r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY(?: BLOCK)?-----"
        r"[\s\\nr\"'`+,]{1,40}+[A-Za-z0-9+/=:]{8}",
    ),
    Shape("private key", ("MII",), r"(?<![A-Za-z0-9+/])MII(?![BC]IjANBg)[A-Za-z0-9+/]{57,}+"),
    Shape("bearer token", ("earer ",), r"\b[Bb]earer +([\w.~+/=-]{20,}+)", random=True),
)
_MARKED = tuple((mark, row) for row in SHAPES for mark in row.marks)


def shape(text: str) -> str:
    """The kind of secret that a text contains, judged by shape alone; empty for none."""
    return _known_shape(text) or _url_password(text) or _assigned_secret(text)


def _known_shape(text: str) -> str:
    for mark, row in _MARKED:
        if mark in text:
            for match in re.finditer(row.pattern, text):
                value = match[match.lastindex or 0]
                if not is_placeholder(value) and (not row.random or looks_random(value)):
                    return row.kind
    return ""


def _url_password(text: str) -> str:
    if "://" not in text or "@" not in text:
        return ""
    is_found = any(_is_login(*match.groups()) for match in BASIC_AUTH.finditer(text))
    return "password in a URL" if is_found else ""


def _assigned_secret(text: str) -> str:
    lower = text.lower()
    if not any(word in lower for word in _KEY_WORDS):
        return ""
    is_found = any(_is_real(match[1]) for match in _KEYED.finditer(text))
    return "password or key" if is_found else ""


def is_placeholder(value: str) -> bool:
    """Whether a value only stands for a secret. A long random one contains such words by chance."""
    return len(value) <= 64 and _PLACEHOLDER.search(value) is not None


def _is_login(user: str, password: str, host: str) -> bool:
    """Whether `user:password@host` is a real login, not an example or a local database."""
    is_plain = password.lower() in {user.lower(), "pass", "token"} or re.search(
        r"(?i)passw|secret|foobar", password
    )
    is_variable = password.startswith("$")
    is_local = _LOCAL.fullmatch(host.lower())
    return not (is_plain or is_placeholder(password) or is_variable or is_local)


def _is_real(value: str) -> bool:
    """Whether a value assigned to a password or key is one, not code or a placeholder."""
    value = value.rstrip(".")
    is_code = re.fullmatch(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+", value)
    return not (is_code or is_placeholder(value)) and looks_random(value)


# Changes from one class of characters to another, per character; random letters and digits: 0.4.
MIN_CHANGES = 0.22
MIN_ENTROPY = 3.0  # bits per character; 16 hex digits have at most 4
MIN_RANDOM = 12  # characters


def looks_random(text: str) -> bool:
    """Whether a text looks generated: letters and digits mixed, even within its words.

    Entropy alone does not tell a key from an identifier: `oauth2TokenProviderV2` has 4 bits per
    character.
    """
    pieces = re.findall(r"[A-Za-z0-9]+", text)
    size = sum(map(len, pieces))
    changes = sum(len(re.findall(r"[A-Z]*[a-z]+|[A-Z]+|[0-9]+", piece)) - 1 for piece in pieces)
    has_digit = any(c.isdigit() for c in text)
    is_mixed = size >= MIN_RANDOM and has_digit and changes >= MIN_CHANGES * size
    return is_mixed and entropy(text) >= MIN_ENTROPY


def entropy(text: str) -> float:
    """Shannon entropy of a text, in bits per character."""
    counts = Counter(text)
    return -sum(n / len(text) * math.log2(n / len(text)) for n in counts.values())

"""The table of failures: how each is recognised, what it is called, what helps.

Tried with Claude Code 2.1.329: a failed request ends in a result with `is_error` (its subtype still `success`), the
HTTP status in `api_error_status`, and before it an assistant message with `error`, a word for the kind of failure.
Older versions say it in the text alone.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

CONFIG = "in .project/config.toml"
LATER = "Call again later; a static dossier serves until then."


@dataclass(frozen=True, slots=True)
class Row:
    """A failure: how it is recognised (any of these will do), what it is called, what helps.

    `{detail}` in a reason is what the program said in brackets, `{excerpt}` its message, `{resets}` when a limit ends.
    """

    code: str
    reason: str
    hint: str
    subtypes: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    statuses: Sequence[int] = ()
    says: str = ""
    pause: float = 0.0  # seconds before another child may fare better; 0: it would not


@dataclass(frozen=True, slots=True)
class Seen:
    """What the program said of a failure."""

    subtype: str = ""
    code: str = ""
    kind: str = ""
    status: int | None = None
    text: str = ""


NOT_LOGGED_IN = Row(
    "E_LOGIN",
    "Claude Code is not logged in",
    "Run `claude` and `/login` in it, or set ANTHROPIC_API_KEY.",
    says=r"not logged in|please run /login",
)
REFUSED = Row(
    "E_LOGIN",
    "Claude Code's login or key was refused",
    "Run `claude` and `/login` in it, or mend ANTHROPIC_API_KEY.",
    kinds=("authentication_failed", "cloud_credential_error"),
    statuses=(401, 403),
    says=r"invalid api key|invalid bearer token|failed to authenticate",
)
# The first row that fits counts.
ROWS = (
    Row(
        "E_TURNS",
        "the model used all its turns {detail}",
        f"Raise `max_turns` {CONFIG}, or ask for a smaller feature.",
        subtypes=("error_max_turns",),
    ),
    Row(
        "E_MONEY",
        "the build reached its limit of money {detail}",
        f"Raise `max_usd` {CONFIG}, or take a cheaper model.",
        subtypes=("error_max_budget_usd",),
    ),
    Row(
        "E_RATE_LIMIT",
        "the account's usage limit is reached{resets}",
        LATER,
        codes=("usage_limit_reached",),
        says=r"usage limit reached|hit your [\w -]*limit",
    ),
    Row(
        "E_MONEY",
        "the account has no credit left",
        "Add credit at https://platform.claude.com/settings/billing, or log in otherwise.",
        codes=("model_requires_usage_credits", "long_context_credits_required"),
        kinds=("billing_error",),
        statuses=(402,),
        says=r"credit balance is too low",
    ),
    Row(
        "E_MODEL",
        "the prompt is too long for the model",
        f"Take a model with a longer context (`model` {CONFIG}), or a smaller feature.",
        statuses=(413,),
        says=r"prompt is too long|request too large|prompt_too_long",
    ),
    NOT_LOGGED_IN,
    Row(
        "E_LOGIN",
        "the account may not use Claude Code",
        "Ask who administers the account, or log in with another one.",
        codes=("org_disabled_credential", "api_key_auth_disabled"),
        kinds=("oauth_org_not_allowed", "account_on_hold", "verification_required"),
        says=r"organization has disabled",
    ),
    REFUSED,
    Row(
        "E_MODEL",
        "the service does not know the model, or the account may not use it",
        f"Set another `model` {CONFIG}.",
        kinds=("model_not_found",),
        statuses=(404,),
        says=r"issue with the selected model|invalid model",
    ),
    Row(
        "E_RATE_LIMIT",
        "the model's service limits how fast requests may come",
        LATER,
        kinds=("rate_limit",),
        statuses=(429,),
        pause=20,
    ),
    Row(
        "E_OVERLOADED",
        "the model's service is overloaded",
        LATER,
        kinds=("overloaded",),
        statuses=(529,),
        says=r"overloaded",
        pause=10,
    ),
    Row(
        "E_NETWORK",
        "no secure connection to the model's service could be made",
        "Look at the proxy and the certificates (NODE_EXTRA_CA_CERTS).",
        codes=("tls_untrusted_ca", "tls_cert_signature_failure"),
        says=r"certificate|EPROTO|ERR_(SSL|TLS|OSSL)",
    ),
    Row(
        "E_NETWORK",
        "something else answered in the place of the model's service",
        "Look at the proxy, and whether the network wants a login.",
        codes=("gateway_content_type",),
        says=r"empty or malformed response",
    ),
    Row(
        "E_NETWORK",
        "the connection to the model's service was lost",
        LATER,
        codes=("stream_idle_timeout", "no_response", "computer_slept"),
        says=r"connection lost|connection (closed|reset)|ECONNRESET|EPIPE|timed? ?out|stalled|mid-response",
        pause=3,
    ),
    Row(
        "E_NETWORK",
        "the model's service could not be reached",
        "Look at the network and at the proxy (HTTPS_PROXY); then call again.",
        codes=("connection_failed",),
        says=r"ECONNREFUSED|ENOTFOUND|EAI_AGAIN|E(HOST|NET)UNREACH|unable to connect|connection error",
    ),
    Row(
        "E_OVERLOADED",
        "the model's service is failing",
        LATER,
        kinds=("server_error",),
        statuses=range(500, 600),
        pause=10,
    ),
    Row(
        "E_MODEL",
        "the model's answer was longer than it may be",
        "Ask for a smaller feature, or call again.",
        codes=("max_output_tokens",),
        kinds=("max_output_tokens",),
    ),
    Row(
        "E_MODEL",
        "the model's safeguards refused the request",
        "Look at what the ticket and the description say, or take another model.",
        says=r"safeguards|usage policy",
    ),
    Row(
        "E_MODEL",
        "the service refused the request: {excerpt}",
        f"Look at `model` {CONFIG}; `claude update` brings the newest program.",
        kinds=("invalid_request",),
        statuses=range(400, 500),
    ),
    Row(
        "E_CLI",
        "Claude Code refused to start: {excerpt}",
        "Run `claude` in the project once: it says what to do.",
        subtypes=("startup_failure",),
    ),
    Row(
        "E_CHILD",
        "Claude Code failed: {excerpt}",
        "Run `preread status FEATURE` for the end of its messages; call again to try anew.",
    ),
)
STDERR = (
    Row(
        "E_CLI",
        "Claude Code does not know an option: {excerpt}",
        "Run `claude update`.",
        says=r"unknown option|unknown argument|invalid choice",
    ),
    Row(
        "E_SERVER",
        "Claude Code could not read the configuration of the MCP servers",
        f"Look at `mcp` {CONFIG} and at .mcp.json.",
        says=r"invalid mcp config",
    ),
    NOT_LOGGED_IN,
    REFUSED,
)


def first(seen: Seen) -> Row:
    """The row that fits; the last one is for everything else."""
    return next((row for row in ROWS if _fits(row, seen)), ROWS[-1])


def _fits(row: Row, seen: Seen) -> bool:
    return (
        seen.subtype in row.subtypes
        or seen.code in row.codes
        or seen.kind in row.kinds
        or seen.status in row.statuses
        or bool(row.says and re.search(row.says, f"{seen.code} {seen.text}", re.IGNORECASE))
    )

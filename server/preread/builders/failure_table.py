"""The table of failures: how each is recognised, its error code, and what to do about it.

Observed with Claude Code 2.1.329: a failed request ends with a result whose `is_error` is set (its
subtype is still `success`) and whose `api_error_status` is the HTTP status. Before it comes an
assistant message whose `error` names the kind of failure. Older versions report it only as text.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

CONFIG = "in .project/config.toml"
# For failures after which the next call tries again at once, see `cache.RETRIED_AT_ONCE`.
TRY_AGAIN = "Try again; `preread status {feature}` shows the end of its messages."
LATER = "Try again later; until then you get a static dossier."


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of failure. It is recognised by any of the fields from `subtypes` to `pattern`.

    In a reason, `{detail}` is the remark in brackets at the end of the program's message,
    `{excerpt}` the message itself, `{resets}` when a limit ends.
    """

    code: str
    reason: str
    hint: str
    subtypes: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    statuses: Sequence[int] = ()
    pattern: str = ""  # a regular expression for the text
    pause: float = 0.0  # seconds to wait before a retry; 0: a retry would not help


@dataclass(frozen=True, slots=True)
class Reported:
    """What the program reported about a failure."""

    subtype: str = ""
    code: str = ""
    kind: str = ""
    status: int | None = None
    text: str = ""


NOT_LOGGED_IN = Row(
    "E_LOGIN",
    "Claude Code is not logged in",
    "Run `claude` and `/login` in it, or set ANTHROPIC_API_KEY.",
    pattern=r"not logged in|please run /login",
)
REFUSED = Row(
    "E_LOGIN",
    "Claude Code's login or key was refused",
    "Run `claude` and `/login` in it, or correct ANTHROPIC_API_KEY.",
    kinds=("authentication_failed", "cloud_credential_error"),
    statuses=(401, 403),
    pattern=r"invalid api key|invalid bearer token|failed to authenticate",
)
# The first matching row applies.
ROWS = (
    Row(
        "E_TURNS",
        "the model used all its turns {detail}",
        "Set PREREAD_MAX_TURNS higher in your environment, or ask for a smaller feature.",
        subtypes=("error_max_turns",),
    ),
    Row(
        "E_MONEY",
        "the drafts reached their spending limit {detail}",
        "Set PREREAD_MAX_USD higher in your environment (a fifth of it is kept for corrections), "
        "or choose a cheaper model.",
        subtypes=("error_max_budget_usd",),
    ),
    Row(
        "E_RATE_LIMIT",
        "the account's usage limit is reached{resets}",
        LATER,
        codes=("usage_limit_reached",),
        pattern=r"usage limit reached|hit your [\w -]*limit",
    ),
    Row(
        "E_MONEY",
        "the account has no credit left",
        "Add credit at https://platform.claude.com/settings/billing, or switch accounts.",
        codes=("model_requires_usage_credits", "long_context_credits_required"),
        kinds=("billing_error",),
        statuses=(402,),
        pattern=r"credit balance is too low",
    ),
    Row(
        "E_MODEL",
        "the prompt is too long for the model",
        f"Choose a model with a longer context (`model` {CONFIG}), or a smaller feature.",
        statuses=(413,),
        pattern=r"prompt is too long|request too large|prompt_too_long",
    ),
    NOT_LOGGED_IN,
    Row(
        "E_LOGIN",
        "the account may not use Claude Code",
        "Ask the account's administrator, or log in with another account.",
        codes=("org_disabled_credential", "api_key_auth_disabled"),
        kinds=("oauth_org_not_allowed", "account_on_hold", "verification_required"),
        pattern=r"organization has disabled",
    ),
    REFUSED,
    Row(
        "E_MODEL",
        "the service does not know the model, or the account may not use it",
        f"Set another `model` {CONFIG}.",
        kinds=("model_not_found",),
        statuses=(404,),
        pattern=r"issue with the selected model|invalid model",
    ),
    Row(
        "E_RATE_LIMIT",
        "the model's service limits the rate of requests",
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
        pattern=r"overloaded",
        pause=10,
    ),
    Row(
        "E_NETWORK",
        "no secure connection to the model's service could be made",
        "Check the proxy and the certificates (NODE_EXTRA_CA_CERTS).",
        codes=("tls_untrusted_ca", "tls_cert_signature_failure"),
        pattern=r"certificate|EPROTO|ERR_(SSL|TLS|OSSL)",
    ),
    Row(
        "E_NETWORK",
        "something other than the model's service answered",
        "Check the proxy, and whether the network asks for a login.",
        codes=("gateway_content_type",),
        pattern=r"empty or malformed response",
    ),
    Row(
        "E_NETWORK",
        "the connection to the model's service was lost",
        LATER,
        codes=("stream_idle_timeout", "no_response", "computer_slept"),
        pattern=r"connection lost|connection (closed|reset)|ECONNRESET|EPIPE|timed? ?out|stalled"
        r"|mid-response",
        pause=3,
    ),
    Row(
        "E_NETWORK",
        "the model's service could not be reached",
        "Check the network and the proxy (HTTPS_PROXY), then call with `force`.",
        codes=("connection_failed",),
        pattern=r"ECONNREFUSED|ENOTFOUND|EAI_AGAIN|E(HOST|NET)UNREACH|unable to connect"
        r"|connection error",
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
        "the model's answer was longer than allowed",
        "Ask for a smaller feature, or call with `force`.",
        codes=("max_output_tokens",),
        kinds=("max_output_tokens",),
    ),
    Row(
        "E_MODEL",
        "the model's safeguards refused the request",
        "Check what the ticket and the description say, or choose another model.",
        pattern=r"safeguards|usage policy",
    ),
    Row(
        "E_MODEL",
        "the service refused the request: {excerpt}",
        f"Check `model` {CONFIG}; `claude update` installs the newest version.",
        kinds=("invalid_request",),
        statuses=range(400, 500),
    ),
    Row(
        "E_CLI",
        "Claude Code refused to start: {excerpt}",
        "Run `claude` in the project once; it says what to do.",
        subtypes=("startup_failure",),
    ),
    Row(
        "E_CHILD",
        "Claude Code failed: {excerpt}",
        TRY_AGAIN,
    ),
)
STDERR = (
    Row(
        "E_CLI",
        "Claude Code does not know an option: {excerpt}",
        "Run `claude update`.",
        pattern=r"unknown option|unknown argument|invalid choice",
    ),
    Row(
        "E_SERVER",
        "Claude Code could not read the configuration of the MCP servers",
        f"Check `mcp` {CONFIG} and .mcp.json.",
        pattern=r"invalid mcp config",
    ),
    NOT_LOGGED_IN,
    REFUSED,
)


def classify(reported: Reported) -> Row:
    """The first matching row; the last row is for everything else."""
    return next((row for row in ROWS if _matches(row, reported)), ROWS[-1])


def _matches(row: Row, reported: Reported) -> bool:
    return (
        reported.subtype in row.subtypes
        or reported.code in row.codes
        or reported.kind in row.kinds
        or reported.status in row.statuses
        or bool(
            row.pattern
            and re.search(row.pattern, f"{reported.code} {reported.text}", re.IGNORECASE)
        )
    )

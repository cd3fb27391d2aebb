"""Valid names of features and tickets."""

import re
import unicodedata

from preread.errors import PrereadError
from preread.gates.feature_names import DEVICES, MAX_LENGTH, is_feature, slug

# Names spelled like identifiers or headings. They are accepted and replaced by their slug.
LOOSE_FEATURE = re.compile(r"[A-Za-z0-9]+([ _.-][A-Za-z0-9]+)*", re.ASCII)
TICKET = re.compile(r"[A-Za-z0-9]+([._#-][A-Za-z0-9]+)*", re.ASCII)


def feature_name(name: str) -> str:
    """Validate a feature name; raises E_FEATURE_NAME, which proposes a slug if possible."""
    if is_feature(name):
        return name
    proposal = slug(_without_accents(name))
    if LOOSE_FEATURE.fullmatch(name) and len(name) <= MAX_LENGTH and is_feature(proposal):
        return proposal
    shown = repr(name if len(name) <= 80 else name[:77] + "...")
    usable = proposal if is_feature(proposal) else ""
    raise PrereadError(
        "E_FEATURE_NAME",
        f"{shown} is not a feature name. Use lower-case letters, digits and single hyphens, at "
        f"most {MAX_LENGTH} characters, and no reserved device name.",
        f'Use the name "{usable}".'
        if usable
        else "Choose a name like `login` or `checkout-coupon`.",
        {"slug": usable},
    )


def _without_accents(name: str) -> str:
    parts = unicodedata.normalize("NFKD", name.casefold())
    return "".join(char for char in parts if not unicodedata.combining(char))


def ticket_name(name: str) -> str:
    """The ticket's id, which is safe as a file name; raises E_TICKET_NAME."""
    if TICKET.fullmatch(name) and len(name) <= MAX_LENGTH and name.lower() not in DEVICES:
        return name
    raise PrereadError(
        "E_TICKET_NAME",
        f"{name[:80]!a} is not a ticket id. Ids are letters and digits, joined by single `-`, "
        "`_`, `.` or `#`.",
        "Pass only the id, like `SHOP-142`.",
    )

"""Check drafts: apply the format rules, look up every source, compute states, fit the budget."""

from preread.check.check import check, check_published, check_unbudgeted
from preread.check.checker import CONFIDENCE
from preread.check.drafts import read_staged
from preread.check.lookups import only_said
from preread.check.peoples_facts import People, with_peoples_facts
from preread.check.peoples_versions import reading_order

__all__ = [
    "CONFIDENCE",
    "People",
    "check",
    "check_published",
    "check_unbudgeted",
    "only_said",
    "read_staged",
    "reading_order",
    "with_peoples_facts",
]

"""The typed shapes that steps and faces pass to each other, a module for each group."""

from preread.models.base import Model
from preread.models.drafts import Checked, Draft, Fact, Fence, Problem, Section, State, Verdict
from preread.models.evidence import Evidence, Finding, Ranked
from preread.models.faults import Fault
from preread.models.manifest import LostFact, Manifest, SpanMark, Wording
from preread.models.orders import Order, Outcome, Review
from preread.models.replies import How, LoadReply, Refresh, Stats, Status
from preread.models.requests import LEVELS, Request

__all__ = [
    "LEVELS",
    "Checked",
    "Draft",
    "Evidence",
    "Fact",
    "Fault",
    "Fence",
    "Finding",
    "How",
    "LoadReply",
    "LostFact",
    "Manifest",
    "Model",
    "Order",
    "Outcome",
    "Problem",
    "Ranked",
    "Refresh",
    "Request",
    "Review",
    "Section",
    "SpanMark",
    "State",
    "Stats",
    "Status",
    "Verdict",
    "Wording",
]

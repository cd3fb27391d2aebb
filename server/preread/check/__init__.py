"""Check: format rules, every source looked up, states and confidence computed, the budget kept."""

from preread.check.check import CONFIDENCE, check, judge
from preread.check.drafts import staged, with_people

__all__ = ["CONFIDENCE", "check", "judge", "staged", "with_people"]

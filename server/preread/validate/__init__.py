"""Check: format rules, every source looked up, states and confidence computed, the budget kept."""

from preread.validate.check import CONFIDENCE, check, judge
from preread.validate.drafts import staged, with_people

__all__ = ["CONFIDENCE", "check", "judge", "staged", "with_people"]

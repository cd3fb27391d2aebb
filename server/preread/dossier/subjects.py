"""What builds' facts are about: by that, a fact is known again after its details have changed."""

from collections import Counter
from collections.abc import Iterable

from preread.dossier import fact_text
from preread.models import Finding


def of_findings(findings: Iterable[Finding]) -> dict[str, str]:
    """Ids of facts -> ids of what they are about, as in `Manifest.subjects`.

    Two findings of a rule about the same, such as overloads, cannot be told apart, and neither
    can two facts with the same words.
    """
    found = {(_fact(one), _subject(one)) for one in findings if one.about}
    facts = Counter(fact for fact, _ in found)
    subjects = Counter(subject for _, subject in found)
    return {one: about for one, about in sorted(found) if facts[one] == subjects[about] == 1}


def _fact(finding: Finding) -> str:
    return fact_text.fact_id(finding.file, finding.text)


def _subject(finding: Finding) -> str:
    return fact_text.fact_id(finding.file, f"{finding.rule} {finding.about}")

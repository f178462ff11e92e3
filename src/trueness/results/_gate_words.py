"""A gate in sentences, as they stand below a table of its findings."""

from collections.abc import Sequence

from trueness._text.numbers import level_percent
from trueness.results._gate import Finding, Gate

_SHOWN = 6


def sentences_of(gate: Gate) -> list[str]:
    """The limits, the findings that decide, and the outcome."""
    decisive: Sequence[Finding] = [finding for finding in gate.findings if not finding.passed]
    if not decisive and len(gate.findings) <= _SHOWN:
        decisive = gate.findings
    several = len({(finding.group, finding.model) for finding in gate.findings}) > 1
    sentences = []
    for finding in decisive[:_SHOWN]:
        sentences.append(str(finding) if several else f"{finding.sentence}.")
    if len(decisive) > _SHOWN:
        sentences.append(f"{len(decisive) - _SHOWN} more did not pass.")
    return [_limits_in_words(gate, named=bool(decisive)), *sentences, gate.headline]


def _limits_in_words(gate: Gate, *, named: bool) -> str:
    """The level of the limits and the risk of a wrong outcome.

    Also the bins of the ECE, unless sentences that follow name them.
    """
    first = gate.findings[0]
    bins = f"{first.words}. " if first.quantity == "ece" and not named else ""
    level = level_percent(max(finding.level for finding in gate.findings))
    limits = f"{bins}Limits are one-sided, each with {level} confidence. "
    alpha = level_percent(1 - gate.level)
    if gate.require:
        return (
            f"{limits}p: equivalence test of each bound; p ≤ {1 - gate.level:.4g} certifies it. "
            f"If a bound is not kept, the gate passes with a probability of at most {alpha}."
        )
    risk = f"If every bound is kept, the gate fails with a probability of at most {alpha}"
    judged = gate.tests or len(gate.findings)
    if judged > 1:
        return f"{limits}{risk}: one error rate for all {judged} comparisons together."
    return f"{limits}{risk}."

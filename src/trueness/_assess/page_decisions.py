"""What the scores of one model mean for decisions.

Net benefit or risk, and from where on to accept.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from trueness._assess.notes import Notes, collect_warnings
from trueness._assess.page_subject import Options
from trueness._tally.evidence import Evidence
from trueness.infer.decision._accept import threshold_of
from trueness.infer.decision._decide import certificate_of
from trueness.infer.decision._net_benefit import benefit_of
from trueness.infer.decision._risk_coverage import risk_of
from trueness.results._page import Decisions, Summary

_ACCURACY = 0.95
_SHARES = np.arange(1, 101) / 100


def decisions(
    data: Evidence,
    summary: Summary,
    options: Options,
    notes: Notes,
    *,
    top_label: bool,
    answers: bool = False,
) -> Decisions | None:
    """None, and a note that says why, if rows or sums cannot show that the scores have skill.

    Confidences of `answers` in a log have their risk in any case.
    """
    reason = _reason_against(data, summary, options)
    if not reason:
        section = _section(data, summary, options.level, top_label=top_label, answers=answers)
        if section is not None:
            return section
        reason = "these rows do not show that scores help to decide"
    notes.add(f"There is no section on decisions: {reason}.")
    return None


def _reason_against(data: Evidence, summary: Summary, options: Options) -> str:
    """Why decisions cannot be judged at all; empty if they can."""
    if data.tally is None:
        return "bins do not keep every score"
    if not data.whole:
        return "weights do not count rows"
    if summary.rate in (0, 1):
        return "all labels are equal"
    if not options.intervals:
        return "it needs intervals"
    return ""


def _section(
    data: Evidence, summary: Summary, level: float, *, top_label: bool, answers: bool
) -> Decisions | None:
    """None if the scores have no skill, or too few rows show it."""
    with collect_warnings(Notes()):
        if top_label or answers:
            risk: Any = risk_of(data, level, True)
            if risk.aurc.high >= risk.risk[-1] and not answers:
                return None
            # Tied rows are accepted together.
            shown = np.unique(np.searchsorted(risk.coverage, _SHARES - 1e-12))
            drawn = replace(
                risk,
                threshold=risk.threshold[shown],
                coverage=risk.coverage[shown],
                risk=risk.risk[shown],
            )
            return Decisions(threshold_of(data, _ACCURACY, level, "accuracy"), risk=drawn)
        # Nobody would act at thresholds far above the rate of rare events.
        benefit = benefit_of({"": data}, _SHARES[:-1] * min(1.0, 10 * summary.rate / 0.99), level)
        if not benefit.useful().size:
            return None
        auc = summary.estimates.get("auc")
        if auc is not None and not auc.low > 0.5:
            return None
        accept = threshold_of(data, _ACCURACY, level, "precision")
        return Decisions(accept, benefit=benefit, certificate=certificate_of(data, level))

"""What the scores of one model mean for decisions: net benefit or risk, and from where on to accept."""

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
    """None, and a note that says why, if the scores have no skill, these rows do not tell, or weights count no rows.

    Confidences of `answers` in a log have their risk in any case.
    """
    lacking = {
        "bins do not keep every score": data.tally is None,
        "weights do not count rows": not data.whole,
        "all labels are equal": summary.rate in (0, 1),
        "it needs intervals": not options.intervals,
    }
    why = next((reason for reason, holds in lacking.items() if holds), "")
    found = (
        None if why else _found(data, summary, options.level, top_label=top_label, answers=answers)
    )
    if found is None:
        notes.add(
            f"There is no section on decisions: {why or 'these rows do not show that scores help to decide'}."
        )
    return found


def _found(
    data: Evidence, summary: Summary, level: float, *, top_label: bool, answers: bool
) -> Decisions | None:
    """None if the scores have no skill, or these rows do not tell."""
    with collect_warnings(Notes()):
        if top_label or answers:
            risk: Any = risk_of(data, level, True)
            if risk.aurc.high >= risk.risk[-1] and not answers:
                return None
            shown = np.unique(
                np.searchsorted(risk.coverage, _SHARES - 1e-12)
            )  # tied rows are accepted together
            fields: Any = {
                name: getattr(risk, name)[shown] for name in ("threshold", "coverage", "risk")
            }
            return Decisions(
                threshold_of(data, _ACCURACY, level, "accuracy"), risk=replace(risk, **fields)
            )
        # Nobody would act at thresholds far above the rate of rare events.
        benefit = benefit_of({"": data}, _SHARES[:-1] * min(1.0, 10 * summary.rate / 0.99), level)
        ranks = summary.estimates.get("auc")
        if not benefit.useful().size or (ranks is not None and not ranks.low > 0.5):
            return None
        accept = threshold_of(data, _ACCURACY, level, "precision")
        return Decisions(accept, benefit=benefit, certificate=certificate_of(data, level))

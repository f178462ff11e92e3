"""What the scores mean for decisions: net benefit or risk, and a threshold to accept from."""

from dataclasses import replace

import numpy as np

from trueness._assess.notes import Notes, collect_warnings
from trueness._assess.page_subject import Options
from trueness._tally.events import are_ranges
from trueness._tally.evidence import Evidence
from trueness.infer.decision._accept import threshold_of
from trueness.infer.decision._decide import certificate_of
from trueness.infer.decision._net_benefit import benefit_of
from trueness.infer.decision._risk_coverage import risk_of
from trueness.results._decisions import single
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
    """None, and a note that says why, if the scores have no skill or these rows do not tell.

    Confidences of `answers` in a log have their risk in any case.
    """
    reason = _obstacle(data, summary, options)
    if not reason:
        with collect_warnings(Notes()):
            if top_label or answers:
                record = _risk_record(data, options.level, answers=answers)
            else:
                record = _benefit_record(data, summary, options.level)
        if record is not None:
            return record
        reason = "these rows do not show that scores help to decide"
    notes.add(f"There is no section on decisions: {reason}.")
    return None


def _obstacle(data: Evidence, summary: Summary, options: Options) -> str:
    """Why decisions cannot be judged; empty if they can."""
    if data.tally is None:
        return "bins do not keep every score"
    if data.events is not None and are_ranges(data.events):
        return "intervals and quantiles give no risk of an event to act on"
    if not data.whole:
        return "weights do not count rows"
    if summary.rate in (0, 1):
        return "all labels are equal"
    if not options.intervals:
        return "it needs intervals"
    return ""


def _risk_record(data: Evidence, level: float, *, answers: bool) -> Decisions | None:
    """Risk against coverage in hundredths; None if the confidences have no skill."""
    risk = risk_of(data, level, True)
    coverage = single(risk.coverage)
    wrong = single(risk.risk)
    if single(risk.aurc).high >= wrong[-1] and not answers:
        return None
    # Tied rows are accepted together.
    shown = np.unique(np.searchsorted(coverage, _SHARES - 1e-12))
    risk = replace(
        risk,
        threshold=single(risk.threshold)[shown],
        coverage=coverage[shown],
        risk=wrong[shown],
    )
    return Decisions(threshold_of(data, _ACCURACY, level, "accuracy"), risk=risk)


def _benefit_record(data: Evidence, summary: Summary, level: float) -> Decisions | None:
    """Net benefit and its certificate; None if no threshold is useful or the ranks are chance."""
    # Nobody would act at thresholds far above the rate of rare events.
    thresholds = _SHARES[:-1] * min(1.0, 10 * summary.rate / 0.99)
    benefit = benefit_of({"": data}, thresholds, level)
    ranks = summary.estimates.get("auc")
    if not benefit.useful().size or (ranks is not None and not ranks.low > 0.5):
        return None
    accept = threshold_of(data, _ACCURACY, level, "precision")
    return Decisions(accept, benefit=benefit, certificate=certificate_of(data, level))

"""What to do about the scores, decided from verdict, remedies, prior shift, power and segments."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from trueness._assess.asked import Asked
from trueness._assess.statement import advice_on_statement
from trueness._text.numbers import level_percent, number, percent, points
from trueness._text.strings import shorten
from trueness.errors import quietly
from trueness.measure._slope import inside_cells
from trueness.results import Estimate, PriorShift, Segments, Verdict
from trueness.results._remedies import PRIOR_CORRECTION, Advice, Remedies, Remedy

SegmentRow: TypeAlias = Mapping[str, Any]
"""One row of `Segments.rows()`."""
OFF = ("miscalibrated", "slightly-miscalibrated")
LONGEST = 30  # letters of a name
_STEEP, _SEPARATED = (
    2,
    0.95,
)  # slope, and share of the variance explained, of rows that the model seems to know
_FEWEST_CLUSTERS = 6
"""With fewer, no test by the signs of clusters reaches 0.05."""


def advice(a: Asked) -> Advice:
    """The next step, by this assessment's own verdict and segments."""
    return advise(a, quietly(a.ask, "verdict"), quietly(a.possible, "segments"))


def advise(a: Asked, verdict: Verdict, segments: Segments | None) -> Advice:
    """The next step, where verdict and segments may be those of several labels judged together."""
    stated = advice_on_statement(verdict)
    if stated is not None:
        return stated
    if verdict.doubt:
        return _about_a_doubt(a, verdict)
    if verdict.code == "too-good":
        reason = "These rows cannot show how good the scores are."
        return Advice("new-rows", "Evaluate the scores on new rows", reason)
    if verdict.code == "no-evidence":
        return Advice("leave", "Nothing", "Leave the scores as they are.")
    if verdict.code in ("undetermined", "too-few-rows") and _has_few_clusters(a):
        return _to_check_clusters(a)
    if verdict.code == "undetermined":
        phrase = "Run the report on the rows, or on a tally of the scores"
        return Advice("need-rows", phrase, "Sums of bins are not enough for a test.")
    if a.view("confidence").one is None:
        return _about_the_worst(a, verdict)
    fixes: Remedies | None = quietly(a.ask, "remedies")
    best = None if fixes is None else fixes.most_promising
    clear = fixes is not None and fixes.best is not None
    if verdict.code == "too-few-rows":
        return _to_collect(a, best if clear else None)
    segment = worst_segment([] if segments is None else segments.rows())
    whole = verdict.rejected and clear
    if segment is not None and not is_as_all_rows(segment, verdict) and not whole:
        return _for_a_segment(segment)
    if fixes is None or best is None:
        return _without_remedies(a, fixes)
    return _with_remedies(a, verdict, fixes, best, clear=clear)


# ---- segments


def worst_segment(rows: Sequence[SegmentRow]) -> SegmentRow | None:
    """The flagged segment that costs most, first of those that differ from all rows.

    None if none is flagged.
    """
    flagged = [one for one in rows if one["flagged"]]
    return max(flagged, key=lambda one: bool(one["differs"]), default=None)


def is_as_all_rows(segment: SegmentRow, verdict: Any) -> bool:
    """Whether all rows are off, and no flagged segment was shown to differ from them."""
    return bool(
        verdict.rejected and not segment["differs"] and not math.isnan(segment["overall_pvalue"])
    )


def segment_name(segment: SegmentRow) -> str:
    """Column and value."""
    return f"{shorten(segment['column'], LONGEST)} = {shorten(segment['value'], LONGEST)}"


def _for_a_segment(segment: SegmentRow) -> Advice:
    from trueness.recalibrate import AutoCalibration  # loads scikit-learn

    return Advice(
        "recalibrate-segment",
        f"Recalibrate {segment_name(segment)} separately",
        "One map for all rows cannot fix a single segment: select its rows and fit a map on them alone.",
        calibrator=AutoCalibration(),
        column=str(segment["column"]),
        value=str(segment["value"]),
    )


# ---- more rows, or other ones


def _about_a_doubt(a: Asked, verdict: Verdict) -> Advice:
    """What to check before anything else."""
    if verdict.doubt == "constant":
        score = percent(verdict.mean_score)
        reason = f"Every row has the score {score}: right on average, and no use for ranking."
        known = {"auc": 0.5, "discrimination": 0.0}
        return Advice("leave", "Look for scores that tell rows apart", reason, numbers=known)
    if verdict.doubt == "confidence":
        reason = (
            "No score is below 50 %. If they are confidences of the predicted class, judge them against whether that "
            "class was right; otherwise pass the column of the event's class."
        )
        return Advice("check-labels", "Are these confidences of the predicted class?", reason)
    slope = _estimate(a, "slope")
    ranks = _estimate(a, "auc")
    shown = f" (AUC {number(ranks.value, 2)})"
    if slope.value < 0:
        shown = f" (slope {number(slope.value, 2)})"
    elif math.isnan(ranks.value):
        shown = ""
    reason = (
        f"Higher scores go with fewer events{shown}, as if they predicted the other label. With the labels swapped, "
        "the report judges the scores again; a map would only hide the mistake."
    )
    phrase = "Check the label coding or the class column"
    return Advice("check-labels", phrase, reason, numbers={"slope": slope.value})


def _has_few_clusters(a: Asked) -> bool:
    evidence = a.view("confidence")
    return evidence.dependent and evidence.units < _FEWEST_CLUSTERS


def _to_check_clusters(a: Asked) -> Advice:
    reason = (
        f"{a.view('confidence').units} clusters cannot decide: check that the column names what makes rows depend on "
        f"each other, or collect at least {_FEWEST_CLUSTERS} clusters."
    )
    return Advice("check-clusters", "Check the clusters", reason)


def _to_collect(a: Asked, helpful: Remedy | None) -> Advice:
    power = quietly(a.possible, "power")
    needed = None if power is None else power.rows_needed
    if needed is None:
        reason = "Until then, leave the scores as they are."
        return Advice("collect", "Collect more rows", reason)
    until = "leave the scores as they are"
    if helpful is not None:
        until = f"{helpful.with_article} would probably help: it would {helpful.promise}"
    more = rounded(max(0, needed - a.view("confidence").sums.n))
    reason = f"{more} more, to notice an error that matters. Until then, {until}."
    phrase = f"Collect about {rounded(needed)} rows"
    return Advice("collect", phrase, reason, rows_needed=needed, numbers={"rows": needed})


def _without_remedies(a: Asked, fixes: Remedies | None) -> Advice:
    shift: PriorShift | None = quietly(a.ask, "prior_shift")
    if fixes is None and shift is not None and shift.shown:
        return _prior_correction(shift, f"It looks like {shift.factor}.")
    return Advice("need-rows", "Fit a map to the rows", "Sums do not show which map would help.")


def _about_the_worst(a: Asked, verdict: Verdict) -> Advice:
    """The advice about the worst of several labels or classes."""
    if verdict.code == "too-few-rows":
        return _to_collect(a, None)
    each = a.ask("classes")
    worst = next((one.worst for one in verdict.flags if one.worst in each), next(iter(each)))
    found: Advice = quietly(each[worst].ask, "advice")
    return replace(
        found, phrase=f"For {shorten(worst, LONGEST)}: {found.phrase}", value=found.value or worst
    )


# ---- a map


def _with_remedies(
    a: Asked, verdict: Verdict, fixes: Remedies, best: Remedy, *, clear: bool
) -> Advice:
    tally = a.view("confidence").tally
    certain = None if tally is None else inside_cells(tally.parts[0])
    if certain is not None and certain.wrong and not best.gain_low > 0:
        reason = (
            f"{certain.certain:,.6g} rows have a score of exactly 0 or 1, {certain.wrong:,.6g} with the other label: "
            "nothing is that certain."
        )
        known = {"certain_wrong": certain.wrong}
        return Advice("check-labels", "Predict no exact 0 or 1", reason, numbers=known)
    if not clear and verdict.rate in (0, 1):
        reason = "All outcomes are equal: they cannot show what a map gains."
        return Advice("collect", "Collect rows with the other outcome", reason)
    if not clear and not _is_corrected(fixes, best):
        reason = "No map is expected to gain more than noise on new rows."
        return Advice("leave", "Leave the scores as they are", reason)
    return _recalibration(a, fixes, best, clear=clear)


def _is_corrected(fixes: Remedies, best: Remedy) -> bool:
    """Whether a prior correction leaves no error that can be shown."""
    before = fixes.before.ece_interval
    after = best.ece_interval
    known = before is not None and after is not None and after.includes_zero
    return best.name == PRIOR_CORRECTION and best.gain > 0 and known


def _recalibration(a: Asked, fixes: Remedies, best: Remedy, *, clear: bool) -> Advice:
    if clear:
        sure = f"The map would {best.promise}."
    else:
        sure = "The gain is not clear yet: check it on new rows."
    reason = f"On held-out rows the {_change(fixes.before, best)}. {sure}{_own_rows_question(a)}"
    before = fixes.before.ece_interval
    after = best.ece_interval
    errors = fixes.before.ece, best.ece
    if before is not None and after is not None:
        errors = before.estimate, after.estimate
    known: dict[str, Any] = {
        "calibrator": repr(best.calibrator),
        "before": errors[0],
        "after": errors[1],
    }
    known["chance"] = best.chance if best.gain > 0 else best.log_loss_chance
    shift: PriorShift | None = quietly(a.ask, "prior_shift")
    found = Advice("recalibrate", f"Recalibrate with {best.with_article}", reason, numbers=known)
    if shift is not None and best.name == PRIOR_CORRECTION:
        reason = f"It looks like {shift.factor}: a {best.name} undoes it. {reason}"
        corrected = _prior_correction(shift, reason)
        found = replace(corrected, numbers={**known, **corrected.numbers})
    gained = replace(found, gain=best.gain, gain_low=best.gain_low, gain_high=best.gain_high)
    return replace(gained, calibrator=best.calibrator)


def _prior_correction(shift: PriorShift, reason: str) -> Advice:
    from trueness.recalibrate import PriorCorrection  # loads scikit-learn

    more = shift.weight > 1
    factor = shift.weight if more else 1 / shift.weight
    by = f"{factor:,.0f}" if factor >= 10 else f"{factor:.2f}"
    phrase = f"{'Divide' if more else 'Multiply'} the odds by {by}"
    known = {"weight": shift.weight, "weight_low": shift.low, "weight_high": shift.high}
    return Advice(
        "correct-prior",
        phrase,
        reason,
        calibrator=PriorCorrection(weight=shift.weight),
        numbers=known,
    )


def _change(before: Remedy, after: Remedy) -> str:
    """The error before and after, with the limits of what is left."""
    first = before.ece_interval
    second = after.ece_interval
    if first is None or second is None:
        return "ECE goes from {} to {} percentage points".format(*points(before.ece, after.ece))
    error, left, *ends = points(first.estimate, second.estimate, *second.hull)
    if second.estimate >= first.estimate:
        score = after.score_from(before).replace(" from", " goes from", 1)
        if float(error) == 0:
            both = "{} to {} percentage points".format(*points(before.ece, after.ece))
            return f"{score}, the ECE from {both}; the typical error is too small to be estimated"
        both = f"{error} percentage points before and {left} after"
        return f"{score}; the typical error, {both}, is too uncertain to be compared"
    level = level_percent(second.level)
    limits = f"0 to {ends[1]}" if second.includes_zero else span_above_zero(*ends)
    if not second.includes_zero and not second.hull[0] <= second.estimate > 0:
        return f"typical error goes from {error} percentage points to at most {ends[1]} ({level} confidence)"
    left = "nothing that could be measured" if second.includes_zero and float(left) == 0 else left
    return f"typical error goes from {error} percentage points to {left} ({level} confidence: {limits})"


def span_above_zero(low: str, high: str) -> str:
    """The limits of an error above zero; a lower one that rounds to 0 is not shown as 0."""
    if float(low) > 0:
        return f"{low} to {high}"
    return f"above 0 to {high}"


def _own_rows_question(a: Asked) -> str:
    """Whether the model was trained on these rows: it separates them nearly perfectly, and is timid; empty if not."""
    if not _estimate(a, "slope").low > _STEEP:
        return ""
    explained, all_of_it = (
        quietly(a.estimate, key).value for key in ("discrimination", "uncertainty")
    )
    if not explained > _SEPARATED * all_of_it:
        return ""
    return " Was the model trained on these rows? Labels that it separates so well suggest it: then use new rows."


def _estimate(a: Asked, key: str) -> Estimate:
    found: Estimate = quietly(a.estimate, key, "confidence")
    return found


def rounded(n: int) -> str:
    """A whole number with two digits, since it is a rough estimate."""
    return f"{round(n, min(0, 1 - math.floor(math.log10(max(1, n))))):,}"

"""What to do about the scores, decided from verdict, remedies, prior shift, power and segments."""

import math
from dataclasses import replace

from trueness._assess.asked import (
    ADVICE,
    CLASSES,
    POWER,
    PRIOR_SHIFT,
    REMEDIES,
    SEGMENTS,
    VERDICT,
    Asked,
)
from trueness._assess.segment_map import map_by_column, maps_of_segment
from trueness._assess.statement import advice_on_statement
from trueness._assess.where import LONGEST, SegmentRow, is_as_all_rows, segment_name, worst_segment
from trueness._input.segment_columns import SegmentColumn
from trueness._text.numbers import number, percent, points, total
from trueness._text.strings import capitalized, shorten
from trueness.errors import quietly
from trueness.infer.decision._policy_gate import few_clusters
from trueness.measure._slope import inside_cells
from trueness.results import Estimate, PriorShift, Segments, Verdict
from trueness.results._remedies import (
    PRIOR_CORRECTION,
    Advice,
    AdviceKind,
    Remedies,
    Remedy,
    saved_by,
)
from trueness.results._segments import is_protected
from trueness.results._verdict import FEWEST_CLUSTERS

OFF = ("miscalibrated", "nearly-calibrated")
"""An error was shown."""
# Slope, and share of the variance explained, of rows that the model seems to know.
_STEEP = 2
_SEPARATED = 0.95
# Share of the rows from which on a segment is nearly all rows.
_MOST_ROWS = 0.5


def advice(a: Asked) -> Advice:
    """The next step, by this assessment's own verdict and segments."""
    return advise(a, quietly(a.ask, VERDICT), quietly(a.possible, SEGMENTS))


def advise(a: Asked, verdict: Verdict, segments: Segments | None) -> Advice:
    """The next step: what to do with the scores, with a reason.

    `a` answers questions about the rows. `verdict` and `segments` may be those of several labels
    judged together. The first case that applies decides: a verdict on intervals or quantiles, a
    doubt about the labels or scores, labels that agree too well, no evidence of an error, too few
    clusters, sums that allow no test, several problems, too few rows, and a segment with an error
    of its own. Otherwise the advice rests on the calibrators that were tried on held-out rows.
    """
    stated = advice_on_statement(verdict)
    if stated is not None:
        return stated
    if verdict.decisive is not None:
        reason = (
            f"{capitalized(verdict.decisive.in_words)}; {verdict.decisive.without}. If the value "
            "is a mistake, mend it and judge the scores again."
        )
        return Advice("check-labels", "Check the row that decides", reason)
    if verdict.doubt:
        return _about_a_doubt(a, verdict)
    if verdict.code == "too-good":
        reason = "These rows cannot show how good the scores are."
        return Advice("new-rows", "Evaluate the scores on new rows", reason)
    if verdict.code == "no-evidence":
        reason = "Nothing was found that recalibration would improve."
        return Advice("leave", "Leave the scores as they are", reason)
    if verdict.code in ("undetermined", "too-few-rows") and few_clusters(a.view("confidence")):
        return _to_check_clusters(a)
    if verdict.code == "undetermined":
        phrase = "Run the report on the rows, or on a tally of the scores"
        return Advice("need-rows", phrase, "Sums of bins are not enough for a test.")
    if a.view("confidence").one is None:
        return _about_the_worst(a, verdict)
    fixes = quietly(a.ask, REMEDIES)
    best = None if fixes is None else fixes.most_promising
    clear = False
    if fixes is not None and fixes.best is not None and best is not None:
        clear = best.is_clear(fixes.before)
    if verdict.code == "too-few-rows":
        return _to_collect(a, best if clear else None)
    helps_all_rows = verdict.rejected and clear
    segment = _segment_with_an_error_of_its_own(segments, verdict)
    if segment is not None:
        by_column = _map_by_column(a, segment)
        if fixes is None or not helps_all_rows or _needs_its_own_map(a, segment, by_column, fixes):
            return _for_a_segment(a, segment, by_column)
    if fixes is None or best is None:
        return _without_remedies(a, fixes)
    return _with_remedies(a, verdict, fixes, best, clear=clear, one_error=segment is None)


# ---- segments


def _segment_with_an_error_of_its_own(
    segments: Segments | None, verdict: Verdict
) -> SegmentRow | None:
    """The worst segment, unless its error is that of all rows."""
    segment = None if segments is None else worst_segment(segments.rows())
    if segment is None or is_as_all_rows(segment, verdict):
        return None
    return segment


def _map_by_column(a: Asked, segment: SegmentRow) -> Remedies | None:
    """What a map by the segment's column gains; None where it is protected, or has no such map."""
    column = _column(a, segment)
    if column is None or is_protected(column.name):
        return None
    return quietly(map_by_column, a, column)


def _needs_its_own_map(
    a: Asked, segment: SegmentRow, by_column: Remedies | None, for_all_rows: Remedies
) -> bool:
    """Whether a map by its column gains more on held-out rows than any that is for all rows.

    A segment with half of the rows or more needs none: a map for all rows mends it as well.
    """
    if segment["n"] >= _MOST_ROWS * a.view("confidence").n:
        return False
    best = _clear_map(by_column)
    if by_column is None or best is None:
        return False
    return all(best.is_better_than(other, by_column.before) for other in for_all_rows.after)


def _column(a: Asked, segment: SegmentRow) -> SegmentColumn | None:
    """The rows by segment; None where only sums of the segments are known."""
    name = str(segment["column"])
    return next((column for column in a.rows.columns if column.name == name), None)


def _for_a_segment(a: Asked, segment: SegmentRow, by_column: Remedies | None) -> Advice:
    """A map that mends one segment, with what it gains on held-out rows, where that is shown.

    A map by its column comes first, which leaves no rows to be selected; then one of its rows
    alone. Where the law may protect the column, neither.
    """
    name = segment_name(segment)
    column = str(segment["column"])
    value = str(segment["value"])
    if is_protected(column):
        return Advice(
            kind="check-segment",
            phrase=f"Look into {name}",
            reason="This segment is off by itself. Whether scores may depend on such a column is a "
            "question of law and purpose; without it, better features or more rows of this segment "
            "would help.",
            column=column,
            value=value,
        )
    advice = _separate_map(a, name, f"Recalibrate by {column}", "held-out rows", by_column)
    rows = _column(a, segment)
    fixes = by_column
    if advice is None and rows is not None:
        fixes = quietly(maps_of_segment, a, rows, value)
        phrase = f"Recalibrate {name} separately"
        advice = _separate_map(a, name, phrase, "held-out rows of this segment", fixes)
    if advice is None:
        advice = _optional_map(a, name, fixes)
    return replace(advice, column=column, value=value)


def _separate_map(
    a: Asked, name: str, phrase: str, where: str, fixes: Remedies | None
) -> Advice | None:
    """The advice `phrase`, with what a map gains `where`; None where no gain is clear."""
    best = _clear_map(fixes)
    if fixes is None or best is None:
        return None
    reason = (
        f"One map for all rows cannot fix {name}. On {where} {best.with_article} "
        f"{_gained(a, fixes, best)}."
    )
    advice = _with_gain("recalibrate-segment", phrase, reason, fixes, best)
    saved = saved_by(best, fixes.before)._asdict()
    return replace(advice, numbers={**advice.numbers, "saved": saved})


def _clear_map(fixes: Remedies | None) -> Remedy | None:
    """The most promising map, if its gain is clear."""
    best = None if fixes is None else fixes.most_promising
    if fixes is None or best is None or not best.is_clear(fixes.before):
        return None
    return best


def _optional_map(a: Asked, name: str, fixes: Remedies | None) -> Advice:
    """The advice that a map for the rows of one segment is optional: no gain of it is shown.

    `name` is that of the segment; `fixes` are the maps that were tried on its rows, or None. If the
    best of them gained on average, it is named with its gain; otherwise the automatic map is.
    """
    kind: AdviceKind = "recalibrate-segment"
    phrase = f"Recalibration of {name} is optional"
    reason = "The segment is off by itself, but these rows do not show that a map for it helps"
    best = None if fixes is None else fixes.most_promising
    if fixes is not None and best is not None and best.gain > 0:
        gain = best.gain_in_words(fixes.before, a.level)
        reason = f"{reason}: on held-out rows of this segment {best.with_article} {gain}."
        return _with_gain(kind, phrase, reason, fixes, best)
    from trueness.recalibrate import AutoCalibration  # loads scikit-learn

    return Advice(kind, phrase, f"{reason}.", calibrator=AutoCalibration())


# ---- more rows, or other ones


def _about_a_doubt(a: Asked, verdict: Verdict) -> Advice:
    """What to check first, where the verdict doubts that scores and labels belong together.

    There are three doubts: all scores are equal; none is below 50 %, as confidences are; higher
    scores go with fewer events.
    """
    if verdict.doubt == "constant":
        score = percent(verdict.mean_score)
        reason = f"Every row has the score {score}: right on average, and no use for ranking."
        numbers = {"auc": 0.5, "discrimination": 0.0}
        return Advice("leave", "Look for scores that tell rows apart", reason, numbers=numbers)
    if verdict.doubt == "confidence":
        reason = (
            "No score is below 50 %. If they are confidences of the predicted class, judge them "
            "against whether that class was right; otherwise pass the column of the event's class."
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
        f"Higher scores go with fewer events{shown}, as if they predicted the other label. With "
        "the labels swapped, the report judges the scores again; a map would only hide the mistake."
    )
    phrase = "Check the label coding or the class column"
    return Advice("check-labels", phrase, reason, numbers={"slope": slope.value})


def _to_check_clusters(a: Asked) -> Advice:
    reason = (
        f"{a.view('confidence').units.number} clusters cannot decide: check that the column names "
        f"what makes rows depend on each other, or collect at least {FEWEST_CLUSTERS} clusters, "
        "the fewest from which a test can decide."
    )
    return Advice("check-clusters", "Check the clusters", reason)


def _to_collect(a: Asked, helpful: Remedy | None) -> Advice:
    """The advice to collect more rows, with their number if it is known.

    The number is what it takes to notice an error that matters. `helpful` is a calibrator that
    would probably help until then, or None: then scores should be left as they are.
    """
    power = quietly(a.possible, POWER)
    needed = None if power is None else power.rows_needed
    if needed is None:
        reason = "Until then, leave the scores as they are."
        return Advice("collect", "Collect more rows", reason)
    until = "leave the scores as they are"
    if helpful is not None:
        until = f"{helpful.with_article} would probably help: it would {helpful.promise}"
    more = rounded(max(0, needed - a.view("confidence").sums.n))
    reason = f"{more} more, to notice an error that matters. Until then, {until}."
    phrase = f"Collect about {rounded(needed)} rows{_in_clusters(a, needed)}"
    return Advice("collect", phrase, reason, rows_needed=needed, numbers={"rows": needed})


def _in_clusters(a: Asked, rows: int) -> str:
    """In how many clusters of the present size these rows are; empty where rows are independent."""
    evidence = a.view("confidence")
    if not evidence.dependent:
        return ""
    clusters = math.ceil(rows * evidence.units.number / evidence.sums.n)
    return f" in {rounded(clusters)} clusters like these"


def _without_remedies(a: Asked, fixes: Remedies | None) -> Advice:
    shift = quietly(a.ask, PRIOR_SHIFT)
    if fixes is None and shift is not None and shift.shown:
        return _prior_correction(shift, f"It looks like {shift.factor}.")
    return Advice("need-rows", "Fit a map to the rows", "Sums do not show which map would help.")


def _about_the_worst(a: Asked, verdict: Verdict) -> Advice:
    """The advice about the worst of several labels or classes."""
    if verdict.code == "too-few-rows":
        return _to_collect(a, None)
    problems = a.ask(CLASSES)
    flagged = [flags.worst for flags in verdict.flags if flags.worst in problems]
    worst = flagged[0] if flagged else next(iter(problems))
    advice = quietly(problems[worst].ask, ADVICE)
    phrase = f"For {shorten(worst, LONGEST)}: {advice.phrase}"
    return replace(advice, phrase=phrase, value=advice.value or worst)


# ---- a map


def _with_remedies(
    a: Asked,
    verdict: Verdict,
    fixes: Remedies,
    best: Remedy,
    *,
    clear: bool,
    one_error: bool,
) -> Advice:
    """A map for all rows, or none, given the `best` of the calibrators that were tried.

    `clear` says that its gain on held-out rows is clear. Without `one_error` a segment is off by
    itself, so that a shift of the prior is not taken for the cause. Scores of exactly 0 or 1 that
    are wrong come first, unless the map is shown to gain.
    """
    tally = a.view("confidence").tally
    certain = None if tally is None else inside_cells(tally.parts[0])
    if certain is not None and certain.wrong and not best.gain_low > 0:
        wrong = total(certain.wrong)
        if certain.certain != certain.certain_weight:
            wrong = f"some of them, with a weight of {wrong},"
        reason = (
            f"{total(certain.certain)} rows have a score of exactly 0 or 1, {wrong} with the other "
            "label: nothing is that certain."
        )
        numbers = {"certain_wrong": certain.wrong}
        return Advice("check-labels", "Predict no exact 0 or 1", reason, numbers=numbers)
    if not clear and verdict.rate in (0, 1):
        reason = "All outcomes are equal: they cannot show what a map gains."
        return Advice("collect", "Collect rows with the other outcome", reason)
    if clear:
        return _recalibration(a, fixes, best, one_error=one_error)
    if verdict.code == "nearly-calibrated":
        reason = "An error is shown, but recalibration would gain next to nothing."
        return Advice("leave", "Leave the scores as they are", reason)
    if not best.gain > 0:
        reason = "No map that was tried lowers the Brier score on held-out rows."
        return Advice("leave", "Leave the scores as they are", reason)
    return _option(a, fixes, best)


def _recalibration(a: Asked, fixes: Remedies, best: Remedy, *, one_error: bool) -> Advice:
    """The advice to recalibrate with the `best` of the calibrators that were tried.

    If that is a prior correction, no segment is off by itself (`one_error`), and a shift of the
    prior was found, the advice names the factor of the odds instead.
    """
    size = best.size_of_gain(fixes.before)
    reason = f"{size[0].upper()}{size[1:]}: on held-out rows it {_gained(a, fixes, best)}."
    reason = f"{reason}{_own_rows_question(a)}"
    advice = _with_gain("recalibrate", f"Recalibrate with {best.with_article}", reason, fixes, best)
    shift = quietly(a.ask, PRIOR_SHIFT)
    if shift is None or best.name != PRIOR_CORRECTION or not one_error:
        return advice
    reason = f"It looks like {shift.factor}: a {best.name} undoes it. {reason}"
    corrected = _prior_correction(shift, reason)
    numbers = {**advice.numbers, **corrected.numbers}
    return replace(
        advice, kind=corrected.kind, phrase=corrected.phrase, reason=reason, numbers=numbers
    )


def _option(a: Asked, fixes: Remedies, best: Remedy) -> Advice:
    """An error of size was shown, but not that a map makes the scores better."""
    doubt = "These rows do not show that it helps"
    if best.gain_low > 0:
        doubt = "It would gain next to nothing"
    reason = (
        f"{doubt}: on held-out rows {best.with_article} {_gained(a, fixes, best)}."
        f"{fixes.other_gain(best, a.level)}{_own_rows_question(a)}"
    )
    return _with_gain("optional", "Recalibration is optional", reason, fixes, best)


def _gained(a: Asked, fixes: Remedies, best: Remedy) -> str:
    """What a map gains on held-out rows, and the error that may be left, if its bound is lower."""
    gain = best.gain_in_words(fixes.before, a.level)
    before = fixes.before.ece_interval
    after = best.ece_interval
    if before is None or after is None or after.high >= before.high:
        return gain
    (now,), (then,) = points(before.high), points(after.high)
    if now == then:
        return gain
    return f"{gain}; {best.error_left} (now at most {now})"


def _with_gain(kind: AdviceKind, phrase: str, reason: str, fixes: Remedies, best: Remedy) -> Advice:
    """An advice with the gain of the best calibrator and the calibration error before and after.

    The errors are estimates with an interval if both have one, otherwise the plain ECE.
    """
    before = fixes.before.ece_interval
    after = best.ece_interval
    errors = fixes.before.ece, best.ece
    if before is not None and after is not None:
        errors = before.estimate, after.estimate
    return Advice(
        kind=kind,
        phrase=phrase,
        reason=reason,
        calibrator=best.calibrator,
        gain=best.gain,
        gain_low=best.gain_low,
        gain_high=best.gain_high,
        numbers={
            "calibrator": repr(best.calibrator),
            "before": errors[0],
            "after": errors[1],
            "chance": best.chance if best.gain > 0 else best.log_loss_chance,
        },
    )


def _prior_correction(shift: PriorShift, reason: str) -> Advice:
    """The advice to multiply or divide the odds by one number, so that the number exceeds 1.

    `shift` holds the weight, by which odds were inflated, with its limits; `reason` is the text.
    """
    from trueness.recalibrate import PriorCorrection  # loads scikit-learn

    if shift.weight > 1:
        verb = "Divide"
        factor = shift.weight
    else:
        verb = "Multiply"
        factor = 1 / shift.weight
    by = f"{factor:,.0f}" if factor >= 10 else f"{factor:.2f}"
    return Advice(
        kind="correct-prior",
        phrase=f"{verb} the odds by {by}",
        reason=reason,
        calibrator=PriorCorrection(weight=shift.weight),
        numbers={"weight": shift.weight, "weight_low": shift.low, "weight_high": shift.high},
    )


def _own_rows_question(a: Asked) -> str:
    """Whether the model was trained on these rows, which it separates almost perfectly.

    Empty unless the scores are too timid as well.
    """
    if not _estimate(a, "slope").low > _STEEP:
        return ""
    explained = quietly(a.estimate, "discrimination").value
    if not explained > _SEPARATED * quietly(a.estimate, "uncertainty").value:
        return ""
    return (
        " Was the model trained on these rows? Labels that it separates so well suggest it: then "
        "use new rows."
    )


def _estimate(a: Asked, key: str) -> Estimate:
    return quietly(a.estimate, key, "confidence")


def rounded(n: int) -> str:
    """A whole number with two digits, since it is a rough estimate."""
    return f"{round(n, min(0, 1 - math.floor(math.log10(max(1, n))))):,}"

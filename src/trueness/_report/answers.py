"""The first screen in words: the verdict, and how far off, where, what it costs, what to do."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from trueness._assess.advice import OFF
from trueness._assess.page_parts import adjusted_pvalues
from trueness._assess.where import segment_name
from trueness._report.commands import (
    adjust_command,
    fit_command,
    segment_command,
    shifts_segments,
)
from trueness._text.numbers import level_percent, number, p_value, percent, points
from trueness._text.strings import capitalized, quoted, uncapitalized
from trueness.results import Verdict
from trueness.results._first_screen import Answer
from trueness.results._page import Command, Conclusion, Model, Provenance, Summary
from trueness.results._remedies import Advice, Remedies, Remedy, Saved, saved_by
from trueness.results._verdict import Code
from trueness.results._verdict_words import error, typical_error

_MOST_NAMES = 6
# One model, several models; the worst first.
CLAUSES: dict[Code, tuple[str, str]] = {
    "miscalibrated": ("is miscalibrated", "are miscalibrated"),
    "too-good": ("is too good to be true", "are too good to be true"),
    "undetermined": ("could not be tested", "could not be tested"),
    "too-few-rows": ("has too few rows to tell", "have too few rows to tell"),
    "nearly-calibrated": ("is nearly calibrated", "are nearly calibrated"),
    "no-evidence": ("shows no miscalibration", "show no miscalibration"),
}
OF_A_SEGMENT = ("recalibrate-segment", "check-segment")
"""Advice that is about one segment."""
_TYPICAL = (
    "How far predictions are from the true rate: the root of the mean squared difference, "
    "corrected for chance (also called l2 calibration error). With 5 percentage points, "
    "predictions of 30 % stand for rates like 25 or 35 %."
)
TERMS = {
    "calibrated": (
        "Predictions of 30 % come true in 30 % of the cases, and so on for every other prediction."
    ),
    "miscalibration": (
        "Predicted probabilities that differ from how often the event really happens."
    ),
    "confidence": "Limits computed in this way include the true value in this share of data sets.",
    "recalibration": (
        "Replacing each prediction by one that agrees better with how often the event happens."
    ),
    "odds": "p / (1 − p): a probability of 80 % means odds of 4 to 1.",
    **dict.fromkeys(("Typically", "typical error"), _TYPICAL),
    "percentage points": "The difference between 65 % and 41 % is 24 percentage points.",
    "varies smoothly": (
        "Nearby scores have similar errors. Errors that alternate from score to score cannot be "
        "seen."
    ),
    **dict.fromkeys(("overconfident", "too extreme"), "Predictions are too near 0 % and 100 %."),
    **dict.fromkeys(("underconfident", "too timid"), "Predictions are too near the average."),
    "omnibus test": (
        "Compares the outcomes in several ways at once with outcomes drawn from the predictions. "
        "p: how often such random outcomes differ from the predictions at least as much as the "
        "real ones."
    ),
    "slope": (
        "How strongly outcomes follow the predictions: 1 if calibrated, below 1 if predictions "
        "are too extreme (too near 0 % and 100 %), above 1 if they are too moderate, below 0 if "
        "they are the wrong way round."
    ),
    "observed/expected": (
        "Events divided by the sum of the predictions; 1 if they are right on average."
    ),
    "top label": "The class with the largest score.",
    "by chance": "The noise floor: the ECE that chance alone produces in this many rows.",
    "ECE": (
        "Expected calibration error: the mean gap between prediction and observed rate over "
        "ranges of scores."
    ),
    "Brier score": (
        "The mean squared difference between prediction and outcome (0 or 1). Lower is better."
    ),
    "held-out rows": (
        "Rows that were not used to fit the map: every row is scored by a map fitted without it."
    ),
    "automatic calibration": (
        "An average of several maps, from unchanged scores to flexible curves, weighted by how "
        "well each does on rows it was not fitted on."
    ),
    "prior correction": (
        "Divides the odds of every score by one factor, the weight that a class was given in "
        "training; the order of the rows does not change."
    ),
    "map": (
        "A function from the model's score to a calibrated score; the order of the rows stays "
        "nearly the same."
    ),
}
"""Terms that the page explains where they occur."""


def answer_questions(
    model: Model, verdict: Verdict, provenance: Provenance, place: Answer, *, level: float
) -> dict[str, Answer]:
    """The four questions of the first screen, of which `place` answers where.

    The size of the error has the level of the verdict, which of several labels is higher than the
    `level` of the page.
    """
    return {
        "how_far": _how_far_where_advised(model, verdict, place),
        "where": place,
        "cost": _cost(model, level),
        "action": _action(model, provenance),
    }


def _how_far_where_advised(model: Model, judged: Verdict, place: Answer) -> Answer:
    """The gap of the segment that the advice is about, then that of all rows.

    Without such a segment, or where its mean is not what is wrong, that of all rows alone.
    """
    all_rows = _how_far(model, judged)
    segment = place.numbers.get("segment")
    if model.advice.kind not in OF_A_SEGMENT or segment is None:
        return all_rows
    if (model.advice.column, model.advice.value) != (segment["column"], segment["value"]):
        return all_rows
    if segment["finding"] not in ("over-predicted", "under-predicted"):
        return all_rows
    (gap,) = points(abs(segment["score"] - segment["rate"]))
    detail = f"Over all rows: {uncapitalized(all_rows.phrase)}. {all_rows.detail}"
    phrase = f"{gap} percentage points in {segment_name(segment)}"
    return replace(all_rows, phrase=phrase, detail=detail)


def _how_far(model: Model, judged: Verdict) -> Answer:
    """The typical error with its limits, the same for every model.

    Of rare events, observed/expected leads. The limits are those that the verdict states.
    """
    s = model.summary
    verdict = model.verdict
    question = "How far off?"
    interval = s.ece_interval
    mean, high = _chance_ece(s)
    numbers: dict[str, Any] = {"ece": s.ece, "chance": mean, "chance_high": high}
    numbers |= dict.fromkeys(("l2", "low", "high", "level"), math.nan)
    gap, floor = points(s.ece, mean)
    by_chance = f"perfectly calibrated model would show about {floor} by chance"
    if interval is None:
        phrase = f"{gap} percentage points on average (ECE)"
        detail = f"A {by_chance}." if math.isfinite(mean) else ""
        return Answer(question, phrase, detail, numbers)
    average = f"The average gap over ranges (ECE) is {gap}"
    if math.isfinite(mean):
        average += f", where a {by_chance}"
    if verdict.clusters is not None:
        average += ", if rows were independent"
    average += "."
    if verdict.all_rows == "too-good":
        return Answer(question, "These rows cannot show it", average, numbers)
    page_level = interval.level
    interval = judged.interval or interval
    low, high = interval.hull
    numbers |= {"l2": interval.estimate, "low": low, "high": high, "level": interval.level}
    ratio = judged.observed_expected or s.estimates.get("observed_expected")
    if verdict.rare and ratio is not None and math.isfinite(ratio.value):
        numbers |= {"ratio": ratio.value, "ratio_low": ratio.low, "ratio_high": ratio.high}
        size = typical_error(interval, rejected=verdict.rejected)
        average = f"Events are rare, so their ratio leads. The error is {size}. {average}"
    level = level_percent(verdict.level)
    if verdict.level != page_level:
        level = f"{level} confidence, so that all labels together have {level_percent(page_level)}"
    else:
        level = f"{level} confidence"
    detail = f"{level}. {average}"
    return Answer(question, capitalized(verdict.error), detail, numbers)


def _chance_ece(s: Summary) -> tuple[float, float]:
    """The ECE that a calibrated model has on average and at most; sums of bins have variances."""
    if s.noise_floor is not None:
        return s.noise_floor.mean, s.noise_floor.high
    estimate = s.estimates.get("ece")
    if estimate is None:
        return math.nan, math.nan
    return estimate.floor, estimate.floor_high


def _cost(model: Model, level: float) -> Answer:
    """What recalibration would save on held-out rows, where that can be shown.

    It cannot be known from few clusters, before inverted scores are checked, or from labels that
    are all equal; sums have an answer of their own, since no map can be tried on them.
    """
    question = "What does it cost?"
    code = model.verdict.all_rows
    if model.verdict.few_clusters and code == "too-few-rows":
        return Answer(question, f"Not known from {model.verdict.clusters} clusters", "", {})
    fixes = model.remedies
    best = None if fixes is None else fixes.most_promising
    if fixes is None or best is None:
        return _cost_of_sums(model.summary, code)
    if model.verdict.doubt in ("inverted", "confidence"):
        return Answer(question, "Not known before the scores are checked", "", {})
    before = fixes.before.brier
    numbers = {
        "calibrator": best.name,
        "gain": best.gain,
        "gain_low": best.gain_low,
        "gain_high": best.gain_high,
        "brier": before,
    }
    if before == 0:
        return Answer(question, "Nothing", "Every prediction is exactly right.", numbers)
    if code == "too-good":
        return Answer(question, "These rows cannot show it", "Fit maps to new rows.", numbers)
    if model.summary.rate in (0, 1):
        detail = "All labels are equal: a map cannot be tried."
        return Answer(question, "Too few rows to tell", detail, numbers)
    if model.advice.kind == "recalibrate-segment" and "saved" in model.advice.numbers:
        return _cost_of_segment(model.advice)
    clear = best.is_clear(fixes.before)
    if clear and code in OFF:
        saved = saved_by(best, fixes.before)
        gain, low, high = _decimals(saved.gain, saved.low, saved.high)
        phrase = f"{capitalized(_share_saved(saved.gain, saved.before))} of the {saved.score}"
        detail = (
            f"{gain} of {number(saved.before)} could be avoided by recalibration "
            f"({low} to {high}, on held-out rows)."
        )
        return Answer(question, phrase, detail, numbers)
    if code == "too-few-rows":
        phrase = "Too few rows to tell"
    elif best.gain > 0 and (clear or code in OFF):
        phrase = "Nothing that can be shown"
    elif code in OFF:
        phrase = "Too small to be measured with these rows"
    else:
        phrase = "Nothing measurable"
    if best.gain > 0 and (clear or code in OFF):
        words = best.gain_in_words(fixes.before, level)
        detail = f"On held-out rows {best.with_article} {words}."
    else:
        detail = _unclear_gain(fixes, best)
    return Answer(question, phrase, detail, numbers)


def _cost_of_segment(advice: Advice) -> Answer:
    """What the map of a segment saves of the score of the rows that it is for."""
    saved = Saved(**advice.numbers["saved"])
    gain, low, high = _decimals(saved.gain, saved.low, saved.high)
    rows = "" if shifts_segments(advice) else f" in {advice.column} = {advice.value}"
    detail = (
        f"{gain} of {number(saved.before)} could be avoided by a map for this segment "
        f"({low} to {high}, on held-out rows)."
    )
    phrase = f"{_share_saved(saved.gain, saved.before)} of the {saved.score}{rows}"
    return Answer("What does it cost?", capitalized(phrase), detail, saved._asdict())


def _share_saved(gain: float, before: float) -> str:
    share = min(1.0, gain / before)
    if 0.999 < share < 1:
        return "nearly all"
    if 0 < share < 1e-4:
        return "less than 0.01 %"
    return percent(share)


def _unclear_gain(fixes: Remedies, best: Remedy) -> str:
    """The gain of a map that may be due to chance."""
    brier = number(fixes.before.brier)
    gain, low, high = _decimals(best.gain, best.gain_low, best.gain_high)
    if float(gain.replace("−", "-")) == 0:
        return (
            f"No map that was tried lowers the Brier score of {brier} beyond chance "
            "(on held-out rows)."
        )
    if best.gain > 0:
        return (
            f"The best map lowers the Brier score of {brier} by {gain}, which may be chance "
            f"({low} to {high}, on held-out rows)."
        )
    loss, low, high = _decimals(-best.gain, -best.gain_high, -best.gain_low)
    raised = f"raises it by {loss} ({low} to {high}, on held-out rows)"
    if best.name != fixes.best:
        return f"No map that was tried lowers the Brier score of {brier}: the best one {raised}."
    lowered = f"lowers the {best.score_from(fixes.before)}"
    return f"The Brier score of {brier} shows no gain: {best.name} {raised}, but {lowered}."


def _cost_of_sums(s: Summary, code: str) -> Answer:
    """What a map fitted on the judged rows themselves would gain, and what it gains by chance."""
    question = "What does it cost?"
    estimate = s.estimates.get("miscalibration")
    if estimate is None or not math.isfinite(estimate.floor):
        detail = "To measure it, a map must be tried on held-out rows."
        return Answer(question, "Not known", detail, {})
    if s.brier == 0:
        return Answer(question, "Nothing", "Every prediction is exactly right.", {"brier": 0.0})
    numbers = {
        "miscalibration": s.miscalibration,
        "miscalibration_chance": estimate.floor,
        "brier": s.brier,
    }
    gain, chance = _decimals(s.miscalibration, estimate.floor)
    detail = (
        f"{gain} of {number(s.brier)}: the gain of a map fitted on these same rows. "
        f"A perfectly calibrated model would show about {chance} by chance."
    )
    phrase = f"At most about {percent(s.miscalibration / s.brier)} of the Brier score"
    if code == "too-few-rows":
        phrase = "Too few rows to tell"
    return Answer(question, phrase, detail, numbers)


def _decimals(*values: float) -> tuple[str, ...]:
    """Numbers with the decimals that show two digits of the largest; at least four."""
    decimals = max(4, 1 - math.floor(math.log10(max(map(abs, values)) or 1)))
    return tuple(f"{round(v, decimals) + 0.0:.{decimals}f}".replace("-", "−") for v in values)


def _action(model: Model, provenance: Provenance) -> Answer:
    advice = model.advice
    command = _command(model, advice, provenance)
    return Answer(
        question="What to do?",
        phrase=advice.phrase,
        detail=advice.reason,
        numbers=dict(advice.numbers),
        command=command,
    )


def _command(model: Model, advice: Advice, origin: Provenance) -> str:
    """The lines to copy; empty if there are none."""
    in_python = model.name not in origin.commands
    command = origin.commands.get(model.name)
    if advice.kind == "check-labels" and model.verdict.doubt:
        if in_python:
            return _doubt_in_python(model.verdict.doubt, origin)
        return _doubt_command(model.verdict.doubt, command, origin)
    if advice.kind == "need-rows":
        return "" if command is None else command.line("report")
    if advice.kind == "adjust":
        return adjust_command(origin, model.name)
    if advice.kind == "recalibrate-segment":
        return segment_command(advice, origin, model.name)
    if advice.kind == "correct-prior" and (model.remedies is None or in_python):
        weight = f"{advice.numbers['weight']:.3g}"
        return f"calibrated = tn.recalibrate.prior_correction(new_scores, weight={weight})"
    if advice.calibrator is None:
        return ""
    return fit_command(advice.calibrator, origin, model.name)


def _doubt_in_python(doubt: str, origin: Provenance) -> str:
    """How to see whether labels or columns were confused, in Python."""
    scores = origin.arguments.split(",")[0]
    if doubt == "confidence":
        return f"tn.report(y_true == y_predicted, {scores})"
    if origin.other is None:
        return ""
    return f"tn.report(y_true, {scores}, pos_label={origin.other!r})"


def _doubt_command(doubt: str, command: Command | None, origin: Provenance) -> str:
    """The same on the command line, which cannot compare labels with predicted ones."""
    if doubt == "confidence" or origin.other is None or command is None:
        return ""
    return command.line("report", pos_label=str(origin.other))


def conclusion(verdict: Verdict, name: str = "") -> Conclusion:
    """The verdict in words, which begin with the name of the model if there are several."""
    headline = verdict.headline
    opening = f"{quoted(name)}: {uncapitalized(headline)}" if name else headline
    return Conclusion(
        code=verdict.code,
        headline=headline,
        certainty=verdict.certainty,
        sentence=f"{opening} {verdict.certainty}".rstrip(),
        evidence=verdict.evidence,
        error=verdict.error,
        error_in_short=error(verdict, "points"),
        questions=verdict.questions,
        level=verdict.level,
        clusters=verdict.clusters,
        few_clusters=verdict.has_few_clusters,
        rejected=verdict.rejected,
        rare=verdict.rare,
        doubt=verdict.doubt,
        all_rows=verdict.all_rows,
    )


def overall_conclusion(models: Sequence[Model], alpha: float = 1) -> Conclusion:
    """The conclusion at the top: that of the only model, or the worst code and a clause per code.

    Labels are asked together: one whose adjusted p-value is above `alpha`, and that has no flagged
    segment, is within the chance of all of them.
    """
    if len(models) == 1:
        return models[0].verdict
    by_code: dict[Code, list[str]] = {}
    chance: dict[str, float] = {}
    for model, p in zip(models, adjusted_pvalues(models), strict=True):
        flagged = model.segments is not None and model.segments.flagged
        if model.verdict.all_rows in OFF and p is not None and p > alpha and not flagged:
            chance[quoted(model.name)] = p
        else:
            by_code.setdefault(model.verdict.code, []).append(quoted(model.name))
    codes = [code for code in CLAUSES if code in by_code]
    clauses = [_clause(code, by_code[code]) for code in codes]
    if chance:
        verb = "differs" if len(chance) == 1 else "differ"
        clauses.append(
            f"{_joined(list(chance))} {verb} no more than chance allows the worst of "
            f"{len(models)} labels (adjusted {p_value(min(chance.values()))})"
        )
    text = capitalized(f"{'; '.join(clauses)}.")
    return Conclusion(codes[0] if codes else "no-evidence", text, certainty="", sentence=text)


def _clause(code: Code, names: list[str]) -> str:
    """What is said of the models with one kind of verdict."""
    if code == "too-few-rows":
        return f"there are too few rows to tell for {_joined(names)}"
    singular, plural = CLAUSES[code]
    if len(names) == 1:
        return f"{names[0]} {singular}"
    return f"{_joined(names)} {plural}"


def _joined(names: list[str]) -> str:
    shown = names[:_MOST_NAMES]
    if len(names) > _MOST_NAMES:
        shown.append(f"{len(names) - _MOST_NAMES} more")
    if len(shown) == 1:
        return shown[0]
    return f"{', '.join(shown[:-1])} and {shown[-1]}"

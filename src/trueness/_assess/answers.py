"""The answers of the first screen: how far off, where, what it costs, and what to do."""

import math
from dataclasses import replace
from typing import Any

from trueness._assess.advice import OFF
from trueness._assess.asked import INTERVAL, REMEDIES, Asked
from trueness._assess.commands import shifts_segments
from trueness._assess.judgement import FEW_ROWS
from trueness._assess.where import segment_leads
from trueness._tally.multiclass import View
from trueness._text.numbers import level_percent, number, percent, points
from trueness._text.strings import capitalized, uncapitalized
from trueness.errors import quietly
from trueness.results import Estimate, Interval, Verdict
from trueness.results._first_screen import Answer
from trueness.results._remedies import Advice, Remedies, Remedy, Saved, saved_by
from trueness.results._statement_answers import answers_on_statement
from trueness.results._verdict_words import how_far_off, leads_by_ratio, typical_error


def answer_questions(
    a: Asked, verdict: Verdict, advice: Advice, place: Answer, command: str
) -> dict[str, Answer]:
    """The four questions of the first screen, of which `place` answers where.

    The size of the error has the level of the verdict, which of several labels is higher than that
    of `a`. `command` holds the lines to copy in order to follow the advice.
    """
    answers = {
        "how_far": _how_far_in_place(a, verdict, advice, place),
        "where": place,
        "cost": _cost(a, verdict, advice),
        "action": Answer(
            question="What to do?",
            phrase=advice.phrase,
            detail=advice.reason,
            numbers=dict(advice.numbers),
            command=command,
        ),
    }
    return answers | answers_on_statement(verdict.statement, verdict.flags, answers)


def _how_far_in_place(a: Asked, verdict: Verdict, advice: Advice, place: Answer) -> Answer:
    """The size of the worst segment where that leads, then that of all rows; or that alone.

    A segment leads where all rows show nothing, or where place and advice are about it.
    """
    all_rows = _how_far(a, replace(verdict, flags=()))
    segment = next((flags for flags in verdict.flags if flags.kind == "segment"), None)
    if segment is None or not segment.size():
        return all_rows
    leads = place.sections[:1] == ("segments",) and segment_leads(segment.finding, verdict, advice)
    if verdict.rejected and not leads:
        return all_rows
    whole = uncapitalized(all_rows.phrase)
    detail = f"Over all rows: {whole}. {all_rows.detail}" if whole else all_rows.detail
    return replace(all_rows, phrase=capitalized(segment.size()), detail=detail)


def _how_far(a: Asked, verdict: Verdict) -> Answer:
    """The typical error with its limits, the same for every model.

    Of rare events, observed/expected leads. The limits are those that the verdict states.
    """
    question = "How far off?"
    ece: Estimate = quietly(a.estimate, "ece", "confidence")
    numbers: dict[str, Any] = {
        "ece": ece.value,
        "chance": ece.floor,
        "chance_high": ece.floor_high,
    }
    numbers |= dict.fromkeys(("l2", "low", "high", "level"), math.nan)
    gap, floor = points(ece.value, ece.floor)
    by_chance = f"perfectly calibrated model would show about {floor} by chance"
    if not _has_interval(a):
        phrase = f"{gap} percentage points on average (ECE)"
        detail = f"A {by_chance}." if math.isfinite(ece.floor) else ""
        return Answer(question, phrase, detail, numbers)
    average = f"The average gap over ranges (ECE) is {gap}"
    if math.isfinite(ece.floor):
        average += f", where a {by_chance}"
    if verdict.clusters is not None:
        average += ", if rows were independent"
    average += "."
    phrase = how_far_off(verdict)
    if verdict.all_rows == "too-good":
        return Answer(question, phrase, average, numbers)
    interval: Interval = verdict.interval or quietly(a.ask, INTERVAL)
    low, high = interval.hull
    numbers |= {"l2": interval.estimate, "low": low, "high": high, "level": interval.level}
    ratio = verdict.observed_expected or quietly(a.estimate, "observed_expected", "confidence")
    if leads_by_ratio(verdict):
        numbers |= {"ratio": ratio.value, "ratio_low": ratio.low, "ratio_high": ratio.high}
        size = typical_error(interval, rejected=verdict.rejected)
        average = f"Events are rare, so their ratio leads. The error is {size}. {average}"
    size_shown = interval.estimate if verdict.rejected else interval.high
    if size_shown < ece.value:
        average += (
            " It is the larger of the two since chance adds to it, and is taken off the typical "
            "error."
        )
    level = f"{level_percent(verdict.level)} confidence"
    if verdict.level != a.level:
        level += f", so that all labels together have {level_percent(a.level)}"
    return Answer(question, phrase, f"{level}. {average}", numbers)


def _has_interval(a: Asked) -> bool:
    """Whether there is a confidence set of the typical error, and there are rows enough for it."""
    data = a.view("confidence")
    if data.tally is None or data.tally.n < FEW_ROWS:
        return False
    return quietly(a.possible, INTERVAL) is not None


def _cost(a: Asked, verdict: Verdict, advice: Advice) -> Answer:
    """What recalibration would save on held-out rows, where that can be shown.

    It cannot be known from few clusters, before inverted scores are checked, or from labels that
    are all equal; sums have an answer of their own, since no map can be tried on them.
    """
    question = "What does it cost?"
    code = verdict.all_rows
    if verdict.has_few_clusters and code == "too-few-rows":
        return Answer(question, f"Not known from {verdict.clusters} clusters", "", {})
    fixes = quietly(a.ask, REMEDIES)
    best = None if fixes is None else fixes.most_promising
    if fixes is None or best is None:
        return _cost_of_sums(a, code)
    if verdict.doubt in ("inverted", "confidence") or verdict.decisive is not None:
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
    if verdict.rate in (0, 1):
        detail = "All labels are equal: a map cannot be tried."
        return Answer(question, "Too few rows to tell", detail, numbers)
    if advice.kind == "recalibrate-segment" and "saved" in advice.numbers:
        return _cost_of_segment(advice)
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
        if fixes.other_that_gains(best) is not None:
            phrase = "Hardly anything"
    elif code in OFF:
        phrase = "Too small to be measured with these rows"
    else:
        phrase = "Nothing measurable"
    if best.gain > 0 and (clear or code in OFF):
        words = best.gain_in_words(fixes.before, a.level)
        detail = f"On held-out rows {best.with_article} {words}.{fixes.other_gain(best, a.level)}"
    else:
        detail = _unclear_gain(fixes, best)
    return Answer(question, phrase, detail, numbers)


def _cost_of_segment(advice: Advice) -> Answer:
    """What the map of a segment saves of the score of the rows that it is for."""
    saved = Saved(**advice.numbers["saved"])
    gain, low, high = _decimals(saved.gain, saved.low, saved.high)
    rows = f" in {advice.column} = {advice.value}"
    which = "a map for this segment"
    if shifts_segments(advice):
        rows = ""
        which = f"a map by {advice.column}"
    detail = (
        f"{gain} of {number(saved.before)} could be avoided by {which} "
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


def _cost_of_sums(a: Asked, code: str) -> Answer:
    """What a map fitted on the judged rows themselves would gain, and what it gains by chance."""
    question = "What does it cost?"
    kind: View = "confidence" if a.view("confidence").classwise is None else "classwise"
    estimate: Estimate = quietly(a.estimate, "miscalibration", kind)
    if not math.isfinite(estimate.floor):
        detail = "To measure it, a map must be tried on held-out rows."
        return Answer(question, "Not known", detail, {})
    brier = quietly(a.estimate, "brier", kind).value
    if brier == 0:
        return Answer(question, "Nothing", "Every prediction is exactly right.", {"brier": 0.0})
    numbers = {
        "miscalibration": estimate.value,
        "miscalibration_chance": estimate.floor,
        "brier": brier,
    }
    gain, chance = _decimals(estimate.value, estimate.floor)
    detail = (
        f"{gain} of {number(brier)}: the gain of a map fitted on these same rows. "
        f"A perfectly calibrated model would show about {chance} by chance."
    )
    phrase = f"At most about {percent(estimate.value / brier)} of the Brier score"
    if code == "too-few-rows":
        phrase = "Too few rows to tell"
    return Answer(question, phrase, detail, numbers)


def _decimals(*values: float) -> tuple[str, ...]:
    """Numbers with the decimals that show two digits of the largest; at least four."""
    decimals = max(4, 1 - math.floor(math.log10(max(map(abs, values)) or 1)))
    return tuple(f"{round(v, decimals) + 0.0:.{decimals}f}".replace("-", "−") for v in values)

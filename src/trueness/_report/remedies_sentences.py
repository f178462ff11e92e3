"""What would fix the scores, in sentences."""

import math
from functools import partial

from trueness._assess.advice import OFF
from trueness._assess.commands import as_options, in_python, shifts_segments
from trueness._assess.where import OF_A_SEGMENT
from trueness._text.numbers import (
    changed,
    count,
    level_percent,
    number,
    points,
    span,
)
from trueness._text.strings import (
    capitalized,
)
from trueness.results._page import Model
from trueness.results._remedies import PRIOR_CORRECTION, Remedies, Remedy


def prior_shift_sentence(model: Model) -> str:
    """What re-weighting or sampling of the classes left, and what undoes it.

    Empty unless it is suspected, and where a segment has an error of its own, which then explains
    the average of all rows.
    """
    shift = model.summary.prior_shift
    if shift is None or not shift.suspected or model.advice.kind in OF_A_SEGMENT:
        return ""
    segments = () if model.segments is None else model.segments.rows
    if any(row["flagged"] and row["differs"] for row in segments):
        return ""
    limits = span(shift.slope_low, shift.slope_high, partial(number, decimals=2))
    slope = f"{number(shift.slope, 2)} ({limits})"
    if not shift.shown:
        return (
            f"It looks like {shift.factor}, through class weights or sampling, or like another "
            f"error: the slope, {slope}, is too uncertain to tell."
        )
    return (
        f"The odds of all scores are off by one factor (the slope, {slope}, agrees): it looks like "
        f"{shift.factor}, through class weights or sampling. Undo it with "
        f"tn.recalibrate.prior_correction(p, weight={shift.weight:.3g}), better with the "
        "weight used in training if it is known, or with trueness fit --method prior."
    )


def remedies_sentence(model: Model) -> str:
    """The conclusion from the comparison of calibrators; empty if there is none.

    Where a map by a column is advised, it comes before the best map of all rows.
    """
    remedies = model.remedies
    if remedies is None:
        return ""
    of_all_rows = _maps_of_all_rows(model, remedies)
    if model.advised is None or not shifts_segments(model.advice):
        return of_all_rows
    gained = _gained(model.advised, remedies)
    return (
        f"{capitalized(model.advised.name)} {gained}. It shifts each segment by itself, which one "
        f"map for all rows cannot do. {of_all_rows}"
    )


def _maps_of_all_rows(model: Model, remedies: Remedies) -> str:
    """The conclusion about one map for all rows."""
    if model.verdict.doubt in ("inverted", "confidence"):
        return (
            "Check first whether these are the scores that were meant: a map would only hide a "
            "mistake."
        )
    by_name: dict[str | None, Remedy] = {remedy.name: remedy for remedy in reversed(remedies.after)}
    best = by_name.get(remedies.best)
    if not shifts_segments(model.advice):
        best = model.advised or best
    action = model.answers["action"].phrase
    code = model.verdict.code
    if best is None:
        if remedies.after and all(math.isnan(remedy.gain) for remedy in remedies.after):
            return "The table compares calibrators on held-out data."
        if model.summary.rate in (0, 1):
            return (
                "All outcomes are equal: any map that predicts them gains here, which says nothing "
                "about new rows."
            )
        no_gain = "No calibrator of all rows is expected to gain more than noise on new rows."
        if PRIOR_CORRECTION in by_name:  # its factor speaks for itself
            return no_gain
        if code in OFF:
            return f"{no_gain} {action}."
        return f"{no_gain} Leave the scores alone."
    name = best.with_article
    reason = ""
    if best is model.advised:
        which = capitalized(name)
        is_optional = model.advice.kind == "optional"
        reason = _reason(best, remedies, "proposed" if is_optional else "recommended")
    else:
        if code in OFF:
            finding = action
        elif code == "too-few-rows":
            finding = "These rows are too few to tell whether a map is needed"
        else:
            finding = "Nothing was found that needs a map of all rows"
        which = f"{finding}. The most promising map of all rows, {name},"
        if shifts_segments(model.advice):  # a sentence on that map comes first
            which = f"The most promising map of all rows, {name},"
    recipe = ""
    # The sentence on the shift says how to undo it.
    if best.calibrator is not None and best.name != PRIOR_CORRECTION:
        recipe = (
            f" In Python, {in_python(best.calibrator)}.fit(y_prob, y_true); on the command "
            f"line, trueness fit FILE {as_options(best.calibrator)} -o map.json."
        )
    return (
        f"{which} {_gained(best, remedies)}.{_error_raised(best, remedies)}"
        f"{reason}{_parts_sentence(best)}{recipe}"
    )


def _gained(remedy: Remedy, remedies: Remedies) -> str:
    """What a map does to its score and to the ECE, and how often."""
    return (
        f"would lower the {remedy.score_from(remedies.before)} and change the ECE from "
        f"{changed(remedies.before.ece, remedy.ece)}, on held-out data, and {remedy.promise}"
    )


def _error_raised(remedy: Remedy, remedies: Remedies) -> str:
    """That the typical error is larger after a map; empty where it is not."""
    before = remedies.before.ece_interval
    after = remedy.ece_interval
    if before is None or after is None:
        return ""
    old, new, low, high = points(before.estimate, after.estimate, *after.hull)
    if float(new) <= float(old):
        return ""
    return (
        f" But the typical error would rise from {old} to {new} percentage points "
        f"({low} to {high})."
    )


def _reason(best: Remedy, remedies: Remedies, word: str) -> str:
    """Why a map is proposed although another one has a lower score; empty if none has."""
    score = "brier" if best.gain > 0 else "log_loss"
    lower = [remedy for remedy in remedies.after if getattr(remedy, score) < getattr(best, score)]
    finite = [remedy for remedy in lower if math.isfinite(remedy.log_loss)]
    passed = " Maps with a log loss of ∞ are passed over." if len(finite) < len(lower) else ""
    if finite:
        return f" It is {word} since no other map is better beyond chance.{passed}"
    return passed


def _parts_sentence(best: Remedy) -> str:
    """What the automatic map averages; empty for other maps."""
    if not best.parts:
        return ""
    shares = {
        part["name"]: round(100 * part["share"]) for part in best.parts if part["share"] >= 0.05
    }
    rest = 100 - sum(shares.values())
    if rest > 0:
        shares["others"] = rest
    if len(shares) == 1:
        parts = f"is {best.parts[0]['name']}"
    else:
        parts = "averages " + ", ".join(f"{name} {share} %" for name, share in shares.items())
    return f" Fitted on all rows, it {parts}; it is chosen anew in every fold."


def guarantee_sentence(remedies: Remedies) -> str:
    """The guarantee of histogram binning; empty if there is none."""
    g = remedies.guarantee
    if g is None:
        return ""
    return (
        f"Guarantee: histogram binning with {count(g.n_bins, 'bin')} (scheme '{g.scheme}'), "
        f"fitted on all {g.n:,} rows, is within ± {number(g.epsilon)} of the true rate in every "
        f"bin simultaneously with probability {level_percent(g.level)}, and within ± "
        f"{number(g.marginal)} in the bin of one new row, whatever "
        "the distribution."
    )

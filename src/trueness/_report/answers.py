"""The verdict at the top of a page in words, and the terms that the page explains."""

from collections.abc import Sequence

from trueness._assess.advice import OFF
from trueness._assess.page_parts import adjusted_pvalues
from trueness._text.numbers import p_value
from trueness._text.strings import capitalized, quoted, uncapitalized
from trueness.results import Verdict
from trueness.results._page import Conclusion, Model
from trueness.results._verdict import Code
from trueness.results._verdict_words import error, pvalue_in_words

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
        pvalue=pvalue_in_words(verdict),
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

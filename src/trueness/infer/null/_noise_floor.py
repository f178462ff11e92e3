"""The noise floor: what a measure shows for a perfectly calibrated model."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np

from trueness._tally.evidence import Evidence
from trueness._tally.rules import as_rule
from trueness.errors import (
    InputError,
    NoEstimateWarning,
    OneClassWarning,
    collected_warnings,
    quietly,
    warn,
)
from trueness.infer._floors import floor_draws, pooled_tally, require_whole_floor, upper_value
from trueness.infer._questions import Question
from trueness.results import NoiseFloor
from trueness.typing import Floats

DrawsOf: TypeAlias = Callable[[Mapping[str, Question], Evidence, int], dict[str, Floats]]
Alternative: TypeAlias = Literal["greater", "less", "two-sided"]
_ALTERNATIVES = ("greater", "less", "two-sided")


def noise_floor_of(
    evidence: Evidence,
    question: Question,
    *,
    name: str,
    observed: float | None = None,
    labelled: bool = True,
    level: float,
    alternative: Alternative = "greater",
    seed: int,
    draws: DrawsOf = floor_draws,
) -> NoiseFloor:
    """The noise floor of rows or sums that have been read, as :func:`noise_floor`.

    `question` is the measure, which is called `name`, and `observed` its value if that is known;
    `draws` draws its values. Without labels (`labelled` is False) those of the evidence are
    placeholders, and there are no warnings about them. Where labels cannot be redrawn there is an
    error.
    """
    require_whole_floor(evidence)
    with nullcontext() if labelled else collected_warnings(OneClassWarning):
        if labelled and observed is None:
            observed = question.value(evidence)
        else:
            evidence.warn_about_rows()
            bins = question.options.get("bins", 10)
            if question.measure.bins and bins is not None:
                evidence.warn_few_rows(as_rule(bins))
    if not question.measure.floor:
        question = question._replace(measure=question.measure._replace(floor="drawn"))
    values = draws({"": question}, evidence, seed)[""]
    if not values.size:
        quietly(question.value, evidence)  # raises if the measure itself does not take these rows
        raise InputError(
            "y_prob",
            "must keep each score for a noise floor",
            _why_none(evidence),
            remedy=_PASS_ROWS,
        )
    compared = observed
    if labelled and question.measure.floor == "pooled" and evidence.tally is not None:
        # Drawn labels are measured in pools of scores; for an exact p-value the observed ones must
        # be, too.
        compared = question.value_of_tally(pooled_tally(evidence.tally))
    n = round(evidence.weight) if evidence.whole else evidence.sums.n
    floor = floor_of_draws(
        name, values, observed, level, alternative, n=n, kind=evidence.view, compared=compared
    )
    return replace(floor, note=evidence.note)


_PASS_ROWS = "Pass labels and scores; of very many rows and classes, pass `resamples`."


def _why_none(evidence: Evidence) -> str:
    """Why labels cannot be redrawn, in words."""
    if evidence.tally is None:
        return "sums of bins do not"
    return "these sums do not tell the rows of one score apart, or there are too many classes"


def floor_of_draws(
    name: str,
    draws: Floats,
    observed: float | None,
    level: float = 0.95,
    alternative: Alternative = "greater",
    *,
    n: int,
    kind: str = "binary",
    compared: float | None = None,
) -> NoiseFloor:
    """The noise floor of a measure from its values for labels drawn from the scores.

    `draws` are these values, and `name` is that of the measure. `observed` is its value for the
    true labels; without it (None) there is no p-value. `compared` replaces it in the comparison
    with the draws, by default it is the same. `level` is that of the lower and the upper end, each
    of which is one-sided, and `alternative` says which values are evidence: 'greater', 'less' or
    both.

    `n` is the number of rows and `kind` says what the scores are. Draws that are nan are left out
    of mean, standard deviation and ends; the p-value counts them as at least as extreme. If all are
    nan, there is an InputError.
    """
    if compared is None:
        compared = observed
    defined = _defined(draws)
    return NoiseFloor(
        measure=name,
        mean=float(defined.mean()),
        std=float(defined.std(ddof=1)) if defined.size > 1 else float("nan"),
        # A value below the lower end is as rare as one above the upper end.
        low=-upper_value(-defined, level),
        high=upper_value(defined, level),
        level=level,
        observed=observed,
        pvalue=None if compared is None else _pvalue(draws, compared, alternative),
        alternative=alternative,
        resamples=draws.size,
        n=n,
        kind=kind,
        draws=draws,
    )


def _defined(draws: Floats) -> Floats:
    """The values that are not nan; an error if there is none.

    If some are nan, there is a warning that says how many.
    """
    defined = draws[~np.isnan(draws)]
    undefined = draws.size - defined.size
    if undefined and not defined.size:
        raise InputError(
            "measure", "must be defined for some set of simulated labels", "it is nan for every set"
        )
    if undefined:
        warn(
            f"The measure is undefined for {undefined:,} of {draws.size:,} "
            "sets of simulated labels.",
            NoEstimateWarning,
        )
    return defined


def _pvalue(draws: Floats, observed: float, alternative: Alternative) -> float:
    """The Monte-Carlo p-value of an observed value among drawn ones.

    It is (1 + number of draws at least as extreme) / (draws + 1). At least as extreme is not
    smaller for 'greater' and not larger for 'less'; otherwise the smaller of these two p-values is
    doubled. Draws that are nan count as at least as extreme, and so do draws that equal the
    observed value up to rounding.
    """
    # Values that are equal up to rounding count as equal, in favour of calibration.
    slack = 1e-12 * max(1.0, abs(observed))
    undefined = np.isnan(draws)
    greater = (1 + int((undefined | (draws >= observed - slack)).sum())) / (draws.size + 1)
    less = (1 + int((undefined | (draws <= observed + slack)).sum())) / (draws.size + 1)
    if alternative == "greater":
        return greater
    if alternative == "less":
        return less
    return min(1.0, 2 * min(greater, less))

"""Tests of calibration: one function, a table of methods."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from trueness._input.arguments import checked_resamples
from trueness._numerics.holm import holm
from trueness._tally.binned_scores import cells_per_axis, checked_k, default_cells, of_matrix
from trueness._tally.cells import Cells
from trueness._tally.clusters import order_by_content
from trueness._tally.evidence import Evidence
from trueness._tally.rules import BinsLike, as_rule, blind_to_labels
from trueness._tally.tally import Tally
from trueness.errors import InputError
from trueness.infer.interval._analytic import analytic, analytic_outcome
from trueness.infer.test._classical_tests import cox, hosmer_lemeshow, spiegelhalter
from trueness.infer.test._clustered_tests import CLUSTERED_TESTS
from trueness.infer.test._cumulative import ks, kuiper
from trueness.infer.test._method import (
    Entries,
    Options,
    Test,
    entries_of_equal_weights,
    entries_of_rows,
    have_equal_weights,
    require_counts,
    significance,
)
from trueness.infer.test._omnibus import omnibus
from trueness.infer.test._omnibus_matrix import matrix_outcome, parts_outcome
from trueness.infer.test._pair_tests import Divisor, adaptive_t_cal, exact, pair_test, t_cal
from trueness.infer.test._quantiles import quantiles_outcome
from trueness.results import Significance

TestMethod: TypeAlias = Literal[
    "omnibus",
    "exact",
    "analytic",
    "t-cal",
    "adaptive-t-cal",
    "ks",
    "kuiper",
    "spiegelhalter",
    "cox",
    "hosmer-lemeshow",
    "quantiles",
]

_RESAMPLES = 999


class _Method(NamedTuple):
    """A method of :func:`calibration_test` for independent rows of one score each."""

    test: Test
    uses: tuple[str, ...]
    """The options it uses; `seed` goes with `resamples`."""


_METHODS: Mapping[str, _Method] = {
    "omnibus": _Method(omnibus, ("resamples", "k", "rounded_to")),
    "exact": _Method(exact, ("bins", "resamples", "k")),
    "analytic": _Method(analytic, ("bins", "k")),
    "t-cal": _Method(t_cal, ("bins", "resamples", "k")),
    "adaptive-t-cal": _Method(adaptive_t_cal, ("resamples",)),
    "ks": _Method(ks, ("resamples",)),
    "kuiper": _Method(kuiper, ("resamples",)),
    "spiegelhalter": _Method(spiegelhalter, ("resamples",)),
    "cox": _Method(cox, ("resamples",)),
    "hosmer-lemeshow": _Method(hosmer_lemeshow, ("bins", "resamples", "fitted")),
}


_DIVISORS: Mapping[str, Divisor] = {"exact": "pairs", "analytic": "pairs", "t-cal": "rows"}
"""Methods for several scores of a row together."""


def test_of(
    evidence: Evidence,
    *,
    method: TestMethod = "omnibus",
    bins: BinsLike | None = None,
    k: int | None = None,
    resamples: int | None = None,
    fitted: bool = False,
    seed: int,
) -> Significance:
    """The test of rows or sums that have been read, as :func:`trueness.calibration_test`.

    `method` is the name of the test, `bins` and `k` (the number of largest scores of each row) are
    for the methods that take them, and `fitted` says that the rows were used to fit the model.
    `resamples` is the number of drawn sets of labels, by default as the method requires.

    Labels or pixels of several columns are tested one by one. Otherwise rows in clusters are tested
    by random signs of the clusters and by drawn labels, and a matrix of scores class by class.
    Options that the method does not use are refused with InputError.
    """
    if method == "quantiles":
        return _quantiles_significance(evidence, bins, k, resamples, fitted, seed)
    options = _options(method, bins, resamples, fitted, k, seed, evidence.dependent)
    options = options._replace(rounded_to=evidence.rounded_to)
    if evidence.has_labels or evidence.has_images:
        if k is not None and k > 1:
            raise InputError(
                "k", "must be None or 1 where each column is tested by itself", f"got {k}"
            )
        return _each_label(evidence, method, bins, resamples, fitted, seed)
    if evidence.dependent:
        if evidence.weights == "fractional":
            _refuse_weights_in_clusters(evidence, method)
        rows = evidence.clustered_for(options.rule)
        outcome = CLUSTERED_TESTS[method](rows, options, options.resamples or _RESAMPLES)
        result = significance(rows.cells, method, outcome)
    elif (k is not None and k > 1) or evidence.has_class_rows:
        result = _matrix_significance(evidence, method, k, options)
    elif method == "omnibus" and evidence.is_by_predicted_class:
        result = _parts_significance(evidence.tally_in(), options)
    else:
        result = _vector_significance(evidence, method, options)
    if evidence.note:
        return replace(result, assumptions=f"{result.assumptions} {evidence.note}")
    return result


def _vector_significance(evidence: Evidence, method: str, options: Options) -> Significance:
    """The test of one score per row, for independent rows.

    `method` is the name of a test of one score. Evidence with several scores for each row is
    refused with InputError. If weights do not count rows, the rows themselves are passed on
    (`entries`), so that one label can be drawn for each.
    """
    if not evidence.has_one_score:
        raise _several_questions(evidence.view)
    (cells,) = evidence.tally_in(options.rule).parts
    if evidence.classes is not None:
        options = options._replace(classes=len(evidence.classes))
    if not cells.whole:
        options = options._replace(entries=_weighted_entries(evidence, cells, method))
    return significance(cells, method, _METHODS[method].test(cells, options))


def _refuse_weights_in_clusters(evidence: Evidence, method: TestMethod) -> None:
    """Raise for weights in clusters that do not count rows, but for those of events."""
    demand = "must be whole numbers with `cluster`: they count rows"
    if evidence.events is None:
        raise InputError("sample_weight", demand)
    if method != "omnibus":
        got = f"got those of {evidence.events.words}"
        raise InputError("sample_weight", demand, got, remedy="Use `method='omnibus'`.")


def _quantiles_significance(
    evidence: Evidence,
    bins: BinsLike | None,
    k: int | None,
    resamples: int | None,
    fitted: bool,
    seed: int,
) -> Significance:
    """The joint test of quantile forecasts, which reads rows and no sums.

    Options that it does not use are refused.
    """
    passed = {"bins": bins is not None, "k": checked_k(k) > 1, "fitted": bool(fitted)}
    for option, is_passed in passed.items():
        if is_passed:
            raise InputError(option, "is not used by `method='quantiles'`", remedy="Leave it out.")
    draws = _RESAMPLES if resamples is None else checked_resamples(resamples)
    outcome = quantiles_outcome(evidence, draws, seed)
    assert evidence.rows is not None
    assert evidence.events is not None
    assert evidence.events.levels is not None
    result = outcome.significance("quantiles", evidence.rows.n // evidence.events.levels.size)
    return replace(result, assumptions=f"{result.assumptions} {evidence.note}".rstrip())


def _each_label(
    evidence: Evidence,
    method: TestMethod,
    bins: BinsLike | None,
    resamples: int | None,
    fitted: bool,
    seed: int,
) -> Significance:
    """The test of every label, or class of images, by itself.

    The smallest p-value times their number is the joint one. The other fields are those of the
    problem with this p-value.
    """
    problems = dict(evidence.each_class())
    uses_draws = evidence.dependent or method in ("omnibus", "exact", "t-cal")
    if resamples is None and uses_draws and 40 * len(problems) > _RESAMPLES:
        # Enough draws for the smallest p-value to survive the correction.
        resamples = 40 * len(problems) - 1
    # Every label has the same random numbers, whatever the order of labels: the correction holds
    # under dependence.
    results = {}
    for label, problem in problems.items():
        results[str(label)] = test_of(
            replace(problem, notes=()),
            method=method,
            bins=bins,
            resamples=resamples,
            fitted=fitted,
            seed=seed,
        )
    alone = {label: result.pvalue for label, result in results.items()}
    adjusted = dict(zip(alone, holm(np.array(list(alone.values()))).tolist(), strict=True))
    worst = min(alone, key=lambda label: alone[label])
    result = results[worst]
    kind = "label" if evidence.has_labels else "class"
    assumptions = (
        f"{len(results)} problems, one per {kind}, each with redrawn labels of its own; the "
        "smallest p-value is multiplied by their number, which holds however they depend on each "
        f"other. {kind.capitalize()} {worst!r}: {result.assumptions} {evidence.note}"
    )
    strongest = f"{kind} {worst!r}"
    if result.strongest:
        strongest = f"{strongest}, {result.strongest}"
    return replace(
        result,
        pvalue=min(adjusted.values()),
        assumptions=assumptions.rstrip(),
        alone=alone,
        adjusted=adjusted,
        strongest=strongest,
        too_good=None,
        contradicted=sum(result.contradicted for result in results.values()),
        smallest_pvalue=min(1.0, result.smallest_pvalue * len(results)),
    )


def _weighted_entries(evidence: Evidence, cells: Cells, method: str) -> Entries | None:
    """The rows of weights that do not count them, so that one label can be drawn for each.

    From sums, all rows of one score must have the same weight; if they have not, the omnibus test
    refuses them, and other methods get None.
    """
    if not evidence.has_rows:
        if method == "omnibus" or have_equal_weights(cells):
            return entries_of_equal_weights(cells)
        return None
    top = evidence.sample
    assert top.w is not None
    return entries_of_rows(np.asarray(top.y), np.asarray(top.p, dtype=np.float64), top.w)


def _parts_significance(tally: Tally, options: Options) -> Significance:
    """The omnibus test of the top label of each predicted class: problems that share no row.

    `tally` has one part for each predicted class, the sums of the rows for which that class has the
    largest score. Weights must count rows. Parts without rows are left out; if all are empty, there
    is an InputError.
    """
    parts = [
        require_counts(part, "`kind='top-label'`", "`kind='confidence'`") for part in tally.parts
    ]
    if not any(part.size for part in parts):
        raise InputError("", "A test needs rows", "there are none")
    outcome = parts_outcome(parts, tally.classes or (), options)
    return outcome.significance("omnibus", int(tally.weight))


def _matrix_significance(
    evidence: Evidence, method: str, k: int | None, options: Options
) -> Significance:
    """The test of every class or, with `k`, of the k largest scores of each row.

    Some methods take the k largest together, by pairs of rows; the omnibus test takes both. Other
    methods, and weights that do not count rows, are refused.
    """
    if evidence.is_binary:
        raise InputError("k", "must be None or 1 for a vector of scores", f"got {k}")
    if method in _DIVISORS and k is not None and evidence.is_top_label:
        return _largest_scores_significance(evidence, method, k, options)
    if method != "omnibus":
        raise _several_questions(evidence.view)
    classes = evidence.matrix.p.shape[1]
    if k is not None and k > classes:
        raise InputError("k", f"must be at most {classes}, the number of classes", f"got {k}")
    if evidence.weights == "fractional":
        demand = "must be whole numbers for several columns: a weight of 2 counts the row twice"
        raise InputError("sample_weight", demand)
    sample = evidence.expanded.matrix
    y = np.asarray(sample.y)
    names = evidence.classes or tuple(range(classes))
    return matrix_outcome(np.asarray(sample.p), y, names, k, options).significance(method, y.size)


def _largest_scores_significance(
    evidence: Evidence, method: str, k: int, options: Options
) -> Significance:
    """The test of the k largest scores of each row together, by pairs of rows in cells.

    The cells cut the space of the k scores; `options.rule` says how often each axis is cut. The
    method 'analytic' compares the sum over pairs with the normal distribution. Other methods
    compare it with classes drawn from the scores.
    """
    sample = evidence.matrix
    order, _ = order_by_content(sample.p, sample.w)
    per_axis = None if options.rule is None else cells_per_axis(options.rule)
    scores = of_matrix(evidence.at(order).matrix, k, per_axis)
    detail = f"The {scores.k} largest scores of each row; {scores.bins}."
    if method != "analytic":
        outcome = pair_test(scores, options, _DIVISORS[method], detail)
    elif options.rule is None:
        outcome = analytic_outcome(scores, default_cells(scores.n, k, scores.classes), detail)
    else:
        outcome = analytic_outcome(scores, options.rule.n_requested, detail)
    return outcome.significance(method, int(scores.n))


def _options(
    method: str,
    bins: BinsLike | None,
    resamples: int | None,
    fitted: bool,
    k: int | None,
    seed: int,
    clustered: bool,
) -> Options:
    """The options of a method, checked; those that it does not use are refused.

    With clusters (`clustered`), so are methods that do not take them.
    """
    if not isinstance(fitted, bool | np.bool_):
        raise InputError("fitted", "must be True or False", f"got {fitted!r}")
    if clustered:
        if method not in CLUSTERED_TESTS:
            *first, last = map(repr, CLUSTERED_TESTS)
            takers = f"{', '.join(first)} or {last}"
            raise InputError(
                "cluster",
                f"is only accepted by {takers}",
                f"`method={method!r}` needs independent rows",
            )
        if checked_k(k) > 1:
            raise InputError("k", "must be 1 with `cluster`", f"got {k}")
    passed = {
        "bins": bins is not None,
        "resamples": resamples is not None,
        "fitted": fitted,
        "k": checked_k(k) > 1,
    }
    for option, is_passed in passed.items():
        if is_passed:
            refuse_unused(option, method)
    if fitted and resamples is not None:
        demand = "redraws labels as if they had not been used to fit"
        raise InputError("resamples", demand, remedy="With `fitted=True` leave it out.")
    count = None if resamples is None else checked_resamples(resamples)
    rule = None if bins is None else blind_to_labels(as_rule(bins))
    return Options(rule=rule, resamples=count, seed=seed, fitted=bool(fitted), classes=None)


METHODS = (*_METHODS, "quantiles")


def refuse_unused(option: str, method: str) -> None:
    """Raise if a method does not take an option."""
    if method not in _METHODS or option not in _METHODS[method].uses:
        users = [name for name, other in _METHODS.items() if option in other.uses]
        remedy = f"Leave it out; it is used by {', '.join(users)}."
        raise InputError(option, f"is not used by `method={method!r}`", remedy=remedy)


def _several_questions(view: str) -> InputError:
    """The error of a method that asks one question, for a view that poses one per class."""
    demand = f"A single test poses one question; kind={view!r} poses one per class"
    return InputError(
        "", demand, remedy="Use `method='omnibus'` on labels and scores, or `kind='confidence'`."
    )

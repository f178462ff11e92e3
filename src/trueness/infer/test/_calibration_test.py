"""Tests of calibration: one function, a table of methods."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias, Unpack

import numpy as np

from trueness._input.arguments import Seed, checked_resamples, checked_word, whole_seed
from trueness._numerics.holm import holm
from trueness._tally.binned_scores import cells_per_axis, checked_k, default_cells, of_matrix
from trueness._tally.cells import Cells
from trueness._tally.clusters import order_by_content
from trueness._tally.evidence import Evidence
from trueness._tally.rows_or_sums import takes_rows
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
    have_equal_weights,
    require_counts,
    significance,
)
from trueness.infer.test._omnibus import omnibus
from trueness.infer.test._omnibus_matrix import matrix_outcome, parts_outcome
from trueness.infer.test._omnibus_statistics import entries_of_rows
from trueness.infer.test._pair_tests import Divisor, adaptive_t_cal, exact, pair_test, t_cal
from trueness.results import Significance
from trueness.typing import ArrayLike, RowOptions

TestMethod: TypeAlias = Literal[
    "omnibus", "exact", "analytic", "t-cal", "adaptive-t-cal", "ks", "kuiper", "spiegelhalter", "cox", "hosmer-lemeshow"
]

_RESAMPLES = 999


class _Method(NamedTuple):
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


@partial(takes_rows, kind="confidence")
def calibration_test(
    y_true: ArrayLike | Tally,
    y_prob: ArrayLike | None = None,
    *,
    method: TestMethod = "omnibus",
    bins: BinsLike | None = None,
    cluster: ArrayLike | None = None,
    k: int | None = None,
    resamples: int | None = None,
    seed: Seed = 0,
    fitted: bool = False,
    rounded_to: float | None = None,
    **rows: Unpack[RowOptions],
) -> Significance:
    r"""Test whether scores are calibrated: whether each event had its predicted probability.

    A small p-value is evidence against calibration. A large one is no evidence for it: there may be too few rows, or
    the test may have no power against the error there is.

    Parameters
    ----------
    y_true, y_prob
        As for :func:`trueness.ece`, or a :class:`trueness.Tally` in place of both. The labels must not have been
        used to fit the scores (except with `fitted`).
    method : str, default 'omnibus'
        'omnibus'
            Eight statistics at once, for errors of unknown kind: 'error' and 'width', :math:`T` of 'exact' in cells of
            equal mass and of equal width; 'cells', squared residuals in fine cells over their variance; 'trend', the
            deviance in coarse cells; 'mean' and 'slope', the two parts of 'cox'; 'variance',
            :math:`\sum p (1 - p) (y - p)`; 'waves', cosines along the scores (``docs/methods/omnibus-test.md``). All
            come from the same redrawn labels. Their p-values :math:`p_j` are combined by
            :math:`\sum w_j p_j^{-1/2}`, and the sum is ranked among the redrawn labels: the level holds at any n. The
            statistic is the smallest :math:`p_j`; `strongest` says whose. A label that a score of exactly
            0 or 1 rules out gives p = 0. See Notes.
        'exact'
            Debiased squared error :math:`T` of :func:`trueness.squared_ece`, upper tail, compared with labels
            redrawn from the scores. Keeps its level at any n. Default bins: max(5, round(n^0.4)) of equal mass. Above
            4,096 distinct scores, nearly equal scores of a bin are drawn together, as one binomial number; this
            changes the level by less than 0.001.
        'analytic'
            The same :math:`T` as :math:`z = n \sqrt{w}\, T / \sigma_0`, cells of volume :math:`w`, upper tail of the
            normal distribution (Sun et al. 2025, Theorem 3.3): p ≤ α where Algorithm 1 leaves zero out. Equal width
            only; default max(2, round(n^{2/(4 + d)})) cells per axis with d = min(k, K − 1), or 1 for a vector.
        't-cal'
            :math:`\frac1n \sum_b [(\sum u)^2 - \sum u^2] / n_b`, u = y − p, compared with redrawn labels (Lee et al.
            2023). Default bins: max(2, round(n^0.4)) of equal width.
        'adaptive-t-cal'
            't-cal' with 2, 4, …, :math:`2^B` bins, :math:`B = \lceil 2 \log_2 (n / \sqrt{\log n}) \rceil`; the smallest
            p-value times B, at most 1. The statistic is that of the resolution with the smallest p-value.
        'ks', 'kuiper'
            With :math:`C(s) = \frac1n \sum_{p_i \le s} (y_i - p_i)` over the distinct scores, and 0 before the first:
            the largest :math:`|C|`; the range of :math:`C`. Divided by
            :math:`\sigma = \frac1n \sqrt{\sum p (1 - p)}`, they are compared with Brownian motion on [0, 1].
        'spiegelhalter'
            :math:`z = \sum (y - p)(1 - 2p) / \sqrt{\sum (1 - 2p)^2 p (1 - p)}`, two-sided: whether the Brier score is
            what the scores predict. Scores of 1/2 have no influence.
        'cox'
            Score test of slope 1 and intercept 0 in :math:`\mathrm{logit}\,P(Y = 1) = a + b\,\mathrm{logit}\,p`, with
            the information at (1, 0): chi-squared, 2 degrees of freedom (1 if there is one distinct score).
        'hosmer-lemeshow'
            :math:`\sum_b (O_b - E_b)^2 / (n_b \bar p_b (1 - \bar p_b))` over :math:`g` non-empty groups:
            chi-squared, :math:`g` degrees of freedom. Default: 10 groups of equal mass.
    bins : int, sequence of edges or bin rule, optional
        For 'exact', 'analytic', 't-cal' and 'hosmer-lemeshow'. Rules that depend on the labels are refused.
    cluster : array-like of shape (n,), optional
        A cluster name for each row; rows of one cluster may depend on each other. For 'omnibus', 'exact', 'ks',
        'kuiper' and 'spiegelhalter', from labels and scores; whole-number weights only. See Notes.
    k : int, optional
        For 'omnibus', 'exact', 'analytic', 't-cal' and a matrix: how many of the largest scores of a row are tested.
        Default 1. 'omnibus' tests each of them by itself (see Notes). The others test them jointly: u is a vector, its
        products are inner products, and the cells are those of :func:`trueness.squared_ece`, an int `bins` per axis
        (the mK of Sun et al.); k = K is then full calibration, with all classes in class order. Of
        tied scores the first column counts as the larger, so that the order of tied classes matters.
    resamples : int, optional
        Number of sets of labels redrawn from the scores. The default is 999, and at least 100 B − 1 for
        'adaptive-t-cal', so that 0.01 can be reached. 'ks', 'kuiper', 'spiegelhalter', 'cox' and 'hosmer-lemeshow'
        redraw labels only if this is given, or if their limiting distribution is not accurate: see Notes.
    seed : int or numpy.random.Generator, default 0
        For redrawn labels and random signs: see Notes for what it fixes.
    fitted : bool, default False
        For 'hosmer-lemeshow': the rows were used to fit the scores by a logistic regression, which leaves
        :math:`g - 2` degrees of freedom.
    rounded_to : float, optional
        For 'omnibus': the unit to which the scores were rounded, such as 0.01, or 1/30 for the votes of 30 trees.
        Rounding may have made scores 0 and 1; see Notes. Not for `kind='top-label'`.
    **rows
        As for :func:`trueness.ece`, but the default for a matrix is 'confidence'; other kinds need the method
        'omnibus'. A matrix of two columns is the binary problem of its second column, unless `k` or a `kind` other
        than 'classwise' is given.

    Returns
    -------
    Significance
        `statistic`, `pvalue`, `method`, `n` and, in words, `assumptions`: those of the p-value, and the defaults used.
        For 'omnibus' also `alone`, the p-value of each statistic, `strongest`, the one with the smallest, in words;
        `contradicted`, the number of rows whose label a score of exactly 0 or 1 rules out; and `too_good`, the p-value
        of the lower tail. An option that the method does not use is an error.

    Notes
    -----
    Levels and powers in simulations are in ``docs/evidence/coverage.md``.

    **Redrawn labels.** :math:`Y^*_i` is 1 with probability :math:`p_i`, and the p-value is
    :math:`(1 + \#\{T^* \ge T\}) / (R + 1)` with :math:`R` redraws: never 0, and
    :math:`P(\text{pvalue} \le \alpha) \le \alpha` for calibrated scores at any n, with equality, except for ties, if
    :math:`\alpha (R + 1)` is whole. For 'adaptive-t-cal' all resolutions share the redrawn labels; the correction for
    their number makes it conservative.

    **Limiting distributions** need enough rows that influence the statistic. 'ks', 'kuiper', 'spiegelhalter' and 'cox'
    therefore redraw labels, 999 times, unless Lyapunov's ratio
    :math:`\sum |c|^3 E|y - p|^3 / (\sum c^2 p (1 - p))^{3/2}` of each sum :math:`\sum c (y - p)` that they use is at
    most 0.2; for c = 1 and rare events this means at least 25 expected events. 'ks' and 'kuiper' also redraw if few
    distinct scores carry the variance, :math:`(\sum v)^2 / \sum v^2 < 100` for the variances v of their events: a path
    of few steps reaches less far than Brownian motion. 'hosmer-lemeshow' redraws unless weights count rows and the
    variance of the events is at least 5 in every group. More than 2·10⁸ labels keep the approximation, and so do sums
    whose rows of one score have different weights; `assumptions` then warns. 'analytic' never redraws: at 0.01 it
    rejects three times too often for uniform scores, at any n, and never for rare events, because its null deviation
    assumes that scores fill [0, 1].

    **Too good to be true.** `too_good` is small if the labels agree with the scores better than independent labels
    would: the same statistics, each ranked from below, combined in the same way, with an exact level of its own.
    Usually the scores were fitted on these rows; duplicated rows and quotas are other causes.

    **Clusters.** Dependent rows make every plain test reject too often. With `cluster` the same statistic (for
    'exact', :math:`T` without pairs of rows of one cluster, as for :func:`trueness.ece_interval`) is compared with its
    values for random signs of the residuals y − p of each cluster, and for redrawn labels, which matter if few events
    are expected; the larger p-value is reported. No method is then exact: they need many clusters, none of which
    dominates. Below 20 effective clusters, :math:`(\sum n_g)^2 / \sum n_g^2` of their sizes, there is a
    :class:`trueness.FewClustersWarning`: tests at 0.1 may then reject 0.22 of calibrated data sets with rare events.

    **Small p-values** of 'omnibus' do not stop at the floor 1/(R + 1) of redrawn labels: there, and only there, the
    reported p-value may be a bound by Chernoff's inequality that is proven for every n, so that the level still holds.
    With clusters no tail is proven, and the floor remains.

    **Scores of exactly 0 or 1** have no variance; a label that contradicts one is impossible under calibration. If all
    scores are 0 or 1, the p-value is 1 if all labels agree, and otherwise the smallest the method can give: 0, or 1/(R
    + 1). Among other scores, 'omnibus' gives p = 0 and says which labels are impossible. With `rounded_to`, scores of 0
    and 1 that labels contradict are moved to the share of their labels, by at most half the unit, and the p-value of
    the moved scores is reported, without `too_good`. For single methods the formulas apply: 'cox' takes its limit,
    which is infinite (p-value 0), as is 'hosmer-lemeshow' if a whole group is contradicted; the others add the
    difference of 1.

    **Weights** that are whole numbers count rows. With other weights 'omnibus' draws one label per row and weighs its
    statistics; if only sums are passed, rows of one score must have equal weights. 'ks', 'kuiper', 'spiegelhalter',
    'cox' and 'hosmer-lemeshow' do the same where they redraw labels, and otherwise use the null variance
    :math:`\sum w^2 p (1 - p)`; the others refuse such weights.

    **Matrices.** By default the question is whether the largest score is the probability that its class is right; a
    matrix of two columns is the binary problem of the second. 'omnibus' also takes `kind='classwise'` (every class
    against the rest, and the largest score), `kind='top-label'` (the largest score, for each predicted class) and `k`
    (the r-th largest score as the probability that its class is right, for r up to k). One class is drawn per row, all
    columns are ranked on the same draws, and the sum of their combinations and their largest deviance are ranked again:
    the level is exact. `alone` then has the p-value of each column, and `strongest` names the decisive one. The
    :math:`p_j` are ranks among other draws, which do not depend on `seed`. If the R = 999 draws that are counted give a
    p-value above 1/(R + 1) and at most 0.2, up to M = 9,999 are, and with g of them at least as extreme it is
    :math:`(g + 1 + (1 - R/M)^{g + 1} M/R) / (M + 1)`: the level stays exact. Time and memory are bounded: 20,000 cells
    in all columns; fewer than 999 draws, but at least 199, if more than 2·10⁸ classes or 4·10⁷ statistics would be
    drawn, and no further ones above a tenth of that.

    **A seed** fixes the p-value of a set of rows: their order, that of the classes and the unit of fractional weights
    do not change it. Of equal scores of a row, the first class counts as the larger, as for :func:`trueness.ece`; for
    'omnibus' with `k` or 'classwise' only if the classes have equal scores in all rows. Cells of k = K are ordered too.

    **Labels.** With `kind='multilabel'` every label is tested by itself, and so is every class of images with
    `kind='classwise'`. Labels of one row may depend on each other, which the scores do not tell; so the joint p-value
    is the smallest one times the number of labels. `alone` has the p-value of each label, `adjusted` the same after
    Holm's correction. Images are clusters by default.

    **Swapping the classes** does not change 'kuiper', 'spiegelhalter' and 'cox'. It changes 'ks', whose path then
    starts at the other end, and binned methods if a score lies on an edge or a tie on a cut.

    References
    ----------
    D. R. Cox, Two further applications of a model for binary regression, Biometrika 45 (1958).
    D. W. Hosmer, S. Lemeshow, Goodness of fit tests for the multiple logistic regression model, Communications in
    Statistics 9 (1980).
    D. J. Spiegelhalter, Probabilistic prediction in patient management and clinical trials, Statistics in Medicine 5
    (1986).
    I. Arrieta-Ibarra, P. Gujral, J. Tannen, M. Tygert, C. Xu, Metrics of calibration for probabilistic predictions,
    Journal of Machine Learning Research 23 (2022).
    D. Lee, X. Huang, H. Hassani, E. Dobriban, T-Cal: an optimal test for the calibration of predictive models, Journal
    of Machine Learning Research 24 (2023).
    Y. Sun, P. Chaudhari, I. Barnett, E. Dobriban, A confidence interval for the l2 expected calibration error, 2025.

    Examples
    --------
    Forty events among a hundred rows of score 0.5: :math:`|C| = 0.1`, two null standard deviations.

    >>> from trueness.infer import calibration_test
    >>> test = calibration_test([1] * 40 + [0] * 60, [0.5] * 100, method="ks", seed=0)
    >>> round(test.statistic, 6), round(test.pvalue, 4)
    (0.1, 0.062)

    A model that predicts 0.95 and is wrong one time in four:

    >>> test = calibration_test([1, 1, 1, 0] * 25, [0.95] * 100, seed=0)
    >>> test.pvalue < 1e-6, test.strongest
    (True, 'observed against expected events')
    """
    checked_word(method, "method", tuple(_METHODS))
    if rounded_to is not None:
        _refuse_unused("rounded_to", method)
        if rows.get("kind") == "top-label":
            raise InputError("rounded_to", "is not used by `kind='top-label'`", remedy="Leave it out.")
    two_columns: Literal["binary", "keep"] = "binary" if k is None else "keep"
    evidence = Evidence.of(y_true, y_prob, rows, kind="confidence", two_columns=two_columns, cluster=cluster)
    evidence = evidence.rounded(rounded_to)
    return test_of(evidence, method=method, bins=bins, k=k, resamples=resamples, fitted=fitted, seed=whole_seed(seed))


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
    """The test of rows or sums that have been read, as :func:`calibration_test`."""
    options = _options(method, bins, resamples, fitted, k, seed, evidence.dependent)
    options = options._replace(rounded_to=evidence.rounded_to)
    # Whole-number weights count rows here, whatever they mean elsewhere.
    evidence = replace(evidence, weight_type="auto") if evidence.weight_type == "importance" else evidence
    if evidence.view == "multilabel" or evidence.has_images:
        if k is not None and k > 1:
            raise InputError("k", "must be None or 1 where each column is tested by itself", f"got {k}")
        return _each_label(evidence, method, bins, resamples, fitted, seed)
    if evidence.dependent:
        if evidence.weights == "fractional":
            raise InputError("sample_weight", "must be whole numbers with `cluster`: they count rows")
        if evidence.rows is None:
            evidence.tally_in(options.rule)  # refuses bins
        rows = evidence.clustered
        outcome = CLUSTERED_TESTS[method](rows, options, options.resamples or _RESAMPLES)
        found = significance(rows.cells, method, outcome)
    elif (k is not None and k > 1) or (evidence.view == "classwise" and evidence.rows is not None):
        found = _matrix_significance(evidence, method, k, options)
    elif method == "omnibus" and evidence.view == "top-label":
        found = _parts_significance(evidence.tally_in(), options)
    else:
        if evidence.view not in ("binary", "confidence"):
            raise _several_questions(evidence.view)
        (cells,) = evidence.tally_in(options.rule).parts
        options = options._replace(classes=None if evidence.classes is None else len(evidence.classes))
        if not cells.whole:
            options = options._replace(entries=_weighted_entries(evidence, cells, method))
        found = significance(cells, method, _METHODS[method].test(cells, options))
    return replace(found, assumptions=f"{found.assumptions} {evidence.note}") if evidence.note else found


def _each_label(
    evidence: Evidence, method: TestMethod, bins: BinsLike | None, resamples: int | None, fitted: bool, seed: int
) -> Significance:
    """Every label, or class of images, by itself; the smallest p-value times their number is the joint one."""
    problems = dict(evidence.each_class())
    # Draws enough for the smallest p-value to survive the correction.
    few = 40 * len(problems) <= _RESAMPLES or not (evidence.dependent or method in ("omnibus", "exact", "t-cal"))
    enough = None if few else 40 * len(problems) - 1
    settings: Any = {"method": method, "bins": bins, "resamples": resamples or enough, "fitted": fitted}
    # Every label has the same random numbers, whatever the order of labels: the correction holds under dependence.
    found = {str(x): test_of(replace(one, notes=()), seed=seed, **settings) for x, one in problems.items()}
    alone = {label: one.pvalue for label, one in found.items()}
    adjusted = dict(zip(alone, holm(np.array(list(alone.values()))).tolist(), strict=True))
    worst = min(alone, key=lambda label: alone[label])
    what = "label" if evidence.view == "multilabel" else "class"
    text = (
        f"{len(found)} problems, one per {what}, each with redrawn labels of its own; the smallest p-value is "
        f"multiplied by their number, which holds however they depend on each other. {what.capitalize()} {worst!r}: "
    )
    return replace(
        found[worst],
        pvalue=min(adjusted.values()),
        assumptions=f"{text}{found[worst].assumptions} {evidence.note}".rstrip(),
        alone=alone,
        adjusted=adjusted,
        strongest=f"{what} {worst!r}" + (f", {found[worst].strongest}" if found[worst].strongest else ""),
        too_good=None,
        contradicted=sum(one.contradicted for one in found.values()),
        smallest_pvalue=min(1.0, found[worst].smallest_pvalue * len(found)),
    )


def _weighted_entries(evidence: Evidence, cells: Cells, method: str) -> Entries | None:
    """One label per row, whatever its weight; from sums, rows of one score must have equal weights."""
    if evidence.rows is None:
        return entries_of_equal_weights(cells) if method == "omnibus" or have_equal_weights(cells) else None
    top = evidence.sample
    assert top.w is not None
    return entries_of_rows(np.asarray(top.y), np.asarray(top.p, dtype=np.float64), top.w)


def _parts_significance(tally: Tally, options: Options) -> Significance:
    """The top label of each predicted class: problems that share no row."""
    parts = [require_counts(part, "`kind='top-label'`", "`kind='confidence'`") for part in tally.parts]
    if not any(part.size for part in parts):
        raise InputError("", "A test needs rows", "there are none")
    return parts_outcome(parts, tally.classes or (), options).significance("omnibus", int(tally.weight))


def _matrix_significance(evidence: Evidence, method: str, k: int | None, options: Options) -> Significance:
    """Every class, or the k largest scores."""
    if evidence.view == "binary":
        raise InputError("k", "must be None or 1 for a vector of scores", f"got {k}")
    if method in _DIVISORS and k is not None and evidence.view == "confidence":
        sample = evidence.matrix
        sample = evidence.at(order_by_content(sample.p, sample.w)[0]).matrix
        scores = of_matrix(sample, k, None if options.rule is None else cells_per_axis(options.rule))
        detail = f"The {scores.k} largest scores of each row; {scores.bins}."
        if method == "analytic":
            per_axis = default_cells(scores.n, k, scores.classes) if options.rule is None else options.rule.n_requested
            outcome = analytic_outcome(scores, per_axis, detail)
        else:
            outcome = pair_test(scores, options, _DIVISORS[method], detail)
        return outcome.significance(method, int(scores.n))
    if method != "omnibus":
        raise _several_questions(evidence.view)
    classes = evidence.matrix.p.shape[1]
    if k is not None and k > classes:
        raise InputError("k", f"must be at most {classes}, the number of classes", f"got {k}")
    if evidence.weights == "fractional":
        demand = "must be whole numbers for several columns: a weight of 2 counts the row twice"
        raise InputError("sample_weight", demand)
    evidence.sample  # noqa: B018  # checks every value
    sample = evidence.expanded.matrix
    y, names = np.asarray(sample.y), evidence.classes or tuple(range(classes))
    return matrix_outcome(np.asarray(sample.p), y, names, k, options).significance(method, y.size)


def _options(
    method: str, bins: BinsLike | None, resamples: Any, fitted: Any, k: Any, seed: int, clustered: bool
) -> Options:
    if not isinstance(fitted, bool | np.bool_):
        raise InputError("fitted", "must be True or False", f"got {fitted!r}")
    if clustered and method not in CLUSTERED_TESTS:
        *most, last = map(repr, CLUSTERED_TESTS)
        takers = f"{', '.join(most)} or {last}"
        raise InputError("cluster", f"is only accepted by {takers}", f"`method={method!r}` needs independent rows")
    passed = {"bins": bins is not None, "resamples": resamples is not None, "fitted": fitted, "k": checked_k(k) > 1}
    if clustered and passed["k"]:
        raise InputError("k", "must be 1 with `cluster`", f"got {k}")
    for option in (name for name, is_passed in passed.items() if is_passed):
        _refuse_unused(option, method)
    if fitted and resamples is not None:
        demand = "redraws labels as if they had not been used to fit"
        raise InputError("resamples", demand, remedy="With `fitted=True` leave it out.")
    count = None if resamples is None else checked_resamples(resamples)
    rule = None if bins is None else blind_to_labels(as_rule(bins))
    return Options(rule, count, seed, bool(fitted), None)


def _refuse_unused(option: str, method: str) -> None:
    if option not in _METHODS[method].uses:
        users = [name for name, other in _METHODS.items() if option in other.uses]
        remedy = f"Leave it out; it is used by {', '.join(users)}."
        raise InputError(option, f"is not used by `method={method!r}`", remedy=remedy)


def _several_questions(view: str) -> InputError:
    demand = f"A single test poses one question; kind={view!r} poses one per class"
    return InputError("", demand, remedy="Use `method='omnibus'` on labels and scores, or `kind='confidence'`.")

"""Tests of calibration."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias, Unpack

import numpy as np

from trueness._input.arguments import Seed, checked_whole, generator
from trueness._tally.cells import Cells
from trueness._tally.rows_or_sums import as_tally, takes_rows
from trueness._tally.rules import BinRule, BinsLike, BlockIsotonic, Isotonic, as_rule
from trueness._tally.tally import Tally
from trueness.errors import InputError
from trueness.infer._analytic_test import analytic
from trueness.infer._clustered_rows import clustered_rows
from trueness.infer._cox import cox
from trueness.infer._cumulative import ks, kuiper
from trueness.infer._exact import exact
from trueness.infer._finding import Ask, Finding, Test
from trueness.infer._hosmer_lemeshow import hosmer_lemeshow
from trueness.infer._spiegelhalter import spiegelhalter
from trueness.infer._t_cal import adaptive_t_cal, t_cal
from trueness.infer._wild_pairs import CLUSTERED
from trueness.results import Significance
from trueness.typing import ArrayLike, RowOptions

__all__ = ["TestMethod", "calibration_test", "reported"]

TestMethod: TypeAlias = Literal[
    "exact", "analytic", "t-cal", "adaptive-t-cal", "ks", "kuiper", "spiegelhalter", "cox", "hosmer-lemeshow"
]

_RESAMPLES = 999


class _Method(NamedTuple):
    test: Test
    takes: tuple[str, ...]
    """The options it uses; `seed` goes with `resamples`."""
    draws: bool = False
    """Whether labels are redrawn even if `resamples` is not given."""


_METHODS: Mapping[str, _Method] = {
    "exact": _Method(exact, ("bins", "resamples"), draws=True),
    "analytic": _Method(analytic, ("bins",)),
    "t-cal": _Method(t_cal, ("bins", "resamples"), draws=True),
    "adaptive-t-cal": _Method(adaptive_t_cal, ("resamples",), draws=True),
    "ks": _Method(ks, ("resamples",)),
    "kuiper": _Method(kuiper, ("resamples",)),
    "spiegelhalter": _Method(spiegelhalter, ("resamples",)),
    "cox": _Method(cox, ("resamples",)),
    "hosmer-lemeshow": _Method(hosmer_lemeshow, ("bins", "resamples", "fitted")),
}


@partial(takes_rows, kind="confidence")
def calibration_test(
    y_true: ArrayLike | Tally,
    y_prob: ArrayLike | None = None,
    *,
    method: TestMethod = "exact",
    bins: BinsLike | None = None,
    cluster: ArrayLike | None = None,
    resamples: int | None = None,
    seed: Seed = None,
    fitted: bool = False,
    **rows: Unpack[RowOptions],
) -> Significance:
    r"""Test whether scores are calibrated: whether each row's event had the probability that was predicted.

    A small p-value speaks against calibration. A large one does not speak for it: the rows may be few, or the
    test blind to the kind of error there is.

    Parameters
    ----------
    y_true, y_prob
        As for :func:`trueness.ece`, or a :class:`trueness.Tally` in place of both. The labels must not have been
        used to fit the scores (but see `fitted`).
    method : str, default 'exact'
        'exact'
            Debiased squared error :math:`T` of :func:`trueness.squared_ece`, large values counting, against labels
            redrawn from the scores. Keeps its level at any n. Default bins: max(5, round(n^0.4)) of equal mass. Above
            4,096 distinct scores those of a bin that nearly agree are drawn together, as one binomial number; that
            changes the level by less than 0.001.
        'analytic'
            The same :math:`T` as :math:`z = n \sqrt{w}\, T / \sigma_0`, cells of volume :math:`w`, upper tail of the
            normal distribution (Sun et al. 2025). Equal width only; default max(2, round(n^0.4)) bins.
        't-cal'
            :math:`\frac1n \sum_b [(\sum u)^2 - \sum u^2] / n_b`, u = y − p, against redrawn labels (Lee et al.
            2023). Default bins: max(2, round(n^0.4)) of equal width.
        'adaptive-t-cal'
            't-cal' with 2, 4, …, :math:`2^B` bins, :math:`B = \lceil 2 \log_2 (n / \sqrt{\log n}) \rceil`; the smallest
            of the p-values times B, at most 1. The statistic is that of the resolution with the smallest p-value.
        'ks', 'kuiper'
            With :math:`C(s) = \frac1n \sum_{p_i \le s} (y_i - p_i)` over the distinct scores, and 0 before the first:
            the largest :math:`|C|`; the range of :math:`C`. Divided by
            :math:`\sigma = \frac1n \sqrt{\sum p (1 - p)}`, they are compared with Brownian motion on [0, 1].
        'spiegelhalter'
            :math:`z = \sum (y - p)(1 - 2p) / \sqrt{\sum (1 - 2p)^2 p (1 - p)}`, two-sided: whether the Brier score is
            what the scores expect. Blind where :math:`p = 1/2`.
        'cox'
            Score test of slope 1 and intercept 0 in :math:`\mathrm{logit}\,P(Y = 1) = a + b\,\mathrm{logit}\,p`, with
            the information at (1, 0): chi-squared, 2 degrees of freedom (1 if there is one distinct score).
        'hosmer-lemeshow'
            :math:`\sum_b (O_b - E_b)^2 / (n_b \bar p_b (1 - \bar p_b))` over :math:`g` groups that are not empty:
            chi-squared, :math:`g` degrees of freedom. Default: 10 groups of equal mass.
    bins : int, sequence of edges or bin rule, optional
        For 'exact', 'analytic', 't-cal' and 'hosmer-lemeshow'. Rules that look at the labels are refused.
    cluster : array-like of shape (n,), optional
        A name for each row; rows of one name may depend on each other (answers to one prompt, visits of one patient),
        and different clusters are independent. For 'exact', 'ks', 'kuiper' and 'spiegelhalter', from labels and
        scores; whole-number weights only. See Notes.
    resamples : int, optional
        How many times labels are redrawn from the scores. 'exact' and 't-cal' do so 999 times unless told
        otherwise, 'adaptive-t-cal' at least 100 B − 1 times, so that 0.01 can be reached. For 'ks', 'kuiper',
        'spiegelhalter', 'cox' and 'hosmer-lemeshow' a number replaces the limiting distribution by redrawn labels,
        which keeps the level at any n. With `cluster` all four methods draw, 999 times unless told otherwise.
    seed : int or numpy.random.Generator, optional
        Where labels are redrawn, or signs drawn.
    fitted : bool, default False
        For 'hosmer-lemeshow': the rows were used to fit the scores by a logistic regression, which leaves
        :math:`g - 2` degrees of freedom.
    **rows
        As for :func:`trueness.ece`, but for a matrix `kind` is 'confidence', and the other two are refused: they ask
        several questions that share rows.

    Returns
    -------
    Significance
        `statistic`, `pvalue`, `method`, `n` and, in words, `assumptions`: what the p-value rests on and what was
        chosen. An option that the method does not use is an error.

    Notes
    -----
    **Redrawn labels.** :math:`Y^*_i` is 1 with probability :math:`p_i`, whatever was observed, and the p-value is
    :math:`(1 + \#\{T^* \ge T\}) / (R + 1)` with :math:`R` redraws: never 0, and
    :math:`P(\text{pvalue} \le \alpha) \le \alpha` for calibrated scores at any n, with equality, but for ties, where
    :math:`\alpha (R + 1)` is whole. For 'adaptive-t-cal' all resolutions share the redrawn labels; the correction for
    their number makes it conservative.

    **Limiting distributions** need enough rows with a say in the statistic. Share of calibrated data sets of 200 rows
    that each method refutes at 0.05 and at 0.01 without `resamples`, for uniform scores, rare events
    (Beta(0.3, 60)) and scores near 1 (Beta(12, 0.25)); deviation of a share at most 0.0015:

    =================  =====  =====  =====  =====  =====  =====
    method             uniform       rare          near 1
    -----------------  ------------  ------------  ------------
    level              .05    .01    .05    .01    .05    .01
    =================  =====  =====  =====  =====  =====  =====
    'analytic'         .073   .031   .000   .000   .006   .002
    'ks'               .044   .008   .049   .019   .035   .011
    'kuiper'           .040   .008   .048   .018   .033   .010
    'spiegelhalter'    .049   .010   .053   .019   .046   .011
    'cox'              .047   .011   .073   .037   .052   .019
    'hosmer-lemeshow'  .050   .013   .093   .072   .080   .055
    =================  =====  =====  =====  =====  =====  =====

    So 'hosmer-lemeshow' and 'cox' refute too often where few events are expected, up to seven times the level;
    'analytic' three times for uniform scores, at any n, and never for rare events, because its
    deviation assumes that scores fill [0, 1]; 'ks' and 'kuiper' are careful. `resamples` mends all but 'analytic'.

    **Clusters.** Rows that depend on each other make every plain test refute too often. With `cluster` the same
    statistic (for 'exact', :math:`T` without pairs of rows of one cluster, as for :func:`trueness.ece_interval`) is
    compared with its values when the residuals y − p of each cluster get a random sign, and with those of redrawn
    labels, which matter where few events are expected; the larger p-value is reported. No method is then exact: it
    needs many clusters, none with much of the rows. Share of calibrated data sets refuted at 0.05, 100 clusters of 1 to
    10 rows whose labels and scores go together, uniform scores and rare events (Beta(0.3, 20)), with `cluster` and,
    labels redrawn, without:

    ===============  ======  =====  ======  =====
    method           uniform        rare
    ---------------  -------------  -------------
    cluster          given   not    given   not
    ===============  ======  =====  ======  =====
    'exact'          .042    .104   .037    .096
    'ks'             .050    .212   .033    .113
    'kuiper'         .041    .204   .026    .108
    'spiegelhalter'  .058    .109   .050    .110
    ===============  ======  =====  ======  =====

    The deviation of a share is about 0.007 with `cluster` and 0.012 without. With fewer clusters, or one that holds
    half of the rows, the level is kept for scores around 1/2 and not always for rare events, where at 0.1 up to 0.22
    of calibrated data sets are refuted (``benchmarks/clusters.py``). Below 20 clusters, counted as
    :math:`(\sum n_g)^2 / \sum n_g^2` of their sizes, there is a :class:`trueness.FewClustersWarning`.

    **Scores of exactly 0 or 1** have no variance; a label that contradicts one is impossible under calibration. Where
    all scores are 0 or 1 the p-value is 1 if all labels agree, and otherwise the smallest the method can give:
    0, or 1/(R + 1). Where other scores are there too, the formulas hold: 'cox' takes its limit, which is infinite
    (p-value 0); so is 'hosmer-lemeshow' where a whole group is contradicted; the others add the difference of 1.

    **Weights** that are whole numbers count rows. Others weigh rows: 'ks', 'kuiper', 'spiegelhalter', 'cox' and
    'hosmer-lemeshow' use the null variance :math:`\sum w^2 p (1 - p)`; methods that redraw labels, and 'analytic',
    refuse them.

    **Swapping the classes** changes nothing for 'kuiper', 'spiegelhalter' and 'cox'. It changes 'ks', whose path
    then starts at the other end, and binned methods where a score lies on an edge or a tie on a cut.

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
    Forty events among a hundred rows of score 0.5: :math:`|C| = 0.1`, two null deviations.

    >>> from trueness.infer import calibration_test
    >>> found = calibration_test([1] * 40 + [0] * 60, [0.5] * 100, method="ks")
    >>> round(found.statistic, 6), round(found.pvalue, 4)
    (0.1, 0.091)

    A model that is sure, and wrong once in four times:

    >>> calibration_test([1, 1, 1, 0] * 25, [0.95] * 100, seed=0).pvalue
    0.001
    """
    asked = _ask(method, bins, resamples, seed, fitted, clustered=cluster is not None)
    if cluster is not None:
        grouped = clustered_rows(y_true, y_prob, cluster, rows)
        outcome = CLUSTERED[method](grouped, asked, asked.resamples or _RESAMPLES)
        return Significance(outcome.statistic, _pvalue(grouped.cells, outcome), method, grouped.n, outcome.assumptions)
    found = as_tally(y_true, y_prob, rows, rule=asked.rule, kind="confidence")
    cells = _one_part(found)
    asked = asked._replace(classes=None if found.classes is None else len(found.classes))
    outcome = _METHODS[method].test(cells, asked)
    return reported(cells, method, outcome)


def reported(cells: Cells, method: TestMethod, outcome: Finding) -> Significance:
    """What a method found, as it is reported."""
    # A row of weight 2 is two, where weights are whole.
    n = int(cells.weight.sum() if cells.exact else cells.count.sum())
    return Significance(outcome.statistic, _pvalue(cells, outcome), method, n, outcome.assumptions)


def _ask(method: Any, bins: BinsLike | None, resamples: Any, seed: Seed, fitted: Any, *, clustered: bool) -> Ask:
    if not isinstance(method, str) or method not in _METHODS:
        raise InputError("method", f"must be {_listed(list(_METHODS))}", f"got {method!r}")
    if not isinstance(fitted, bool | np.bool_):
        raise InputError("fitted", "must be True or False", f"got {fitted!r}")
    if clustered and method not in CLUSTERED:
        raise InputError(
            "cluster", f"is taken by {_listed(list(CLUSTERED))}", f"method={method!r} needs rows that are independent"
        )
    given = {"bins": bins is not None, "resamples": resamples is not None, "fitted": bool(fitted)}
    for option in (name for name, was in given.items() if was):
        if option not in _METHODS[method].takes:
            users = [name for name, other in _METHODS.items() if option in other.takes]
            raise InputError(
                option, f"is not used by method={method!r}", "leave it out", remedy=f"It is used by {', '.join(users)}."
            )
    if fitted and resamples is not None:
        raise InputError(
            "`resamples` redraws labels as if they had not been used to fit; with `fitted=True` leave it out."
        )
    count = None if resamples is None else checked_whole(resamples, "resamples")
    if seed is not None and count is None and not (clustered or _METHODS[method].draws):
        raise InputError(_unused_seed(method))
    return Ask(None if bins is None else _blind(as_rule(bins)), count, generator(seed), bool(fitted), None)


def _listed(names: list[str]) -> str:
    return f"{', '.join(map(repr, names[:-1]))} or {names[-1]!r}"


def _unused_seed(method: str) -> str:
    if "resamples" in _METHODS[method].takes:
        return f"`seed` is used by method={method!r} only if labels are redrawn: give `resamples` too, or leave it out."
    return f"`seed` is not used by method={method!r}, which draws nothing; leave it out."


def _blind(rule: BinRule) -> BinRule:
    if isinstance(rule, Isotonic | BlockIsotonic):
        raise InputError("bins", "must not look at the labels", f"{rule!r} does")
    return rule


def _one_part(found: Tally) -> Cells:
    if len(found.parts) == 1:
        return found.parts[0]
    raise InputError(
        f"A test asks one question; kind={found.kind!r} asks {len(found.parts)}, one per class. Use "
        "kind='confidence', or test class c alone with `y_true == c` and column c of `y_prob`."
    )


def _pvalue(cells: Cells, outcome: Finding) -> float:
    """That of the method, except where calibration leaves nothing to chance."""
    p = cells.score
    if ((p > 0) & (p < 1)).any():
        return outcome.pvalue
    return 1.0 if bool((cells.events == cells.weight * p).all()) else outcome.least

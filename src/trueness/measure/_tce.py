"""Test-based calibration error, and the tested bins behind it."""

from typing import Literal, TypeAlias, Unpack

import numpy as np

from trueness._tally.cells import Cells, segment_sums
from trueness._tally.rows_or_sums import as_tally, takes_rows
from trueness._tally.rules import BinRule, BinsLike, BlockIsotonic, as_rule
from trueness._tally.tally import Tally
from trueness.errors import InputError
from trueness.results import TestedBins
from trueness.typing import ArrayLike, Bools, Floats, Numbers, RowOptions

Test: TypeAlias = Literal["binomial", "t", "t-variance-for-deviation"]
_TESTS = ("binomial", "t", "t-variance-for-deviation")
# Places at which the density of a bin is given.
_PLACES = 64


@takes_rows
def tce(
    y_true: ArrayLike | Tally,
    y_prob: ArrayLike | None = None,
    *,
    bins: BinsLike | None = None,
    alpha: float = 0.05,
    test: Test = "binomial",
    **rows: Unpack[RowOptions],
) -> float:
    r"""Test-based calibration error: the percentage of scores that a test rejects.

    Group the scores into bins, and test for each score whether it can be the event rate of
    its bin, given the labels there (two-sided, at level `alpha`). The error is the percentage of rejections.

    Parameters
    ----------
    y_true, y_prob
        As for :func:`ece`.
    bins : int, sequence of edges or bin rule, optional
        By default :class:`BlockIsotonic`, with between N/20 and N/5 rows per bin.
    alpha : float, default 0.05
        Level of each test.
    test : {'binomial', 't', 't-variance-for-deviation'}, default 'binomial'
        The exact binomial test (the decisions of `scipy.stats.binomtest`), which needs
        whole-number weights; the t test, which uses the effective number of rows, (Σw)²/Σw², for
        other weights; or the t test with the variance instead of the standard deviation, as in the
        published code, for comparison only.
    **rows
        As for :func:`ece`. For a matrix with ``kind="classwise"``, the mean over classes.

    Returns
    -------
    float
        Between 0 and 100, a percentage.

    Notes
    -----
    With :math:`N_b` of :math:`N` rows in bin :math:`b`, of which :math:`k_b` are events,

    .. math:: \mathrm{TCE} = 100 \sum_b \frac{N_b}{N} \cdot
        \frac{\#\{ i \in b : \text{the test of } P(Y = 1) = p_i \text{ on } (k_b, N_b) \text{ rejects} \}}{N_b} .

    The percentage keeps its scale when classes are unbalanced. It does not tend to zero for a
    calibrated model: with more rows the tests gain power while the bins stay as wide, so that scores near
    the ends of a bin are rejected (for uniform calibrated scores and ten bins of equal mass: about 13, 51, 84 and
    95 % for 10³ to 10⁶ rows). Compare values at equal N, and check the widths of the bins with :func:`bin_table`.

    References
    ----------
    Matsubara, Tax, Mudd, Guy, "TCE: a test-based approach to measuring calibration
    error", Uncertainty in Artificial Intelligence, 2023.

    Examples
    --------
    Three events in ten rows reject the score 0.9 but not the score 0.3.

    >>> import trueness as tn
    >>> y = [1, 1, 1, 0, 0, 0, 0, 0, 0, 0]
    >>> tn.tce(y + y, [0.3] * 10 + [0.9] * 10, bins=2)
    50.0
    """
    rule = BlockIsotonic() if bins is None else as_rule(bins)
    level, chosen = checked_alpha(alpha), checked_test(test)
    tally = as_tally(y_true, y_prob, rows, rule=rule)
    return tally.average(lambda cells: _percentage(cells, rule, level, chosen))


def _percentage(cells: Cells, rule: BinRule, alpha: float, test: Test) -> float:
    check_weights(cells, test)
    start = rule.group(cells).start
    rejected = rejections(cells, start[:-1][start[1:] > start[:-1]], alpha, test)
    # One division, so that simple shares give the exact percentage.
    return float(100 * cells.weight[rejected].sum() / cells.weight.sum())


def check_weights(cells: Cells, test: Test) -> None:
    """Refuse weights that are not whole numbers for the binomial test."""
    if test == "binomial" and not cells.exact:
        raise InputError(
            "sample_weight",
            "must be whole numbers that sum to less than 2³⁵ for the binomial test",
            remedy="Others need `test='t'` and bins that do not count rows, such as `EqualMass(10)`.",
        )


def rejections(cells: Cells, first: np.ndarray[tuple[int], np.dtype[np.int64]], alpha: float, test: Test) -> Bools:
    """Whether the labels of its bin reject the score of each cell; bins begin at the cells `first`."""
    k, n = segment_sums(cells.events, first), segment_sums(cells.weight, first)
    if cells.squares is not None and not cells.exact:
        effective = n * n / segment_sums(cells.squares, first)
        k, n = effective * (k / n), effective  # in this order, equal labels give a rate of exactly 0 or 1
    if test == "binomial":
        from trueness._numerics.binomial import binomial_rejections  # loads SciPy, which `gce` rarely needs

        return binomial_rejections(k, n, first, cells.score, alpha)
    from trueness._numerics.proportions import t_rejections

    return t_rejections(k, n, first, cells.score, alpha, deviation="standard" if test == "t" else "variance")


def checked_alpha(alpha: float) -> float:
    """The level as a float, or an error."""
    if isinstance(alpha, bool) or not isinstance(alpha, int | float | np.floating) or not 0 < alpha < 1:
        raise InputError("alpha", "must lie strictly between 0 and 1", f"got {alpha!r}")
    return float(alpha)


def checked_test(test: Test) -> Test:
    """The name of the test, or an error."""
    if not isinstance(test, str) or test not in _TESTS:
        raise InputError("test", f"must be {', '.join(map(repr, _TESTS[:-1]))} or {_TESTS[-1]!r}", f"got {test!r}")
    return test


def bins_with_rejections(cells: Cells, rule: BinRule, alpha: float, test: Test) -> TestedBins:
    """The bins of one binary problem with the result of the tests of :func:`tce`; empty bins are left out."""
    level, chosen = checked_alpha(alpha), checked_test(test)
    groups = rule.group(cells)
    filled = groups.start[1:] > groups.start[:-1]
    first = groups.start[:-1][filled]
    last = groups.start[1:][filled]
    weight_rejected = np.where(rejections(cells, first, level, chosen), cells.weight, 0)
    weight, rejected = segment_sums(cells.weight, first), segment_sums(weight_rejected, first)
    spread = [_density(cells.score[a:b], cells.weight[a:b]) for a, b in zip(first, last, strict=True)]
    return TestedBins(
        low_edge=groups.edges[:-1][filled],
        high_edge=groups.edges[1:][filled],
        n=np.asarray(segment_sums(cells.count, first), dtype=np.int64),
        weight=weight,
        rejected=rejected,
        rate=segment_sums(cells.events, first) / weight,
        score=segment_sums(cells.weight * cells.score, first) / weight,
        places=np.stack([places for places, _ in spread]),
        density=np.stack([density for _, density in spread]),
        tce=float(100 * rejected.sum() / weight.sum()),
        alpha=level,
        test=chosen,
        bins=repr(rule),
    )


def _density(score: Floats, weight: Numbers) -> tuple[Floats, Floats]:
    """A kernel density between the smallest and the largest score, reflected at both, from a histogram of 64 bars."""
    low, high = float(score[0]), float(score[-1])
    if high - low < 1e-12:
        return np.full(_PLACES, low), np.ones(_PLACES)
    share = np.minimum(((score - low) / (high - low) * _PLACES).astype(np.int64), _PLACES - 1)
    bars = np.bincount(share, weight, minlength=_PLACES)
    middle = (np.arange(_PLACES) + 0.5) / _PLACES
    total = bars.sum()
    mean = (bars * middle).sum() / total
    deviation = np.sqrt((bars * (middle - mean) ** 2).sum() / total)
    # Silverman's width, but never narrower than the bars.
    width = max(0.9 * float(deviation) * max(float(total), 1.0) ** -0.2, 1.0 / _PLACES)
    away = middle[:, None] - np.concatenate([-middle, middle, 2 - middle])
    density = np.exp(-0.5 * (away / width) ** 2) @ np.tile(bars, 3)
    return low + middle * (high - low), density / density.max()

"""Population stability index of two samples of scores, with what chance alone would show."""

import numpy as np

from trueness._input.arguments import Seed, whole_seed
from trueness._input.columns import column
from trueness._keywords import suggests_keywords
from trueness._level import checked_level
from trueness._numerics.streams import stream
from trueness._tally.cells import Cells
from trueness._tally.rows_or_sums import tally
from trueness._tally.rules import BinsLike, EqualMass, as_rule, blind_to_labels
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Binned, Tally, tally_of_sums
from trueness.errors import InputError, collected_warnings
from trueness.infer._floors import floor_of
from trueness.results import Stability
from trueness.typing import ArrayLike, Floats, Ints

# Their number plus one, times 0.95, is whole: see `_DRAWS` of `infer._floors`.
_DRAWS = 1_999
# NumPy draws hypergeometric numbers from populations below this.
_MOST_DRAWN = 10**9
_TENTHS = EqualMass(10)


@suggests_keywords
def psi(
    first: ArrayLike | Tally | Sketch,
    second: ArrayLike | Tally | Sketch,
    *,
    bins: BinsLike | None = None,
    level: float = 0.95,
    seed: Seed = 0,
) -> Stability:
    r"""Population stability index of two samples of scores, and its noise floor.

    Have the scores of this year's applicants the distribution of last year's? The index is never
    zero, even if they have; the floor says how large it is by chance.

    Parameters
    ----------
    first, second : array-like of shape (n,), Tally or Sketch
        Scores of the two samples, in [0, 1]; no labels are needed. Sums must be of one score per
        row, with weights that count rows.
    bins : int, sequence of edges or bin rule, optional
        By default tenths of both samples together. An int means that many bins of equal width.
        Rules that depend on labels are refused.
    level : float, default 0.95
        One-sided level of `floor_high`.
    seed : int or numpy.random.Generator, default 0
        For the floor.

    Returns
    -------
    Stability
        `value`, the `parts` of it by bin, `floor`, `floor_high` and `pvalue`.

    Notes
    -----
    With shares :math:`a_b` and :math:`c_b` of the two samples in bin :math:`b`,

    .. math:: \mathrm{PSI} = \sum_b (a_b - c_b) \log \frac{a_b}{c_b} .

    Each share is that of the rows in the bin plus one half, so that a bin without rows of one
    sample counts, and does not make the index infinite; a bin without any row is left out.

    **Noise floor.** Rows are independent, and the bins do not depend on which sample a row is from.
    If both distributions are the same, every division of the pooled rows into samples of these
    sizes is then equally likely, so that the counts of the first sample are multivariate
    hypergeometric. The floor is computed from 1,999 draws of that law, the p-value from the same
    draws: it is exact at any size. Above :math:`10^9` rows the limit,
    :math:`(1/n_1 + 1/n_2) \chi^2_{B-1}`, takes its place. Tenths of the *first* sample, which many
    reports use, do depend on the sample; for large samples this changes little.

    The usual limits, .1 and .25, do not depend on the number of rows: two samples of 100 rows from
    one distribution exceed .1 in ten bins more often than not, and two of 100,000 almost never,
    however small the shift that they show.

    The floor does not hold if the same customers are in both samples, or if rows of one sample
    depend on each other.

    References
    ----------
    S. Kullback, R. A. Leibler, On information and sufficiency, Annals of Mathematical Statistics 22
    (1951), 79-86. B. Yurdakul, J. Naranjo, Statistical properties of the population stability
    index, Journal of Risk Model Validation 14 (2020).

    Examples
    --------
    >>> import numpy as np
    >>> import trueness as tn
    >>> rng = np.random.default_rng(0)
    >>> stability = tn.psi(rng.beta(2, 8, 400), rng.beta(2, 6, 300), bins=[0, 0.1, 0.2, 0.4, 1])
    >>> round(stability.value, 4), stability.first.tolist(), stability.second.tolist()
    (0.0608, [84, 146, 144, 26], [56, 87, 120, 37])
    >>> stability.value > stability.floor_high > stability.floor
    True
    """
    level = checked_level(level)
    seed = whole_seed(seed)
    rule = _TENTHS if bins is None else blind_to_labels(as_rule(bins))
    first_cells = _cells_of(first, "first")
    second_cells = _cells_of(second, "second")
    pooled = first_cells + second_cells
    groups = rule.group(pooled)
    first_counts = _counts_in(first_cells, pooled, groups.start)
    second_counts = _counts_in(second_cells, pooled, groups.start)
    n_first = int(first_counts.sum())
    n_second = int(second_counts.sum())
    parts = _parts(first_counts, second_counts)
    draws, method = _redrawn(first_counts + second_counts, n_first, n_second, seed)
    floor = floor_of(draws, level)
    value = float(parts.sum())
    # A draw of the same table may differ in the last bits, by the order of the bins.
    reached = int((draws >= value * (1 - 1e-12)).sum())
    return Stability(
        value=value,
        floor=floor.mean,
        floor_high=floor.high,
        pvalue=(1 + reached) / (draws.size + 1),
        level=level,
        low_edge=groups.edges[:-1],
        high_edge=groups.edges[1:],
        first=first_counts,
        second=second_counts,
        parts=parts,
        n_first=n_first,
        n_second=n_second,
        bins=repr(rule),
        method=method,
    )


def _cells_of(scores: ArrayLike | Tally | Sketch, name: str) -> Cells:
    """The rows per distinct score of one sample, from its scores or sums.

    `name` is that of the argument, for messages. Sums that do not keep every score, and several or
    no scores, are refused.
    """
    if isinstance(scores, Binned):
        remedy = "Pass the scores, a Tally or a Sketch."
        raise InputError(name, "must keep every distinct score", "a Binned does not", remedy=remedy)
    if isinstance(scores, Tally | Sketch):
        parts = tally_of_sums(scores).parts
        if len(parts) != 1:
            raise InputError(name, "must have one score per row", f"got {len(parts)} classes")
        if not parts[0].whole:
            raise InputError(name, "must have weights that count rows", "some are no whole numbers")
        if not parts[0].size:
            raise InputError(name, "must have at least one row", "got none")
        return parts[0]
    values = column(scores, name).values
    if values.ndim != 1:
        raise InputError(name, "must be a vector of scores", f"got shape {values.shape}")
    if not values.size:
        raise InputError(name, "must have at least one row", "got none")
    with collected_warnings():  # the labels are stand-ins
        try:
            (cells,) = tally(np.arange(values.size) % 2, scores).parts
        except InputError as error:
            remedy = "Leave such rows out."
            if "[0, 1]" in error.demand:
                remedy = "Points of a scorecard are first divided by their maximum."
            raise error.but(argument=name, remedy=remedy) from None
    return cells


def _counts_in(cells: Cells, pooled: Cells, start: Ints) -> Ints:
    """The rows of one sample in each bin.

    `pooled` are the cells of both samples together, one per score, and `start` the first of these
    cells in each bin and, last, their number.
    """
    by_score = np.zeros(pooled.size + 1, np.int64)
    by_score[1 + np.searchsorted(pooled.score, cells.score)] = cells.weight
    return np.diff(np.cumsum(by_score)[start])


def _parts(first: Ints, second: Ints) -> Floats:
    """What each bin adds to the stability index of two samples, (a − c) log(a/c).

    `first` and `second` are the rows of the samples in each bin: one table, or several in rows. The
    shares a and c are those after half a row was added to each bin that has rows; a bin without
    rows adds 0.
    """
    filled = (first + second) > 0
    half_rows = filled.sum(axis=-1, keepdims=True) / 2
    a = (first + 0.5) / (first.sum(axis=-1, keepdims=True) + half_rows)
    c = (second + 0.5) / (second.sum(axis=-1, keepdims=True) + half_rows)
    return np.where(filled, (a - c) * np.log(a / c), 0.0)


def _redrawn(pooled: Ints, n_first: int, n_second: int, seed: int) -> tuple[Floats, str]:
    """The stability indices of 1,999 random divisions of the rows of both samples.

    `pooled` are the rows of both together in each bin; a division deals `n_first` of them to one
    sample and `n_second` to the other, as if both had one distribution. With too many rows for
    that, the indices are drawn from their limit law, (1/n_first + 1/n_second) times chi-square with
    bins − 1 degrees of freedom. The second result says in words how they were drawn.
    """
    rng = stream(seed, "labels")
    filled = pooled[pooled > 0]
    if n_first + n_second < _MOST_DRAWN:
        # 'marginals' takes time by bin; 'count', which NumPy prefers, by row.
        first = rng.multivariate_hypergeometric(filled, n_first, size=_DRAWS, method="marginals")
        values = _parts(first, filled - first).sum(axis=1)
        return values, f"{_DRAWS:,} random divisions of the pooled rows"
    method = f"{_DRAWS:,} draws of the limit law"
    if filled.size < 2:
        return np.zeros(_DRAWS), method
    scale = 1 / n_first + 1 / n_second
    return scale * rng.chisquare(filled.size - 1, _DRAWS), method

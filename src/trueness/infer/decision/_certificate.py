"""`decision_certificate`: how much no monotone recalibration can gain, at any threshold."""

import math
from bisect import bisect_left
from functools import cache, partial
from typing import Any, Literal, NamedTuple, TypeAlias, Unpack

import numpy as np
from scipy.special import ndtri

from trueness._input.arguments import checked_fraction, checked_word
from trueness._numerics.proportions import clopper_pearson
from trueness._tally.evidence import Evidence
from trueness._tally.rows_or_sums import takes_rows
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Binned, Tally
from trueness.errors import InputError
from trueness.results import Estimate
from trueness.typing import ArrayLike, Floats, RowOptions

CertificateMethod: TypeAlias = Literal["normal", "bernstein"]
_EVERY_INTERVAL = 3000
"""Up to this number of distinct scores all intervals are tried."""
_FEW = 50
"""With fewer events, or fewer non-events, in an interval its end is that of the exact binomial limit if larger."""
_DEFINITION = "Largest |mean of (label − score)| over the rows with scores in an interval."


class _Residuals(NamedTuple):
    """Means over all rows for every distinct score, numbers of events and of others, effective number of rows."""

    sum: Floats
    square: Floats  # of (y − p)², times the size of the cluster: no variance of a sum over clusters is larger
    score: Floats
    share: Floats
    events: Floats
    others: Floats
    n: float


@partial(takes_rows, kind="confidence")
def decision_certificate(
    y_true: ArrayLike | Tally | Sketch | Binned,
    y_prob: ArrayLike | None = None,
    *,
    level: float = 0.95,
    method: CertificateMethod = "normal",
    cluster: ArrayLike | None = None,
    **rows: Unpack[RowOptions],
) -> Estimate:
    r"""Certify that decisions by these scores cannot be improved much by recalibration.

    Parameters
    ----------
    y_true, y_prob
        As for :func:`ece`; one score per row. A :class:`Tally` replaces both; sums of bins are refused.
    level : float, default 0.95
        Confidence of the upper limit.
    method : {'normal', 'bernstein'}, default 'normal'
        How the limit is found: by the normal distribution, with exact binomial limits where events are few; or by an
        empirical Bernstein inequality, which holds for any number of rows and is wider.
    cluster : array-like, optional
        Rows of one cluster are not independent.
    **rows
        As for :func:`ece`.

    Returns
    -------
    Estimate
        `value` is κ on these rows, `high` its upper confidence limit, `low` is 0. At every threshold t, no increasing
        map of the scores lowers t·FP/n + (1 − t)·FN/n by more than κ. In net benefit that is κ/(1 − t), in costs
        κ·(cost of a false positive + cost of a false negative).

    Notes
    -----
    κ is the largest :math:`|E[(Y - p) 1\{p \in I\}]|` over intervals :math:`I` of scores. The interval that attains it
    in the population is fixed, so the largest of the upper limits of all intervals is an upper limit of κ, without a
    correction for their number. With more than 3,000 distinct scores an upper bound of it is computed in linear time.

    References
    ----------
    R. Rossellini et al., Can a calibration metric be both testable and actionable?, COLT 2025.
    A. Maurer, M. Pontil, Empirical Bernstein bounds and sample variance penalization, COLT 2009.

    Examples
    --------
    >>> import numpy as np
    >>> import trueness as tn
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=4_000)
    >>> found = tn.decision_certificate(rng.uniform(size=4_000) < p, p)
    >>> round(found.value, 3), round(found.high, 3)
    (0.011, 0.021)
    """
    level = checked_fraction(level, "level")
    checked_word(method, "method", ("normal", "bernstein"))
    evidence = Evidence.of(y_true, y_prob, rows, kind="confidence", cluster=cluster)
    evidence.require_one("a certificate")
    evidence.memory["one class"] = True  # all right, or all wrong, is an answer here
    return certificate_of(evidence, level, method)


def certificate_of(evidence: Evidence, level: float, method: str = "normal") -> Estimate:
    """κ of evidence that holds one score per row."""
    if isinstance(evidence.sums, Binned):
        raise InputError("y_true", "must have every distinct score", "bins do not keep them", remedy="Pass a Tally.")
    cells = _residuals(evidence)
    value = max(_largest_run(cells.sum), _largest_run(-cells.sum))
    high = max(_upper(cells, sign, level, method) for sign in (1, -1))
    how = "empirical Bernstein" if method == "bernstein" else "normal, exact where events are few"
    return Estimate(
        *("κ", value, 0.0, max(min(high, 1.0), value), level, how, evidence.n, _DEFINITION),
        note=evidence.note,
        ideal=0.0,
        kind=evidence.view,
    )


def _residuals(evidence: Evidence) -> _Residuals:
    if evidence.rows is None or (evidence.cluster is None and evidence.whole):
        (part,) = evidence.cells_at_means
        if not part.whole:
            raise InputError("y_true", "must have weights that count rows", "got sums with fractional weights")
        some = part.weight > 0
        p, n, e = (np.asarray(v[some], dtype=np.float64) for v in (part.score, part.weight, part.events))
        size = n.sum()
        square = (e * (1 - p) ** 2 + (n - e) * p**2) / size**2
        return _Residuals((e - n * p) / size, square, n * p / size, n / size, e, n - e, size)
    evidence.sums  # noqa: B018  # checks every value, and warns
    known = evidence.expanded
    sample = known.sample
    y, p = (np.asarray(v, dtype=np.float64) for v in (sample.y, sample.p))
    w = np.ones(y.size) if sample.w is None else np.asarray(sample.w, dtype=np.float64)
    # (Σ of m residuals)² is at most m times the sum of their squares.
    together = 1.0 if known.cluster is None else np.bincount(known.cluster)[known.cluster]
    w = w / w.sum()
    score, code = np.unique(p, return_inverse=True)

    def total(values: Any) -> Floats:
        return np.asarray(np.bincount(code.reshape(-1), values, score.size), dtype=np.float64)

    r, ones = y - p, np.ones(y.size)
    square = total(w**2 * r**2 * together)
    # Few events are counted as if all clusters were as large as the largest, and alike inside.
    size = 1.0 if known.cluster is None else float(np.bincount(known.cluster).max())
    units = 1 / float((w**2).sum()) / size
    return _Residuals(total(w * r), square, total(w * p), total(w), total(y) / size, total(ones - y) / size, units)


def _largest_run(values: Floats) -> float:
    """The largest sum over neighbours; 0 for none."""
    reached = np.concatenate([[0.0], np.cumsum(values)])
    return float((reached - np.minimum.accumulate(reached)).max())


def _upper(cells: _Residuals, sign: int, level: float, method: str) -> float:
    """The largest upper limit of sign · Σ over an interval."""
    sums, square = sign * cells.sum, cells.square
    if method == "bernstein":
        log = math.log(2 / (1 - level))
        z, more = math.sqrt(2 * log), 14 * log / (3 * max(cells.n - 1, 1))
    else:
        z, more = float(ndtri(level)), 0.0
    best = 0.0 if method == "bernstein" else _largest_exact_end(cells, sign, level)
    if sums.size > _EVERY_INTERVAL:
        # √V ≤ λV + 1/(4λ): for each λ the largest run of a sum, which is a convex function of λ.
        rates = np.geomspace(0.5, 50, 25) / math.sqrt(float(square.sum()))
        bound = cache(lambda i: float(_largest_run(sums + z * rates[i] * square) + z / (4 * rates[i])))
        return max(best, bound(bisect_left(range(24), True, key=lambda i: bound(i) <= bound(i + 1))) + more)
    reached, variances = (np.concatenate([[0.0], np.cumsum(v)]) for v in (sums, square))
    # No interval from a score on has a larger end than this: most starts need not be tried.
    farthest = np.maximum.accumulate(reached[::-1])[::-1][1:] - reached[:-1]
    bound = farthest + z * np.sqrt(np.clip(variances[-1] - variances[:-1], 0, None))
    for i in np.argsort(-bound):
        if bound[i] <= best:
            break
        total, variance = (v[i + 1 :] - v[i] for v in (reached, variances))
        ends = total + z * np.sqrt(np.clip(variance - total**2 / cells.n, 0, None))
        best = max(best, float(ends.max()))
    return best + more


def _largest_exact_end(cells: _Residuals, sign: int, level: float) -> float:
    """The largest upper limit of intervals with few events, by the exact limit of their rate; 0 if there are none."""
    rare, expected = (cells.events, cells.score) if sign > 0 else (cells.others, cells.share - cells.score)
    # The upper limit of a rate of k events in n rows, for each small k.
    few = np.minimum(np.arange(_FEW), cells.n)
    limit = clopper_pearson(few, np.full(_FEW, cells.n), 2 * level - 1 if level > 0.5 else 0.5)[1]
    best = float(limit[0] - expected[rare == 0].min(initial=1.0))
    # The shortest interval with k events has the fewest expected; it starts and ends with an event.
    at = np.flatnonzero(rare)
    if at.size > _EVERY_INTERVAL:  # too many for few events to matter
        return max(best, 0.0)
    counts, means = np.append(0.0, np.cumsum(rare[at])), np.append(0.0, np.cumsum(expected))
    start = np.arange(at.size)
    for k in range(_FEW):
        end = np.searchsorted(counts, counts[start] + k + 1e-9, side="right")
        start, end = start[end <= at.size], end[end <= at.size]
        found = np.ceil(counts[end] - counts[start] - 1e-9)
        some = found < _FEW
        ends = limit[found[some].astype(np.int64)] - (means[at[end - 1] + 1] - means[at[start]])[some]
        best = max(best, float(ends.max(initial=0.0)))
    return best

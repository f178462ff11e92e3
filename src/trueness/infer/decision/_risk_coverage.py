"""`risk_coverage`: errors among the most confident rows, against their share."""

from functools import partial
from typing import Any, NamedTuple, Unpack

import numpy as np

from trueness._input.arguments import checked_fraction
from trueness._tally.evidence import Evidence
from trueness._tally.rows_or_sums import takes_rows
from trueness.infer.limits._row_means import mean_row_limits
from trueness.results import Estimate, RiskCoverage
from trueness.typing import ArrayLike, Floats, Ints, RowOptions

_SURPRISE = 3.0
"""The weight of a wrong row among the most confident eighth; half a row is added, since none may have come yet."""
_DEFINITION = "Mean over all coverages of the share of errors among the most confident rows."


@partial(takes_rows, kind="confidence")
def risk_coverage(
    y_true: ArrayLike,
    y_prob: ArrayLike | None = None,
    *,
    level: float = 0.95,
    cluster: ArrayLike | None = None,
    **rows: Unpack[RowOptions],
) -> RiskCoverage:
    r"""Risk against coverage: how often answers are wrong if only the most confident are accepted.

    Parameters
    ----------
    y_true, y_prob
        As for :func:`ece`. The answer to a vector of scores is the likelier label, with confidence max(p, 1 − p); that
        of a matrix its largest score.
    level : float, default 0.95
        Confidence level of the limits.
    cluster : array-like, optional
        Rows of one cluster are not independent.
    **rows
        As for :func:`ece`. With ``kind="correct"``, `y_true` says whether each answer was right, and `y_prob` is its
        confidence.

    Returns
    -------
    RiskCoverage
        Thresholds from the highest down, with coverage and risk; the area below the curve (AURC) with limits, and its
        excess over the ideal order.

    Notes
    -----
    AURC is the mean of :math:`\ell_i w_i` with :math:`w = H_n - H_{j-1}` for the j-th most confident row, where
    :math:`H_n = 1 + 1/2 + \dots + 1/n`; rows of equal confidence share the mean of their weights. Its limits are those
    of a mean of rows, the influences of the rows, corrected for skewness and for few errors.

    References
    ----------
    Y. Geifman, G. Uziel, R. El-Yaniv, Bias-reduced uncertainty estimation for deep neural classifiers, ICLR 2019.

    Examples
    --------
    >>> import trueness as tn
    >>> found = tn.risk_coverage([1, 1, 0, 1], [0.9, 0.8, 0.6, 0.4], kind="correct")
    >>> found.coverage.tolist(), [round(x, 3) for x in found.risk.tolist()]
    ([0.25, 0.5, 0.75, 1.0], [0.0, 0.0, 0.333, 0.25])
    >>> round(found.aurc.value, 4) == round((0 + 0 + 1 / 3 + 1 / 4) / 4, 4)
    True
    """
    level = checked_fraction(level, "level")
    options: Any = dict(rows)
    pairs = options.get("kind") == "correct"
    if pairs:
        del options["kind"]
    evidence = Evidence.of(y_true, y_prob, options, kind="confidence", cluster=cluster)
    evidence.require_one("risk and coverage")
    evidence.memory["one class"] = True  # all right, or all wrong, is an answer here
    evidence.need_rows("Risk and coverage need the rows")
    _ = evidence.sums  # checks every value, and warns
    known = evidence.expanded
    sample = known.sample
    y, p = np.asarray(sample.y, dtype=np.float64), np.asarray(sample.p, dtype=np.float64)
    loss, confidence = 1 - y, p
    if evidence.view == "binary" and not pairs:
        loss, confidence = np.where(p >= 0.5, 1 - y, y), np.maximum(p, 1 - p)
    return curve_of(loss, confidence, level, known.cluster, evidence)


def curve_of(loss: Floats, confidence: Floats, level: float, cluster: Ints | None, evidence: Evidence) -> RiskCoverage:
    """The curve and its area."""
    order = np.argsort(-confidence, kind="stable")
    loss, confidence = loss[order], confidence[order]
    ends = np.flatnonzero(np.append(np.diff(confidence) != 0, True))
    n, errors = ends + 1, np.cumsum(loss)[ends]
    groups = _Groups(np.diff(n, prepend=0), np.diff(errors, prepend=0.0), n)
    weight = groups.weights()
    rows = np.repeat(np.arange(n.size), groups.size)
    value = float((weight[rows] * loss).mean())
    influence = np.empty(loss.size)
    influence[order] = loss * weight[rows] - value - groups.below()[rows] + loss.mean()
    limits, wide = (mean_row_limits(value + influence, one, level, None, cluster) for one in (1.0, _SURPRISE))
    ideal = float((_weights(loss.size) * np.sort(loss)).mean())
    low, high = min(limits.low, value), min(max(wide.high, value), 1.0)
    area = Estimate(
        *("AURC", value, low, high, level, limits.method, evidence.n, _DEFINITION, limits.standard_error),
        note=evidence.note,
        kind=evidence.view,
    )
    return RiskCoverage(confidence[ends], n / loss.size, errors / n, area, value - ideal)


def _weights(n: int) -> Floats:
    """H_n − H_{j−1} of the j-th of n rows."""
    return np.asarray(np.cumsum((1 / np.arange(1, n + 1))[::-1])[::-1])


class _Groups(NamedTuple):
    """Rows of equal confidence, from the highest down."""

    size: Ints
    errors: Floats
    reached: Ints
    """Rows at least as confident."""

    def weights(self) -> Floats:
        """The mean of the weights of the rows of each group."""
        sums = np.add.reduceat(_weights(int(self.reached[-1])), self.reached - self.size)
        return np.asarray(sums / self.size)

    def below(self) -> Any:
        """What a row of the group adds to the risk of the rows below it: A of its influence.

        A group from share a (above it) to b (with it), of error rate e, adds e·log(b/a) to rows above it, and
        e·(1 − a·log(b/a)/(b − a)) to its own.
        """
        n = self.reached[-1]
        b, rate = self.reached / n, self.errors / self.size
        a = (self.reached - self.size) / n
        inside = a > 0
        log = np.log(np.divide(b, a, out=np.ones(b.size), where=inside))
        own = np.where(inside, rate * (1 - a * log / (b - a)), rate)
        lower = rate * np.where(inside, log, 0.0)
        return own + (lower[::-1].cumsum()[::-1] - lower)

"""Scaling-binning: a smooth map whose values are averaged in bins."""

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from trueness._input.arguments import check_seed, checked_whole, checked_word
from trueness._numerics.steps import ranks, steps
from trueness._tally.rules import MOST_BINS, EqualMass
from trueness.errors import InputError
from trueness.recalibrate._calibration_set import CalibrationSet
from trueness.recalibrate._calibrator import Calibrator, inner_calibrator, refuse_matrix
from trueness.recalibrate._fitted_state import Field, fitted_calibrator, fractions, n_steps
from trueness.recalibrate._platt import PlattScaling
from trueness.typing import Floats


class ScalingBinning(Calibrator):
    r"""Scaling-binning: a smooth map whose values are averaged in bins.

    A smooth map with few parameters is fitted, its values are divided into bins of equal mass, and every score in a bin
    gets the mean of the map's values there. Predictions take few values, so the calibration error can be measured, as
    after histogram binning; but the means are of scaled scores, which vary far less than labels.

    Parameters
    ----------
    n_bins : int, default 10
        Number of bins; fewer where scaled scores are tied, since ties are never split.
    scaler : calibrator or 'identity', optional
        The unfitted map, for a vector of scores; by default `PlattScaling()`. 'identity' averages the scores
        themselves, if they have already been scaled.
    split : {'thirds', 'none'}, default 'thirds'
        Which rows are used for which step. With 'thirds', as in the published algorithm and its theorem, a random
        stratified third of the rows fits the map, another sets the bins and the last gives the means. With 'none' all
        rows are used for all three, as in the authors' program: better for few rows, not random, and without a theorem.
        'identity' needs no rows for the map, so there halves set the bins and give the means.
    seed : int or Generator, optional
        Draws the thirds.

    Attributes
    ----------
    scaler_ : calibrator or None
        The fitted map; None for 'identity'.
    edges_ : array of shape (B − 1,)
        Inner edges of the bins of scaled scores; a scaled score equal to an edge belongs to the bin above it.
    values_ : array of shape (B,)
        The prediction of each bin: the weighted mean of the scaled scores in it.

    Notes
    -----
    With :math:`g` the map and :math:`I_b` the bins, all scores with :math:`g(s) \in I_b` get

    .. math:: \mu_b = \frac{\sum_{i:\, g(s_i) \in I_b} w_i \, g(s_i)}{\sum_{i:\, g(s_i) \in I_b} w_i} .

    Bins are those of :class:`trueness.EqualMass`, with edges midway between adjacent values. A bin without rows of the
    last third gets the mean of the rows that defined it. Weights are repetitions with ``split="none"``; with thirds, a
    weighted row is not divided.

    References
    ----------
    Kumar, Liang, Ma, "Verified uncertainty calibration", Advances in Neural Information Processing Systems, 2019.

    Examples
    --------
    Isotonic calibration maps the four rows to 0, 1/2, 1/2 and 1; with two bins, the lower three share a mean.

    >>> from trueness.recalibrate import IsotonicCalibration, ScalingBinning
    >>> method = ScalingBinning(n_bins=2, scaler=IsotonicCalibration(), split="none")
    >>> fitted = method.fit([0.1, 0.3, 0.4, 0.8], [0, 1, 0, 1])
    >>> fitted.predict([0.1, 0.2, 0.9]).round(6).tolist()
    [0.333333, 0.333333, 1.0]

    The mean score of each bin:

    >>> fitted = ScalingBinning(n_bins=2, scaler="identity", split="none").fit([0.1, 0.3, 0.4, 0.8], [0, 1, 0, 1])
    >>> fitted.predict([0.1, 0.9]).round(6).tolist()
    [0.2, 0.6]
    """

    _state: ClassVar = {
        "scaler": Field("the fitted map, applied first; null for the identity", fitted_calibrator, optional=True),
        "edges": Field(
            "inner edges of the bins of scaled scores; a value equal to an edge is in the bin above it",
            fractions(rising=True),
        ),
        "values": Field("mean of the scaled scores of each bin, which is predicted", fractions(n_steps)),
    }

    scaler_: Calibrator | None

    def __init__(
        self,
        n_bins: int = 10,
        *,
        scaler: Calibrator | Literal["identity"] | None = None,
        split: Literal["thirds", "none"] = "thirds",
        seed: int | np.random.Generator | None = None,
    ) -> None:
        self.n_bins = n_bins
        self.scaler = scaler
        self.split = split
        self.seed = seed

    def _check_parameters(self) -> None:
        checked_whole(self.n_bins, "n_bins", MOST_BINS)
        if self._unfitted is not None:
            refuse_matrix(self._unfitted, name="scaler")
        checked_word(self.split, "split", ("thirds", "none"))
        check_seed(self.seed)

    @property
    def _unfitted(self) -> Calibrator | None:
        """The map before it is fitted; None for the identity."""
        known = isinstance(self.scaler, str) and self.scaler == "identity"
        if known:
            return None
        return inner_calibrator(self.scaler, PlattScaling, name="scaler", others=", 'identity' or None")

    def _fit(self, rows: CalibrationSet) -> None:
        unfitted = self._unfitted
        n_parts = 3 if unfitted is not None else 2
        if self.split == "none":
            parts = [rows] * n_parts
        elif rows.y.size < n_parts:
            demand = f'`split="thirds"` needs at least {n_parts} rows'
            raise InputError("", demand, f"got {rows.y.size}", remedy='`split="none"` needs one.')
        else:
            parts = rows.split(n_parts, self.seed)
        *for_map, for_bins, for_means = parts
        self.scaler_ = None
        if unfitted is not None:
            self.scaler_ = clone(unfitted).fit(for_map[0].p, for_map[0].y, for_map[0].w)
        for_bins, for_means = (rows._replace(p=self._scaled(rows.p)) for rows in (for_bins, for_means))
        self.edges_ = EqualMass(int(self.n_bins)).group(for_bins.cells()).edges[1:-1]
        weight, sums = _sums(for_means, self.edges_)
        own_weight, own_sums = _sums(for_bins, self.edges_)
        empty = weight == 0
        # Sums of products are rounded: the mean of ones may be 1 + 2⁻⁵².
        self.values_ = np.clip(np.where(empty, own_sums, sums) / np.where(empty, own_weight, weight), 0.0, 1.0)

    def _scaled(self, p: NDArray[Any]) -> Floats:
        return np.asarray(p, dtype=np.float64) if self.scaler_ is None else self.scaler_._map(p)

    def _map(self, p: NDArray[Any]) -> Floats:
        return steps(self.edges_, self.values_, self._scaled(p))


def _sums(rows: CalibrationSet, edges: Floats) -> tuple[Floats, Floats]:
    """Weight, and weighted sum of scores, of each bin."""
    at, n, w = ranks(edges, rows.p), edges.size + 1, rows.weights
    weight, sums = (np.bincount(at, column, minlength=n).astype(np.float64) for column in (w, w * rows.p))
    return weight, sums

"""Scaling-binning: a smooth map whose values are averaged in bins."""

from dataclasses import field
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import clone

from trueness._input.arguments import check_seed, checked_whole, checked_word
from trueness._numerics.steps import ranks
from trueness._tally.rules import MOST_BINS, EqualMass
from trueness.errors import InputError
from trueness.recalibrate._calibration_set import CalibrationSet
from trueness.recalibrate._calibrator import Calibrator, inner_calibrator, refuse_matrix, with_parameters
from trueness.recalibrate._formula import Steps
from trueness.recalibrate._platt import PlattScaling
from trueness.recalibrate._saving import Field, fitted_calibrator, fractions, n_steps
from trueness.typing import Floats


@with_parameters
class ScalingBinning(Calibrator):
    r"""Scaling-binning: a smooth map whose values are averaged in bins.

    A smooth map is fitted, its values are divided into bins of equal mass, and every score in a bin gets the mean of
    its values there. Predictions take few values, so the calibration error can be measured, as after histogram binning;
    but the means are of scaled scores, which vary far less than labels.

    Parameters
    ----------
    n_bins : int, default 10
        Number of bins; fewer where scaled scores are tied, since ties are never split.
    scaler : calibrator or 'identity', optional
        The unfitted map, for a vector of scores; by default `PlattScaling()`. 'identity' averages the scores
        themselves, if they have already been scaled.
    split : {'thirds', 'none'}, default 'thirds'
        With 'thirds', as in the published algorithm and its theorem, a random stratified third of the rows fits the
        map, another sets the bins and the last gives the means; for 'identity', halves do. With 'none' all rows are
        used for every step, as in the authors' program: better for few rows, not random, and without a theorem.
    seed : int or Generator, optional
        Draws the thirds.

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
    >>> method.fit([0.1, 0.3, 0.4, 0.8], [0, 1, 0, 1]).predict([0.1, 0.2, 0.9]).round(6).tolist()
    [0.333333, 0.333333, 1.0]
    """

    _state: ClassVar = {
        "scaler": Field("the fitted map, applied first; null for the identity", fitted_calibrator, optional=True),
        "edges": Field(
            "inner edges of the bins of scaled scores; a value equal to an edge is in the bin above it",
            fractions(rising=True),
        ),
        "values": Field("mean of the scaled scores of each bin, which is predicted", fractions(n_steps)),
    }

    n_bins: int = field(default=10, kw_only=False)
    scaler: Calibrator | Literal["identity"] | None = None
    split: Literal["thirds", "none"] = "thirds"
    seed: int | np.random.Generator | None = None

    def _check_parameters(self) -> None:
        checked_whole(self.n_bins, "n_bins", MOST_BINS)
        if self._unfitted is not None:
            refuse_matrix(self._unfitted, name="scaler")
        checked_word(self.split, "split", ("thirds", "none"))
        check_seed(self.seed)

    @property
    def _unfitted(self) -> Calibrator | None:
        """The map before it is fitted; None for the identity."""
        if isinstance(self.scaler, str) and self.scaler == "identity":
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
        self.scaler_ = None if unfitted is None else clone(unfitted).fit(for_map[0].p, for_map[0].y, for_map[0].w)
        for_bins, for_means = (rows._replace(p=self._scaled(rows.p)) for rows in (for_bins, for_means))
        self.edges_ = EqualMass(int(self.n_bins)).group(for_bins.cells()).edges[1:-1]
        weight, sums = _sums(for_means, self.edges_)
        own_weight, own_sums = _sums(for_bins, self.edges_)
        empty = weight == 0
        # Sums of products are rounded: the mean of ones may be 1 + 2⁻⁵².
        self.values_ = np.clip(np.where(empty, own_sums, sums) / np.where(empty, own_weight, weight), 0.0, 1.0)

    def _scaled(self, p: Any) -> Floats:
        return np.asarray(p if self.scaler_ is None else self.scaler_._formula()(p), np.float64)

    def _formula(self) -> Steps:
        return Steps(self.edges_, self.values_, None if self.scaler_ is None else self.scaler_._formula())


def _sums(rows: CalibrationSet, edges: Floats) -> tuple[Floats, Floats]:
    """Weight, and weighted sum of scores, of each bin."""
    at, n, w = ranks(edges, rows.p), edges.size + 1, rows.weights
    weight, sums = (np.bincount(at, column, minlength=n).astype(np.float64) for column in (w, w * rows.p))
    return weight, sums

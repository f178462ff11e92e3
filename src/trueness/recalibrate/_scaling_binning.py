"""Scaling-binning: a smooth map, then bins, each with the mean of the map in it."""

from importlib import import_module
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from trueness._input.arguments import check_seed
from trueness._numerics.steps import ranks, steps
from trueness._tally.rules import EqualMass
from trueness.errors import InputError
from trueness.recalibrate._calibration_set import Rows, cells_of, parts
from trueness.recalibrate._calibrator import Calibrator
from trueness.recalibrate._fitted_state import check_edges, check_nested, check_shares
from trueness.typing import Floats

__all__ = ["ScalingBinning"]


class ScalingBinning(Calibrator):
    r"""A scaling map whose values are averaged in bins.

    First a smooth map of few parameters is fitted; then its values are cut into bins of equal mass; every score of a
    bin gets the mean of the map's values there. Few values can be predicted, so the calibration error can be measured,
    as after histogram binning; but the means are of scaled scores rather than of labels, which vary far more.

    Parameters
    ----------
    n_bins : int, default 10
        How many bins; fewer where scaled scores are tied, since ties are never split.
    scaler : calibrator, optional
        The map, unfitted, for a vector of scores; by default `PlattScaling()`.
    split : {'thirds', 'none'}, default 'thirds'
        Which rows serve which step. With 'thirds', as in the published algorithm and its theorem, a third of the
        rows fits the map, a third sets the bins and a third gives the means: rows are dealt at random, class by class.
        With 'none' all rows serve all three, as in the authors' program: better use of few rows, nothing random,
        and no theorem.
    seed : int or Generator, optional
        Decides the thirds.

    Attributes
    ----------
    scaler_ : calibrator
        The fitted map.
    edges_ : array of shape (B − 1,)
        Inner edges of the bins of scaled scores; a scaled score equal to an edge belongs to the bin above it.
    values_ : array of shape (B,)
        What each bin predicts: the weighted mean of the scaled scores in it.

    Notes
    -----
    With :math:`g` the map and :math:`I_b` the bins, all scores with :math:`g(s) \in I_b` get

    .. math:: \mu_b = \frac{\sum_{i:\, g(s_i) \in I_b} w_i \, g(s_i)}{\sum_{i:\, g(s_i) \in I_b} w_i} .

    Bins are those of :class:`trueness.EqualMass`, edges midway between neighbouring values. A bin into which no row of
    the last third falls has the mean of the rows that made it. A weight counts as repetition when nothing is split; a
    row of a split stays whole.

    References
    ----------
    Kumar, Liang, Ma, "Verified uncertainty calibration", Advances in Neural Information Processing Systems, 2019.

    Examples
    --------
    Isotonic calibration gives the four rows 0, 1/2, 1/2 and 1; with two bins, the lower three share a mean.

    >>> from trueness.recalibrate import IsotonicCalibration, ScalingBinning
    >>> method = ScalingBinning(n_bins=2, scaler=IsotonicCalibration(), split="none")
    >>> fitted = method.fit([0.1, 0.3, 0.4, 0.8], [0, 1, 0, 1])
    >>> fitted.predict([0.1, 0.2, 0.9]).round(6).tolist()
    [0.333333, 0.333333, 1.0]
    """

    _learnt: ClassVar = {
        "scaler": "the fitted map, applied first",
        "edges": "inner edges of the bins of scaled scores; a value equal to an edge is in the bin above it",
        "values": "mean of the scaled scores of each bin, which is predicted",
    }

    scaler_: Calibrator
    edges_: Floats
    values_: Floats

    def __init__(
        self,
        n_bins: int = 10,
        *,
        scaler: Calibrator | None = None,
        split: Literal["thirds", "none"] = "thirds",
        seed: int | np.random.Generator | None = None,
    ) -> None:
        self.n_bins = n_bins
        self.scaler = scaler
        self.split = split
        self.seed = seed

    def _check_parameters(self) -> None:
        whole = isinstance(self.n_bins, int | np.integer) and not isinstance(self.n_bins, bool)
        if not (whole and self.n_bins >= 1):
            raise InputError("n_bins", "must be a whole number ≥ 1", f"got {self.n_bins!r}")
        if self.scaler is not None and not isinstance(self.scaler, Calibrator):
            raise InputError("scaler", "must be a calibrator such as `PlattScaling()`, or None", f"got {self.scaler!r}")
        if isinstance(self.scaler, Calibrator) and self.scaler._shape == "matrix":
            raise InputError("scaler", "must take a vector of scores", f"{type(self.scaler).__name__} takes a matrix")
        if not isinstance(self.split, str) or self.split not in ("thirds", "none"):
            raise InputError("split", "must be 'thirds' or 'none'", f"got {self.split!r}")
        check_seed(self.seed)

    def _check_learnt(self) -> None:
        check_nested(self, "scaler", self.scaler_, kind=Calibrator)
        check_shares(self, check_edges(self) + 1, "values")

    def _fit(self, rows: Rows) -> None:
        if self.split == "none":
            for_map = for_bins = for_means = rows
        elif rows.y.size < 3:
            raise InputError(f'`split="thirds"` needs at least 3 rows; got {rows.y.size}. `split="none"` needs one.')
        else:
            for_map, for_bins, for_means = parts(rows, 3, self.seed)
        self.scaler_ = self._new_scaler().fit(for_map.p, for_map.y, for_map.w)
        for_bins, for_means = self._scaled(for_bins), self._scaled(for_means)
        self.edges_ = EqualMass(int(self.n_bins)).group(cells_of(for_bins)).edges[1:-1]
        weight, sums = _sums(for_means, self.edges_)
        own_weight, own_sums = _sums(for_bins, self.edges_)
        empty = weight == 0
        # Sums of products are rounded: a bin of ones may come to 1 + 2⁻⁵².
        self.values_ = np.clip(np.where(empty, own_sums, sums) / np.where(empty, own_weight, weight), 0.0, 1.0)

    def _new_scaler(self) -> Calibrator:
        scaler = self.scaler
        if scaler is None:
            scaler = import_module("trueness.recalibrate._platt").PlattScaling()
        new: Calibrator = clone(scaler)
        return new

    def _scaled(self, rows: Rows) -> Rows:
        return rows._replace(p=self.scaler_._map(rows.p))

    def _map(self, p: NDArray[Any]) -> Floats:
        return steps(self.edges_, self.values_, self.scaler_._map(p))


def _sums(rows: Rows, edges: Floats) -> tuple[Floats, Floats]:
    """Weight, and weighted sum of scores, of each bin."""
    at, n = ranks(edges, rows.p), edges.size + 1
    weight: Floats = np.bincount(at, rows.weights, minlength=n).astype(np.float64)
    sums: Floats = np.bincount(at, rows.weights * rows.p, minlength=n).astype(np.float64)
    return weight, sums

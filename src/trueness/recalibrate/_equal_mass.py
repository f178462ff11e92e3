"""Scaling-binning: a smooth map whose values are averaged in bins of equal mass."""

from dataclasses import field
from typing import ClassVar, Literal

import numpy as np
from sklearn.base import clone

from trueness._input.arguments import checked_whole
from trueness._numerics.steps import ranks
from trueness._tally.cells import Cells
from trueness._tally.rules import MOST_BINS, EqualMass
from trueness.errors import FewRowsWarning, InputError, warn
from trueness.recalibrate import _calibrator as base
from trueness.recalibrate._calibration_set import CalibrationSet
from trueness.recalibrate._formula import Steps
from trueness.recalibrate._histogram import Cuts, rank_cuts
from trueness.recalibrate._logistic import PlattScaling
from trueness.recalibrate._saving import Field, fitted_calibrator, fractions, n_steps
from trueness.typing import Floats


@base.with_parameters
class ScalingBinning(base.Calibrator):
    r"""Scaling-binning: a smooth map whose values are averaged in bins.

    A smooth map is fitted, its values are divided into bins of equal mass, and every score in a bin
    gets the mean of its values there. Predictions take few values, so the calibration error can be
    measured, as after histogram binning; but the means are of scaled scores, which vary far less
    than labels.

    Parameters
    ----------
    n_bins : int, default 10
        Number of bins; fewer where scaled scores are tied, since ties are never split.
    scaler : Calibrator, its name or 'identity', optional
        The unfitted map, for a vector of scores; by default `PlattScaling()`. 'identity' averages
        the scores themselves, if they have already been scaled.
    split : {'thirds', 'none'}, default 'thirds'
        With 'thirds', as in the published algorithm and its theorem, a random stratified third of
        the rows fits the map, another sets the bins and the last gives the means; for 'identity',
        halves do. With 'none' all rows are used for every step, as in the authors' program: better
        for few rows, not random, and without a theorem.
    bins : {'equal-mass', 'umd'}, default 'equal-mass'
        'equal-mass': the bins of :class:`trueness.EqualMass`, with edges midway between adjacent
        values. 'umd': those of :class:`HistogramBinning`, cut at the rows of rank ⌈b(n + 1)/B⌉,
        whose own scores are not averaged: with ``split="none"`` and the identity, the comparison of
        Gupta and Ramdas (2021), "identical except what is being averaged". Weights must then be
        whole numbers.
    seed : int or Generator, default 0
        Draws the thirds.

    Notes
    -----
    With :math:`g` the map and :math:`I_b` the bins, all scores with :math:`g(s) \in I_b` get

    .. math:: \mu_b = \frac{\sum_{i:\, g(s_i) \in I_b} w_i \, g(s_i)}
       {\sum_{i:\, g(s_i) \in I_b} w_i} .

    A bin without rows of the last third gets the mean of the rows that defined it. Weights are
    repetitions with ``split="none"``; with thirds, a weighted row is not divided.

    References
    ----------
    Kumar, Liang, Ma, "Verified uncertainty calibration", Advances in Neural Information Processing
    Systems, 2019.

    Gupta, Ramdas, "Distribution-free calibration guarantees for histogram binning without sample
    splitting", ICML, 2021, section 4.

    Examples
    --------
    Isotonic calibration maps the four rows to 0, 1/2, 1/2 and 1; with two bins, the lower three
    share a mean.

    >>> from trueness.recalibrate import IsotonicCalibration, ScalingBinning
    >>> method = ScalingBinning(n_bins=2, scaler=IsotonicCalibration(), split="none")
    >>> method.fit([0.1, 0.3, 0.4, 0.8], [0, 1, 0, 1]).predict([0.1, 0.2, 0.9]).round(6).tolist()
    [0.333333, 0.333333, 1.0]
    """

    _state: ClassVar = {
        "scaler": Field(
            "the fitted map, applied first; null for the identity", fitted_calibrator, optional=True
        ),
        "edges": Field(
            "inner edges of bins of scaled scores; a value equal to one is above it",
            fractions(rising=True),
        ),
        "values": Field(
            "mean of the scaled scores of each bin, which is predicted", fractions(n_steps)
        ),
    }

    n_bins: int = field(default=10, kw_only=False)
    scaler: base.Calibrator | str | None = None
    split: Literal["thirds", "none"] = "thirds"
    bins: Literal["equal-mass", "umd"] = "equal-mass"
    seed: int | np.random.Generator | None = 0

    def _check_parameters(self) -> None:
        checked_whole(self.n_bins, "n_bins", MOST_BINS)
        if self._unfitted is not None:
            base.refuse_matrix(self._unfitted, name="scaler")

    @property
    def _unfitted(self) -> base.Calibrator | None:
        """The map before it is fitted; None for the identity."""
        if isinstance(self.scaler, str) and self.scaler == "identity":
            return None
        return base.inner_calibrator(
            self.scaler, PlattScaling, name="scaler", others=", 'identity' or None"
        )

    def _fit(self, rows: CalibrationSet) -> None:
        """Fit the inner calibrator, place the bins, and average its scores in each of them.

        With `split` each of these steps has rows of its own; without, all rows serve each. A bin
        without rows of the last part has the mean of the rows that placed it.
        """
        unfitted = self._unfitted
        n_parts = 3 if unfitted is not None else 2
        if self.split != "none" and rows.y.size < n_parts:
            demand = f'`split="thirds"` needs at least {n_parts} rows'
            raise InputError("", demand, f"got {rows.y.size}", remedy='`split="none"` needs one.')
        *for_map, for_bins, for_means = (
            [rows] * n_parts if self.split == "none" else rows.split(n_parts, self.seed)
        )
        self.scaler_ = None
        if unfitted is not None:
            self.scaler_ = clone(unfitted).fit(for_map[0].p, for_map[0].y, for_map[0].w)
        for_bins, for_means = (
            rows._replace(p=self._scaled(rows.p)) for rows in (for_bins, for_means)
        )
        if self.bins == "umd":
            cuts = self._cuts(for_bins)
            self.edges_ = cuts.edges[1:-1]
            weight = cuts.counts.astype(np.float64)
            sums = cuts.events
        else:
            self.edges_ = EqualMass(int(self.n_bins)).group(for_bins.cells()).edges[1:-1]
            weight, sums = _sums(for_bins, self.edges_)
        own_weight, own_sums = weight, sums
        if self.split != "none":
            weight, sums = _sums(for_means, self.edges_)
        empty = weight == 0
        # Sums of products are rounded: the mean of ones may be 1 + 2⁻⁵².
        self.values_ = np.clip(
            np.where(empty, own_sums, sums) / np.where(empty, own_weight, weight), 0.0, 1.0
        )

    def _cuts(self, rows: CalibrationSet) -> Cuts:
        """The bins of UMD, with the sums of the scores in place of those of the labels."""
        if rows.w is not None and (rows.w != np.floor(rows.w)).any():
            raise InputError(
                "sample_weight", "must be whole numbers for `bins='umd'`, which cuts at ranks"
            )
        cells = rows.cells()
        n = int(cells.weight.sum())
        bin_limit = max(1, n // 2)
        if self.n_bins > bin_limit:
            finding = f"{n:,} rows are too few for {self.n_bins:,} bins with a row each inside"
            warn(f"{finding}; {bin_limit:,} bins are used.", FewRowsWarning)
        sums = cells.weight * cells.score
        scores = Cells(score=cells.score, count=cells.count, weight=cells.weight, events=sums)
        return rank_cuts(scores, min(int(self.n_bins), bin_limit))

    def _scaled(self, p: object) -> Floats:
        scaled = p if self.scaler_ is None else self.scaler_._formula()(p)
        return np.asarray(scaled, np.float64)

    def _formula(self) -> Steps:
        scaler = None if self.scaler_ is None else self.scaler_._formula()
        return Steps(self.edges_, self.values_, scaler)


def _sums(rows: CalibrationSet, edges: Floats) -> tuple[Floats, Floats]:
    """The weight, and the weighted sum of scores, of the rows in each bin.

    `edges` are the inner edges of the bins.
    """
    bin_of_row = ranks(edges, rows.p)
    n = edges.size + 1
    w = rows.weights
    weight, sums = (
        np.bincount(bin_of_row, column, minlength=n).astype(np.float64)
        for column in (w, w * rows.p)
    )
    return weight, sums

"""Isotonic calibration, the best non-decreasing map.

And Venn-Abers, which fits it with each new row added.
"""

import reprlib
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from trueness._numerics.steps import MOST_WEIGHT, Pair, corners, on_common_edges, ranks, venn_abers
from trueness._tally.cells import pool_runs
from trueness._tally.rules import Isotonic, midpoints
from trueness.errors import InputError
from trueness.recalibrate._calibration_set import CalibrationSet
from trueness.recalibrate._calibrator import Calibrator, check_number, with_parameters
from trueness.recalibrate._formula import Lines, Steps
from trueness.recalibrate._saving import Field, Fitted, all_of, fractions, meets, n_steps
from trueness.typing import ArrayLike, Floats

_MOST_FOLDS = 1_000
_MOST_VALUES = 5 * 10**7  # of all folds at the steps of all folds


def _blocks(calibrator: Fitted) -> int:
    return int(calibrator.low_.size)


_last_scores = meets(
    "the last scores of blocks that follow each other",
    lambda c, high: (c.low_ <= high).all() and (high[:-1] < c.low_[1:]).all(),
)
_inside = meets(
    "between the first and the last score of each block",
    lambda c, centre: (c.low_ <= centre).all() and (centre <= c.high_).all(),
)
_not_below_p0 = meets("at least 'p0'", lambda calibrator, p1: (calibrator.p0_ <= p1).all())


@with_parameters
class IsotonicCalibration(Calibrator):
    r"""Isotonic calibration: the isotonic regression of labels on scores.

    Among all non-decreasing maps, the one with the smallest squared error on the calibration set;
    it also minimises the log loss. Adjacent scores are pooled until the event rates increase.

    Parameters
    ----------
    interpolation : {'linear', 'step', 'centred'}, default 'linear'
        How scores between two blocks are mapped. 'linear': linearly from the last score of one
        block to the first of the next, as in scikit-learn. 'step': to the value of the nearer
        block, the upper one at the midpoint. 'centred': blocks are points at their mean scores,
        joined by lines (centred isotonic regression). Scores below the first or above the last get
        the value of the outermost block.
    prior : float, default 0
        Number of pseudo-rows added to each block, at its mean score and with the events that this
        score predicts. They keep values away from 0 and 1, and pull the values of small blocks
        towards the scores.
    y_min, y_max : float, default 0 and 1
        Bounds to which predicted values are clipped.

    Notes
    -----
    Rows of equal score are pooled first, so that the order of the rows does not matter. With
    :math:`W_i` and :math:`E_i` the weight and the events of the :math:`i`-th distinct score,

    .. math:: g(s_j) = \max_{a \le j} \min_{b \ge j} \frac{E_a + \dots + E_b}{W_a + \dots + W_b} .

    Without weights, or with whole-number weights, the blocks are found exactly, in integer
    arithmetic. The outer blocks often have the values 0 and 1, and a single contrary outcome then
    makes the log loss infinite: `y_min` and `y_max`, or :class:`VennAbers`, avoid that.

    References
    ----------
    Oron, Flournoy, "Centered isotonic regression: point and interval estimation for dose-response
    studies", Statistics in Biopharmaceutical Research 9, 2017.

    Zadrozny, Elkan, "Transforming classifier scores into accurate multiclass probability
    estimates", Knowledge Discovery and Data Mining, 2002.

    Examples
    --------
    The second and the third row contradict each other and are pooled.

    >>> from trueness.recalibrate import IsotonicCalibration
    >>> fitted = IsotonicCalibration().fit([0.1, 0.3, 0.4, 0.8], [0, 1, 0, 1])
    >>> fitted.predict([0.0, 0.2, 0.35, 0.6, 1.0]).round(6).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """

    _state: ClassVar = {
        "low": Field("first score of each block", fractions(rising=True, at_least=1)),
        "high": Field(
            "last score of each block", all_of(fractions(_blocks, rising=True), _last_scores)
        ),
        "centre": Field(
            "mean score of each block", all_of(fractions(_blocks, rising=True), _inside)
        ),
        "values": Field(
            "event rate of each block, within y_min and y_max", fractions(_blocks, rising=True)
        ),
    }

    interpolation: Literal["linear", "step", "centred"] = "linear"
    prior: float = 0.0
    y_min: float = 0.0
    y_max: float = 1.0

    def _check_parameters(self) -> None:
        """Raise unless `prior` is not negative and 0 ≤ `y_min` ≤ `y_max` ≤ 1."""
        check_number(
            "prior", self.prior, "be a finite number ≥ 0", lambda prior: 0 <= prior < np.inf
        )
        for name, bound in (("y_min", self.y_min), ("y_max", self.y_max)):
            check_number(name, bound, "be a number in [0, 1]", lambda bound: 0 <= bound <= 1)
        if self.y_min > self.y_max:
            raise InputError(
                "y_min", "must not be above `y_max`", f"got {self.y_min!r} and {self.y_max!r}"
            )

    def _fit(self, rows: CalibrationSet) -> None:
        """Pool scores into blocks with rising event rates; keep the ends, centre and rate of each.

        A `prior` draws each rate towards the mean score of its block.
        """
        cells = rows.cells()
        prior = float(self.prior)
        start = Isotonic().group(cells).start
        blocks = pool_runs(cells, start[:-1])
        rate = (blocks.events + prior * blocks.score) / (blocks.weight + prior)
        # Weighted sums are rounded: a block of events alone may sum to 1 + 2⁻⁵², and increasing
        # rates may become equal.
        rate = np.maximum.accumulate(np.clip(rate, self.y_min, self.y_max))
        self.low_ = cells.score[start[:-1]]
        self.high_ = cells.score[start[1:] - 1]
        self.values_ = rate
        self.centre_ = blocks.score

    def _formula(self) -> Steps | Lines:
        """Steps that change halfway between blocks, or lines through their centres or their ends.

        With lines through the ends, a block of one score is one point.
        """
        if self.interpolation == "step":
            return Steps(midpoints(self.high_[:-1], self.low_[1:]), self.values_)
        if self.interpolation == "centred":
            return Lines(self.centre_, self.values_)
        wide = self.low_ < self.high_
        x = np.column_stack([self.low_, self.high_])[np.column_stack([np.ones_like(wide), wide])]
        return Lines(x, np.repeat(self.values_, 1 + wide))


class ProbabilityPair(NamedTuple):
    """The two probabilities of an event that a Venn-Abers predictor gives each row."""

    p0: Floats
    """Fitted with the row as a non-event; the lower one."""
    p1: Floats
    """Fitted with the row as an event; the upper one."""


@with_parameters
class VennAbers(Calibrator):
    r"""Venn-Abers calibration: two probabilities per row, one of which is calibrated.

    Isotonic regression is fitted twice with the new row added: once as a non-event and once as an
    event. One of the two resulting probabilities is calibrated, whatever the distribution; which
    one depends on the outcome. With many rows they are close together. The merged probability is
    never 0, and 1 only if the rows weigh 10¹⁶ or more.

    Parameters
    ----------
    folds : int, optional
        None: one pair, from all rows (inductive). A whole number K ≥ 2: the rows are split into K
        stratified folds, each fold gives a pair, and the pairs are merged (cross). Fewer rows per
        fold make wider intervals, but predictions depend less on single rows.
    merge : {'log', 'brier'}, default 'log'
        The loss for which the merged probability has the smallest worst-case regret.
    seed : int or Generator, default 0
        Draws the folds; without folds nothing is random.

    Notes
    -----
    With :math:`p_0, p_1` of one fold, the merged probability is

    .. math:: \frac{p_1}{1 - p_0 + p_1} \quad \text{(log loss)}, \qquad
              p_1 + \frac{p_0^2 - p_1^2}{2} \quad \text{(Brier score)} .

    With several folds, the log loss uses the geometric means of :math:`p_1` and :math:`1 - p_0`
    over the folds, and the Brier score the mean of the merged probabilities. The cross form has no
    proven guarantee.

    Rows of equal score form one cell, which a new row of that score joins. A score between two
    known ones is pooled with the upper one as an event and with the lower one as a non-event; below
    all scores :math:`p_0 = 0`, above all :math:`p_1 = 1`. Weights are repetitions, and the new row
    has weight 1; fractional weights are rounded to 2⁻⁶⁰ of their sum plus one. All three
    probabilities are non-decreasing in the score.

    References
    ----------
    Vovk, Petej, "Venn-Abers predictors", Uncertainty in Artificial Intelligence, 2014.

    Vovk, Petej, Fedorova, "Large-scale probabilistic predictors with and without guarantees of
    validity", Advances in Neural Information Processing Systems, 2015.

    Examples
    --------
    As a non-event, a new row at 0.8 joins the event there: a rate of 1/2. As an event it gets 1.

    >>> from trueness.recalibrate import VennAbers
    >>> fitted = VennAbers().fit([0.1, 0.3, 0.4, 0.8], [0, 1, 0, 1])
    >>> pair = fitted.predict_interval([0.8])
    >>> pair.p0.tolist(), pair.p1.tolist()
    ([0.5], [1.0])
    >>> fitted.predict([0.8]).round(6).tolist()
    [0.666667]
    """

    _state: ClassVar = {
        "edges": Field(
            "where the map has a step; a score equal to an edge is above it", fractions(rising=True)
        ),
        "p0": Field(
            "probability of each step if the row is a non-event; with folds, their mean",
            fractions(n_steps),
        ),
        "p1": Field(
            "probability if the row is an event, likewise",
            all_of(fractions(n_steps), _not_below_p0),
        ),
        "merged": Field("the predicted probability, likewise", fractions(n_steps)),
    }

    folds: int | None = None
    merge: Literal["log", "brier"] = "log"
    seed: int | np.random.Generator | None = 0

    def predict_interval(self, y_prob: ArrayLike) -> ProbabilityPair:
        """The two probabilities of each row, p0 < p1.

        With folds they are means over the folds, which show how far apart the pairs are but have no
        guarantee.
        """
        p = self._accept(y_prob)
        bin_of_score = ranks(self.edges_, p)
        return ProbabilityPair(self.p0_[bin_of_score], self.p1_[bin_of_score])

    def _check_parameters(self) -> None:
        is_whole = isinstance(self.folds, int | np.integer) and not isinstance(self.folds, bool)
        if self.folds is not None and not (is_whole and 2 <= self.folds <= _MOST_FOLDS):
            demand = f"must be a whole number from 2 to {_MOST_FOLDS:,}, or None"
            raise InputError("folds", demand, f"got {reprlib.repr(self.folds)}")

    def _fit(self, rows: CalibrationSet) -> None:
        """Compute two probabilities at each score, and one merged from them; over folds, the means.

        Weights so large that a new row of weight 1 would be lost, and more folds than rows, are
        errors.
        """
        if rows.w is not None and not rows.w.sum() < MOST_WEIGHT / 2:
            demand = "must sum to less than 2⁵⁹, so that a new row of weight 1 counts"
            raise InputError("sample_weight", demand, f"got {rows.w.sum():g}")
        if self.folds is not None and self.folds > rows.y.size:
            raise InputError(
                "folds",
                f"must be at most the number of rows, {rows.y.size:,}",
                f"got {self.folds:,}",
            )
        parts = [rows] if self.folds is None else rows.split(self.folds, self.seed)
        self.edges_, p0, p1 = _on_common_edges([_pair(part) for part in parts])
        self.p0_ = p0.mean(axis=0)
        self.p1_ = p1.mean(axis=0)
        brier = (p1 + (p0**2 - p1**2) / 2).mean(axis=0)
        self.merged_ = (
            _merged_for_log(p0, p1) if self.merge == "log" else np.maximum.accumulate(brier)
        )

    def _formula(self) -> Steps:
        return Steps(self.edges_, self.merged_)


def _pair(rows: CalibrationSet) -> Pair:
    cells = rows.cells()
    score = cells.score
    diagram = corners(cells.weight, cells.events)
    del cells  # frees memory for the sweeps, which take less time than getting more from the system
    return venn_abers(score, diagram)


def _on_common_edges(pairs: list[Pair]) -> tuple[Floats, Floats, Floats]:
    """The edges of all pairs of step functions together, and both values of each pair at them.

    Each fold has one pair: p0 and p1, the isotonic fits with the new row labelled 0 and 1. Values
    have one row per pair. InputError if the pairs have too many steps together.
    """
    if len(pairs) == 1:
        return pairs[0].edges, pairs[0].p0[np.newaxis], pairs[0].p1[np.newaxis]
    steps_of_all = sum(pair.edges.size for pair in pairs)
    if len(pairs) * steps_of_all > _MOST_VALUES:
        demand = (
            f"must be fewer: the pairs of all folds have {steps_of_all:,} steps, too many to "
            "average"
        )
        raise InputError("folds", demand, f"got {len(pairs):,}")
    values = [pair.p0 for pair in pairs] + [pair.p1 for pair in pairs]
    edges, stacked = on_common_edges([pair.edges for pair in pairs] * 2, values)
    p0, p1 = np.split(stacked, 2)
    return edges, p0, p1


def _merged_for_log(p0: Floats, p1: Floats) -> Floats:
    """One probability for each step, from the pairs p0 and p1 of all folds (the first axis).

    p0 and p1 are the isotonic fits with the new row labelled 0 and 1. For one fold it is p1 / (1 −
    p0 + p1), which suits the log loss; for several, p1 and 1 − p0 are replaced by their geometric
    means.
    """
    if len(p0) == 1:
        return np.asarray(p1[0] / (1 - p0[0] + p1[0]))
    with np.errstate(divide="ignore"):
        event = np.exp(np.log(p1).mean(axis=0))
        non_event = np.exp(np.log1p(-p0).mean(axis=0))
    # p0 and p1 are non-decreasing; only the rounding of logarithms may break that.
    return np.maximum.accumulate(event / (non_event + event))

"""Venn-Abers calibration: two probabilities, one of which is right."""

from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueness._input.arguments import check_seed
from trueness._numerics.steps import on_common_edges, ranks, steps
from trueness._numerics.venn_abers import MOST_WEIGHT, Pair, corners, venn_abers
from trueness.errors import InputError
from trueness.recalibrate._calibration_set import Rows, cells_of, parts
from trueness.recalibrate._calibrator import Calibrator
from trueness.recalibrate._fitted_state import check_edges, check_shares, refuse_learnt
from trueness.typing import ArrayLike, Floats

__all__ = ["ProbabilityPair", "VennAbers"]


class ProbabilityPair(NamedTuple):
    """The two probabilities of an event that a Venn predictor gives to each row."""

    p0: Floats
    """As if the row were known to be no event; the lower one."""
    p1: Floats
    """As if the row were known to be an event; the upper one."""


class VennAbers(Calibrator):
    r"""Venn-Abers prediction, inductive or cross.

    Isotonic regression is fitted twice with the new row among the others: once as no event and once as an event. Of
    the two probabilities that it then gives the row, one is calibrated, whatever the distribution; which one, only the
    outcome tells. They are close together where rows are many. The merged probability is never 0, and 1 only where the
    rows weigh 10¹⁶ or more, beside which the new row, of weight 1, is lost in rounding.

    Parameters
    ----------
    folds : int, optional
        None: one pair, from all rows (inductive). A whole number K ≥ 2: the rows are dealt into K folds, class by
        class, each fold gives a pair, and the pairs are merged (cross). With fewer rows per fold the intervals are
        wider; predictions become less dependent on single rows.
    merge : {'log', 'brier'}, default 'log'
        The loss for which the merged probability has the least regret in the worst case.
    seed : int or Generator, optional
        Decides the folds; without folds there is nothing random.

    Attributes
    ----------
    edges_ : array of shape (k,)
        Where the map takes a step; a score equal to an edge is above it.
    p0_, p1_ : arrays of shape (k + 1,)
        The pair below the first edge, and from each edge on; with folds, the means over the folds.
    merged_ : array of shape (k + 1,)
        What `predict` returns there.

    Notes
    -----
    With :math:`p_0, p_1` of one fold, the merged probability is

    .. math:: \frac{p_1}{1 - p_0 + p_1} \quad \text{(log loss)}, \qquad
              p_1 + \frac{p_0^2 - p_1^2}{2} \quad \text{(Brier score)} .

    For several, :math:`p_1` and :math:`1 - p_0` are replaced by their geometric means over folds for the log loss; for
    the Brier score the merged probabilities are averaged. The cross form has no proven guarantee.

    Rows of equal score are one cell, which a new row of that score joins. A score between two known ones is pooled
    with the upper one if it is an event and with the lower one if not, as the definition implies; below all scores
    :math:`p_0 = 0`, above all :math:`p_1 = 1`. A weight counts as repetition, the new row has weight 1;
    weights that are not whole are rounded to 2⁻⁶⁰ of their sum plus one.
    :math:`p_0`, :math:`p_1` and the merged probability never fall as the score grows.

    Fitting takes one sort and two sweeps over the corners of the cumulative sum diagram, in whole numbers; a
    prediction is one search.

    References
    ----------
    Vovk, Petej, "Venn-Abers predictors", Uncertainty in Artificial Intelligence, 2014.

    Vovk, Petej, Fedorova, "Large-scale probabilistic predictors with and without guarantees of validity", Advances in
    Neural Information Processing Systems, 2015.

    Examples
    --------
    Were the new row at 0.8 no event, it would share its score's rate with one event: 1 of 2. As an event it gets 1.

    >>> from trueness.recalibrate import VennAbers
    >>> fitted = VennAbers().fit([0.1, 0.3, 0.4, 0.8], [0, 1, 0, 1])
    >>> pair = fitted.predict_interval([0.8])
    >>> pair.p0.tolist(), pair.p1.tolist()
    ([0.5], [1.0])
    >>> fitted.predict([0.8]).round(6).tolist()
    [0.666667]
    """

    _learnt: ClassVar = {
        "edges": "where the map takes a step; a score equal to an edge is above it",
        "p0": "probability if the row is no event, below the first edge and from each edge on; with folds, their mean",
        "p1": "probability if the row is an event, likewise",
        "merged": "the one probability that is predicted, likewise",
    }

    edges_: Floats
    p0_: Floats
    p1_: Floats
    merged_: Floats

    def __init__(
        self,
        *,
        folds: int | None = None,
        merge: Literal["log", "brier"] = "log",
        seed: int | np.random.Generator | None = None,
    ) -> None:
        self.folds = folds
        self.merge = merge
        self.seed = seed

    def predict_interval(self, y_prob: ArrayLike) -> ProbabilityPair:
        """The two probabilities of each row.

        Parameters
        ----------
        y_prob : array-like of shape (n,)
            Scores.

        Returns
        -------
        ProbabilityPair
            `p0` and `p1`, arrays of shape (n,), p0 < p1. With folds they are means over the folds: they show how far
            apart the pairs are, and no guarantee belongs to them.
        """
        p = self._accepted(y_prob)
        at = ranks(self.edges_, p)
        return ProbabilityPair(self.p0_[at], self.p1_[at])

    def _check_parameters(self) -> None:
        whole = isinstance(self.folds, int | np.integer) and not isinstance(self.folds, bool)
        if self.folds is not None and not (whole and self.folds >= 2):
            raise InputError("folds", "must be a whole number ≥ 2, or None", f"got {self.folds!r}")
        if not isinstance(self.merge, str) or self.merge not in ("log", "brier"):
            raise InputError("merge", "must be 'log' or 'brier'", f"got {self.merge!r}")
        check_seed(self.seed)

    def _check_learnt(self) -> None:
        check_shares(self, check_edges(self) + 1, "p0", "p1", "merged")
        if (self.p0_ > self.p1_).any():
            refuse_learnt(self, "p0", "at most 'p1'", self.p0_)

    def _fit(self, rows: Rows) -> None:
        if rows.w is not None and not rows.w.sum() < MOST_WEIGHT / 2:
            raise InputError(
                "sample_weight",
                "must sum to less than 2⁵⁹, as a new row of weight 1 must count",
                f"got {rows.w.sum():g}",
            )
        if self.folds is None:
            pairs = [_pair(rows)]
        elif self.folds > rows.y.size:
            raise InputError("folds", f"must not be above the number of rows ({rows.y.size:,})", f"got {self.folds:,}")
        else:
            pairs = [_pair(part) for part in parts(rows, self.folds, self.seed)]
        self.edges_, p0, p1 = _on_common_edges(pairs)
        self.p0_, self.p1_ = p0.mean(axis=0), p1.mean(axis=0)
        self.merged_ = _merged_for_log(p0, p1) if self.merge == "log" else _merged_for_brier(p0, p1)

    def _map(self, p: NDArray[Any]) -> Floats:
        return steps(self.edges_, self.merged_, p)


def _pair(rows: Rows) -> Pair:
    cells = cells_of(rows)
    score, diagram = cells.score, corners(cells.weight, cells.events)
    del cells  # memory in use at once is what grows: the sweeps take less time than getting more of it from the system
    return venn_abers(score, diagram)


def _on_common_edges(pairs: list[Pair]) -> tuple[Floats, Floats, Floats]:
    """Edges, and both values of each pair, a row per pair."""
    if len(pairs) == 1:
        edges, p0, p1 = pairs[0]
        return edges, p0[np.newaxis], p1[np.newaxis]
    edges, both = on_common_edges(
        [pair.edges for pair in pairs] * 2, [pair.p0 for pair in pairs] + [pair.p1 for pair in pairs]
    )
    p0, p1 = np.split(both, 2)
    return edges, p0, p1


def _merged_for_log(p0: Floats, p1: Floats) -> Floats:
    """Along the first axis are folds. Neither p1 nor 1 − p0 can be 0, though the latter may round to it."""
    if len(p0) == 1:
        return np.asarray(p1[0] / (1 - p0[0] + p1[0]))
    with np.errstate(divide="ignore"):
        happens, happens_not = np.exp(np.log(p1).mean(axis=0)), np.exp(np.log1p(-p0).mean(axis=0))
    # Steps of p0 and p1 go up; only the rounding of logarithms may go down.
    return np.maximum.accumulate(happens / (happens_not + happens))


def _merged_for_brier(p0: Floats, p1: Floats) -> Floats:
    return np.maximum.accumulate((p1 + (p0**2 - p1**2) / 2).mean(axis=0))

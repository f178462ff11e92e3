"""Rows whose truth is known, and the populations that they are drawn from.

Those with finitely many scores.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from trueness._input.arguments import Seed, checked_whole, checked_word, generator
from trueness._input.columns import refuse_bad
from trueness._keywords import suggests_keywords
from trueness._numerics.averages import exponent, power_mean
from trueness._numerics.quadrature import integral, supremum
from trueness.errors import InputError
from trueness.typing import ArrayLike, Floats, Ints, Kind, Norm


class Population(Protocol):
    """The distribution that rows are drawn from, with its true errors."""

    def error(self, power: float, kind: Kind) -> float:
        """The error in the norm with this exponent."""

    def squared_error(self, k: int) -> float:
        """The squared l2 error of the `k` largest scores."""


@dataclass(frozen=True, eq=False, repr=False)
class Simulated:
    """Rows drawn from a known population.

    Attributes
    ----------
    y_true : array of shape (n,)
        Outcomes: 0 or 1, or the class from 0 to K−1.
    y_prob : array of shape (n,) or (n, K)
        Scores: P(positive), or one probability per class.
    truth : array of the shape of `y_prob`
        True probability of the positive class, or of each class, given the scores of the row.
    name : str
        A description of the rows.
    population : object
        The population that the rows were drawn from, which determines the true errors.
    columns : dict of str to array
        Further columns, one entry per row, if the generator has any.
    score_name : str, default 'p'
        The column of `y_prob` in :meth:`table`.

    See Also
    --------
    trueness.ece, trueness.squared_ece : the estimates of these true errors.

    Examples
    --------
    >>> from trueness import simulate
    >>> d = simulate.binary(1000, distortion=simulate.Power(2), seed=0)
    >>> d
    Simulated('Beta(1, 1), Power(exponent=2)', n=1000)
    >>> round(d.true_ece(), 9)
    0.166666667
    """

    y_true: Ints
    y_prob: Floats
    truth: Floats
    name: str
    population: Population
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    score_name: str = "p"

    def __repr__(self) -> str:
        classes = f", K={self.y_prob.shape[1]}" if self.y_prob.ndim == 2 else ""
        return f"Simulated({self.name!r}, n={len(self)}{classes})"

    def __len__(self) -> int:
        return int(self.y_true.size)

    def true_ece(self, norm: Norm = "l1", *, kind: Kind = "classwise") -> float:
        r"""Calibration error of the population: the target of estimates from the rows.

        Parameters
        ----------
        norm : {'l1', 'l2', 'max'} or float, default 'l1'
            How gaps are averaged: the exponent :math:`p \ge 1`, or 'max' for the largest gap.
        kind : {'classwise', 'confidence', 'top-label'}, default 'classwise'
            How a matrix is compared with the outcomes; vector scores have only one error.

        Returns
        -------
        float
            In units of probability: a sum if there are finitely many scores, otherwise an integral
            accurate to 1e-9.

        Notes
        -----
        For a vector of scores Z, without bins:

        .. math:: \left( \mathrm{E} \, |\mathrm{E}[Y \mid Z] - Z|^p \right)^{1/p}

        and 'max' is the supremum over the support of Z. Class-wise: the mean over the classes of
        this error for column k and the event Y = k, given column k alone. Confidence: the same for
        the largest score and the event that its class is correct. Top-label: one such error for
        each predicted class, weighted by how often it is predicted.

        Examples
        --------
        >>> from trueness import simulate
        >>> d = simulate.binned(1, [0.3, 0.6], [0.4, 0.8], weights=[0.9, 0.1])
        >>> round(d.true_ece(), 6), round(d.true_ece("l2"), 4), round(d.true_ece("max"), 6)
        (0.11, 0.114, 0.2)
        """
        checked_word(kind, "kind", ("classwise", "confidence", "top-label"))
        return self.population.error(exponent(norm), kind)

    def true_squared_ece(self, k: int | None = None) -> float:
        r"""Squared l2 error of the `k` largest scores, the target of :func:`trueness.squared_ece`.

        Parameters
        ----------
        k : int, default 1
            Number of largest scores of a matrix that are compared; k = K means all columns, in
            class order. Vector scores have only k = 1, the probability of the positive class.

        Returns
        -------
        float
            In units of squared probability.

        Notes
        -----
        With :math:`Z_{(1:k)}` the k largest scores and :math:`Y_{r_{1:k}}` the indicators of their
        classes,

        .. math:: \mathrm{E}
           \left\| \mathrm{E}[Y_{r_{1:k}} \mid Z_{(1:k)}] - Z_{(1:k)} \right\|_2^2 .

        Examples
        --------
        >>> from trueness import simulate
        >>> scores = [[0.7, 0.2, 0.1], [0.4, 0.5, 0.1]]
        >>> d = simulate.binned(1, scores, [[0.6, 0.3, 0.1], [0.4, 0.5, 0.1]])
        >>> round(d.true_squared_ece(), 6), round(d.true_squared_ece(k=3), 6)
        (0.005, 0.01)
        """
        k = 1 if k is None else checked_whole(k, "k")
        limit = self.y_prob.shape[1] if self.y_prob.ndim == 2 else 1
        if k > limit:
            raise InputError(
                "k", f"must be at most {limit}, the number of scores in a row", f"got {k}"
            )
        return self.population.squared_error(k)

    def table(self) -> dict[str, NDArray[Any]]:
        """All columns by name, for a frame or a file.

        Returns
        -------
        dict of str to array of shape (n,)
            'y'; the scores ('p' unless `score_name` is another) and 'truth', or 'p0', 'p1', … and
            'truth0', 'truth1', … for a matrix; then the further `columns`.

        Examples
        --------
        >>> from trueness import simulate
        >>> list(simulate.demo(5).table())
        ['y', 'overconfident', 'truth', 'recalibrated']
        """
        columns: dict[str, NDArray[Any]] = {"y": self.y_true}
        scores: dict[str, Floats] = {self.score_name: self.y_prob, "truth": self.truth}
        for name, values in scores.items():
            if values.ndim == 1:
                columns[name] = values
            else:
                columns |= {f"{name}{k}": column for k, column in enumerate(values.T)}
        return columns | dict(self.columns)


def draw_labels(truth: Floats, rng: np.random.Generator) -> Ints:
    """Random labels with the probabilities of each row: 0 or 1, or a column number."""
    u: Floats = rng.random(size=truth.shape[:1])
    if truth.ndim == 1:
        return (u < truth).astype(np.int64)
    # Without the last column, whose cumulative sum may round to slightly below 1.
    below: Ints = (u[:, None] >= np.cumsum(truth, axis=1)[:, :-1]).sum(axis=1)
    return below.astype(np.int64)


class Line(ABC):
    """A distribution of vector scores: density, score and truth at a point of the real line.

    `breaks` are the ends of integration panels for all three; the mass outside is negligible.
    """

    @abstractmethod
    def density(self, s: Floats) -> Floats: ...

    @abstractmethod
    def breaks(self) -> Floats: ...

    @abstractmethod
    def score(self, s: Floats) -> Floats: ...

    @abstractmethod
    def truth(self, s: Floats) -> Floats: ...

    def gap(self, s: Floats) -> Floats:
        """Distance between score and truth."""
        return np.abs(self.truth(s) - self.score(s))

    def mean_truth(self) -> float:
        """Probability of the event."""
        return integral(lambda s: self.truth(s) * self.density(s), self.breaks())[0]

    def error(self, power: float, kind: Kind) -> float:  # noqa: ARG002 - a vector has one error
        """The true error: the root of the mean of |gap|ᵖᵒʷᵉʳ, or the largest gap."""
        # High powers of small gaps underflow.
        unit = self._largest_gap() if power > 2 else 1.0
        if unit == 0 or power == inf:
            return unit
        value = integral(lambda s: (self.gap(s) / unit) ** power * self.density(s), self.breaks())[
            0
        ]
        return float(unit * max(value, 0.0) ** (1 / power))

    def squared_error(self, k: int) -> float:  # noqa: ARG002 - a vector has only k = 1
        return self.error(2, "classwise") ** 2

    def _largest_gap(self) -> float:
        # The support is the whole line, not only where the mass is.
        far = 2.0 ** np.arange(6, 20)
        points = np.unique(np.concatenate([self.breaks(), np.linspace(-40, 40, 4001), far, -far]))
        return supremum(
            self.gap, np.unique(np.concatenate([points, (points[1:] + points[:-1]) / 2]))
        )


@dataclass(frozen=True, eq=False)
class Finite:
    """A distribution with finitely many scores, vectors or matrices, with a weight per row.

    Scores have their truths beside them.
    """

    scores: Floats
    truths: Floats
    weight: Floats

    def mean_truth(self) -> float:
        return float(self.weight @ self.truths)

    def error(self, power: float, kind: Kind) -> float:
        """The true calibration error: the mean of |truth − score|^power, and its root.

        Of a matrix, `kind` says of which scores: the mean over the classes, the largest of each
        row, or the largest by predicted class.
        """
        z = self.scores
        t = self.truths
        w = self.weight
        if z.ndim == 1:
            return _vector_error(z, t, w, power)
        if kind == "classwise":
            return float(
                np.mean([_vector_error(z[:, j], t[:, j], w, power) for j in range(z.shape[1])])
            )
        top = z.argmax(axis=1)
        rows = np.arange(top.size)
        z = z[rows, top]
        t = t[rows, top]
        if kind == "confidence":
            return _vector_error(z, t, w, power)
        predicted = [top == j for j in np.unique(top[w > 0])]
        return float(
            sum(
                w[members].sum() * _vector_error(z[members], t[members], w[members], power)
                for members in predicted
            )
            / w.sum()
        )

    def squared_error(self, k: int) -> float:
        """The true squared error of the k largest scores of each row, or of a vector of scores."""
        if self.scores.ndim == 1:
            return self.error(2, "classwise") ** 2
        z = self.scores
        t = self.truths
        if k < z.shape[1]:
            order = np.argsort(-z, axis=1, kind="stable")[:, :k]
            z = np.take_along_axis(z, order, axis=1)
            t = np.take_along_axis(t, order, axis=1)
        gaps, w = _gaps(z, t, self.weight)
        return float(w @ (gaps**2).sum(axis=1) / w.sum())


def _vector_error(z: Floats, t: Floats, w: Floats, power: float) -> float:
    gaps, weight = _gaps(z[:, None], t[:, None], w)
    return power_mean(gaps[:, 0], weight, power)


def _gaps(z: Floats, t: Floats, w: Floats) -> tuple[Floats, Floats]:
    """Mean truth minus score, and the weight, of each distinct row of scores."""
    kept = w > 0
    _, gaps, weight = pool_scores(z[kept], t[kept], w[kept])
    return gaps, weight


def pool_scores(z: Floats, t: Floats, w: Floats) -> tuple[Ints, Floats, Floats]:
    """The distinct row of scores of each row.

    Mean truth minus score, and weight, of each distinct row.
    """
    # By rows only if there is more than one column: that sort is forty times slower.
    inverse = np.unique(z[:, 0] if z.shape[1] == 1 else z, axis=0, return_inverse=True)[1]
    group: Ints = inverse.reshape(-1).astype(np.int64)
    weight = np.asarray(np.bincount(group, w), dtype=np.float64)
    with np.errstate(invalid="ignore"):  # the weight may be 0
        # Mean gaps, not mean truth minus score: a calibrated row has no gap, not even from
        # rounding.
        gaps = (
            np.stack([np.bincount(group, w * column) for column in (t - z).T], axis=1)
            / weight[:, None]
        )
    return group, gaps, weight


# Entries of the largest arrays that are drawn: 0.8 GB each, of which there are several.
MOST_ENTRIES = 10**8


def check_rows(n: object, most: int = MOST_ENTRIES) -> int:
    """A number of rows that can be drawn at once."""
    return checked_whole(
        n, "n", most, "Draw several samples with seeds of their own; their tallies add."
    )


def check_array(values: ArrayLike, name: str, *, dimensions: tuple[int, ...] = (1,)) -> Floats:
    """A non-empty array of probabilities: numbers in [0, 1], rows of a matrix sum to one."""
    array = as_floats(values, name)
    if array.ndim not in dimensions or not array.size:
        shapes = " or ".join({1: "a vector", 2: "a matrix"}[d] for d in dimensions)
        raise InputError(
            name, f"must be {shapes} with at least one entry", f"got shape {array.shape}"
        )
    inside = (array >= 0) & (array <= 1)
    if not inside.all():
        refuse_bad(
            name,
            "must lie in [0, 1]",
            ~inside,
            f"values do not, the first is {array[~inside][0]:g}",
        )
    if array.ndim == 1:
        return array
    if array.shape[1] < 2:
        raise InputError(
            name, "must have at least 2 columns when it is a matrix", f"got shape {array.shape}"
        )
    off = np.abs(array.sum(axis=1) - 1) > 1e-6
    if off.any():
        refuse_bad(
            "",
            f"Rows of `{name}` must sum to 1",
            off,
            f"do not, the first sums to {array[off][0].sum():.6g}",
        )
    return array


def check_shares(weights: ArrayLike | None, size: int, name: str) -> Floats:
    """`size` weights, normalized to sum to one; equal by default."""
    if weights is None:
        return np.full(size, 1 / size)
    w = as_floats(weights, name)
    if w.shape != (size,):
        raise InputError(name, f"must have {size} entries", f"got shape {w.shape}")
    if not (np.isfinite(w) & (w >= 0)).all() or w.sum() <= 0:
        raise InputError(
            name,
            "must be finite and non-negative, and not all zero",
            f"the smallest is {w.min():g}",
        )
    return np.asarray(w / w.sum())


def as_floats(values: ArrayLike, name: str) -> Floats:
    """A copy of the values as float64."""
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(name, "must hold numbers only", f"got {type(values).__name__}") from None


def binned(
    n: int,
    scores: ArrayLike,
    rates: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    seed: Seed = None,
) -> Simulated:
    """A binned predictor: each bin has one score and one known event rate.

    Parameters
    ----------
    n : int
        Number of rows.
    scores : array-like of shape (B,) or (B, K)
        The prediction of each bin: P(positive), or one probability per class.
    rates : array-like of the shape of `scores`
        The true rate of each bin. Bins with equal scores may differ; the truth given the score is
        then their mean.
    weights : array-like of shape (B,), optional
        Relative frequencies of the bins, in any unit; equal by default.
    seed : int or numpy.random.Generator, optional
        The same seed gives the same bytes.

    Returns
    -------
    Simulated
        All true errors are finite sums, for every kind and every k.

    References
    ----------
    Gupta, Ramdas. Distribution-free calibration guarantees for histogram binning without sample
    splitting. ICML 2021. The example below is its Example 1.

    Examples
    --------
    Nine predictions in ten are 0.1 too low, the others 0.2 too high.

    >>> from trueness import simulate
    >>> d = simulate.binned(1000, [0.2, 0.8], [0.3, 0.6], weights=[0.9, 0.1], seed=0)
    >>> round(d.true_ece("l1"), 4), round(d.true_ece("l2"), 4)
    (0.11, 0.114)
    """
    n = check_rows(n)
    rng = generator(seed)
    z, t = _pair(scores, rates, "scores", "rates")
    w = check_shares(weights, len(z), "weights")
    rows = rng.choice(len(z), n, p=w)
    truth = _truth_given_score(z, t, w)[rows]
    return Simulated(draw_labels(truth, rng), z[rows], truth, f"{len(z)} bins", Finite(z, t, w))


@suggests_keywords
def outcomes(y_prob: ArrayLike, truth: ArrayLike | None = None, *, seed: Seed = None) -> Simulated:
    """Random outcomes for your own scores.

    Parameters
    ----------
    y_prob : array-like of shape (n,) or (n, K)
        The scores, which are kept in their order.
    truth : array-like of the shape of `y_prob`, optional
        The true probability of the event, or of each class, in each row. By default the scores are
        calibrated: the outcomes that your model would see if it were perfectly calibrated.
    seed : int or numpy.random.Generator, optional
        The same seed gives the same bytes.

    Returns
    -------
    Simulated
        The population is the rows themselves, equally weighted. True errors are finite sums that
        pool rows with equal scores.

    Examples
    --------
    >>> from trueness import simulate
    >>> d = simulate.outcomes([0.0, 0.5, 1.0], truth=[0.0, 0.2, 1.0], seed=0)
    >>> round(d.true_ece(), 6)
    0.1
    """
    rng = generator(seed)
    z = check_array(y_prob, "y_prob", dimensions=(1, 2))
    t = z.copy() if truth is None else _pair(y_prob, truth, "y_prob", "truth")[1]
    weight = np.full(len(z), 1 / len(z))
    name = f"given scores, {'calibrated' if truth is None else 'given truth'}"
    return Simulated(draw_labels(t, rng), z, t, name, Finite(z, t, weight))


def _pair(scores: ArrayLike, rates: ArrayLike, first: str, second: str) -> tuple[Floats, Floats]:
    z = check_array(scores, first, dimensions=(1, 2))
    t = check_array(rates, second, dimensions=(1, 2))
    if z.shape != t.shape:
        raise InputError(second, f"must have the shape of `{first}`, {z.shape}", f"got {t.shape}")
    return z, t


def _truth_given_score(z: Floats, t: Floats, w: Floats) -> Floats:
    """Truth given the score: the rate of the bin, or the mean rate of the bins with that score."""
    group, gaps, _ = pool_scores(z.reshape(len(z), -1), t.reshape(len(z), -1), w)
    shared = np.bincount(group)[group] > 1
    truth = t.copy()
    truth[shared] = np.clip(z + gaps[group].reshape(z.shape), 0.0, 1.0)[shared]
    return truth

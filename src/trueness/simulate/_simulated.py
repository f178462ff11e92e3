"""Rows whose truth is known."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness.errors import InputError
from trueness.simulate._arguments import check_choice, check_count, check_norm
from trueness.simulate._population import Finite, Population, TrueError
from trueness.typing import Floats, Ints, Kind, Norm


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
            In units of probability. The `value` of :meth:`true_error`.

        Notes
        -----
        For a vector of scores Z, without bins:

        .. math:: \left( \mathrm{E} \, |\mathrm{E}[Y \mid Z] - Z|^p \right)^{1/p}

        and 'max' is the supremum over the support of Z. Class-wise: the mean over the classes of this error for column
        k and the event Y = k, given column k alone. Confidence: the same for the largest score and the event that its
        class is correct. Top-label: one such error for each predicted class, weighted by how often it is predicted.

        Examples
        --------
        >>> from trueness import simulate
        >>> d = simulate.binned(1, [0.3, 0.6], [0.4, 0.8], weights=[0.9, 0.1])
        >>> round(d.true_ece(), 6), round(d.true_ece("l2"), 4), round(d.true_ece("max"), 6)
        (0.11, 0.114, 0.2)
        """
        return self.true_error(norm, kind=kind).value

    def true_error(self, norm: Norm = "l1", *, kind: Kind = "classwise") -> TrueError:
        """:meth:`true_ece` as a :class:`TrueError`, with its numerical uncertainty and method."""
        check_choice(kind, "kind", ("classwise", "confidence", "top-label"))
        return self.population.error(check_norm(norm), kind)

    def true_squared_ece(self, k: int | None = None) -> float:
        r"""Squared l2 error of the `k` largest scores, the target of :func:`trueness.squared_ece`.

        Parameters
        ----------
        k : int, default 1
            Number of largest scores of a matrix that are compared; k = K means all columns, in class order. Vector
            scores have only k = 1, the probability of the positive class.

        Returns
        -------
        float
            In units of squared probability. The `value` of :meth:`true_squared_error`.

        Notes
        -----
        With :math:`Z_{(1:k)}` the k largest scores and :math:`Y_{r_{1:k}}` the indicators of their classes,

        .. math:: \mathrm{E} \left\| \mathrm{E}[Y_{r_{1:k}} \mid Z_{(1:k)}] - Z_{(1:k)} \right\|_2^2 .

        Examples
        --------
        >>> from trueness import simulate
        >>> round(simulate.multiclass(1, 2, distortion=simulate.Temperature(2)).true_squared_ece(k=2), 6)
        0.022861
        """
        return self.true_squared_error(k).value

    def true_squared_error(self, k: int | None = None) -> TrueError:
        """:meth:`true_squared_ece` as a :class:`TrueError`, with its numerical uncertainty and method."""
        k = 1 if k is None else check_count(k, "k")
        most = self.y_prob.shape[1] if self.y_prob.ndim == 2 else 1
        if k > most:
            raise InputError("k", f"must be at most {most}, the number of scores in a row", f"got {k}")
        return self.population.squared_error(k)

    def sample_ece(self, norm: Norm = "l1") -> float:
        """Calibration error of the sampled rows, for vector scores.

        The same average as in :meth:`true_ece`, over the sampled scores instead of the population; rows with equal
        scores are pooled, with their mean truth. `norm` is the exponent with which gaps are averaged ('l1', 'l2' or a
        number), or 'max' for the largest gap.

        Examples
        --------
        >>> from trueness import simulate
        >>> d = simulate.outcomes([0.2, 0.6], truth=[0.25, 0.75])
        >>> round(d.sample_ece(), 6)
        0.1
        """
        if self.y_prob.ndim != 1:
            raise InputError("sample_ece", "needs vector scores", "these are a matrix: use `true_ece(kind=...)`")
        rows = Finite(self.y_prob, self.truth, np.ones(len(self)))
        return rows.error(check_norm(norm), "classwise").value

    def table(self) -> dict[str, NDArray[Any]]:
        """All columns by name, for a frame or a file.

        Returns
        -------
        dict of str to array of shape (n,)
            'y'; the scores ('p' unless `score_name` is another) and 'truth', or 'p0', 'p1', … and 'truth0', 'truth1', …
            for a matrix; then the further `columns`.

        Examples
        --------
        >>> from trueness import simulate
        >>> list(simulate.demo(5).table())
        ['y', 'overconfident', 'truth', 'recalibrated']
        """
        columns: dict[str, NDArray[Any]] = {"y": self.y_true}
        both: dict[str, Floats] = {self.score_name: self.y_prob, "truth": self.truth}
        for name, values in both.items():
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

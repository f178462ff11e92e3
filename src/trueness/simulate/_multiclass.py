"""Multiclass outcomes with Dirichlet scores, distortions and any prevalence."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from trueness._input.arguments import Seed, checked_number, checked_whole, generator
from trueness._keywords import suggests_keywords
from trueness._numerics.quadrature import beta_breaks, beta_density, expit, integral, log_gammas
from trueness.errors import InputError
from trueness.simulate._simulated import (
    MOST_ENTRIES,
    Simulated,
    as_floats,
    check_array,
    check_rows,
    draw_labels,
)
from trueness.typing import ArrayLike, Floats, Kind

_ROUNDS = 200
_POINTS = 2**12
_MOST_CLASSES = 10**4  # of a matrix: 0.8 GB


@dataclass(frozen=True)
class Temperature:
    r"""Truth whose logits are those of the scores divided by a temperature.

    .. math:: P(Y = k \mid z) = z_k^{1/T} / \textstyle\sum_j z_j^{1/T}

    Parameters
    ----------
    value : float
        The temperature T that temperature scaling should find; above 1 the scores are
        over-confident.

    Examples
    --------
    >>> [float(t) for t in Temperature(2).truth(np.array([[0.64, 0.36]]))[0].round(4)]
    [0.5714, 0.4286]
    """

    value: float

    def __post_init__(self) -> None:
        checked_number(self.value, "value", "a number above 0", low=0)

    def truth(self, z: Floats) -> Floats:
        """True probabilities for a matrix of scores."""
        with np.errstate(divide="ignore"):
            return _softmax(np.log(z) / self.value)


@dataclass(frozen=True)
class LabelNoise:
    """Label noise: classes are drawn from the scores, then recorded with errors.

    Parameters
    ----------
    flip : float or array-like of shape (K, K)
        A number: the fraction of labels replaced by a uniformly drawn class. A matrix: entry (j, k)
        is the probability that class j is recorded as k.

    Examples
    --------
    >>> [float(t) for t in LabelNoise(0.2).truth(np.array([[0.75, 0.25]]))[0].round(4)]
    [0.7, 0.3]
    """

    flip: ArrayLike

    def __post_init__(self) -> None:
        """Raise unless `flip` is a number from 0 to 1 or a square matrix, which becomes a tuple."""
        if np.ndim(self.flip) == 0:
            just = np.nextafter([0.0, 1.0], [-1.0, 2.0])
            checked_number(
                self.flip, "flip", "a number from 0 to 1, or a matrix", low=just[0], high=just[1]
            )
            return
        matrix = check_array(self.flip, "flip", dimensions=(2,))
        if matrix.shape[0] != matrix.shape[1]:
            raise InputError("flip", "must be a square matrix", f"got shape {matrix.shape}")
        object.__setattr__(self, "flip", tuple(map(tuple, matrix.tolist())))

    @property
    def even(self) -> float | None:
        """The fraction of labels replaced by a uniformly drawn class; None for a matrix."""
        if isinstance(self.flip, tuple):
            return None
        return float(self.flip)

    def matrix(self, classes: int) -> Floats:
        """Probability that class j is recorded as k."""
        if self.even is None:
            return np.array(self.flip)
        checked_whole(classes, "classes", _MOST_CLASSES)
        return (1 - self.even) * np.eye(classes) + self.even / classes

    def truth(self, z: Floats) -> Floats:
        """True probabilities for a matrix of scores."""
        return z @ self.matrix(z.shape[1])

    def __repr__(self) -> str:
        side = len(self.flip) if self.even is None else 0
        if side:
            return f"LabelNoise({side}x{side})"
        return f"LabelNoise({self.even:g})"


Confusion: TypeAlias = Temperature | LabelNoise


def _softmax(logits: Floats) -> Floats:
    """Probabilities of rows of logits."""
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class Dirichlet:
    """Dirichlet scores; only calibrated ones have a known error, 0."""

    alpha: tuple[float, ...]
    confusion: Confusion | None

    def error(self, power: float, kind: Kind) -> float:  # noqa: ARG002
        """The true calibration error: 0 for calibrated scores.

        Of distorted Dirichlet scores it has no formula, which is an error.
        """
        if self.confusion is None:
            return 0.0
        demand = (
            "must have finitely many scores, vector scores or calibrated ones for its true error"
        )
        remedy = "Compare `truth` with `y_prob` on many rows, or use `simulate.binned`."
        raise InputError("population", demand, "these are Dirichlet scores", remedy=remedy)

    def squared_error(self, k: int) -> float:  # noqa: ARG002
        return self.error(2, "classwise")


@suggests_keywords
def multiclass(
    n: int,
    n_classes: int | None = None,
    *,
    alpha: ArrayLike = 1.0,
    distortion: Confusion | None = None,
    prevalence: ArrayLike | None = None,
    seed: Seed = None,
) -> Simulated:
    """Multiclass outcomes with Dirichlet scores and known class probabilities.

    Parameters
    ----------
    n : int
        Number of rows.
    n_classes : int, optional
        K, at least 2; by default the number of entries of `alpha` or `prevalence`, or else 3.
    alpha : float or array-like of shape (K,), default 1
        Parameters of the Dirichlet distribution: 1 is uniform on the simplex, smaller values give
        confident scores, larger ones uncertain scores.
    distortion : Temperature or LabelNoise, optional
        The truth as a function of the scores. By default the scores are calibrated.
    prevalence : array-like of shape (K,), optional
        Probability of each class in the population, in any unit; `alpha` is changed accordingly,
        with its sum kept. Exact, except for a temperature with K > 2, where it is accurate to about
        1e-4.
    seed : int or numpy.random.Generator, optional
        The same seed gives the same bytes.

    Returns
    -------
    Simulated
        `truth` is the probability of each class given all scores of the row.

    Notes
    -----
    True errors of the population are computed only for calibrated scores, which have none: the
    others are integrals over a simplex. :func:`binned` has them for matrices.

    Examples
    --------
    >>> from trueness import simulate
    >>> d = simulate.multiclass(1000, 10, distortion=simulate.LabelNoise(0.2), seed=0)
    >>> d.y_prob.shape
    (1000, 10)
    >>> top = d.y_prob.argmax(axis=1)[:, None]
    >>> excess = np.take_along_axis(d.y_prob - d.truth, top, 1)
    >>> float(excess.mean().round(2))
    0.04
    """
    n = check_rows(n)
    rng = generator(seed)
    a, shares = _parameters(n_classes, alpha, prevalence)
    check_rows(n, MOST_ENTRIES // a.size)
    confusion = _as_confusion(distortion, a.size)
    if shares is not None:
        a = _solve_prevalence(shares, float(a.sum()), confusion)
    z = rng.dirichlet(a, n)
    t = z.copy() if confusion is None else confusion.truth(z)
    if np.ptp(a) == 0:
        shown = f"{a[0]:.4g}"
    else:
        shown = ", ".join([f"{v:.4g}" for v in a[:5]] + ["…"] * (a.size > 5))
    name = f"Dirichlet({shown}), {'calibrated' if confusion is None else confusion}"
    return Simulated(draw_labels(t, rng), z, t, name, Dirichlet(tuple(a.tolist()), confusion))


def _parameters(
    n_classes: int | None, alpha: ArrayLike, prevalence: ArrayLike | None
) -> tuple[Floats, Floats | None]:
    """Parameters of the distribution, one per class, and the requested class probabilities."""
    a = _positive(alpha, "alpha")
    wanted = None if prevalence is None else _positive(prevalence, "prevalence")
    if a.ndim > 1 or (wanted is not None and wanted.ndim != 1):
        raise InputError(
            "alpha", "must be a number or a vector, and `prevalence` a vector, one entry per class"
        )
    sizes = {} if n_classes is None else {"n_classes": checked_whole(n_classes, "n_classes", 10**6)}
    sizes |= {"alpha": a.size} if a.ndim else {}
    sizes |= {} if wanted is None else {"prevalence": wanted.size}
    sizes = sizes or {"n_classes": 3}
    if len(set(sizes.values())) > 1 or min(sizes.values()) < 2:
        demand = (
            "`n_classes`, `alpha` and `prevalence` must agree on the number of classes, at least 2"
        )
        raise InputError(
            "", demand, "got " + ", ".join(f"`{name}` {size}" for name, size in sizes.items())
        )
    classes = next(iter(sizes.values()))
    return np.broadcast_to(a, classes).astype(
        np.float64
    ), None if wanted is None else wanted / wanted.sum()


def _positive(values: ArrayLike, name: str) -> Floats:
    array = as_floats(values, name)
    if array.size == 0 or not (np.isfinite(array) & (array > 0)).all():
        raise InputError(name, "must hold finite numbers above 0", f"got {values!r}")
    return array


def _as_confusion(distortion: object, classes: int) -> Confusion | None:
    """A distortion checked for this number of classes; None for one that does nothing."""
    if distortion is None or distortion == Temperature(1.0) or distortion == LabelNoise(0.0):
        return None
    if not isinstance(distortion, Temperature | LabelNoise):
        raise InputError(
            "distortion", "must be None, Temperature or LabelNoise", f"got {distortion!r}"
        )
    if (
        isinstance(distortion, LabelNoise)
        and distortion.even is None
        and len(distortion.flip) != classes
    ):
        got = f"got {len(distortion.flip)}"
        raise InputError("distortion", f"must have one row of `flip` per class, {classes}", got)
    return distortion


def _solve_prevalence(shares: Floats, total: float, confusion: Confusion | None) -> Floats:
    """Parameters with this sum that give the classes these probabilities."""
    a = total * shares
    if confusion is None:
        return a
    if isinstance(confusion, LabelNoise):
        return total * _before_noise(shares, confusion)
    for _ in range(_ROUNDS):
        ratio = shares / _mean_truth(a, confusion.value)
        if np.abs(ratio - 1).max() < 1e-9:
            return a
        a = a * ratio
        a *= total / a.sum()
        if a.min() < 1e-8 * total:
            break
    demand = f"must be attainable with {confusion!r} and an `alpha` that sums to {total:g}"
    got = f"got {np.array2string(shares, precision=4)}"
    raise InputError("prevalence", demand, got, remedy="A smaller `alpha` extends the range.")


def _mean_truth(alpha: Floats, temperature: float) -> Floats:
    """Probability of each class; within about 1e-4 for more than two classes."""
    if alpha.size == 2:
        a, b = alpha
        first = integral(
            lambda s: expit(s / temperature) * beta_density(s, a, b), beta_breaks(a, b)
        )[0]
        return np.array([first, 1 - first])
    # The same points for every `alpha`, so that the search for a prevalence sees a smooth function.
    points = min(_POINTS, max(2**8, 2 ** int(np.log2(2**18 / alpha.size))))
    logs = log_gammas(alpha, points, np.random.default_rng(20210101))
    means = _softmax(logs / temperature).mean(axis=0)
    group = np.unique(alpha, return_inverse=True)[1]  # exchangeable classes have the same mean
    return (np.bincount(group, means) / np.bincount(group))[group]


def _before_noise(shares: Floats, noise: LabelNoise) -> Floats:
    """Probabilities of the classes before label noise."""
    try:
        before = np.asarray(np.linalg.solve(noise.matrix(shares.size).T, shares), dtype=np.float64)
    except np.linalg.LinAlgError:
        before = np.zeros(1)
    if before.min() <= 0:
        demand = (
            f"must be attainable with {noise!r}: no class may be rarer than the labels wrongly "
            "recorded as it"
        )
        raise InputError("prevalence", demand, f"got {np.array2string(shares, precision=4)}")
    return before

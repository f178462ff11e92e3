"""Multiclass outcomes with Dirichlet scores, distortions and any prevalence."""

import numpy as np

from trueness._keywords import suggests_keywords
from trueness.errors import InputError
from trueness.simulate._arguments import MOST_ENTRIES, Seed, as_floats, check_count, generator
from trueness.simulate._dirichlet import Dirichlet, mean_truth
from trueness.simulate._distortions import Confusion, LabelNoise, as_confusion
from trueness.simulate._simulated import Simulated, draw_labels
from trueness.typing import ArrayLike, Floats

_ROUNDS = 200


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
        Parameters of the Dirichlet distribution: 1 is uniform on the simplex, smaller values give confident scores,
        larger ones uncertain scores.
    distortion : Temperature or LabelNoise, optional
        The truth as a function of the scores. By default the scores are calibrated.
    prevalence : array-like of shape (K,), optional
        Probability of each class in the population, in any unit; `alpha` is changed accordingly, with its sum kept.
        Exact, except for a temperature with K > 2, where it is accurate to about 1e-4.
    seed : int or numpy.random.Generator, optional
        The same seed gives the same bytes.

    Returns
    -------
    Simulated
        `truth` is the probability of each class given all scores of the row.

    Notes
    -----
    True errors are closed forms or integrals for two classes, and for label noise: always class-wise; for confidence
    and top-label with a single number `flip`, in the norms l1, 'max' and mostly l2. All others are averages over
    quasi-random points (eight fixed sets of up to 4,096), accurate to about four digits: ``d.true_error()`` also gives
    the standard error and the `method`.

    The squared error of the k largest scores is known for k = 1 and k = K.

    Examples
    --------
    >>> from trueness import simulate
    >>> d = simulate.multiclass(1000, 10, distortion=simulate.LabelNoise(0.2), seed=0)
    >>> d.y_prob.shape
    (1000, 10)
    >>> print(d.true_error(kind="confidence"))
    0.0385794 (quadrature)
    """
    n = check_count(n, "n")
    rng = generator(seed)
    a, shares = _parameters(n_classes, alpha, prevalence)
    check_count(n, "n", most=MOST_ENTRIES // a.size)
    confusion = as_confusion(distortion, a.size)
    if shares is not None:
        a = _solve_prevalence(shares, float(a.sum()), confusion)
    z = rng.dirichlet(a, n)
    t = z.copy() if confusion is None else confusion.truth(z)
    name = f"Dirichlet({_format_alpha(a)}), {'calibrated' if confusion is None else confusion}"
    return Simulated(draw_labels(t, rng), z, t, name, Dirichlet(tuple(a.tolist()), confusion))


def _format_alpha(a: Floats) -> str:
    if np.ptp(a) == 0:
        return f"{a[0]:.4g}"
    return ", ".join([f"{v:.4g}" for v in a[:5]] + ["…"] * (a.size > 5))


def _parameters(n_classes: int | None, alpha: ArrayLike, prevalence: ArrayLike | None) -> tuple[Floats, Floats | None]:
    """Parameters of the distribution, one per class, and the requested class probabilities."""
    a = _positive(alpha, "alpha")
    wanted = None if prevalence is None else _positive(prevalence, "prevalence")
    if a.ndim > 1 or (wanted is not None and wanted.ndim != 1):
        raise InputError("alpha", "must be a number or a vector, and `prevalence` a vector, one entry per class")
    sizes = {"n_classes": None if n_classes is None else check_count(n_classes, "n_classes", least=2, most=10**6)}
    sizes["alpha"] = a.size if a.ndim else None
    sizes["prevalence"] = None if wanted is None else wanted.size
    known = {name: size for name, size in sizes.items() if size is not None} or {"n_classes": 3}
    if len(set(known.values())) > 1 or min(known.values()) < 2:
        demand = "`n_classes`, `alpha` and `prevalence` must agree on the number of classes, at least 2"
        raise InputError("", demand, "got " + ", ".join(f"`{name}` {size}" for name, size in known.items()))
    classes = next(iter(known.values()))
    return np.broadcast_to(a, classes).astype(np.float64), None if wanted is None else wanted / wanted.sum()


def _positive(values: ArrayLike, name: str) -> Floats:
    array = as_floats(values, name)
    if array.size == 0 or not (np.isfinite(array) & (array > 0)).all():
        raise InputError(name, "must hold finite numbers above 0", f"got {values!r}")
    return array


def _solve_prevalence(shares: Floats, total: float, confusion: Confusion | None) -> Floats:
    """Parameters with this sum that give the classes these probabilities."""
    if confusion is None:
        return total * shares
    if isinstance(confusion, LabelNoise):
        return total * _before_noise(shares, confusion)
    a = total * shares
    for _ in range(_ROUNDS):
        ratio = shares / mean_truth(a, confusion)
        if np.abs(ratio - 1).max() < 1e-9:
            return a
        a = a * ratio
        a *= total / a.sum()
        if a.min() < 1e-8 * total:
            break
    raise InputError(
        "prevalence",
        f"must be attainable with {confusion!r} and an `alpha` that sums to {total:g}",
        f"got {np.array2string(shares, precision=4)}",
        remedy="A smaller `alpha` extends the range.",
    )


def _before_noise(shares: Floats, noise: LabelNoise) -> Floats:
    """Probabilities of the classes before label noise."""
    try:
        before = np.asarray(np.linalg.solve(noise.matrix(shares.size).T, shares), dtype=np.float64)
    except np.linalg.LinAlgError:
        before = np.zeros(1)
    if before.min() <= 0:
        raise InputError(
            "prevalence",
            f"must be attainable with {noise!r}: no class may be rarer than the labels wrongly recorded as it",
            f"got {np.array2string(shares, precision=4)}",
        )
    return before

"""One feature, two classes: the data of Matsubara et al. 2023, drawn as their notebooks draw them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Drawn", "drawn", "noisy"]

# The tables need a fit that has converged: with scikit-learn's own tolerance, 1e-4, the fit ends early by
# an amount that differs between its versions, and half of the rows differ in a few predictions.
_TOLERANCE = 1e-9


class Drawn(NamedTuple):
    """Test labels, the model's predictions for them, and the generator as the data left it."""

    y: NDArray[np.int64]
    p: NDArray[np.float64]
    rng: np.random.RandomState


def drawn(
    train: float,
    test: float,
    *,
    n_train: int = 14_000,
    n_test: int = 6_000,
    centre: float = 0.5,
    tolerance: float = _TOLERANCE,
    moved: Sequence[float] = (0.0, 0.0),
    seed: int = 0,
) -> Drawn:
    """A logistic regression fitted where P(Y = 1) is `train`, and its predictions where it is `test`.

    x | y ~ N(±centre, 2²). The generator is NumPy's legacy one, and labels of both parts come before the
    features: with seed 0 these are the very rows of the authors. Intercept and slope of the fit are
    `moved` by so much.
    """
    from sklearn.linear_model import LogisticRegression

    rng = np.random.RandomState(seed)
    y_train, y_test = rng.binomial(1, train, n_train), rng.binomial(1, test, n_test)
    x_train, x_test = (centre * (2 * y - 1) + 2 * rng.standard_normal(y.size) for y in (y_train, y_test))
    model = LogisticRegression(tol=tolerance, max_iter=10_000).fit(x_train[:, None], y_train)
    model.intercept_, model.coef_ = model.intercept_ + moved[0], model.coef_ + moved[1]
    return Drawn(y_test, model.predict_proba(x_test[:, None])[:, 1], rng)


def noisy(data: Drawn, deviations: list[float]) -> list[NDArray[np.float64]]:
    """The predictions with normal noise added to their log-odds, one after the other from the same generator."""
    found = []
    for deviation in deviations:
        odds = np.log(data.p) - np.log(1 - data.p) + deviation * data.rng.normal(0.0, 1.0, data.p.size)
        found.append(1 / (1 + np.exp(-odds)))
    return found

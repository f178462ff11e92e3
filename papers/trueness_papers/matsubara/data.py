"""One feature, two classes: the data of Matsubara et al. 2023, drawn as their notebooks draw them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueness_papers.matsubara.logistic import Ended, fitted_scores

__all__ = ["Drawn", "drawn", "noisy"]


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
    ended: Ended = "then",
    seed: int = 0,
) -> Drawn:
    """A logistic regression fitted where P(Y = 1) is `train`, and its predictions where it is `test`.

    x | y ~ N(±centre, 2²). The generator is NumPy's legacy one, and labels of both parts come before the
    features: with seed 0 these are the very rows of the authors.
    """
    rng = np.random.RandomState(seed)
    y_train, y_test = rng.binomial(1, train, n_train), rng.binomial(1, test, n_test)
    x_train, x_test = (centre * (2 * y - 1) + 2 * rng.standard_normal(y.size) for y in (y_train, y_test))
    return Drawn(y_test, fitted_scores(x_train[:, None], y_train, x_test[:, None], ended), rng)


def noisy(data: Drawn, deviations: list[float]) -> list[NDArray[np.float64]]:
    """The predictions with normal noise added to their log-odds, one after the other from the same generator."""
    found = []
    for deviation in deviations:
        odds = np.log(data.p) - np.log(1 - data.p) + deviation * data.rng.normal(0.0, 1.0, data.p.size)
        found.append(1 / (1 + np.exp(-odds)))
    return found

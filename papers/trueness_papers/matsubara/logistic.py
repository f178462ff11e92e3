"""Logistic regression as scikit-learn fitted it when the paper was written, to the last step.

The published digits hang on where the fit ended. scikit-learn then minimised the sum of the losses and stopped when the
sum fell by less than 2.2e-9 of itself, SciPy's default; versions since minimise the mean and stop elsewhere.
"""

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Ended", "fitted_scores"]

Floats: TypeAlias = NDArray[np.float64]
Ended: TypeAlias = Literal["then", "now", "converged"]

_TOLERANCE = 1e-4


def fitted_scores(x: Floats, y: NDArray[np.int64], new: Floats, ended: Ended = "then") -> Floats:
    """P(Y = 1) for the rows of `new` by the fit to (x, y), which ends as it did then, does now, or at its optimum."""
    if ended == "then":
        from scipy.special import expit

        weights = _then(x, y)
        scores: Floats = expit(new @ weights[:-1] + weights[-1])
        return scores
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(tol=_TOLERANCE if ended == "now" else 1e-9, max_iter=10_000).fit(x, y)
    return np.asarray(model.predict_proba(new)[:, 1], dtype=np.float64)


def _then(x: Floats, y: NDArray[np.int64]) -> Floats:
    from scipy.optimize import minimize
    from scipy.special import expit

    sign = 2.0 * y - 1

    def loss(weights: Floats) -> tuple[float, Floats]:
        margin = sign * (x @ weights[:-1] + weights[-1])
        pull = -sign * expit(-margin)
        total = np.logaddexp(0, -margin).sum() + weights[:-1] @ weights[:-1] / 2
        return float(total), np.append(x.T @ pull + weights[:-1], pull.sum())

    options: dict[str, Any] = {"gtol": _TOLERANCE, "ftol": 2.220446049250313e-09, "maxiter": 10_000}
    found = minimize(loss, np.zeros(x.shape[1] + 1), jac=True, method="L-BFGS-B", options=options)
    return np.asarray(found.x, dtype=np.float64)

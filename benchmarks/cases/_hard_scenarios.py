"""Scores and errors that are hard for a confidence set of the l2 error: data whose truth is known."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.special import expit, logit

SIZES = (150, 1500, 6000)
_MANY = 1_000_000


def beta(a: float, b: float) -> Callable[..., np.ndarray]:
    return lambda rng, n: rng.beta(a, b, n)


def spikes(rng: np.random.Generator, n: int) -> np.ndarray:
    """Three tenths at 0.99, a third of a half at 0.01, the others uniform."""
    return np.where(rng.random(n) < 0.3, 0.99, np.where(rng.random(n) < 0.5, 0.01, rng.random(n)))


def verbal(rng: np.random.Generator, n: int) -> np.ndarray:
    """Confidences in steps of 5 %, mostly high, 28 % of them 100 %."""
    shares = np.r_[np.full(16, 0.02), np.full(4, 0.1), 0.28]
    return rng.choice(np.arange(21) / 20, n, p=shares / shares.sum())


def rounded_with_ones(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.where(rng.random(n) < 0.28, 1.0, np.round(rng.beta(4, 1.5, n), 2))


LAWS: dict[str, Callable[..., np.ndarray]] = {
    "uniform": beta(1, 1),
    "Beta(2, 5)": beta(2, 5),
    "Beta(.3, 3)": beta(0.3, 3),
    "confident Beta(20, 1)": beta(20, 1),
    "confident Beta(12, .5)": beta(12, 0.5),
    "rare Beta(.3, 60)": beta(0.3, 60),
    "bimodal Beta(.02, .03)": beta(0.02, 0.03),
    "spikes": spikes,
    "verbal": verbal,
    "two digits, many 1": rounded_with_ones,
}


def _logits(p: np.ndarray) -> np.ndarray:
    return np.asarray(logit(np.clip(p, 1e-12, 1 - 1e-12)))


def bump(
    share: float, height: float, at: float = 0.7
) -> Callable[[str], Callable[[np.ndarray], np.ndarray]]:
    """Wrong by `height` over a share of the rows around a quantile."""

    def of(law: str) -> Callable[[np.ndarray], np.ndarray]:
        low, high = np.quantile(
            LAWS[law](np.random.default_rng(7), _MANY), [at - share / 2, at + share / 2]
        )
        by = height if low + high < 1.2 else -height
        return lambda p: np.clip(p + by * ((low <= p) & (p <= high)), 0, 1)

    return of


ERRORS: dict[str, Callable[[str], Callable[[np.ndarray], np.ndarray]]] = {
    "over-confident": lambda _: lambda p: expit(0.6 * _logits(p)),
    "nearly unrelated": lambda _: lambda p: expit(0.1 * _logits(p)),
    "not extreme enough": lambda _: lambda p: expit(1.6 * _logits(p)),
    "too low": lambda _: lambda p: expit(_logits(p) + 0.5),
    "too high above 1/2": lambda _: lambda p: np.where(p > 0.5, p - 0.1, p),
    "bump of 5 %": bump(0.05, 0.3, 0.4),
    "bump of 3 %": bump(0.03, 0.35),
    "bump of 1.5 %": bump(0.015, 0.4),
    "bump at the top": bump(0.03, 0.35, 0.985),
    "certainty contradicted": lambda _: lambda p: np.where(p > 0.98, 0.93, p),
    "one value off": lambda _: lambda p: np.where(np.abs(p - 0.8) < 1e-9, 0.55, p),
}
PAIRS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("uniform", ("bump of 5 %", "bump of 3 %", "bump of 1.5 %", "too high above 1/2")),
    ("Beta(2, 5)", ("bump of 3 %", "too high above 1/2")),
    ("Beta(.3, 3)", ("bump of 3 %", "bump of 1.5 %", "over-confident")),
    ("confident Beta(20, 1)", ("bump of 3 %", "over-confident", "certainty contradicted")),
    ("confident Beta(12, .5)", ("bump of 5 %", "bump at the top", "certainty contradicted")),
    ("rare Beta(.3, 60)", ("bump of 5 %", "not extreme enough", "too low")),
    (
        "bimodal Beta(.02, .03)",
        ("over-confident", "nearly unrelated", "bump at the top", "certainty contradicted"),
    ),
    ("spikes", ("certainty contradicted", "over-confident", "too high above 1/2")),
    ("verbal", ("one value off", "over-confident", "certainty contradicted")),
    ("two digits, many 1", ("one value off", "too low", "certainty contradicted")),
)


@cache
def _error(law: str, error: str) -> Callable[[np.ndarray], np.ndarray]:
    return ERRORS[error](law)


@dataclass(frozen=True)
class Drawn:
    """Labels, scores and the true probabilities."""

    y_true: np.ndarray
    y_prob: np.ndarray
    truth: np.ndarray


@dataclass(frozen=True)
class HardData:
    """A law of the scores and an error; draws `n` rows."""

    law: str
    error: str
    n: int

    def __call__(self, seed: Any) -> Drawn:
        rng = np.random.default_rng(seed)
        p = LAWS[self.law](rng, self.n)
        truth = self._truth(p)
        return Drawn((rng.random(self.n) < truth).astype(np.uint8), p, truth)

    def _truth(self, p: np.ndarray) -> np.ndarray:
        return _error(self.law, self.error)(p)

    def squared_error(self) -> float:
        """The squared l2 error, from a million scores."""
        p = LAWS[self.law](np.random.default_rng(1), _MANY)
        return float(np.mean((self._truth(p) - p) ** 2))


def hard_scenarios() -> list[HardData]:
    return [HardData(law, error, n) for law, errors in PAIRS for error in errors for n in SIZES]

"""The simulated settings of Sun et al. 2025, and the seeds by which every method sees the same data sets."""

from typing import NamedTuple

import numpy as np

from trueness.simulate import Simulated
from trueness_papers.sun.simulation import sun_setting

__all__ = ["LEVEL", "SETTINGS", "Setting", "drawn", "generator", "true_error"]

LEVEL = 0.9


class Setting(NamedTuple):
    """A setting, with what the paper fixed for it."""

    number: int
    classes: int
    k: int
    cells: dict[int, int]
    """Cells per axis, by the number of rows."""
    betas: tuple[float, ...]
    calibrated: float
    """The β at which nothing is wrong."""
    law: str


_SLOPES = tuple(round(0.05 * i, 2) for i in range(21))
_MOVED = tuple(round(0.005 * i, 3) for i in range(21))

SETTINGS = {
    1: Setting(1, 2, 1, {100: 20, 1000: 50}, _SLOPES, 1.0, "2 classes, uniform scores"),
    2: Setting(2, 2, 1, {100: 20, 1000: 50}, _SLOPES, 1.0, "2 classes, one score Beta(5, 1/2)"),
    3: Setting(3, 10, 2, {100: 10, 1000: 20}, _MOVED, 0.0, "10 classes, uniform scores"),
}


def generator(seed: int, setting: int, n: int, index: int, run: int, purpose: int) -> np.random.Generator:
    """What run number `run` draws for one purpose: 0 is the data, others are methods, so that none disturbs another."""
    return np.random.default_rng(np.random.SeedSequence([seed, setting, n, index, run, purpose]))


def drawn(seed: int, setting: int, n: int, index: int, run: int) -> Simulated:
    """The data set of a run at the β of that index."""
    rng = generator(seed, setting, n, index, run, 0)
    return sun_setting(setting, n, beta=SETTINGS[setting].betas[index], seed=rng)


def true_error(setting: int, beta: float) -> float:
    """The squared error of the population."""
    return sun_setting(setting, 1, beta=beta, seed=0).true_squared_ece(k=SETTINGS[setting].k)

"""Gaffke's limit: against exact beta quantiles, drawn Dirichlet weights, and laws."""

import numpy as np
import pytest
from grids import fast
from scipy.stats import beta

from trueness._numerics.gaffke import gaffke_limit

CASES = {
    "few large values": (np.r_[np.zeros(90), np.linspace(1, 3, 10), 5.0], np.r_[np.ones(100), 0.5]),
    "loss of even scores": (
        np.r_[-np.log(np.linspace(0.02, 0.98, 60)), 4.0],
        np.r_[np.ones(60), 0.5],
    ),
    "weights": (np.r_[0.1, 3.0, 10.0], np.r_[39.5, 7.25, 0.5]),
    "few small values": (
        np.r_[np.zeros(4), np.linspace(0.97, 1, 500)],
        np.r_[np.full(4, 3), np.full(500, 20)],
    ),
    "five rows": (np.r_[0.1, 0.2, 0.4, 0.9, 1.0, 2.0], np.r_[np.ones(5), 0.5]),
}


@pytest.mark.parametrize(
    ("rows", "events"),
    [(10**6, 0), (400, 0), (20, 0), (100, 3), (5, 1), (2, 0), (100_300, 100_000)],
)
@pytest.mark.parametrize("q", [0.9, 0.975, 0.995])
def test_two_values_give_a_beta_quantile(rows, events, q):
    found = gaffke_limit(np.array([0.0, 1.0, 1.0]), np.array([rows - events, events, 0.5]), q)
    assert found == pytest.approx(beta.ppf(q, events + 0.5, rows - events), rel=1e-6)
    moved = gaffke_limit(np.array([2.0, 7.0]), np.array([rows - events, events + 0.5]), q)
    assert moved == pytest.approx(2 + 5 * found, rel=1e-9)


@pytest.mark.parametrize(
    "case", fast(list(CASES), *(case for case in CASES if case != "few small values"))
)
def test_it_is_the_quantile_of_means_with_drawn_weights(case):
    values, shape = CASES[case]
    draws = 100_000
    weight = np.random.default_rng(0).gamma(shape, size=(draws, shape.size))
    means = (weight @ values) / weight.sum(axis=1)
    for q in (0.9, 0.975):
        share = np.mean(means <= gaffke_limit(values, shape, q))
        assert share == pytest.approx(q, abs=4 * np.sqrt(q * (1 - q) / draws))


def test_order_split_and_unit_do_not_matter_and_many_values_are_pooled():
    rng = np.random.default_rng(1)
    values, shape = rng.exponential(size=200), rng.uniform(0.2, 2, 200)
    found = gaffke_limit(values, shape, 0.975)
    order = rng.permutation(200)
    assert gaffke_limit(values[order], shape[order], 0.975) == pytest.approx(found, rel=1e-6)
    assert gaffke_limit(np.tile(values, 2), np.tile(shape / 2, 2), 0.975) == pytest.approx(
        found, rel=1e-6
    )
    assert gaffke_limit(3 * values - 1, shape, 0.975) == pytest.approx(3 * found - 1, rel=1e-6)
    pooled = gaffke_limit(np.repeat(values, 100), np.repeat(shape / 100, 100), 0.975)
    assert pooled == pytest.approx(found, rel=2e-3)


def test_equal_values_have_no_other_mean():
    assert gaffke_limit(np.full(4, 0.3), np.ones(4), 0.975) == 0.3
    assert gaffke_limit(np.array([0.3, 1.0]), np.array([5.0, 0.0]), 0.975) == 0.3

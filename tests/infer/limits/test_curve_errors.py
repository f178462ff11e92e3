"""Noise floors of ICI, E50, E90 and Emax: those of full fits to drawn labels."""

import math
from functools import partial

import numpy as np
import pytest

import trueness as tn

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
ERRORS = (tn.ici, tn.measure.e50, tn.measure.e90, tn.measure.emax)


def few(law, n=150):
    p = np.clip(np.random.default_rng(1).beta(*law, n), 1e-6, 1 - 1e-6)
    return (np.random.default_rng(2).random(n) < p).astype(int), p, None


def many(weights):
    """Rows of unequal weights at 40 scores around 1/2, which determine a spline so well that its law is normal."""
    rng = np.random.default_rng(0)
    p = np.repeat(np.linspace(0.3, 0.7, 40), 60)
    return (
        (rng.random(p.size) < p).astype(int),
        p,
        None if weights is None else rng.choice(weights, p.size),
    )


ROWS = {
    "uniform": (few((1, 1)), "spline"),
    "confident": (few((0.2, 0.2)), "spline"),
    "rare": (few((0.5, 10)), "spline"),
    "loess": (few((1, 1), 80), "loess"),
    "normal": (many(None), "spline"),
    "frequencies": (many((1, 2, 5)), "spline"),
    "importance": (many((0.5, 1.5, 3.0)), "spline"),
}


@pytest.mark.parametrize(
    "rows", [pytest.param(rows, marks=[pytest.mark.slow] * (rows != "confident")) for rows in ROWS]
)
def test_floors_are_those_of_full_fits_to_drawn_labels(rows):
    """Means of 199 and of 60 draws of the same law."""
    (y, p, w), curve = ROWS[rows]
    for measure in ERRORS[::3]:
        found = tn.estimate(measure, y, p, sample_weight=w, curve=curve, seed=0)
        options = {
            "sample_weight": w,
            "weight_type": "importance" if rows == "importance" else "frequency",
        }
        full = tn.noise_floor(
            partial(measure, curve=curve), p, resamples=60, seed=1, progress=False, **options
        )
        drawn = full.draws[~np.isnan(full.draws)]
        assert abs(found.floor - drawn.mean()) < 4.5 * drawn.std() * math.sqrt(1 / 60 + 1 / 199)
        assert found.floor < found.floor_high < drawn.max() + 3 * drawn.std()


def test_floors_of_fractional_weights_of_few_rows_are_those_of_rows_of_weight_one():
    rng = np.random.default_rng(0)
    p = rng.beta(1, 6, 200)
    y = (rng.random(200) < p).astype(int)
    for measure in ERRORS[:3]:
        ones, half = (
            tn.estimate(measure, y, p, sample_weight=w, seed=1) for w in (None, np.full(200, 0.5))
        )
        assert half.floor == pytest.approx(ones.floor, rel=0.2)


def test_thousands_of_scores_have_the_floors_of_a_part_of_them_over_the_root_of_their_number():
    p = (np.arange(8_000) + 0.5) / 8_000
    y = np.random.default_rng(0).random(8_000) < p
    every, some = tn.estimate("ici", y, p, seed=0), tn.estimate("ici", y[::16], p[::16], seed=0)
    assert every.floor == pytest.approx(some.floor / 4, rel=0.15)


def test_no_rows_inside_give_no_floors():
    found = tn.estimate("ici", [0, 1], [0.0, 1.0], seed=0)
    assert np.isnan([found.value, found.floor, found.floor_high]).all()


def test_the_number_of_knots_is_five_unless_given():
    y, p, _ = many(None)
    plain, five, three = (
        tn.estimate("emax", y, p, seed=0, **o) for o in ({}, {"knots": 5}, {"knots": 3})
    )
    assert plain == five
    assert plain.floor > three.floor

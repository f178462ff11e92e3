"""Isotonic calibration: against scikit-learn and SciPy, by hand, and laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize
from sklearn.isotonic import IsotonicRegression
from strategies import arrays, scores, weighted_rows

from trueness import InputError, IsotonicCalibration

pytestmark = pytest.mark.filterwarnings(
    "ignore::trueness.errors.OneClassWarning", "ignore::trueness.errors.OwnRowsWarning"
)

KINDS = ["linear", "step"]
GRID = np.linspace(0, 1, 101)
some_scores = st.lists(scores, min_size=1, max_size=20).map(np.array)
# scikit-learn takes scores closer than 1e-15 for one score, and interpolates with slopes that may overflow.
apart = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 50).map(lambda i: i / 50)), min_size=1, max_size=40
)


def fitted(y, p, w=None, **options):
    return IsotonicCalibration(**options).fit(p, y, sample_weight=w)


@given(pairs=apart, data=st.data())
def test_it_is_scikit_learns(pairs, data):
    """scikit-learn 1.9.1."""
    y, p = arrays(pairs)
    w = np.array(data.draw(st.lists(st.floats(0.1, 9), min_size=y.size, max_size=y.size)))
    y_min, y_max = sorted(data.draw(st.tuples(st.floats(0, 1), st.floats(0, 1))))
    peer = IsotonicRegression(y_min=y_min, y_max=y_max, out_of_bounds="clip").fit(
        p, y, sample_weight=w
    )
    found = fitted(y, p, w, y_min=y_min, y_max=y_max).predict(GRID)
    np.testing.assert_allclose(found, peer.predict(GRID), atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@given(weighted_rows(st.sampled_from([0, 0.5, 1, 2.25])))
def test_at_the_rows_it_is_scipys_regression(kind, weighted):
    """SciPy 1.17.1; the ties pooled by hand."""
    y, p, w = weighted
    score = np.unique(p[w > 0])
    weight = np.array([w[p == s].sum() for s in score])
    rate = np.array([w[(p == s) & (y == 1)].sum() for s in score]) / weight
    expected = optimize.isotonic_regression(rate, weights=weight).x
    np.testing.assert_allclose(
        fitted(y, p, w, interpolation=kind).predict(score), expected, atol=1e-12
    )


@pytest.mark.parametrize("kind", KINDS)
@given(weighted_rows(st.just(0.0) | st.floats(1e-3, 10)), some_scores)
def test_predictions_are_non_decreasing_probabilities(kind, weighted, new):
    y, p, w = weighted
    found = fitted(y, p, w, interpolation=kind).predict(np.sort(np.concatenate([new, [0, 1]])))
    assert (np.diff(found) >= 0).all()
    assert found.min() >= 0
    assert found.max() <= 1


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("linear", [0, 0, 0.25, 0.5, 0.5, 0.75, 1, 1]), ("step", [0, 0, 0.5, 0.5, 0.5, 1, 1, 1])],
)
def test_by_hand(kind, expected):
    found = fitted([0, 1, 0, 1], [0.125, 0.25, 0.5, 0.75], interpolation=kind)
    assert found.predict([0, 0.125, 0.1875, 0.25, 0.5, 0.625, 0.75, 1]).tolist() == expected
    assert found.low_.tolist() == [0.125, 0.25, 0.75]
    assert found.high_.tolist() == [0.125, 0.5, 0.75]


@pytest.mark.parametrize("kind", KINDS)
def test_one_score_alone_gives_its_rate_everywhere(kind):
    assert (
        fitted([0, 1, 1], [0.3] * 3, interpolation=kind).predict([0, 0.3, 1]).tolist()
        == [2 / 3] * 3
    )
    assert fitted([1], [0.3], interpolation=kind).predict([0, 1]).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"interpolation": "cubic"},
            "`interpolation` must be 'linear', 'step' or 'centred'; got 'cubic'",
        ),
        ({"interpolation": 1}, "`interpolation` must be 'linear', 'step' or 'centred'; got 1"),
        ({"y_min": -0.1}, r"`y_min` must be a number in \[0, 1\]; got -0.1"),
        ({"y_max": "1"}, r"`y_max` must be a number in \[0, 1\]; got '1'"),
        ({"y_max": float("nan")}, "`y_max` must be a number"),
        ({"y_min": 0.6, "y_max": 0.5}, "`y_min` must not be above `y_max`; got 0.6 and 0.5"),
    ],
)
def test_bad_parameters_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        fitted([0, 1], [0.1, 0.9], **options)


def test_centred_blocks_are_joined_at_their_mean_scores():
    p, y = [0.1, 0.2, 0.3, 0.4, 0.8, 0.9], [0, 1, 0, 0, 1, 1]
    fitted = IsotonicCalibration(interpolation="centred").fit(p, y)
    assert fitted.centre_.tolist() == pytest.approx([0.1, 0.3, 0.85])
    assert fitted.predict([0.0, 0.1, 0.3, 0.575, 0.85, 1.0]).tolist() == pytest.approx(
        [0, 0, 1 / 3, 2 / 3, 1, 1]
    )
    mild = IsotonicCalibration(interpolation="centred", prior=1).fit(p, y)
    assert mild.values_.tolist() == pytest.approx([0.1 / 2, 1.3 / 4, 2.85 / 3])
    with pytest.raises(InputError, match="`prior` must be a finite number ≥ 0; got -1"):
        IsotonicCalibration(prior=-1).fit(p, y)


def test_pseudo_rows_have_the_rate_of_their_score():
    # Blocks: 0.2 without events; 0.4 and 0.6 with one event in three rows; 0.8 with two of two.
    p, y = [0.2, 0.4, 0.4, 0.6, 0.8, 0.8], [0, 1, 0, 0, 1, 1]
    for kind in ("linear", "step", "centred"):
        found = fitted(y, p, interpolation=kind, prior=2)
        centre = (0.4 + 0.4 + 0.6) / 3
        assert found.centre_.tolist() == pytest.approx([0.2, centre, 0.8])
        wanted = [(0 + 2 * 0.2) / 3, (1 + 2 * centre) / 5, (2 + 2 * 0.8) / 4]
        assert found.values_.tolist() == pytest.approx(wanted)
        assert found.predict([0.0, 1.0]) == pytest.approx([wanted[0], wanted[-1]])
    assert fitted(y, p, interpolation="centred", prior=2).predict(
        [(0.2 + centre) / 2]
    ) == pytest.approx((wanted[0] + wanted[1]) / 2)


def test_bounds_may_be_equal_and_at_the_ends():
    assert fitted([0, 1], [0.2, 0.8], y_min=0.5, y_max=0.5).predict([0.1, 0.9]).tolist() == [
        0.5,
        0.5,
    ]
    assert fitted([0, 1], [0.2, 0.8], y_min=0, y_max=1).predict([0.1, 0.9]).tolist() == [0, 1]
    with pytest.raises(InputError, match=r"`y_max` must be a number in \[0, 1\]; got 1.1"):
        fitted([0, 1], [0.2, 0.8], y_max=1.1)

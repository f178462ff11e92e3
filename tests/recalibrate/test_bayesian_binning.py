"""Bayesian binning: by its definition, row by row, and by hand."""

import math
from fractions import Fraction
from itertools import count, pairwise

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import arrays, weighted_rows

from trueness import BayesianBinning, InputError, simulate

pytestmark = pytest.mark.filterwarnings(
    "ignore::trueness.OneClassWarning", "ignore::trueness.OwnRowsWarning"
)

GRID = np.linspace(0, 1, 101)


def fitted(y, p, w=None, **options):
    return BayesianBinning(**options).fit(p, y, sample_weight=w)


def log_beta(a, b):
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def by_definition(y, p, new, spread=10, strength=2):
    """Every model, row by row: (bins, posterior) of each, and the averaged predictions."""
    n = len(y)
    # In whole numbers: k ≤ ∛n / C if (k C)³ ≤ n, and k ≥ C ∛n if (k / C)³ ≥ n.
    least = max(1, max(k for k in range(n + 1) if (k * Fraction(spread)) ** 3 <= n))
    most = min(n, next(k for k in count(1) if (k / Fraction(spread)) ** 3 >= n))
    models = {}
    for n_bins in range(least, most + 1):
        groups = [group for group in oracle.equal_mass_groups(y, p, None, n_bins) if group]
        models.setdefault(str(groups), groups)
    evidence, predictions = [], []
    for groups in models.values():
        inner = [
            (max(p[i] for i in low) + min(p[i] for i in high)) / 2 for low, high in pairwise(groups)
        ]
        ends, own = [0.0, *inner, 1.0], strength / len(groups)
        rates, total = [], 0.0
        for b, group in enumerate(groups):
            middle, events = (ends[b] + ends[b + 1]) / 2, sum(y[i] for i in group)
            alpha, beta = own * middle, own * (1 - middle)
            total += log_beta(events + alpha, len(group) - events + beta) - log_beta(alpha, beta)
            rates.append((events + alpha) / (len(group) + own))
        evidence.append(total)
        predictions.append([rates[sum(edge <= x for edge in inner)] for x in new])
    share = np.exp(np.array(evidence) - max(evidence))
    share /= share.sum()
    return [len(groups) for groups in models.values()], share, share @ np.array(predictions)


# Scores with room between them: a bin narrower than 1e-300 has its middle moved.
pairs_apart = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 64).map(lambda i: i / 64)), min_size=1, max_size=40
)


@given(
    pairs=pairs_apart, spread=st.sampled_from([1, 2.5, 10]), strength=st.sampled_from([0.5, 2, 7.0])
)
def test_it_is_the_definition(pairs, spread, strength):
    y, p = arrays(pairs)
    found = fitted(y, p, spread=spread, strength=strength)
    n_bins, share, prediction = by_definition(y.tolist(), p.tolist(), GRID, spread, strength)
    assert found.n_bins_.tolist() == n_bins
    np.testing.assert_allclose(found.posterior_, share, rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(found.predict(GRID), prediction, rtol=1e-9)


def test_by_hand():
    # One bin: N' = 2 and its middle 1/2 make α = β = 1; one event in one row has evidence 1/2 and rate 2/3.
    found = fitted([1], [0.3])
    assert found.n_bins_.tolist() == [1]
    assert found.predict([0.0, 1.0]).tolist() == pytest.approx([2 / 3] * 2)
    # Two rows: one bin has evidence B(2, 2) = 1/6; two bins (edge 1/2, α + β = 1, middles 1/4, 3/4) have (3/4)².
    found = fitted([0, 1], [0.25, 0.75])
    assert found.posterior_.tolist() == pytest.approx(
        [(1 / 6) / (1 / 6 + 9 / 16), (9 / 16) / (1 / 6 + 9 / 16)]
    )
    low = (1 / 6 * 0.5 + 9 / 16 * (0.25 / 2)) / (1 / 6 + 9 / 16)
    assert found.predict([0.25, 0.49, 0.5]).tolist() == pytest.approx([low, low, 1 - low])


@given(weighted=weighted_rows())
def test_a_weight_is_a_repetition(weighted):
    y, p, w = weighted
    again = w.astype(int)
    one, other = fitted(y, p, w), fitted(y.repeat(again), p.repeat(again))
    assert np.array_equal(one.predict(GRID), other.predict(GRID))
    assert np.array_equal(one.posterior_, other.posterior_)


@given(weighted_rows(st.just(0.0) | st.floats(1e-3, 10)))
def test_it_is_a_probability_whatever_the_scores(weighted):
    y, p, w = weighted
    found = fitted(y, p, w)
    values = found.predict(np.concatenate([GRID, p]))
    assert ((values > 0) & (values <= 1)).all()
    assert found.posterior_.sum() == pytest.approx(1)


def test_scores_with_no_float_between_them_are_no_trouble():
    found = fitted([0, 1, 0, 1], [0.0, 5e-324, 1 - 2.0**-53, 1.0])
    assert np.isfinite(found.posterior_).all()
    assert np.isfinite(found.predict(GRID)).all()


def test_models_made_equal_by_ties_count_once():
    found = fitted([0, 1, 1, 0, 1, 1], [0.2] * 3 + [0.6] * 3)
    assert found.n_bins_.tolist() == [1, 2]


def test_many_bins_are_chosen_if_rates_vary_and_one_if_they_do_not():
    d = simulate.binary(5_000, seed=0)
    assert fitted(d.y_true, d.y_prob).n_bins_[np.argmax(fitted(d.y_true, d.y_prob).posterior_)] > 4
    rng = np.random.default_rng(0)
    flat = fitted(rng.integers(0, 2, 5_000), rng.random(5_000))
    assert flat.n_bins_[np.argmax(flat.posterior_)] == flat.n_bins_.min() == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"spread": 0.5}, "`spread` must be a number ≥ 1; got 0.5"),
        ({"spread": "10"}, "`spread` must be a number ≥ 1; got '10'"),
        ({"spread": math.inf}, "`spread` must be a number ≥ 1; got inf"),
        ({"strength": 0}, "`strength` must be a number above 0; got 0"),
        ({"strength": math.nan}, "`strength` must be a number above 0; got nan"),
        ({"strength": True}, "`strength` must be a number above 0; got True"),
    ],
)
def test_bad_parameters_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        fitted([0, 1], [0.1, 0.9], **options)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (2.0**51, "must sum to at most 4,503,599,627,370,496; got 4"),
        (1e10, "must lead to at most 10,000 models"),
    ],
)
def test_weights_beyond_what_can_be_counted_are_refused(weight, message):
    with pytest.raises(InputError, match=message):
        BayesianBinning().fit([0.1, 0.2, 0.3], [0, 1, 1], [weight, 1, weight])


def test_the_numbers_of_bins_range_from_the_root_divided_by_the_spread_to_the_root_times_it():
    rng = np.random.default_rng(0)
    p, y = rng.random(1000), rng.integers(0, 2, 1000)
    assert fitted(y, p, spread=1).n_bins_.tolist() == [10]
    assert fitted(y, p, spread=2).n_bins_.tolist() == list(range(5, 21))
    assert fitted(y, p, spread=3.5).n_bins_.tolist() == list(range(2, 36))
    assert fitted(y[:5], p[:5]).n_bins_.tolist() == [1, 2, 3, 4, 5]
    assert fitted([0, 1], [0.2, 0.8], [0.3, 0.3]).n_bins_.tolist() == [1]  # less than one row


def test_a_strength_of_any_size_pulls_to_the_middle_of_the_bin():
    found = fitted([0, 1, 1], [0.2, 0.4, 0.9], spread=1, strength=1e9)
    assert found.n_bins_.tolist() == [1, 2]
    (edge,) = {0.3, 0.65} & set(found.edges_.round(9))
    middles = found.posterior_ @ np.array([[0.5, 0.5], [edge / 2, (1 + edge) / 2]])
    assert found.predict([0.0, 1.0]) == pytest.approx(middles, abs=1e-6)

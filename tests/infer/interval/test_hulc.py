"""Convex hulls of estimates from parts of the data."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import trueness as tn
from trueness._tally.binned_scores import of_cells
from trueness.infer.interval._hulc import adaptive_hulc, hulc, number_of_splits, split_counts
from trueness.infer.interval._resampling import RowKinds, subsamples

RULE = tn.EqualWidth(10)


def missed(parts, bias):
    return (0.5 - bias) ** parts + (0.5 + bias) ** parts


def some(n, seed=1):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return outcomes_of(rng.random(n) < 0.5, p)


def outcomes_of(y, p, rule=RULE):
    return RowKinds(of_cells(tn.tally(y, p).parts[0], rule, None))


def test_the_number_of_parts_meets_the_level():
    """At 0.9 without bias, four parts miss 1/8 and five 1/16: four with probability 0.6 miss 1/10."""
    rng = np.random.default_rng(1)
    drawn = [number_of_splits(0.9, 0.0, rng) for _ in range(5_000)]
    assert set(drawn) == {4, 5}
    assert abs(np.mean(np.array(drawn) == 4) - 0.6) < 4 * np.sqrt(0.24 / 5_000)


@given(level=st.floats(0.5, 0.99), bias=st.floats(0, 0.45))
def test_the_two_numbers_of_parts_enclose_the_level(level, bias):
    drawn = {number_of_splits(level, bias, np.random.default_rng(seed)) for seed in range(30)}
    assert max(drawn) - min(drawn) <= 1
    alpha = 1 - level
    if len(drawn) == 2:
        assert missed(max(drawn), bias) <= alpha <= missed(min(drawn), bias)
    else:
        (parts,) = drawn
        assert missed(parts + 1, bias) <= alpha <= missed(parts - 1, bias)


def test_a_bias_without_bound_takes_the_most_parts():
    assert number_of_splits(0.9, 0.5, np.random.default_rng(1), most=17) == 17
    assert number_of_splits(0.9, 0.4999999, np.random.default_rng(1), most=17) == 17


@given(count=st.lists(st.integers(1, 3), min_size=1, max_size=12), parts=st.integers(1, 6))
@example(count=[1] * 11, parts=4)
def test_parts_share_out_all_rows_evenly(count, parts):
    count = np.array(count)
    dealt = split_counts(count, parts, np.random.default_rng(1))
    assert dealt.shape == (parts, count.size)
    assert dealt.sum(axis=0).tolist() == count.tolist()
    assert (dealt >= 0).all()
    sizes = dealt.sum(axis=1)
    assert sizes.max() - sizes.min() <= 1


def test_a_row_is_as_likely_in_one_part_as_in_another():
    count = np.array([1, 2, 7])
    dealt = np.array([split_counts(count, 3, np.random.default_rng(seed)) for seed in range(3_000)])
    # Ten rows in parts of 3, 3 and 4.
    expected = np.outer([0.3, 0.3, 0.4], count)
    assert np.abs(dealt.mean(axis=0) - expected).max() < 0.1


def test_rows_that_are_all_different_are_shuffled():
    dealt = np.array([split_counts(np.ones(6, dtype=np.int64), 3, np.random.default_rng(s)) for s in range(2_000)])
    assert np.abs(dealt.mean(axis=0) - 1 / 3).max() < 0.06
    assert (dealt.sum(axis=2) == 2).all()


def test_the_interval_is_the_hull_of_the_parts():
    outcomes = some(200)
    low, high = hulc(outcomes, level=0.9, resamples=0, rng=np.random.default_rng(4))
    rng = np.random.default_rng(4)
    values = outcomes.of_counts(split_counts(outcomes.count, number_of_splits(0.9, 0.0, rng), rng))
    assert (low, high) == (values.min(), values.max())
    assert (low, high) == hulc(outcomes, level=0.9, resamples=0, rng=np.random.default_rng(4))


def test_the_adaptive_hull_takes_more_parts_where_the_estimate_is_biased():
    """Pairs of rows that share a score: a subsample hardly ever holds one, so that its error is nearly always less."""
    p = np.repeat(np.arange(50) / 100, 2)
    outcomes = outcomes_of(np.ones(100), p, tn.Distinct())
    drawn = subsamples(outcomes, 10, 200, np.random.default_rng(1), replace=False)
    bias = abs(np.mean(drawn < outcomes.of_counts(outcomes.count)) - 0.5)
    assert bias > 0.4
    rng = np.random.default_rng(1)
    subsamples(outcomes, 10, 200, rng, replace=False)
    parts = min(number_of_splits(0.9, bias, rng, most=50), 50)
    assert parts > 15
    values = outcomes.of_counts(split_counts(outcomes.count, parts, rng))
    found = adaptive_hulc(outcomes, level=0.9, resamples=200, rng=np.random.default_rng(1))
    assert found == (values.min(), values.max())


def test_too_few_rows_are_an_error():
    with pytest.raises(tn.InputError, match=r"HulC at level 0.9 needs at least (8|10) rows"):
        hulc(some(6), level=0.9, resamples=0, rng=np.random.default_rng(1))
    with pytest.raises(tn.InputError, match="Adaptive HulC needs at least 4 rows; got 3"):
        adaptive_hulc(some(3), level=0.9, resamples=10, rng=np.random.default_rng(1))


def test_two_rows_in_each_part_are_enough():
    for seed in range(8):
        parts = number_of_splits(0.9, 0.0, np.random.default_rng(seed))
        low, high = hulc(some(2 * parts), level=0.9, resamples=0, rng=np.random.default_rng(seed))
        assert low <= high
        with pytest.raises(tn.InputError, match=f"at least {2 * parts} rows, 2 in each part; got {2 * parts - 1}"):
            hulc(some(2 * parts - 1), level=0.9, resamples=0, rng=np.random.default_rng(seed))
    low, high = adaptive_hulc(some(4), level=0.9, resamples=10, rng=np.random.default_rng(1))
    assert low <= high


def test_fewer_than_a_billion_rows_can_be_split():
    dealt = split_counts(np.array([10**9 - 3, 2]), 2, np.random.default_rng(0))
    assert dealt.sum(axis=1).tolist() == [499_999_999, 500_000_000]
    with pytest.raises(tn.InputError, match="HulC splits fewer than 10⁹ rows; got 1,000,000,000"):
        split_counts(np.array([10**9 - 2, 2]), 2, np.random.default_rng(0))


def test_the_number_of_parts_with_bias_is_the_smallest_that_meets_the_level_or_one_less():
    for level in (0.6, 0.9, 0.975):
        for bias in (0.0, 0.1, 0.3, 0.45):
            enough = next(parts for parts in range(2, 1_000) if missed(parts, bias) <= 1 - level)
            drawn = {number_of_splits(level, bias, np.random.default_rng(seed)) for seed in range(25)}
            assert drawn <= {enough - 1, enough}
            assert number_of_splits(level, bias, np.random.default_rng(0), most=enough - 1) == enough - 1


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.8, 0.9])
def test_the_hull_keeps_its_level_where_the_estimate_has_no_bias(level):
    """Labels against scores, far from zero: the estimate is nearly normal."""
    rng = np.random.default_rng(5)
    runs, rule = 1_500, tn.EqualWidth(5)
    truth = 1 / 12 - 1 / (12 * 25)
    covered = 0
    for _ in range(runs):
        p = rng.random(1_000)
        rows = outcomes_of(rng.random(1_000) < 0.5, p, rule)
        low, high = hulc(rows, level=level, resamples=0, rng=rng)
        covered += low <= truth <= high
    assert abs(covered / runs - level) < 4 * np.sqrt(level * (1 - level) / runs)


@pytest.mark.slow
def test_the_adaptive_hull_covers_no_less():
    rng = np.random.default_rng(6)
    runs, rule = 400, tn.EqualWidth(5)
    truth = 1 / 12 - 1 / (12 * 25)
    covered = 0
    for _ in range(runs):
        p = rng.random(1_000)
        rows = outcomes_of(rng.random(1_000) < 0.5, p, rule)
        low, high = adaptive_hulc(rows, level=0.9, resamples=200, rng=rng)
        covered += low <= truth <= high
    assert covered / runs > 0.9 - 4 * np.sqrt(0.09 / runs)

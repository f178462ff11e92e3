"""One-sided limits of the ECE hold, are exact where events are few, and come from rows, clusters and sums."""

import numpy as np
import pytest

import trueness as tn
from trueness.errors import InputError
from trueness.infer._ece_limits import ece_limits


def simulated(n, error=0.0, seed=0, draw=lambda rng, n: rng.random(n)):
    rng = np.random.default_rng(seed)
    p = draw(rng, n)
    return (rng.random(n) < np.clip(p + error, 0, 1)).astype(int), p


@pytest.mark.parametrize(
    ("labels", "score", "high"),
    [(np.ones(25), 1.0, 1 - 0.05 ** (1 / 25)), (np.zeros(60), 1e-4, 1 - 0.05 ** (1 / 60) - 1e-4)],
)
@pytest.mark.filterwarnings("ignore::trueness.errors.OneClassWarning")
def test_one_class_alone_has_exact_limits(labels, score, high):
    found = ece_limits(labels.astype(int), np.full(labels.size, score), level=0.95)
    assert found.high == pytest.approx(high, rel=1e-9)
    assert found.low == 0


def test_the_estimate_is_the_ece_and_lies_between_the_limits():
    y, p = simulated(3_000, 0.1)
    found = ece_limits(y, p, bins=tn.EqualMass(7), seed=0)
    assert found.estimate == pytest.approx(tn.ece(y, p, bins=tn.EqualMass(7)), abs=1e-15)
    assert 0.05 < found.low < found.estimate < found.high < 0.14


def test_sums_have_the_limits_of_their_rows():
    y, p = simulated(3_000, 0.05)
    p = p.round(3)
    rows = ece_limits(y, p, bins=8, seed=1)
    for sums in (tn.tally(y, p), tn.binned(y, p, bins=8), tn.tally(y, p).coarsen(tn.EqualWidth(8))):
        assert ece_limits(sums, bins=8, seed=1) == rows
    sketch = ece_limits(tn.sketch(y, p), bins=8, seed=1)
    assert sketch.low == pytest.approx(rows.low, abs=1e-9)
    assert sketch.high == pytest.approx(rows.high, abs=1e-7)


def test_limits_of_a_sketch_contain_what_it_does_not_know():
    y, p = simulated(3_000, 0.05)
    sums = tn.sketch(y, p)
    known = tn.bounded(tn.ece, sums, bins=7)
    found, alone = ece_limits(sums, bins=7, seed=1), ece_limits(sums.as_tally(), bins=7, seed=1)
    assert known.error > 0
    assert found.high == pytest.approx(alone.high + known.high - known.value)
    assert found.low == pytest.approx(alone.low - (known.value - known.low))


def test_whole_weights_are_repeated_rows_and_fractional_ones_are_worth_fewer():
    y, p = simulated(400, 0.1)
    w = np.arange(400) % 3
    weighted, repeated = ece_limits(y, p, sample_weight=w, seed=0), ece_limits(np.repeat(y, w), np.repeat(p, w), seed=0)
    assert tuple(weighted) == pytest.approx(tuple(repeated), abs=1e-14)
    equal = ece_limits(y, p, sample_weight=np.full(400, 0.7), weight_type="importance", seed=0)
    unequal = ece_limits(y, p, sample_weight=0.1 + (np.arange(400) % 7 == 0), weight_type="importance", seed=0)
    plain = ece_limits(y, p, seed=0)
    assert equal.high == pytest.approx(plain.high, rel=0.05)
    assert unequal.high - unequal.estimate > 1.3 * (plain.high - plain.estimate)


def test_clusters_widen_the_limits():
    y, p = simulated(300, 0.15)
    y, p, cluster = np.repeat(y, 5), np.repeat(p, 5), np.repeat(np.arange(300), 5)
    alone, together = ece_limits(y, p, seed=0), ece_limits(y, p, cluster=cluster, seed=0)
    assert together.low < alone.low
    assert together.high - together.estimate > 1.7 * (alone.high - alone.estimate)


def test_a_level_far_out_needs_no_more_draws():
    y, p = simulated(3_000, 0.2)
    limits = [ece_limits(y, p, level=level, seed=0) for level in (0.9, 0.99, 0.9999)]
    assert limits[0].low > limits[1].low > limits[2].low > 0
    assert limits[0].high < limits[1].high < limits[2].high


def test_bins_that_follow_the_labels_and_single_rows_are_refused():
    y, p = simulated(50)
    with pytest.raises(InputError, match="label"):
        ece_limits(y, p, bins=tn.Isotonic())
    with pytest.raises(InputError, match="at least two rows"), pytest.warns(tn.errors.TruenessWarning):
        ece_limits([1], [0.3])


SCORES = {
    "uniform": lambda rng, n: rng.random(n),
    "low": lambda rng, n: rng.beta(0.3, 3, n),
    "high": lambda rng, n: rng.beta(20, 1, n),
    "rare": lambda rng, n: rng.beta(0.5, 100, n),
}
ERRORS = {
    "none": lambda p: p,
    "half": lambda p: p / 2,
    "twice": lambda p: np.minimum(2 * p, 1),
    "flat": lambda p: 1 / (1 + ((1 - p) / p) ** 0.6),
    "wave": lambda p: np.clip(p + 0.1 * np.sign(np.sin(10 * np.pi * p)), 0, 1),
}


@pytest.mark.slow
@pytest.mark.parametrize("n", [50, 300, 2_000])
@pytest.mark.parametrize("scores", SCORES)
def test_either_limit_fails_in_one_of_twenty_at_most(scores, n):
    rng, runs = np.random.default_rng(n), 250
    many = np.clip(SCORES[scores](rng, 500_000), 1e-12, 1 - 1e-12)
    for error in ERRORS.values():
        b = np.minimum((many * 10).astype(int), 9)
        truth = np.abs(np.bincount(b, error(many) - many, 10)).sum() / many.size
        beyond = np.zeros(2)
        for _ in range(runs):
            p = np.clip(SCORES[scores](rng, n), 1e-12, 1 - 1e-12)
            y = (rng.random(n) < error(p)).astype(int)
            y[0] = 1 - y[1]  # no warning about one class
            found = ece_limits(y, p, seed=rng)
            beyond += (found.low > truth, found.high < truth)
        assert beyond.max() <= 0.05 * runs + 3.5 * np.sqrt(0.05 * 0.95 * runs)


@pytest.mark.slow
@pytest.mark.parametrize("error", [0.0, 0.1])
def test_limits_of_clusters_hold(error):
    rng, runs, beyond = np.random.default_rng(3), 300, np.zeros(2)
    for _ in range(runs):
        cluster = np.repeat(np.arange(60), 8)
        p = np.clip(rng.random(60)[cluster] * 0.8 + 0.2 * rng.random(480) * (1 - error), 0, 1 - error)
        same = np.where(rng.random(60) < 0.4, rng.random(60), np.nan)[cluster]
        y = (np.where(np.isnan(same), rng.random(480), same) < p + error).astype(int)
        found = ece_limits(y, p, cluster=cluster, seed=rng)
        beyond += (found.low > error, found.high < error)
    assert beyond.max() <= 0.05 * runs + 3.5 * np.sqrt(0.05 * 0.95 * runs)

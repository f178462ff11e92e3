"""The honest monotone band: by hand, against an obvious reference, laws, messages and simulated coverage."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import beta

import trueness as tn
from trueness.infer import curve_band

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


def some_rows(n=300, seed=0, digits=None):
    rng = np.random.default_rng(seed)
    p = rng.random(n) if digits is None else rng.random(n).round(digits)
    return (rng.random(n) < p).astype(int), p


def slow_band(y, p, level):
    """The definition, score by score and run by run: scores, ends, and the distance of each score from the band."""
    scores, n = np.unique(p), y.size
    most = min(1000, round(2 * math.sqrt(n)))
    if scores.size <= most:
        groups = [[s] for s in scores]
    else:
        start = tn.EqualMass(most).group(tn.tally(y, p).parts[0]).start
        groups = [scores[a:b] for a, b in itertools.pairwise(start) if b > a]
    runs = [(i, i + 2**j) for j in range(12) for i in range(len(groups)) if i + 2**j <= len(groups)]
    tail = (1 - level) / 2 / len(runs)
    low, high = np.zeros(scores.size), np.ones(scores.size)
    for i, j in runs:
        left, right = groups[i][0], groups[j - 1][-1]
        inside = (p >= left) & (p <= right)
        size, k = inside.sum(), y[inside].sum()
        upper = 1.0 if k == size else beta.isf(tail, k + 1, size - k)
        lower = 0.0 if k == 0 else beta.ppf(tail, k, size - k + 1)
        high = np.where(scores <= left, np.minimum(high, upper), high)
        low = np.where(scores >= right, np.maximum(low, lower), low)
    return scores, low, high, np.maximum(high - scores, scores - low)


@pytest.mark.parametrize(("n", "digits"), [(40, 1), (150, 2), (160, None), (1, None), (2, None)])
def test_the_band_is_that_of_its_definition(n, digits):
    y, p = some_rows(n, n, digits)
    band = curve_band(y, p, level=0.9, method="monotone")
    scores, low, high, far = slow_band(y, p, 0.9)
    at = np.searchsorted(scores, band.score)
    assert (scores[at] == band.score).all()
    assert band.low == pytest.approx(low[at], abs=1e-12)
    assert band.high == pytest.approx(high[at], abs=1e-12)
    # Between two scores of the band: the lower end of the left one, the upper end of the right one.
    assert low == pytest.approx(
        band.low[np.searchsorted(band.score, scores, side="right") - 1], abs=1e-12
    )
    assert high == pytest.approx(band.high[np.searchsorted(band.score, scores)], abs=1e-12)
    # No row from the previous score to this one is farther from the band than its distance.
    number, rows = np.searchsorted(band.score, scores), np.searchsorted(band.score, p)
    assert band.share == pytest.approx(np.bincount(rows, minlength=band.score.size) / n)
    for i in range(band.score.size):
        own = far[number == i]
        assert band.distance[i] >= own.max() - 1e-12
        if own.size <= 2:  # its ends are scores
            assert band.distance[i] == pytest.approx(own.max(), abs=1e-12)
    for eps in np.quantile(far, [0.1, 0.5, 0.9]):
        exact = (far[np.searchsorted(scores, p)] <= eps + 1e-12).mean()
        assert exact - 0.15 <= band.share_within(eps + 1e-12) <= exact + 1e-12
    assert band.share_within(far.max() + 1e-9) == pytest.approx(1)


def test_one_score_has_one_sided_exact_limits():
    band = curve_band([1] * 3 + [0] * 7, [0.3] * 10, level=0.9, method="monotone")
    assert band.low == pytest.approx([beta.ppf(0.05, 3, 8)])
    assert band.high == pytest.approx([beta.isf(0.05, 4, 7)])
    assert (band.runs, band.n, band.widest) == (1, 10, pytest.approx(band.high[0] - band.low[0]))


def test_swapping_the_classes_turns_the_band_over():
    y, p = some_rows(400, digits=1)
    band, other = curve_band(y, p, method="monotone"), curve_band(1 - y, 1 - p, method="monotone")
    assert other.low == pytest.approx(1 - band.high[::-1])
    assert other.high == pytest.approx(1 - band.low[::-1])


def test_many_calibrated_rows_are_accepted_and_wrong_ones_are_not():
    y, p = some_rows(50_000)
    band = curve_band(y, p, method="monotone")
    assert band.rising
    assert band.within(0.1)
    assert not band.within(0.01)
    assert not curve_band(y, np.clip(p + 0.1, 0, 1), method="monotone").within(0.1)
    assert "never falls" in str(band)
    falling = curve_band(1 - y[:5_000], p[:5_000], method="monotone")
    assert not falling.rising
    assert not falling.within(1)
    assert "no rising function fits" in str(falling)


def test_several_columns_are_judged_by_the_largest():
    three = np.random.default_rng(0).dirichlet(np.ones(3), 300)
    labels = np.random.default_rng(1).integers(0, 3, 300)
    top = curve_band((three.argmax(1) == labels).astype(int), three.max(1), method="monotone")
    assert curve_band(labels, three, method="monotone").to_dict() == top.to_dict()


@pytest.mark.parametrize("scores", [1_000, 1_001])
def test_there_are_never_more_than_a_thousand_groups(scores):
    """Of 300,000 rows; each score is a group of its own, or the first two share one. 1,000 − 2ʲ + 1 runs of 2ʲ."""
    p = np.linspace(0, 1, scores)
    cells = tn.tally(
        [0] * scores + [1] * scores, np.tile(p, 2), sample_weight=np.repeat([150, 150], scores)
    )
    band = curve_band(cells, method="monotone")
    assert band.runs == sum(1_001 - 2**j for j in range(10))
    assert (band.n, band.score.size) == (300 * scores, scores)


def test_as_many_scores_as_groups_are_groups_of_their_own():
    """25 rows make ten groups; one of ten scores has 16 of the rows."""
    p = np.repeat(np.arange(10) / 10 + 0.05, [16, *[1] * 9])
    y = np.arange(25) % 3 == 0
    band = curve_band(y, p, method="monotone")
    scores, low, high, _ = slow_band(y, p, 0.95)
    assert band.score.tolist() == scores.tolist()
    assert (band.low, band.high) == (pytest.approx(low), pytest.approx(high))


def test_messages():
    y, p = some_rows(20)
    with pytest.raises(
        tn.InputError, match="`sample_weight` must be whole numbers for the monotone band"
    ):
        curve_band(y, p, sample_weight=np.full(20, 0.5), method="monotone")
    with pytest.raises(tn.InputError, match="`level` must lie strictly between 0 and 1"):
        curve_band(y, p, level=1, method="monotone")
    with pytest.raises(tn.InputError, match="bins do not keep them"):
        curve_band(tn.binned(y, p), method="monotone")
    with pytest.raises(tn.InputError, match="`cluster` is only for `method='spline'`"):
        curve_band(y, p, cluster=np.arange(20), method="monotone")


@pytest.mark.slow
@pytest.mark.parametrize("law", ["uniform", "rare", "tied"])
@pytest.mark.parametrize("truth", ["calibrated", "logit", "step"])
def test_the_whole_band_covers_a_rising_truth(law, truth):
    rng, runs, misses = np.random.default_rng(7), 300, 0
    for _ in range(runs):
        p = {
            "uniform": rng.random(400),
            "rare": rng.beta(0.3, 10, 400),
            "tied": rng.integers(0, 11, 400) / 10,
        }[law]
        f = {
            "calibrated": p,
            "logit": p**2 / (p**2 + (1 - p) ** 2),
            "step": np.where(p < 0.3, 0.2, 0.6),
        }[truth]
        band = curve_band(rng.random(400) < f, p, level=0.8, method="monotone")
        low = band.low[np.searchsorted(band.score, p, side="right") - 1]
        high = band.high[np.searchsorted(band.score, p)]
        misses += bool((f < low).any() or (f > high).any())
    assert misses / runs <= 0.2 + 3 * math.sqrt(0.2 * 0.8 / runs)

"""The honest monotone band: by hand, against an obvious reference, laws, messages and simulated coverage."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import beta

import trueness as tn
from trueness._tally.rules import EqualMass
from trueness.infer.band._monotone_band import BandRuns

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


def some_rows(n=300, seed=0, digits=None):
    rng = np.random.default_rng(seed)
    p = rng.random(n) if digits is None else rng.random(n).round(digits)
    return (rng.random(n) < p).astype(int), p


def slow_band(y, p, level):
    """The definition, score by score and run by run."""
    scores, n = np.unique(p), y.size
    most = min(1000, round(2 * math.sqrt(n)))
    if scores.size <= most:
        groups = [[s] for s in scores]
    else:
        start = EqualMass(most).group(tn.tally(y, p).parts[0]).start
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
    return scores, low, high


@pytest.mark.parametrize(("n", "digits"), [(40, 1), (150, 2), (160, None), (1, None), (2, None)])
def test_the_band_is_that_of_its_definition(n, digits):
    y, p = some_rows(n, n, digits)
    band = tn.monotone_band(y, p, level=0.9)
    scores, low, high = slow_band(y, p, 0.9)
    at = np.searchsorted(scores, band.score)
    assert (scores[at] == band.score).all()
    assert band.low == pytest.approx(low[at], abs=1e-12)
    assert band.high == pytest.approx(high[at], abs=1e-12)
    # Between two scores of the band: the lower end of the left one, the upper end of the right one.
    assert low == pytest.approx(band.low[np.searchsorted(band.score, scores, side="right") - 1], abs=1e-12)
    assert high == pytest.approx(band.high[np.searchsorted(band.score, scores)], abs=1e-12)


@pytest.mark.parametrize(("n", "digits"), [(150, 2), (160, None)])
def test_the_share_within_is_never_more_than_that_of_the_rows(n, digits):
    y, p = some_rows(n, n, digits)
    band = tn.monotone_band(y, p)
    scores, low, high = slow_band(y, p, 0.95)
    at = np.searchsorted(scores, p)
    far = np.maximum(high[at] - p, p - low[at])
    for eps in np.quantile(far, [0.1, 0.5, 0.9]):
        exact = (far <= eps + 1e-12).mean()
        assert exact - 0.1 <= band.share_within(eps + 1e-12) <= exact + 1e-12
    assert band.share_within(far.max() + 1e-9) == pytest.approx(1)
    assert band.share.sum() == pytest.approx(1)


def test_one_score_has_one_sided_exact_limits():
    band = tn.monotone_band([1] * 3 + [0] * 7, [0.3] * 10, level=0.9)
    assert band.low == pytest.approx([beta.ppf(0.05, 3, 8)])
    assert band.high == pytest.approx([beta.isf(0.05, 4, 7)])
    assert (band.runs, band.n, band.widest) == (1, 10, pytest.approx(band.high[0] - band.low[0]))


def test_weight_two_is_the_row_twice_and_a_tally_is_the_rows():
    y, p = some_rows(200)
    w = np.random.default_rng(1).integers(0, 4, y.size)
    weighted = tn.monotone_band(y, p, sample_weight=w).to_dict()
    assert weighted == tn.monotone_band(y.repeat(w), p.repeat(w)).to_dict()
    assert weighted == tn.monotone_band(tn.tally(y, p, sample_weight=w)).to_dict()


def test_swapping_the_classes_turns_the_band_over():
    y, p = some_rows(400, digits=1)
    band, other = tn.monotone_band(y, p), tn.monotone_band(1 - y, 1 - p)
    assert other.low == pytest.approx(1 - band.high[::-1])
    assert other.high == pytest.approx(1 - band.low[::-1])


def test_a_higher_level_gives_a_wider_band():
    y, p = some_rows()
    narrow, wide = (tn.monotone_band(y, p, level=level) for level in (0.8, 0.99))
    assert (wide.low <= narrow.low).all()
    assert (wide.high >= narrow.high).all()


def test_many_calibrated_rows_are_accepted_and_wrong_ones_are_not():
    y, p = some_rows(100_000)
    band = tn.monotone_band(y, p)
    assert band.rising
    assert band.within(0.08)
    assert not band.within(0.01)
    assert not tn.monotone_band(y, np.clip(p + 0.1, 0, 1)).within(0.08)
    assert "never falls" in str(band)


def test_a_falling_probability_leaves_no_room_for_a_rising_one():
    y, p = some_rows(5_000)
    band = tn.monotone_band(1 - y, p)
    assert not band.rising
    assert not band.within(1)
    assert "no rising function fits" in str(band)


def test_two_columns_are_the_binary_problem_and_more_are_judged_by_the_largest():
    y, p = some_rows(300)
    two = tn.monotone_band(y, np.column_stack([1 - p, p]))
    assert two.to_dict() == tn.monotone_band(y, p).to_dict()
    three = np.random.default_rng(0).dirichlet(np.ones(3), 300)
    top = tn.monotone_band((three.argmax(1) == 0).astype(int), three.max(1))
    assert tn.monotone_band(np.where(three.argmax(1) == 0, 0, (three.argmax(1) + 1) % 3), three).n == top.n == 300


def test_messages():
    y, p = some_rows(20)
    with pytest.raises(tn.InputError, match="`sample_weight` must be whole numbers for the monotone band"):
        tn.monotone_band(y, p, sample_weight=np.full(20, 0.5))
    with pytest.raises(tn.InputError, match="`level` must lie strictly between 0 and 1"):
        tn.monotone_band(y, p, level=1)
    with pytest.raises(tn.InputError, match="bins do not keep them"):
        tn.monotone_band(tn.binned(y, p))
    with pytest.raises(TypeError, match="cluster"):
        tn.monotone_band(y, p, cluster=np.arange(20))


@pytest.mark.slow
@pytest.mark.parametrize("law", ["uniform", "rare", "tied"])
@pytest.mark.parametrize("truth", ["calibrated", "logit", "step"])
def test_the_whole_band_covers_a_rising_truth(law, truth):
    rng, runs, misses = np.random.default_rng(7), 300, 0
    for _ in range(runs):
        p = {"uniform": rng.random(400), "rare": rng.beta(0.3, 10, 400), "tied": rng.integers(0, 11, 400) / 10}[law]
        f = {"calibrated": p, "logit": p**2 / (p**2 + (1 - p) ** 2), "step": np.where(p < 0.3, 0.2, 0.6)}[truth]
        band = tn.monotone_band(rng.random(400) < f, p, level=0.8)
        order = np.argsort(p)
        at = p[order]
        low = band.low[np.searchsorted(band.score, at, side="right") - 1]
        high = band.high[np.searchsorted(band.score, at)]
        misses += bool((f[order] < low).any() or (f[order] > high).any())
    assert misses / runs <= 0.2 + 3 * math.sqrt(0.2 * 0.8 / runs)


@pytest.mark.parametrize("scores", [1_000, 1_001])
def test_there_are_never_more_than_a_thousand_groups(scores):
    """Of 300,000 rows; each score is a group of its own, or the first two share one. 1,000 − 2ʲ + 1 runs of 2ʲ."""
    p = np.linspace(0, 1, scores)
    cells = tn.tally([0] * scores + [1] * scores, np.tile(p, 2), sample_weight=np.repeat([150, 150], scores))
    band = tn.monotone_band(cells)
    assert band.runs == sum(1_001 - 2**j for j in range(10))
    assert (band.n, band.score.size) == (300 * scores, scores)


def test_as_many_scores_as_groups_are_groups_of_their_own():
    """25 rows make ten groups; one of ten scores has 16 of the rows."""
    p = np.repeat(np.arange(10) / 10 + 0.05, [16, *[1] * 9])
    y = np.arange(25) % 3 == 0
    band = tn.monotone_band(y, p)
    scores, low, high = slow_band(y, p, 0.95)
    assert band.score.tolist() == scores.tolist()
    assert (band.low, band.high) == (pytest.approx(low), pytest.approx(high))


def test_the_distance_and_share_of_each_group_are_those_of_its_rows():
    """No row of the first, or of the other scores of a group, is farther from the band than its distance."""
    y, p = some_rows(160, 160)
    band = tn.monotone_band(y, p, level=0.9)
    scores, low, high = slow_band(y, p, 0.9)
    far = np.maximum(high - scores, scores - low)
    number = np.searchsorted(band.score, scores)  # the rows from the previous score to this one
    for i in range(band.score.size):
        own = far[number == i]
        assert band.distance[i] >= own.max() - 1e-12
        assert band.share[i] == pytest.approx(own.size / 160)
        if own.size <= 2:  # its ends are scores
            assert band.distance[i] == pytest.approx(own.max(), abs=1e-12)


def test_two_scores_of_a_group_have_the_distance_of_the_second():
    """By hand: 4 rows, 4 scores, each alone; and 3 groups of 9 rows of 3 scores each."""
    p = np.arange(1, 10) / 10
    y = np.array([0, 0, 1, 0, 1, 0, 1, 1, 1])
    band = tn.monotone_band(y, p, level=0.5)
    scores, low, high = slow_band(y, p, 0.5)
    far = np.maximum(high - scores, scores - low)
    inside = np.searchsorted(band.score, scores)
    assert [far[inside == i].max() for i in range(band.score.size)] == pytest.approx(band.distance.tolist())


def test_cells_without_rows_do_not_count():
    y, p = some_rows(50, digits=1)
    cells = tn.tally(y, p).parts[0]
    zero = np.zeros(1, dtype=np.int64)
    more = type(cells)(
        *(np.concatenate([column, zero]) for column in (cells.score, cells.count, cells.weight, cells.events))
    )
    more.score[-1] = 2.0
    found, expected = (BandRuns(one).band(0.9).to_dict() for one in (more, cells))
    assert found == expected


def test_the_share_within_of_the_runs_is_that_of_the_band():
    y, p = some_rows(400, 3)
    cells = tn.tally(y, p).parts[0]
    band = tn.monotone_band(y, p, level=0.9)
    for eps in (0.1, 0.2, 0.3, 0.4):
        assert BandRuns(cells).share_within(eps, 0.1) == pytest.approx(band.share_within(eps))


def test_the_level_is_095_by_default():
    y, p = some_rows(50)
    assert tn.monotone_band(y, p).to_dict() == tn.monotone_band(y, p, level=0.95).to_dict()

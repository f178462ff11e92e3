"""The population stability index: by hand, against a slow reference, and the level of its floor."""

import math
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chi2

import trueness as tn


def slow_psi(first, second, edges):
    """The index from its formula, row by row; the last bin is closed."""
    counts = []
    for scores in (first, second):
        count = [0] * (len(edges) - 1)
        for score in scores:
            b = max(i for i in range(len(edges) - 1) if edges[i] <= score)
            count[b] += 1
        counts.append(count)
    filled = [b for b in range(len(edges) - 1) if counts[0][b] + counts[1][b]]
    total = 0.0
    for b in filled:
        a = (counts[0][b] + 0.5) / (len(first) + len(filled) / 2)
        c = (counts[1][b] + 0.5) / (len(second) + len(filled) / 2)
        total += (a - c) * math.log(a / c)
    return total


def test_the_index_is_that_of_a_slow_reference():
    rng = np.random.default_rng(3)
    edges = [0, 0.1, 0.3, 0.55, 0.9, 1]
    first = rng.random(40).round(2)
    second = rng.beta(2, 1, 25).round(2)
    found = tn.psi(first, second, bins=edges)
    assert found.value == pytest.approx(slow_psi(first, second, edges), rel=1e-13)
    assert found.value == pytest.approx(found.parts.sum(), rel=1e-13)
    tenths = tn.psi(first, second)
    edges = [*tenths.low_edge.tolist(), 1.0]
    assert tenths.value == pytest.approx(slow_psi(first, second, edges), rel=1e-13)


def test_the_samples_may_be_exchanged_and_the_index_is_zero_for_equal_shares():
    rng = np.random.default_rng(4)
    first, second = rng.random(50), rng.random(70)
    assert tn.psi(first, second).value == pytest.approx(tn.psi(second, first).value, rel=1e-12)
    same = tn.psi(first, first)
    assert same.value == 0
    assert same.pvalue == 1
    assert not same.shifted


def test_bins_without_any_row_change_nothing():
    first, second = [0.1, 0.15, 0.7], [0.12, 0.72, 0.78, 0.75]
    few = tn.psi(first, second, bins=[0, 0.5, 1])
    more = tn.psi(first, second, bins=[0, 0.5, 0.6, 0.65, 1])
    assert few.value == pytest.approx(more.value, rel=1e-13)
    assert more.parts[1] == 0
    assert few.floor == more.floor


def test_the_floor_is_that_of_all_divisions_of_the_rows():
    """Of ten rows, six in the first sample: 210 divisions, each as likely as the others."""
    pooled = np.array([0.1] * 3 + [0.5] * 4 + [0.9] * 3)
    edges = [0, 0.3, 0.6, 1]
    values = []
    for chosen in combinations(range(10), 6):
        inside = np.isin(np.arange(10), chosen)
        values.append(slow_psi(pooled[inside], pooled[~inside], edges))
    found = tn.psi(pooled[:6], pooled[6:], bins=edges)
    spread = float(np.std(values)) / math.sqrt(1999)
    assert found.floor == pytest.approx(np.mean(values), abs=5 * spread)
    exact = np.mean(np.array(values) >= found.value * (1 - 1e-9))
    assert found.pvalue == pytest.approx(exact, abs=5 * math.sqrt(exact / 1999) + 1 / 1999)


def test_sums_give_the_numbers_of_their_rows():
    rng = np.random.default_rng(5)
    first, second = rng.random(60).round(2), rng.random(80).round(2)
    labels = [rng.integers(0, 2, n) for n in (60, 80)]
    of_sums = tn.psi(tn.tally(labels[0], first), tn.tally(labels[1], second))
    assert of_sums == tn.psi(first, second)


def test_very_many_rows_have_the_floor_of_the_limit_law():
    half = tn.tally([0, 1], [0.2, 0.8], sample_weight=[10**9, 10**9])
    found = tn.psi(half, half, bins=2)
    assert "limit law" in found.method
    assert found.floor == pytest.approx(1e-9, rel=0.2)  # (1/n₁ + 1/n₂) · 1


@pytest.mark.parametrize(
    ("first", "message"),
    [
        ([], "`first` must have at least one row"),
        ([620.0], "`first` must lie in .0, 1.; .* Points of a scorecard"),
        ([math.nan], "`first` must not have missing values; .* Leave such rows out"),
        ([[0.1, 0.9]], "`first` must be a vector of scores"),
        (tn.binned([0, 1], [0.1, 0.2], bins=3), "`first` must keep every distinct score"),
    ],
)
def test_what_is_no_sample_of_scores_is_refused_by_name(first, message):
    with pytest.raises(tn.InputError, match=message):
        tn.psi(first, [0.5])


def test_rules_that_look_at_labels_are_refused():
    with pytest.raises(tn.InputError, match="must not depend on the labels"):
        tn.psi([0.1], [0.2], bins=tn.Isotonic())


def test_the_text_says_whether_chance_explains_the_index():
    rng = np.random.default_rng(6)
    first = rng.beta(2, 8, 300)
    assert "No shift beyond chance" in str(tn.psi(first, rng.beta(2, 8, 300)))
    shifted = tn.psi(first, rng.beta(3, 6, 300))
    assert shifted.shifted
    assert "The scores have shifted" in str(shifted)
    assert "0.0000" not in shifted.sentence


@pytest.mark.slow
@pytest.mark.parametrize(("n_first", "n_second", "bins"), [(100, 100, None), (200, 40, 5)])
def test_equal_distributions_exceed_the_floor_as_often_as_its_level_says(n_first, n_second, bins):
    rng = np.random.default_rng(7)
    runs = 2_000
    exceeded = 0
    for _ in range(runs):
        scores = rng.beta(1.2, 4, n_first + n_second)
        exceeded += tn.psi(scores[:n_first], scores[n_first:], bins=bins, seed=rng).shifted
    # Four standard errors; ties of the table make the test timid, never too eager.
    assert 0.035 <= exceeded / runs <= 0.05 + 4 * math.sqrt(0.05 * 0.95 / runs)


def test_the_limit_law_has_a_degree_of_freedom_for_each_bin_but_one():
    """1/n₁ + 1/n₂ times chi-square; bins without rows do not count."""
    shares = np.array([2, 3, 4, 1]) * 10**8
    first = tn.tally([0, 1, 0, 1], [0.1, 0.3, 0.6, 0.9], sample_weight=shares)
    second = tn.tally(
        [0, 1, 0, 1], [0.1, 0.3, 0.6, 0.9], sample_weight=3 * shares + [30_000, 0, 0, 0]
    )
    found = tn.psi(first, second, bins=[0, 0.2, 0.5, 0.7, 0.75, 1], level=0.9)
    scale = 1 / found.n_first + 1 / found.n_second
    assert found.floor == pytest.approx(3 * scale, rel=0.1)
    assert found.floor_high == pytest.approx(chi2.ppf(0.9, 3) * scale, rel=0.1)
    tail = chi2.sf(found.value / scale, 3)
    assert found.pvalue == pytest.approx(tail, abs=4 * math.sqrt(tail / 1_999) + 1e-3)
    one = tn.psi(first, second, bins=1)
    assert (one.value, one.floor, one.floor_high, one.pvalue) == (0, 0, 0, 1)


@pytest.mark.parametrize("sums", [tn.tally([0, 1], [0.2, 0.4], sample_weight=[0.5, 1.5])])
def test_sums_whose_weights_do_not_count_rows_are_refused(sums):
    with pytest.raises(tn.InputError, match="`second` must have weights that count rows"):
        tn.psi([0.1, 0.2], sums)
    several = tn.tally([0, 1, 2], np.eye(3) * 0.4 + 0.2, kind="classwise")
    with pytest.raises(tn.InputError, match="`second` must have one score per row; got 3 classes"):
        tn.psi([0.1, 0.2], several)

"""The bins behind the test-based calibration error."""

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import stats
from strategies import arrays, rows

import trueness as tn
from trueness.measure._tce import bins_with_rejections

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


@settings(max_examples=40)
@given(pairs=rows)
@pytest.mark.parametrize("rule", [tn.BlockIsotonic(), tn.EqualWidth(4), tn.EqualMass(3)], ids=str)
def test_the_rejected_share_is_the_tce_and_empty_bins_are_left_out(rule, pairs):
    y, p = arrays(pairs)
    found = bins_with_rejections(tn.tally(y, p).parts[0], rule, 0.05, "binomial")
    assert found.tce == tn.tce(y, p, bins=rule)
    table = tn.bin_table(y, p, bins=rule)
    filled = table.n > 0
    assert found.n.tolist() == table.n[filled].tolist()
    assert found.rate.tolist() == table.rate[filled].tolist()
    assert found.low_edge.tolist() == table.low_edge[filled].tolist()


def test_densities_follow_the_scores():
    p = np.concatenate([np.full(900, 0.1), np.linspace(0.1, 0.4, 100)])
    found = bins_with_rejections(tn.tally(np.arange(1000) % 2, p).parts[0], tn.EqualWidth(1), 0.05, "t")
    assert found.places[0, 0] == pytest.approx(0.1, abs=0.01)
    assert found.places[0, -1] == pytest.approx(0.4, abs=0.01)
    assert found.density[0].argmax() == 0
    assert found.density[0].max() == 1
    constant = bins_with_rejections(tn.tally([0, 1], [0.3, 0.3]).parts[0], tn.EqualWidth(1), 0.05, "t")
    assert set(constant.places[0]) == {0.3}


def test_a_record_can_be_written_as_plain_python():
    import json

    found = bins_with_rejections(tn.tally([0, 1], [0.2, 0.9]).parts[0], tn.EqualWidth(2), 0.05, "t")
    assert json.loads(json.dumps(found.to_dict()))["n"] == [1, 1]


@pytest.mark.all_cases
@pytest.mark.parametrize("seed", range(20))
def test_t_tests_of_weighted_rows_with_equal_labels_reject_every_score_but_one(seed):
    """The effective number of events is that of rows, to the last bit."""
    y, p = np.repeat([0, 1], 9), np.repeat([1e-10, 1 - 1e-10], 9)
    w = np.random.default_rng(seed).random(18)
    assert tn.tce(y, p, sample_weight=w, bins=2, test="t") == pytest.approx(100)


def test_a_score_of_1_is_rejected_by_any_number_of_rows_without_events():
    with pytest.warns(tn.OneClassWarning):
        assert tn.tce([0, 0], [1.0, 0.3], sample_weight=[10**8] * 2, bins=1) == 100


# ------------------------------------------------------------------------------------- any test, norm and level

LABELS = [1, 1, 1, 0, 0, 0, 0, 0, 0, 0, *[0] * 5]
SCORES = [0.0, *[0.3] * 8, 0.4, 0.9, 0.9, 0.9, 1.0, 1.0]  # bins=2: 3 events in 10 rows, 0 in 5


@pytest.mark.parametrize("alpha", [0, 1e-4, 0.05, 0.5, 1])
def test_a_function_tests_as_the_named_test_does(alpha):
    def test(events, n, scores):
        return [stats.binomtest(events, n, p).pvalue for p in scores]

    rng = np.random.default_rng(3)
    p = rng.random(60).round(2)
    y = (rng.random(60) < p**2).astype(int)
    for options in ({"bins": 4}, {}, {"bins": 4, "norm": "l2"}, {"bins": 4, "sample_weight": rng.integers(0, 3, 60)}):
        assert tn.tce(y, p, test=test, alpha=alpha, **options) == tn.tce(y, p, alpha=alpha, **options)
    assert tn.gce(y, p, loss="rejection", test=test, alpha=alpha) == tn.gce(y, p, loss="rejection", alpha=alpha)


@pytest.mark.parametrize(
    ("test", "refuted"),
    [
        ("binomial", 1 + 2),  # 0 where events happened, 1 where not all rows were events
        ("t", 0 + 5),  # labels that are all 0 have no variance, and none of their scores is 0
        ("t-variance-for-deviation", 0 + 5),
    ],
)
def test_levels_of_zero_and_one(test, refuted):
    assert tn.tce(LABELS, SCORES, bins=2, test=test, alpha=0) == pytest.approx(100 * refuted / 15, rel=1e-15)
    assert tn.tce(LABELS, SCORES, bins=2, test=test, alpha=1) == 100
    assert tn.tce([0, 0], [0.0, 0.0], bins=2, test=test, alpha=1) == 100  # a p-value of 1 is at most 1


def test_norms_of_the_percentages():
    each = np.array([10.0, 40.0])  # α = 0: 1 of 10 rows, 2 of 5
    weights = np.array([10, 5]) / 15
    for norm, value in {
        "l2": np.sqrt(weights @ each**2),
        "max": 40,
        3: (weights @ each**3) ** (1 / 3),
        np.dot: weights @ each,
        (lambda loss, _: np.linalg.norm(loss)): np.linalg.norm(each),
    }.items():
        options = {"bins": 2, "alpha": 0, "norm": norm}
        assert tn.tce(LABELS, SCORES, **options) == pytest.approx(value, rel=1e-12)
        assert tn.gce(LABELS, SCORES, loss="rejection", **options) == pytest.approx(value, rel=1e-12)
    gaps = [abs(0.3 - np.mean(SCORES[:10])), np.mean(SCORES[10:])]
    assert tn.gce(LABELS, SCORES, bins=[0, 0.5, 0.8, 1], norm=lambda loss, _: loss.sum()) == pytest.approx(
        sum(gaps), rel=1e-12
    )


def test_blocks_without_a_least_size():
    """Algorithm 2 with N_min = 0 by hand: rows pool while rates fall, up to n_max, and none is kept back."""
    y, p = [1, 0, 0, 1, 0, 1, 0], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
    for n_max, sizes in {7: [3, 4], 3: [3, 2, 2], 2: [2, 1, 2, 2], 1: [1] * 7}.items():
        assert tn.bin_table(y, p, bins=tn.BlockIsotonic(0, n_max)).n.tolist() == sizes
    assert tn.bin_table(y, p, bins=tn.BlockIsotonic(0)).n.tolist() == [1] * 7  # ⌊7/5⌋ rows at most
    assert tn.bin_table([1], [0.5], bins=tn.BlockIsotonic(0)).n.tolist() == [1]

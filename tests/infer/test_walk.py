"""Walks of cumulated differences."""

import numpy as np
import pytest
from hypothesis import given, settings
from strategies import arrays, rows, weighted_rows

import trueness as tn
from trueness.infer import calibration_test, cumulative_walk

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


@settings(max_examples=40)
@given(pairs=rows)
def test_the_extremes_of_a_walk_are_the_statistics(pairs):
    y, p = arrays(pairs)
    walk = cumulative_walk(y, p)
    assert np.abs(walk.height).max() == pytest.approx(tn.calibration_test(y, p, method="ks").statistic, abs=1e-12)
    assert np.ptp(walk.height) == pytest.approx(tn.calibration_test(y, p, method="kuiper").statistic, abs=1e-12)
    assert walk.height[-1] == pytest.approx(np.mean(y - p), abs=1e-12)
    assert walk.share[0] == 0
    assert walk.share[-1] == 1


@settings(max_examples=40)
@given(sample=weighted_rows())
def test_weight_two_is_the_row_twice(sample):
    y, p, w = sample
    times = w.astype(int)
    weighted, repeated = (
        cumulative_walk(y, p, sample_weight=w),
        cumulative_walk(np.repeat(y, times), np.repeat(p, times)),
    )
    for column in ("share", "score", "height", "half"):
        np.testing.assert_allclose(getattr(weighted, column), getattr(repeated, column), atol=1e-12)


def test_a_long_walk_keeps_its_ends_and_extremes():
    d = tn.simulate.binary(50_000, distortion=tn.simulate.Logit(slope=0.7), seed=1)
    walk = cumulative_walk(d.y_true, d.y_prob)
    order = np.argsort(d.y_prob)
    path = np.cumsum(d.y_true[order] - d.y_prob[order]) / 50_000
    assert walk.share.size <= 2002
    assert walk.height.max() == pytest.approx(path.max(), abs=1e-12)
    assert walk.height.min() == pytest.approx(min(0, path.min()), abs=1e-12)
    assert (np.diff(walk.share) > 0).all()


@pytest.mark.slow
def test_a_calibrated_walk_stays_within_its_bands_as_often_as_the_level_says():
    runs, level = 600, 0.8
    inside, ends = 0, 0
    for seed in range(runs):
        d = tn.simulate.binary(500, seed=seed)
        walk = cumulative_walk(d.y_true, d.y_prob, level=level)
        inside += np.abs(walk.height).max() <= walk.reach
        ends += abs(walk.height[-1]) <= walk.half[-1]
    # Four deviations of a share of 600 runs, and 0.02 for the steps of a walk of 500 rows, which keep it inside.
    slack = 4 * np.sqrt(level * (1 - level) / runs)
    assert level - slack < inside / runs < level + slack + 0.02
    assert abs(ends / runs - level) < slack


def test_scores_of_0_and_1_have_no_band():
    walk = cumulative_walk([0, 1, 1], [0.0, 1.0, 1.0])
    assert walk.reach == 0
    assert walk.half.tolist() == [0.0, 0.0, 0.0]


def test_the_top_label_of_a_matrix_is_walked():
    P = np.array([[0.8, 0.2], [0.3, 0.7]])
    assert cumulative_walk([0, 0], P).height[-1] == pytest.approx(0.5 - 0.75)
    with pytest.raises(tn.InputError, match="`kind` must be 'confidence' here"):
        cumulative_walk([0, 0], P, kind="classwise")
    with pytest.raises(tn.InputError, match="`level` must lie strictly between 0 and 1"):
        cumulative_walk([0, 1], [0.2, 0.3], level=1)


def test_a_walk_can_be_written_as_plain_python():
    import json

    found = json.loads(json.dumps(cumulative_walk([0, 1], [0.2, 0.3]).to_dict()))
    assert found["ks"]["method"] == "ks"


@pytest.mark.parametrize("weights", [None, "fractional"])
def test_its_tests_are_those_of_calibration_test(weights):
    rng = np.random.default_rng(1)
    p = rng.random(5000).round(4)
    y = rng.random(5000) < p**1.1
    w = None if weights is None else rng.random(5000)
    walk = cumulative_walk(y, p, sample_weight=w)
    assert walk.ks == calibration_test(y, p, method="ks", sample_weight=w)
    assert walk.kuiper == calibration_test(y, p, method="kuiper", sample_weight=w)

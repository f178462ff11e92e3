"""Noise floors of measures against labels redrawn row by row."""

import math
from functools import partial

import numpy as np
import pytest

import trueness as tn

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
DRAWS = 1_000
NORMS = {
    "l1": (partial(tn.ece, norm="l1"), lambda gap, share: gap @ share),
    "l2": (partial(tn.ece, norm="l2"), lambda gap, share: np.sqrt(gap**2 @ share)),
    "l3": (partial(tn.ece, norm=3), lambda gap, share: (gap**3 @ share) ** (1 / 3)),
    "max": (tn.mce, lambda gap, _: gap.max(axis=1)),
    "squared": (partial(tn.gce, loss="squared"), lambda gap, share: gap**2 @ share),
}


def redrawn_gaps(p, w, edges):
    """|event rate − mean score| of the bins that have rows for labels drawn from the scores, and the bins' shares."""
    which = np.minimum(np.searchsorted(edges, p, side="right") - 1, len(edges) - 2)
    each = (which[:, np.newaxis] == np.unique(which)) * w[:, np.newaxis]
    y = np.random.default_rng(1).random((DRAWS, p.size)) < p
    return np.abs((y - p) @ each) / each.sum(axis=0), each.sum(axis=0) / w.sum()


def assert_floor(found, values):
    """The mean within four standard errors, and the 90 % quantile between those of 86 and 94 %."""
    assert abs(found.floor - values.mean()) < 4 * values.std() * math.sqrt(1 / 999 + 1 / DRAWS)
    low, high = np.quantile(values, [0.86, 0.94])
    assert low - 1e-9 <= found.floor_high <= high + 1e-9


def scores_of(law, n=400):
    u = (np.arange(n) + 0.5) / n
    # Bins of many events; of few; and both.
    return {"many": 0.2 + 0.6 * u, "few": u**4 / 4, "both": u**2}[law]


@pytest.mark.parametrize("law", ["many", "few", "both"])
@pytest.mark.parametrize("weights", ["none", "whole", "fractional", "heavy"])
def test_the_floor_of_gaps_is_that_of_labels_drawn_row_by_row(law, weights):
    p = scores_of(law)
    n, edges = p.size, np.array([0, 0.1, 0.4, 0.6, 0.9, 1])
    y = (np.arange(n) % 3 == 0).astype(int)
    w = {
        "none": np.ones(n),
        "whole": 1.0 + np.arange(n) % 3,
        "fractional": 0.25 + np.arange(n) % 2,
        "heavy": np.where(np.arange(n) % 40 == 0, 20.5, 0.5),
    }[weights]
    options = {} if weights == "none" else {"sample_weight": w}
    # A whole weight counts rows, which are drawn one by one.
    score, weight = (
        (p.repeat(w.astype(int)), np.ones(int(w.sum()))) if weights == "whole" else (p, w)
    )
    gap, share = redrawn_gaps(score, weight, edges)
    norms = NORMS if weights == "none" else ["l1", "max"]
    for name in norms:
        measure, norm = NORMS[name]
        found = tn.estimate(measure, y, p, bins=edges, level=0.9, seed=0, **options)
        assert_floor(found, norm(gap, share))


@pytest.mark.parametrize(
    "n", [400, 60]
)  # a variance above and below the one from which on sums are normal
@pytest.mark.parametrize("spread", [False, True])
def test_bins_draw_their_events_with_the_spread_of_their_scores(n, spread):
    """The labels of scores between 0 and 1 vary two thirds as much as labels of score 1/2."""
    p = (np.arange(n) + 0.5) / n if spread else np.full(n, 0.5)
    y = (np.arange(n) % 3 == 0).astype(int)
    found = tn.estimate("ece", tn.binned(y, p, bins=[0, 1]), bins=[0, 1], level=0.9, seed=0)
    values = redrawn_gaps(p, np.ones(n), np.array([0, 1]))[0][:, 0]
    assert abs(found.floor - values.mean()) < 4 * values.std() * math.sqrt(1 / 999 + 1 / DRAWS)


def test_bins_of_equal_mass_have_their_own_floor():
    p = scores_of("both")
    found = tn.estimate(
        "ace", (np.arange(p.size) % 3 == 0).astype(int), p, bins=5, level=0.9, seed=0
    )
    gap, share = redrawn_gaps(p, np.ones(p.size), np.append(p[::80], 1))
    assert_floor(found, gap @ share)


def test_very_many_rare_scores_are_drawn_in_pools():
    p = (np.arange(9_000) + 0.5) / 9_000 / 500  # nine events
    y = (np.arange(9_000) % 1_000 == 0).astype(int)
    found = tn.estimate("ece", y, p, bins=[0, 0.0005, 0.001, 1], level=0.9, seed=0)
    away = (np.random.default_rng(1).random((300, 9_000)) < p) - p
    values = np.abs(np.add.reduceat(away, [0, 2_250, 4_500], axis=1)).sum(axis=1) / 9_000
    assert abs(found.floor - values.mean()) < 4 * values.std() * math.sqrt(1 / 999 + 1 / 300)


def test_the_floor_of_top_labels_is_the_mean_over_predicted_classes():
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(3) / 2, 300)
    y = np.array([rng.choice(3, p=row) for row in P])
    found = tn.estimate("ece", y, P, kind="top-label", bins=4, level=0.9, seed=0)
    top, score = P.argmax(axis=1), P.max(axis=1)
    values = 0.0
    for label in range(3):
        gap, share = redrawn_gaps(
            score[top == label], np.ones((top == label).sum()), np.arange(5) / 4
        )
        values = values + (gap @ share) * (top == label).mean()
    # The classes are drawn with one seed each here, so that only means agree.
    assert found.floor == pytest.approx(values.mean(), rel=0.03)


def test_sums_of_unequal_weights_at_one_score_have_no_floor_for_drawn_labels_and_rows_have_one():
    y, p, w = [0, 1, 0, 1] * 10, [0.2, 0.2, 0.7, 0.7] * 10, [0.5, 1.5, 1.0, 2.5] * 10
    sums = tn.estimate("smooth_ece", tn.tally(y, p, sample_weight=w), seed=0)
    rows = tn.estimate("smooth_ece", y, p, sample_weight=w, seed=0)
    assert math.isnan(sums.floor)
    assert 0 < rows.floor < rows.floor_high
    clusters = tn.estimate("smooth_ece", y, p, sample_weight=w, cluster=np.arange(40) // 2, seed=0)
    assert math.isnan(clusters.floor)


@pytest.mark.parametrize(
    "measure", ["miscalibration", lambda sums: tn.ece(sums, bins=3)], ids=["summed", "mean"]
)
def test_the_floor_of_class_wise_sums_is_near_that_of_their_rows(measure):
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(3), 150)
    y = np.array([rng.choice(3, p=row) for row in P])
    rows, sums = tn.estimate(measure, y, P, seed=0), tn.estimate(measure, tn.tally(y, P), seed=0)
    assert sums.floor == pytest.approx(rows.floor, rel=0.15)
    assert math.isnan(sums.floor_high)
    assert rows.floor < rows.floor_high


def test_the_floor_is_optional():
    y, p = [0, 1, 0, 1], [0.2, 0.4, 0.6, 0.8]
    assert math.isnan(tn.estimate("mce", y, p, floor=False).floor)
    assert tn.estimate("mce", y, p, seed=0) == tn.estimate("mce", y, p, floor=True, seed=0)

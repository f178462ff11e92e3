"""Labels redrawn from the scores, seen through measures and tests of them."""

import math
from functools import partial

import numpy as np
import pytest
from grids import slow
from scipy import stats

import trueness as tn
from trueness import calibration_test, noise_floor

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
P = np.array([0.2, 0.5, 0.5, 0.7, 0.7, 0.7, 0.9])
M = np.array(
    [[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.05, 0.05, 0.9], [0.5, 0.2, 0.3], [0.1, 0.1, 0.8]]
)
W = np.array([0.5, 2.0, 0.0, 1.5, 3.25])


def redrawn(scores, number, seed=0, **options):
    """The tallies that a measure is asked for; the first is not drawn from this seed."""
    seen = []

    def look(tally):
        seen.append(tally)
        return 0.0

    noise_floor(look, scores, resamples=number, seed=seed, **options)
    return seen[1:]


def events(tallies, part=0):
    return np.array([tally.parts[part].events for tally in tallies])


def close(drawn, mean, variance):
    """Mean and variance within five standard errors."""
    n = len(drawn)
    np.testing.assert_array_less(
        np.abs(drawn.mean(axis=0) - mean), 5 * np.sqrt(np.asarray(variance) / n) + 1e-9
    )
    np.testing.assert_allclose(drawn.var(axis=0), variance, rtol=8 / math.sqrt(n), atol=1e-9)


def test_weights_that_count_rows_are_that_number_of_labels():
    found = events(redrawn([0.3, 0.6], 800, sample_weight=[8, 3]))
    close(found, [2.4, 1.8], [1.68, 0.72])
    assert set(found[:, 0]) > {1.0, 2.0, 3.0}


@pytest.mark.slow
def test_rows_without_weights_have_binomial_events_in_cells():
    found = events(redrawn(P, 2_000))
    n, p = np.array([1, 2, 3, 1]), np.array([0.2, 0.5, 0.7, 0.9])
    close(found, n * p, n * p * (1 - p))
    assert (found <= n).all()
    whole = events(redrawn([0.3, 0.6], 1_000, sample_weight=[8, 3]))
    close(whole, [2.4, 1.8], [1.68, 0.72])


@pytest.mark.parametrize("form", ["rows", "sums"])
def test_importance_weights_draw_one_label_per_row_with_its_squares(form):
    if form == "rows":
        score, w, n = P[:5], W, {0.2: [0.5], 0.5: [2.0], 0.7: [1.5, 3.25]}
        given = {"y_prob": score, "sample_weight": w}
    else:  # rows of one score must have equal weights
        score, w, n = (
            np.repeat([0.3, 0.6], [2, 3]),
            [2.5] * 2 + [0.5] * 3,
            {0.3: [2.5] * 2, 0.6: [0.5] * 3},
        )
        given = {"y_prob": tn.tally([0, 1, 1, 0, 1], score, sample_weight=w)}
    tallies = redrawn(given.pop("y_prob"), 2_000, weight_type="importance", **given)
    close(
        events(tallies),
        [p * sum(w) for p, w in n.items()],
        [p * (1 - p) * np.square(w).sum() for p, w in n.items()],
    )
    for tally in tallies[:50]:
        (part,) = tally.parts
        assert part.weight.tolist() == [sum(w) for w in n.values()]
        for total, squares, weights in zip(
            part.events, part.event_squares, n.values(), strict=True
        ):
            sums = {0.0: 0.0}
            for one in weights:
                sums |= {a + one: b + one**2 for a, b in sums.items()}
            assert sums[total] == pytest.approx(squares)
    mixed = tn.tally([0, 1, 1], [0.3, 0.3, 0.6], sample_weight=[0.001, 0.003, 0.001])
    with pytest.raises(tn.InputError, match="do not tell the rows of one score apart"):
        noise_floor(tn.smooth_ece, mixed, weight_type="importance")


def test_whole_importance_weights_have_whole_events():
    w = [3, 1, 1, 2, 2, 2, 4]
    whole = tn.tally(np.zeros(7), P, sample_weight=w, weight_type="importance")
    for tallies in (
        redrawn(P, 20, sample_weight=w, weight_type="importance"),
        redrawn(whole, 20, weight_type="importance"),
    ):
        for tally in tallies:
            assert not tally.parts[0].whole
            assert set((tally.parts[0].events % [3, 1, 2, 4]).tolist()) == {0}


@pytest.mark.parametrize("kind", ["confidence", *slow("top-label", "classwise")])
@pytest.mark.parametrize("weights", [None, "importance", "frequency"])
def test_a_matrix_has_one_class_per_row(kind, weights):
    w = {None: np.ones(5), "importance": W, "frequency": np.array([2, 0, 1, 3, 1])}[weights]
    options = {} if weights is None else {"sample_weight": w, "weight_type": weights}
    tallies = redrawn(M, 1_500, kind=kind, **options)
    squares = w if weights == "frequency" else w**2
    sums = np.array([[part.events.sum() for part in tally.parts] for tally in tallies])
    if kind == "classwise":
        np.testing.assert_allclose(sums.sum(axis=1), w.sum())
        close(sums, w @ M, squares @ (M * (1 - M)))
        assert len({part.events.tobytes() for tally in tallies for part in tally.parts}) > 10
    else:
        top, label = M.max(axis=1), M.argmax(axis=1)
        of = np.ones((5, 1)) if kind == "confidence" else label[:, None] == np.arange(3)
        close(sums, (w * top) @ of, (squares * top * (1 - top)) @ of)
    assert len(tallies[0].parts) == (1 if kind == "confidence" else 3)


def test_logits_are_drawn_as_their_probabilities():
    Z = np.random.default_rng(0).normal(size=(40, 3)) * 3
    S = np.exp(Z) / np.exp(Z).sum(axis=1, keepdims=True)
    for kind in ("classwise", "confidence"):
        one, other = (
            events(redrawn(scores, 5, kind=kind, **o))
            for scores, o in ((Z, {"from_logits": True}), (S, {}))
        )
        assert one.tolist() == other.tolist()


# ---- many draws at once, by tests


@pytest.mark.parametrize("count", [1, 5, 40, 2_000, 5 * 10**9])
def test_redrawn_events_are_binomial(count):
    """The p-value of 'ks' for one score is that of |events − np|: few rows one by one, many as one binomial number."""
    p, draws = (0.3, 3_999) if count < 10**9 else (1e-8, 999)
    weights = np.array([count - max(0, round(count * p)), max(0, round(count * p))])
    more = np.array([-1, 1]) * max(1, round(math.sqrt(count * p * (1 - p))))
    for w in (weights, np.clip(weights + more, 0, count)):
        found = calibration_test(
            [0, 1], [p, p], method="ks", sample_weight=w, resamples=draws, seed=1
        )
        reach = abs(w[1] - count * p)
        law = stats.binom(count, p)
        below, above = math.floor(count * p - reach + 1e-7), math.ceil(count * p + reach - 1e-7)
        exact = min(1.0, law.cdf(below) + law.sf(above - 1)) if above > below else 1.0
        assert found.pvalue == pytest.approx(
            exact, abs=5 * math.sqrt(exact * (1 - exact) / draws) + 2 / draws
        )


@pytest.mark.parametrize("shape", ["rows", "tables", "mixed"])
def test_sums_of_many_cells_have_their_null_spread(shape):
    """z of Spiegelhalter is normal: drawn p-values are those of its limit, whichever way labels are drawn."""
    rng = np.random.default_rng(2)
    n = {
        "rows": np.ones(400, int),
        "tables": np.full(400, 30),
        "mixed": rng.choice([1, 5, 40, 3_000], 400),
    }[shape]
    p = rng.uniform(0.05, 0.95, 400)
    for seed in range(3):
        y = np.random.default_rng(seed).binomial(n, p)
        label, score, w = np.repeat([0, 1], 400), np.tile(p, 2), np.concatenate([n - y, y])
        drawn = calibration_test(
            label, score, method="spiegelhalter", sample_weight=w, resamples=1_999, seed=seed
        )
        limit = 2 * stats.norm.sf(abs(drawn.statistic))
        assert drawn.pvalue == pytest.approx(limit, abs=5 * math.sqrt(limit / 2_000) + 0.01)


@pytest.mark.slow
def test_labels_are_drawn_with_chances_that_sixteen_bits_cannot_hold():
    """40,000 rows of a quarter and of three quarters of 2⁻¹⁶: no event with probability e⁻⁰·³; and none of score 0."""
    step = 2.0**-16
    p = np.tile([0.25 * step, 0.75 * step], 20_000) * (1 + np.arange(40_000) * 1e-9)
    found = calibration_test(
        np.zeros(40_000), p, method="ks", resamples=1_999, seed=0
    )  # no event is the median
    one = calibration_test(np.arange(40_000) == 39_999, p, method="ks", resamples=1_999, seed=0)
    assert found.pvalue == 1
    assert one.pvalue == pytest.approx(-math.expm1(-p.sum()), abs=0.06)
    many = np.concatenate([np.zeros(3_000), np.ones(3_000), np.full(4, 0.5)])
    test = calibration_test(
        np.r_[np.zeros(3_000), np.ones(3_000), 0, 1, 0, 1], many, method="ks", resamples=99, seed=0
    )
    assert test.pvalue == 1  # no label of score 0 or 1 was drawn wrong


def test_values_that_differ_by_rounding_are_equal():
    """Rows of 0.1, 0.2 and 0.3 have the same mean as their mirror images: ties count in favour of calibration."""
    y, p = [1, 0, 0, 1], [0.1, 0.3, 0.7, 0.9]
    same = [
        calibration_test(y, p, method=m, resamples=1, seed=s).pvalue
        for m in ("ks", "cox")
        for s in range(8)
    ]
    assert set(same) <= {0.5, 1.0}
    one = calibration_test([1], [0.3], method="spiegelhalter", resamples=3_999, seed=0)
    assert one.pvalue == pytest.approx(0.3, abs=0.04)


@pytest.mark.slow
def test_more_than_two_hundred_million_labels_are_not_redrawn():
    """999 sets of 200,201 labels."""
    for n, drawn in ((200_200, True), (200_201, False)):
        p = np.linspace(1e-6, 1e-5, n)
        found = calibration_test(np.arange(n) == 0, p, method="ks", seed=0)
        assert ("were drawn" in found.assumptions) == drawn
        assert ("may be too small" in found.assumptions) == (not drawn)


def test_a_floor_of_the_same_seed_is_the_same_for_rows_and_sums():
    one = noise_floor(partial(tn.ece, bins=3), P, resamples=9, seed=1).draws
    assert (
        one.tolist()
        == noise_floor(
            partial(tn.ece, bins=3), tn.tally(P > 0.5, P), resamples=9, seed=1
        ).draws.tolist()
    )


def test_importance_weights_of_a_matrix_stay_with_the_class_that_is_drawn():
    tallies = redrawn(M, 300, kind="classwise", sample_weight=W, weight_type="importance")
    sums = np.array([[part.events.sum() for part in tally.parts] for tally in tallies])
    np.testing.assert_allclose(sums.sum(axis=1), W.sum())
    close(sums, W @ M, W**2 @ (M * (1 - M)))
    squares = np.array([[part.event_squares.sum() for part in tally.parts] for tally in tallies])
    np.testing.assert_allclose(squares.sum(axis=1), W @ W)
    assert all((part.events <= part.weight).all() for tally in tallies for part in tally.parts)

"""What a calibrated model would show."""

import json
from functools import partial
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueness as tn
from trueness.infer import noise_floor
from trueness.infer.null import _noise_floor as _noise_floor
from trueness.measure._tce import tce_of_tallies

RNG = np.random.default_rng(7)
P = RNG.random(300)
Y = RNG.random(300) < P
M = RNG.dirichlet([1, 2, 3], 200)
C = (RNG.random((200, 1)) > M.cumsum(axis=1)).sum(axis=1)
KINDS = ("classwise", "confidence", "top-label")


def rate(tally):
    """A measure of one's own: the number of events per row, over all parts."""
    return sum(part.events.sum() for part in tally.parts) / tally.n


def test_the_floor_of_one_score_is_that_of_a_binomial_number():
    n, p = 20, 0.3
    error = np.abs(np.arange(n + 1) / n - p)
    share = np.array([comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)])
    mean = error @ share
    std = np.sqrt(error**2 @ share - mean**2)
    found = noise_floor(tn.ece, [p] * n, observed=0.2, resamples=4_000, seed=1)
    assert abs(found.mean - mean) < 4 * std / np.sqrt(4_000)
    assert found.std == pytest.approx(std, rel=0.05)
    tail = share[error >= 0.2 - 1e-9].sum()
    assert abs(found.pvalue - tail) < 4 * np.sqrt(tail / 4_000)


@pytest.mark.parametrize("kind", KINDS)
def test_a_matrix_of_equal_rows_has_the_floor_of_its_multinomial_number(kind):
    row, n = np.array([0.5, 0.3, 0.2]), 12
    found = noise_floor(partial(tn.ece, bins=1), np.tile(row, (n, 1)), kind=kind, resamples=4_000, seed=2)
    rng = np.random.default_rng(3)
    share = rng.multinomial(n, row, 100_000) / n
    gaps = np.abs(share - row)
    expected = gaps.mean(axis=1) if kind == "classwise" else gaps[:, 0]
    assert abs(found.mean - expected.mean()) < 4 * expected.std() / np.sqrt(4_000)
    assert found.std == pytest.approx(expected.std(), rel=0.06)
    assert found.kind == kind


def test_the_classes_of_a_row_exclude_each_other():
    found = noise_floor(rate, M, kind="classwise", resamples=50, seed=1)
    assert found.draws.tolist() == [1.0] * 50


def test_classes_come_as_often_as_the_scores_say():
    def of_first(tally):
        return tally.parts[0].events.sum() / tally.n

    found = noise_floor(of_first, M, kind="classwise", resamples=2_000, seed=1)
    sd = np.sqrt((M[:, 0] * (1 - M[:, 0])).sum()) / len(M)
    assert abs(found.mean - M[:, 0].mean()) < 4 * sd / np.sqrt(2_000)
    assert found.std == pytest.approx(sd, rel=0.07)


@pytest.mark.parametrize("kind", KINDS)
def test_redrawn_tallies_have_the_scores_and_counts_of_the_given_ones(kind):
    given_tally = tn.tally(C, M, kind=kind)
    seen = []

    def look(tally):
        seen.append(tally)
        return 0.0

    noise_floor(look, M, y_true=C, kind=kind, resamples=3, seed=1)
    for tally in seen:
        assert (tally.kind, tally.classes, tally.n) == (given_tally.kind, given_tally.classes, given_tally.n)
        for a, b in zip(tally.parts, given_tally.parts, strict=True):
            assert a.score.tolist() == b.score.tolist()
            assert a.count.tolist() == b.count.tolist()
            assert ((a.events >= 0) & (a.events <= a.count)).all()
    assert seen[0].parts[0] == given_tally.parts[0]


@given(seed=st.integers(0, 10**6), workers=st.sampled_from([2, 3]), resamples=st.integers(1, 50))
def test_the_seed_decides_whatever_the_number_of_workers(seed, workers, resamples):
    one = noise_floor(tn.ece, P, y_true=Y, resamples=resamples, seed=seed)
    many = noise_floor(tn.ece, P, y_true=Y, resamples=resamples, seed=seed, workers=workers)
    assert one.draws.tolist() == many.draws.tolist()
    assert one.pvalue == many.pvalue
    assert noise_floor(tn.ece, P, resamples=resamples, seed=seed + 1).draws[0] != one.draws[0]


def test_a_generator_moves_on():
    rng = np.random.default_rng(1)
    first, second = (noise_floor(tn.ece, P, resamples=5, seed=rng).draws for _ in range(2))
    assert first.tolist() != second.tolist()


@pytest.mark.parametrize("kind", ["confidence", "top-label"])
def test_a_tally_takes_the_place_of_scores_and_labels(kind):
    options = {"resamples": 30, "seed": 1}
    assert noise_floor(tn.ece, tn.tally(Y, P), **options) == noise_floor(tn.ece, P, y_true=Y, **options)
    of_sums = noise_floor(tn.ece, tn.tally(C, M, kind=kind), **options)
    assert of_sums == noise_floor(tn.ece, M, y_true=C, kind=kind, **options)


def test_the_observed_value_is_the_measure_of_the_labels():
    found = noise_floor(tn.ece, P, y_true=Y, resamples=99, seed=1)
    assert found.observed == tn.ece(Y, P)
    assert found.excess == found.observed - found.mean
    assert found.pvalue == (1 + (found.draws >= found.observed).sum()) / 100
    unknown = noise_floor(tn.ece, P, resamples=99, seed=1)
    assert (unknown.observed, unknown.pvalue, unknown.excess) == (None, None, None)
    assert unknown.draws.tolist() == found.draws.tolist()


def test_the_p_value_is_never_0():
    assert noise_floor(tn.ece, P, observed=0.9, resamples=99, seed=1).pvalue == 0.01
    assert noise_floor(tn.ece, P, observed=-1, resamples=99, seed=1).pvalue == 1


def test_the_alternative_chooses_the_tail():
    found = {
        side: noise_floor(tn.ece, P, observed=0.03, alternative=side, resamples=199, seed=1).pvalue
        for side in ("greater", "less", "two-sided")
    }
    assert found["greater"] + found["less"] == pytest.approx(1 + 1 / 200)
    assert found["two-sided"] == min(1, 2 * min(found["greater"], found["less"]))


def test_a_whole_number_weight_repeats_the_row():
    w = np.random.default_rng(1).integers(0, 4, P.size)
    options = {"resamples": 20, "seed": 1}
    weighted = noise_floor(tn.ece, P, y_true=Y, sample_weight=w, **options)
    assert weighted == noise_floor(tn.ece, np.repeat(P, w), y_true=np.repeat(Y, w), **options)
    assert weighted == noise_floor(tn.ece, tn.tally(Y, P, sample_weight=w), **options)
    w = w[: len(M)]
    weighted = noise_floor(tn.ece, M, y_true=C, sample_weight=w, **options)
    again = noise_floor(tn.ece, np.repeat(M, w, axis=0), y_true=np.repeat(C, w), **options)
    assert weighted.mean == pytest.approx(again.mean, rel=0.2)
    assert weighted.observed == pytest.approx(again.observed)
    assert weighted.n == again.n


@pytest.mark.parametrize("kind", ["binary", *KINDS])
def test_with_importance_weights_a_row_has_one_label(kind):
    w = np.random.default_rng(1).integers(1, 3, len(M)) * 100.5
    scores, options = (M, {"kind": kind}) if kind != "binary" else (P[: len(M)], {})

    def events(tally):
        return float(tally.parts[0].events.sum() / tally.parts[0].weight.sum())

    found = noise_floor(events, scores, sample_weight=w, weight_type="importance", resamples=1_000, seed=1, **options)
    if kind in ("binary", "classwise"):
        p = scores if kind == "binary" else M[:, 0]
        sd = np.sqrt((w**2 * p * (1 - p)).sum()) / w.sum()
        assert abs(found.mean - (w * p).sum() / w.sum()) < 4 * sd / np.sqrt(1_000)
        assert found.std == pytest.approx(sd, rel=0.1)
    alike = noise_floor(events, scores, resamples=1_000, seed=1, **options)
    # Unequal weights make for fewer effective rows, not 100 times more.
    assert alike.std < found.std < 1.3 * alike.std


def test_a_tally_of_equal_weights_has_one_label_per_row():
    p, w = [0.3] * 5 + [0.6] * 5, [2.5] * 5 + [0.5] * 5
    found = noise_floor(rate, tn.tally([0, 1] * 5, p, sample_weight=w), weight_type="importance", resamples=20, seed=1)
    assert set(np.round(found.draws * 10, 6) % 0.5) <= {0.0, 0.5}
    mixed = tn.tally([0, 1, 1], [0.3, 0.3, 0.6], sample_weight=[0.5, 1, 1])
    with pytest.raises(tn.InputError, match="rows of one score have different weights"):
        noise_floor(rate, mixed, weight_type="importance")


def test_scores_may_be_passed_without_labels():
    found = noise_floor(tn.ece, M, labels=["a", "b", "c"], resamples=5, seed=1)
    assert found.draws.tolist() == noise_floor(tn.ece, M, resamples=5, seed=1).draws.tolist()
    named = noise_floor(tn.ece, P, pos_label="yes", resamples=5, seed=1)
    assert named.draws.tolist() == noise_floor(tn.ece, P, resamples=5, seed=1).draws.tolist()


def test_redrawn_labels_that_are_all_equal_give_no_warning():
    found = noise_floor(partial(tn.ece, bins=1), [0.01] * 3, resamples=20, seed=1)
    assert found.mean < 0.1


def test_warnings_about_the_scores_are_given_once():
    with pytest.warns(tn.FewRowsWarning) as log:
        noise_floor(tn.ece, [0.2, 0.7], resamples=20, seed=1)
    assert len(log) == 1


def test_values_that_are_undefined_are_counted_and_count_as_far_out():
    def hit(tally):
        events = tally.parts[0].events.sum()
        return float("nan") if events == 0 else float(events)

    with pytest.warns(tn.NoEstimateWarning) as log:
        found = noise_floor(hit, [0.3] * 2, observed=10, resamples=99, seed=1)
    assert f"undefined for {np.isnan(found.draws).sum()} of 99 sets" in str(log[0].message)
    assert found.pvalue == (1 + np.isnan(found.draws).sum()) / 100
    assert found.mean >= 1
    with pytest.raises(tn.InputError, match="nan for every set"):
        noise_floor(lambda t: float("nan"), P, resamples=9)


def test_the_record_reads_as_a_sentence():
    found = noise_floor(tn.ece, P, y_true=Y, resamples=99, seed=1)
    assert str(found) == (
        f"ece {found.observed:.4f}; a calibrated model would show {found.mean:.4f} ± {found.std:.4f} "
        f"(p = {found.pvalue:.2f})"
    )
    unknown = noise_floor(partial(tn.ece, bins=5), P, resamples=99, seed=1)
    assert str(unknown).startswith("ece(bins=5): a calibrated model would show")
    data = json.loads(json.dumps(found.to_dict()))
    assert "draws" not in data
    assert (data["measure"], data["n"], data["resamples"], data["level"]) == ("ece", 300, 99, 0.95)
    assert noise_floor(lambda t: 1.0, P, resamples=2).measure == "measure"


def test_progress_is_reported_after_each_batch():
    told = []
    noise_floor(tn.ece, P, resamples=40, seed=1, progress=lambda done, total: told.append((done, total)))
    assert told == [(16, 40), (32, 40), (40, 40)]


@pytest.mark.all_cases
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"measure": "ece"}, "`measure` must be a function of a Tally"),
        ({"measure": lambda t: "low"}, "`measure` must return one number; it returned str"),
        ({"y_prob": [0.2, 1.2]}, r"`y_prob` must lie in \[0, 1\]"),
        ({"y_prob": []}, "at least one row"),
        ({"resamples": 0}, "`resamples` must be a whole number ≥ 1"),
        ({"level": 1}, "`level` must lie strictly"),
        ({"seed": -1}, "`seed` must be a whole number ≥ 0"),
        ({"alternative": "more"}, "`alternative` must be 'greater', 'less' or 'two-sided'"),
        ({"weight_type": "both"}, "`weight_type` must be"),
        ({"observed": float("nan")}, "`observed` must be finite"),
        ({"observed": "big"}, "`observed` must be a number"),
        ({"progress": 3}, "`progress` must be True, False or a function"),
        (
            {"sample_weight": np.full(300, 0.5)},
            "must be whole numbers that sum to less than 2³⁵. For other weights use `weight_type='importance'`",
        ),
        ({"kind": "confidence"}, "needs a matrix of scores"),
        ({"y_prob": tn.tally(C, M)}, "class-wise Tally"),
        ({"y_prob": tn.tally([], [])}, "empty Tally"),
        ({"y_prob": tn.tally(Y, P), "y_true": Y}, "`y_true` must be left out"),
    ],
)
def test_bad_arguments_are_named(change, message):
    with pytest.raises(tn.InputError, match=message):
        noise_floor(**({"measure": tn.ece, "y_prob": P, "resamples": 3} | change))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["binary", "classwise", "confidence"])
def test_the_p_value_keeps_its_level(kind):
    rng = np.random.default_rng(11)
    runs, pvalues = 400, []
    for _ in range(runs):
        if kind == "binary":
            p = rng.beta(0.4, 3, 150)
            floor = noise_floor(tn.ece, p, y_true=rng.random(150) < p, resamples=99, seed=rng)
        else:
            m = rng.dirichlet([0.5] * 3, 100)
            y = (rng.random((100, 1)) > m.cumsum(axis=1)).sum(axis=1)
            floor = noise_floor(tn.ece, m, y_true=y, kind=kind, resamples=99, seed=rng)
        pvalues.append(floor.pvalue)
    for alpha in (0.05, 0.1, 0.2):
        rejected = np.mean(np.array(pvalues) <= alpha)
        assert abs(rejected - alpha) < 4 * np.sqrt(alpha * (1 - alpha) / runs)


def test_an_observed_value_beside_labels_is_refused():
    with pytest.raises(tn.InputError, match="`observed` must be left out when `y_true` is given"):
        noise_floor(tn.ece, [0.2, 0.4], y_true=[0, 1], observed=0.1)


@pytest.mark.parametrize("bins", [10, tn.EqualMass(5), [0, 0.3, 0.31, 1], tn.Isotonic(), tn.BlockIsotonic(n_min=9)])
def test_the_shortcut_of_the_ece_has_the_same_bits(bins):
    rng = np.random.default_rng(0)
    p = np.append(rng.random(200), [0.0, 0.3, 0.3, 1.0])
    tally = tn.tally(rng.random(p.size) < p, p, sample_weight=rng.integers(1, 4, p.size))
    quick = tn.noise_floor(partial(tn.ece, bins=bins), tally, resamples=49, seed=1)
    slow = tn.noise_floor(lambda one: tn.ece(one, bins=bins), tally, resamples=49, seed=1)
    assert quick.draws.tolist() == slow.draws.tolist()


TCE = {
    "binary": {"bins": None},
    "confidence": {"bins": 5, "norm": "max"},
    "top-label": {"bins": tn.EqualMass(4), "alpha": 0.2, "test": lambda k, n, p: np.full(p.size, k / n)},
    "classwise": {"test": "t", "bins": 7},
}


@pytest.mark.parametrize("kind", TCE)
def test_the_tests_of_many_redrawn_labels_decide_as_those_of_each_alone(kind):
    scores, options = (P.round(2), {}) if kind == "binary" else (M, {"kind": kind})
    together = noise_floor(partial(tn.tce, **TCE[kind]), scores, resamples=35, seed=3, **options)
    alone = noise_floor(lambda tally: tn.tce(tally, **TCE[kind]), scores, resamples=35, seed=3, **options)
    assert np.array_equal(together.draws, alone.draws)
    assert together.draws.std() > 0


@pytest.mark.parametrize(("batch", "sizes"), [(700, [3, 3, 1]), (900, [3, 3, 1]), (901, [4, 3])])
def test_batches_of_redrawn_labels_are_bounded(batch, sizes, monkeypatch):
    monkeypatch.setattr(_noise_floor, "_BATCH", batch)
    tallies = [tn.tally(RNG.random(300) < P, P) for _ in range(7)]
    assert [len(few) for few in _noise_floor._batches(tallies)] == sizes
    assert _noise_floor.values_of_tallies(tn.tce, iter(tallies)) == [tn.tce(tally) for tally in tallies]


def test_parts_with_and_without_whole_weights_are_tested_alike():
    whole = tn.tally(Y, P)
    other = tn.tally(Y, P, sample_weight=np.full(300, 0.5))
    mixed = [whole, other, whole]
    assert tce_of_tallies(mixed, bins=5, test="t") == [tn.tce(one, bins=5, test="t") for one in mixed]


def test_a_tally_brings_its_own_labels_and_weights():
    with pytest.raises(tn.InputError, match="`y_true` must be left out when `y_prob` is a Tally"):
        noise_floor(tn.ece, tn.tally(Y, P), y_true=Y)
    with pytest.raises(tn.InputError, match="`sample_weight` describes rows; this Tally already holds their sums"):
        noise_floor(tn.ece, tn.tally(Y, P), sample_weight=Y + 1.0)


@pytest.mark.parametrize("rows", [{"sample_weight": np.tile([0.5, 1.5, 2.5], 100), "weight_type": "importance"}, {}])
def test_the_ece_of_weighted_rows_and_of_classes_takes_no_shortcut(rows):
    scores = P if rows else np.column_stack([P, 1 - P])
    quick = noise_floor(partial(tn.ece, bins=5), scores, resamples=9, seed=1, **rows)
    slow = noise_floor(lambda one: tn.ece(one, bins=5), scores, resamples=9, seed=1, **rows)
    assert quick.draws.tolist() == slow.draws.tolist()


def test_other_options_of_the_ece_take_no_shortcut():
    for more in ({"norm": "max"}, {"norm": "l2"}):
        quick = noise_floor(partial(tn.ece, bins=5, **more), P, resamples=9, seed=1)
        slow = noise_floor(lambda one, more=more: tn.ece(one, bins=5, **more), P, resamples=9, seed=1)
        assert quick.draws.tolist() == slow.draws.tolist()


def test_mean_deviation_and_quantiles_are_those_of_the_draws():
    draws = np.array([4.0, 1.0, 3.0, 2.0, 5.0])
    found = _noise_floor.floor_of_draws("m", draws, None, 0.5, n=7)
    assert (found.mean, found.std, found.low, found.high) == (3, pytest.approx(2.5**0.5), 2, 4)
    assert (found.resamples, found.n, found.kind, found.alternative) == (5, 7, "binary", "greater")
    tenth = noise_floor(tn.ece, P, resamples=101, level=0.8, seed=1)
    ordered = np.sort(tenth.draws)
    assert (tenth.low, tenth.high, tenth.level) == (pytest.approx(ordered[10]), pytest.approx(ordered[90]), 0.8)
    assert np.isnan(noise_floor(tn.ece, P, resamples=1, seed=1).std)
    usual = noise_floor(rate, P[:5], seed=1)
    assert (usual.resamples, usual.level, usual.alternative) == (999, 0.95, "greater")


@pytest.mark.parametrize(
    ("observed", "greater", "less"),
    [
        (0.5, 1.0, 1 / 5),
        (3.0, 3 / 5, 4 / 5),
        (3.0 + 1e-13, 3 / 5, 4 / 5),  # equal up to rounding
        (3.0 - 1e-13, 3 / 5, 4 / 5),
        (3.5, 2 / 5, 4 / 5),
        (9.0, 1 / 5, 1.0),
    ],
)
@pytest.mark.all_cases
def test_p_values_by_hand(observed, greater, less):
    draws = np.array([4.0, 1.0, 3.0, 2.0])
    both = min(1, 2 * min(greater, less))
    for side, pvalue in (("greater", greater), ("less", less), ("two-sided", both)):
        assert _noise_floor.floor_of_draws("m", draws, observed, 0.9, side, n=1).pvalue == pytest.approx(pvalue)


def test_undefined_draws_are_extreme_on_both_sides():
    draws = np.array([4.0, np.nan, 3.0, 2.0])
    for side, pvalue in (("greater", 2 / 5), ("less", 5 / 5)):
        with pytest.warns(tn.NoEstimateWarning, match="undefined for 1 of 4 sets"):
            assert _noise_floor.floor_of_draws("m", draws, 5.0, 0.9, side, n=1).pvalue == pvalue


def test_names_of_measures():
    class Own:
        def __call__(self, tally):
            return 1.0

    assert _noise_floor.measure_name(Own()) == "Own"
    assert _noise_floor.measure_name(partial(partial(tn.tce, bins=5), alpha=0.1)) == "tce(bins=5, alpha=0.1)"
    assert _noise_floor.measure_name(partial(max, 1, 2)) == "max(1, 2)"


@pytest.mark.parametrize("value", [True, np.True_, None, "1"])
def test_a_measure_returns_one_number(value):
    with pytest.raises(tn.InputError, match="`measure` must return one number"):
        noise_floor(lambda tally: value, P, resamples=3)
    if value is not None:
        with pytest.raises(tn.InputError, match="`observed` must be a number"):
            noise_floor(tn.ece, P, observed=value, resamples=3)


def test_numbers_of_numpy_are_numbers():
    assert noise_floor(lambda tally: np.int64(3), P, observed=np.float32(0.5), resamples=3).mean == 3


def test_an_error_of_the_measure_is_told():
    with pytest.raises(tn.InputError, match="called with one, it raised TypeError"):
        noise_floor(lambda tally: tally + 1, P, y_true=Y, resamples=3)

"""What a calibrated model would show."""

import json
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from math import comb
from threading import Event

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trueness as tn
from trueness import noise_floor

RNG = np.random.default_rng(7)
P = RNG.random(300)
Y = RNG.random(300) < P
M = RNG.dirichlet([1, 2, 3], 200)
C = (RNG.random((200, 1)) > M.cumsum(axis=1)).sum(axis=1)
KINDS = ("classwise", "confidence", "top-label")


def events(tally):
    """A measure of one's own: the number of events."""
    return float(sum(part.events.sum() for part in tally.parts))


@pytest.mark.slow
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


@pytest.mark.parametrize(
    "kind", [pytest.param(one, marks=[pytest.mark.slow] * (one != "confidence")) for one in KINDS]
)
def test_a_matrix_of_equal_rows_has_the_floor_of_its_multinomial_number(kind):
    row, n, draws = np.array([0.5, 0.3, 0.2]), 12, 1_500
    found = noise_floor(
        partial(tn.ece, bins=1), np.tile(row, (n, 1)), kind=kind, resamples=draws, seed=2
    )
    gaps = np.abs(np.random.default_rng(3).multinomial(n, row, 100_000) / n - row)
    expected = gaps.mean(axis=1) if kind == "classwise" else gaps[:, 0]
    assert abs(found.mean - expected.mean()) < 4 * expected.std() / np.sqrt(draws)
    assert found.std == pytest.approx(expected.std(), rel=0.1)
    assert found.kind == kind


@pytest.mark.parametrize("kind", KINDS)
def test_redrawn_tallies_have_the_scores_and_counts_of_the_given_ones(kind):
    given_tally, seen = tn.tally(C, M, kind=kind), []
    noise_floor(
        lambda tally: seen.append(tally) or 0.0, M, y_true=C, kind=kind, resamples=3, seed=1
    )
    for tally in seen:
        assert (tally.kind, tally.classes, tally.n) == (
            given_tally.kind,
            given_tally.classes,
            given_tally.n,
        )
        for a, b in zip(tally.parts, given_tally.parts, strict=True):
            assert (a.score.tolist(), a.count.tolist()) == (b.score.tolist(), b.count.tolist())
            assert ((a.events >= 0) & (a.events <= a.count)).all()
    assert seen[0].parts[0] == given_tally.parts[0]


@settings(max_examples=10)
@given(seed=st.integers(0, 10**6), workers=st.sampled_from([2, 3]), resamples=st.integers(1, 50))
def test_the_seed_decides_whatever_the_number_of_workers(seed, workers, resamples):
    told = []
    options = {"y_true": Y, "resamples": resamples, "seed": seed}
    for measure in (tn.ece, tn.tce):
        told.clear()
        one = noise_floor(measure, P, **options, progress=lambda *done: told.append(done))
        many = noise_floor(measure, P, **options, workers=workers)
        assert (one.draws.tolist(), one.pvalue) == (many.draws.tolist(), many.pvalue)
        done = [number for number, _ in told]
        assert done == sorted(done)
        assert told[-1] == (resamples, resamples)
    first, other = (
        noise_floor(tn.ece, P, resamples=resamples, seed=s).draws[0] for s in (seed, seed + 1)
    )
    assert first != other


def test_a_generator_moves_on():
    rng = np.random.default_rng(1)
    first, second = (noise_floor(tn.ece, P, resamples=5, seed=rng).draws for _ in range(2))
    assert first.tolist() != second.tolist()


def test_a_tally_takes_the_place_of_scores_and_labels():
    options = {"resamples": 30, "seed": 1}
    assert noise_floor(tn.ece, tn.tally(Y, P), **options) == noise_floor(
        tn.ece, P, y_true=Y, **options
    )
    for kind in KINDS[1:]:
        of_sums = noise_floor(tn.ece, tn.tally(C, M, kind=kind), **options)
        assert of_sums == noise_floor(tn.ece, M, y_true=C, kind=kind, **options)
    sketch = noise_floor(tn.ece, tn.sketch(Y, P), **options)
    assert sketch.mean == pytest.approx(noise_floor(tn.ece, P, **options).mean, rel=0.2)
    with pytest.raises(tn.InputError, match="`y_true` must be left out when `y_prob` is a Tally"):
        noise_floor(tn.ece, tn.tally(Y, P), y_true=Y)
    with pytest.raises(
        tn.InputError, match="`sample_weight` describes rows; this Tally already holds their sums"
    ):
        noise_floor(tn.ece, tn.tally(Y, P), sample_weight=Y + 1.0)


def test_the_observed_value_is_the_measure_of_the_labels():
    found = noise_floor(tn.ece, P, y_true=Y, resamples=99, seed=1)
    assert found.observed == tn.ece(Y, P)
    assert found.pvalue == (1 + (found.draws >= found.observed).sum()) / 100
    unknown = noise_floor(tn.ece, P, resamples=99, seed=1)
    assert (unknown.observed, unknown.pvalue) == (None, None)
    assert unknown.draws.tolist() == found.draws.tolist()
    # Scores may be passed without labels, whatever these would be called.
    for scores, options in ((M, {"labels": ["a", "b", "c"]}), (P, {"pos_label": "yes"})):
        named = noise_floor(tn.ece, scores, resamples=5, seed=1, **options)
        assert (
            named.draws.tolist() == noise_floor(tn.ece, scores, resamples=5, seed=1).draws.tolist()
        )


@pytest.mark.slow
def test_p_values_rank_the_observed_value():
    """Drawn numbers of events of ten rows of 1/2; values that are equal up to rounding count as equal."""
    floor = partial(noise_floor, events, [0.5] * 10, resamples=199, seed=1)
    drawn = floor().draws
    for observed in (-1.0, 3.0, 5.0, 5.0 + 1e-13, 5.0 - 1e-13, 5.5, 99.0):
        greater = (1 + (drawn >= observed - 1e-9).sum()) / 200
        less = (1 + (drawn <= observed + 1e-9).sum()) / 200
        both = min(1, 2 * min(greater, less))
        for side, pvalue in (("greater", greater), ("less", less), ("two-sided", both)):
            assert floor(observed=observed, alternative=side).pvalue == pytest.approx(pvalue)
    assert floor(observed=99).pvalue == 1 / 200  # never 0


def test_mean_deviation_and_quantiles_are_those_of_the_draws():
    found = noise_floor(tn.ece, P, resamples=101, level=0.8, seed=1)
    ordered = np.sort(found.draws)
    # One-sided: of 102 equally likely places among the draws, a further one lies above the 82nd with 20 of them.
    assert (found.low, found.high, found.level) == (ordered[19], ordered[81], 0.8)
    assert (found.mean, found.std) == (
        pytest.approx(found.draws.mean()),
        pytest.approx(found.draws.std(ddof=1)),
    )
    assert np.isnan(noise_floor(tn.ece, P, resamples=1, seed=1).std)
    usual = noise_floor(events, P[:5], seed=1)
    assert (usual.resamples, usual.level, usual.alternative, usual.n, usual.kind) == (
        999,
        0.95,
        "greater",
        5,
        "binary",
    )


def test_a_whole_number_weight_repeats_the_row():
    w = np.random.default_rng(1).integers(0, 4, P.size)
    options = {"resamples": 20, "seed": 1}
    options["weight_type"] = "frequency"
    weighted = noise_floor(tn.ece, P, y_true=Y, sample_weight=w, **options)
    assert weighted == noise_floor(tn.ece, np.repeat(P, w), y_true=np.repeat(Y, w), **options)
    assert weighted == noise_floor(tn.ece, tn.tally(Y, P, sample_weight=w), **options)
    w = w[: len(M)]
    weighted = noise_floor(tn.ece, M, y_true=C, sample_weight=w, **options)
    again = noise_floor(tn.ece, np.repeat(M, w, axis=0), y_true=np.repeat(C, w), **options)
    assert (weighted.observed, weighted.n) == (pytest.approx(again.observed), again.n)


def test_warnings_about_the_scores_are_given_once_and_none_about_redrawn_labels():
    assert noise_floor(partial(tn.ece, bins=1), [0.01] * 3, resamples=20, seed=1).mean < 0.1
    with pytest.warns(tn.errors.FewRowsWarning) as log:
        noise_floor(tn.ece, [0.2, 0.7], resamples=20, seed=1)
    assert len(log) == 1


def test_values_that_are_undefined_are_counted_and_count_as_far_out():
    def hit(tally):
        return events(tally) or float("nan")

    for side, observed in (("greater", 10), ("less", -10)):
        with pytest.warns(tn.errors.NoEstimateWarning) as log:
            found = noise_floor(
                hit, [0.3] * 2, observed=observed, alternative=side, resamples=99, seed=1
            )
        assert f"undefined for {np.isnan(found.draws).sum()} of 99 sets" in str(log[0].message)
        assert found.pvalue == (1 + np.isnan(found.draws).sum()) / 100
        assert found.mean >= 1
    with pytest.raises(tn.InputError, match="nan for every set"):
        noise_floor(lambda t: float("nan"), P, resamples=9)


def test_the_record_reads_as_a_sentence_and_names_its_measure():
    class Own:
        def __call__(self, tally):
            return 1.0

    found = noise_floor(tn.ece, P, y_true=Y, resamples=99, seed=1)
    assert str(found) == (
        f"ece {found.observed:.4f}; a calibrated model would show {found.mean:.4f} ± {found.std:.4f} "
        f"(p = {found.pvalue:.2f})"
    )
    data = json.loads(json.dumps(found.to_dict()))
    assert "draws" not in data
    assert (data["measure"], data["n"], data["resamples"], data["level"]) == ("ece", 300, 99, 0.95)
    measures = {
        "measure": lambda t: np.int64(3),
        "Own": Own(),
        "tce(bins=5, alpha=0.1)": partial(partial(tn.tce, bins=5), alpha=0.1),
    }
    for name, measure in measures.items():
        assert str(noise_floor(measure, P, resamples=2)).startswith(
            f"{name}: a calibrated model would show"
        )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"measure": "ecce"}, "`measure` must be one of .*; got 'ecce'"),
        ({"measure": 3}, "`measure` must be a measure, its name, or a function of a Tally"),
        *(
            ({"measure": lambda t, v=v: v}, "`measure` must return one number")
            for v in ("low", True, np.True_, None)
        ),
        ({"measure": lambda t: t + 1, "y_true": Y}, "called with one, it raised TypeError"),
        ({"y_prob": [0.2, 1.2]}, r"`y_prob` must lie in \[0, 1\]"),
        ({"y_prob": []}, "at least one row"),
        ({"resamples": 0}, "`resamples` must be a whole number ≥ 1"),
        ({"level": 1}, "`level` must lie strictly"),
        ({"seed": -1}, "`seed` must be a whole number ≥ 0"),
        ({"alternative": "more"}, "`alternative` must be 'greater', 'less' or 'two-sided'"),
        ({"weight_type": "both"}, "`weight_type` must be"),
        *(
            ({"observed": v}, "`observed` must be a finite number")
            for v in (float("nan"), "big", True, np.True_)
        ),
        ({"observed": 0.1, "y_true": Y}, "`observed` must be left out when `y_true` is given"),
        ({"progress": 3}, "`progress` must be True, False or a function"),
        (
            {"sample_weight": np.full(300, 0.5), "weight_type": "frequency"},
            "sum to less than 2³⁵, which count rows. For other weights use `weight_type='importance'`",
        ),
        ({"kind": "confidence"}, "needs a matrix of scores"),
        ({"y_prob": tn.tally(C, M)}, "class-wise Tally"),
        ({"y_prob": tn.tally([], [])}, "empty Tally"),
    ],
)
def test_bad_arguments_are_named(change, message):
    with pytest.raises(tn.InputError, match=message):
        noise_floor(**({"measure": tn.ece, "y_prob": P, "resamples": 3} | change))


# ---- shortcuts have the values of the long way

SHORTCUTS = {
    "ece": [
        partial(tn.ece, bins=bins)
        for bins in (10, tn.EqualMass(5), [0, 0.3, 0.31, 1], tn.Isotonic())
    ],
    "other norms": [partial(tn.ece, bins=5, norm="max"), partial(tn.ece, bins=5, norm="l2")],
    "tce": [
        partial(tn.tce, bins=None),
        partial(tn.tce, bins=5, norm="max"),
        partial(
            tn.tce, bins=tn.EqualMass(4), alpha=0.2, test=lambda k, n, p: np.full(p.size, k / n)
        ),
        partial(tn.tce, test="t", bins=7),
    ],
}


@pytest.mark.parametrize("rows", ["ties", "weights", "fractional", *KINDS])
@pytest.mark.parametrize("name", SHORTCUTS)
def test_shortcuts_have_the_same_values(name, rows):
    p = np.append(P[:80].round(2), [0.0, 0.3, 0.3, 1.0])
    scores, options = {
        "ties": (p, {}),
        "weights": (
            p,
            {"sample_weight": 1 + np.arange(p.size) % 3, "weight_type": "frequency"},
        ),
        "fractional": (
            p,
            {"sample_weight": 0.5 + np.arange(p.size) % 3, "weight_type": "importance"},
        ),
    }.get(rows, (M[:60], {"kind": rows}))
    measures = (
        [partial(tn.tce, test="t", bins=tn.EqualMass(4))]
        if (name, rows) == ("tce", "fractional")
        else SHORTCUTS[name]
    )
    for measure in measures:
        quick = noise_floor(measure, scores, resamples=7, seed=1, **options)
        slow = noise_floor(
            lambda tally, measure=measure: measure(tally), scores, resamples=7, seed=1, **options
        )
        np.testing.assert_allclose(
            quick.draws, slow.draws, rtol=1e-13, atol=1e-15
        )  # sums in another order


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


def test_warnings_of_one_thread_are_not_lost_while_another_computes():
    """The filters of the interpreter belong to all threads."""
    inside, go_on = Event(), Event()

    def measure(tally):
        inside.set()
        go_on.wait(10)
        return tn.ece(tally, bins=1)

    with ThreadPoolExecutor(1) as pool, pytest.warns(tn.errors.OneClassWarning):  # noqa: PT031  # before the thread begins
        floor = pool.submit(tn.noise_floor, measure, [0.2, 0.4], resamples=2, seed=0)
        assert inside.wait(10)
        tn.ece([1, 1], [0.5, 0.6], bins=1)
        go_on.set()
        assert floor.result().n == 2


def test_workers_are_as_quiet_as_one():
    """Equal labels, which many draws of so few rows have, are no concern of the user."""
    ask = partial(tn.noise_floor, partial(tn.ece, bins=1), [0.2, 0.4], resamples=200, seed=0)
    one, two = ask(workers=1), ask(workers=2)
    assert one == two


def test_a_two_sided_p_value_is_twice_the_smaller_of_the_one_sided_ones():
    rng = np.random.default_rng(2)
    p = rng.random(120)
    y = (rng.random(120) < p).astype(int)
    ask = partial(tn.noise_floor, tn.ece, p, y_true=y, resamples=99, seed=1)
    greater, less, both = (ask(alternative=one).pvalue for one in ("greater", "less", "two-sided"))
    assert both == min(1, 2 * min(greater, less))
    assert greater + less >= 1  # the observed value counts in both
    middle = float(np.median(ask().draws))
    found = noise_floor(tn.ece, p, observed=middle, resamples=99, seed=1, alternative="two-sided")
    assert found.pvalue == 1

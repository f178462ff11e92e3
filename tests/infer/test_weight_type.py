"""Whether weights count rows or are sampling weights: said by the caller, guessed with a warning."""

import math
import warnings
from functools import partial

import numpy as np
import pytest

import trueness as tn
from trueness.errors import WeightsWarning


def rows(seed, n=400):
    """Calibrated rows with whole design weights."""
    rng = np.random.default_rng(seed)
    p = rng.beta(2, 3, n)
    return (rng.random(n) < p) * 1, p, rng.integers(1, 21, n)


SEGMENTS = np.arange(400) % 3
OF_SAMPLING_WEIGHTS = {
    "omnibus": tn.calibration_test,
    "cox": partial(tn.calibration_test, method="cox"),
    "ks": partial(tn.calibration_test, method="ks"),
    "set": partial(tn.ece_interval, bins=5),
    "slope": partial(tn.estimate, "slope"),
    "O/E": partial(tn.estimate, "observed_expected"),
    "Brier": partial(tn.estimate, "brier"),
    "ECE": partial(tn.estimate, "ece"),
    "AUC": partial(tn.estimate, "auc"),
    "log loss": partial(tn.estimate, "log_loss"),
    "ICI": partial(tn.estimate, "ici", floor=False),
    "l2": partial(tn.equivalence_test, within=0.2),
    "ratio": partial(tn.equivalence_test, within=0.2, criterion="oe"),
    "prior shift": tn.prior_shift,
    "walk": tn.infer.cumulative_walk,
    "band": partial(tn.curve_band, at=[0.2, 0.5]),
    "segments": lambda y, p, **w: tn.segments(y, p, SEGMENTS, **w),
    "compare": lambda y, p, **w: tn.compare(y, {"a": p, "b": p**1.1}, **w),
    "certificate": tn.decision_certificate,
    "verdict": tn.verdict,
}


IN_THEIR_UNIT = ("weight", "n_certain_wrong", "expected", "events")


def numbers(found):
    """All numbers of a record but weights in their own unit, and p-values of segments that are drawn."""
    leaves = []

    def walk(value, name=""):
        if isinstance(value, dict):
            for key, item in value.items():
                walk(item, key)
        elif isinstance(value, list | tuple):
            for item in value:
                walk(item, name)
        elif isinstance(value, float | int) and name not in (
            *IN_THEIR_UNIT,
            "overall_pvalue",
        ):
            leaves.append(value)

    walk(found.to_dict())
    return leaves


@pytest.mark.parametrize("name", OF_SAMPLING_WEIGHTS)
def test_sampling_weights_have_any_unit_whole_or_not(name):
    ask = OF_SAMPLING_WEIGHTS[name]
    y, p, w = rows(1)
    whole = ask(y, p, sample_weight=w, weight_type="importance")
    parts = ask(y, p, sample_weight=w * 0.25, weight_type="importance")
    assert numbers(whole) == pytest.approx(numbers(parts), rel=1e-6, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("name", OF_SAMPLING_WEIGHTS)
def test_whole_weights_are_counts_with_a_warning_unless_somebody_says_so(name):
    ask = OF_SAMPLING_WEIGHTS[name]
    y, p, w = rows(1)
    words = f"Weights were taken as counts: 400 rows stand for {w.sum():,}. If they are sampling"
    with pytest.warns(WeightsWarning, match=words):
        ask(y, p, sample_weight=w)
    with pytest.MonkeyPatch.context() as patch:
        given = []
        patch.setattr("warnings.warn", lambda message, *_, **__: given.append(str(message)))
        ask(y, p, sample_weight=w, weight_type="frequency")
        ask(y, p, sample_weight=w * 0.7)
    assert not [one for one in given if "counts" in one]


@pytest.mark.parametrize(
    "ask",
    [
        tn.net_benefit,
        tn.risk_coverage,
        partial(tn.curve_band, method="monotone"),
        partial(tn.decide, cost_fp=1, cost_fn=1),
        partial(tn.accept_threshold, accuracy=0.6),
        partial(tn.calibration_test, cluster=np.arange(400) // 2),
        partial(tn.calibration_test, method="exact"),
    ],
)
def test_what_counts_rows_refuses_sampling_weights(ask):
    y, p, w = rows(2)
    with pytest.raises(tn.InputError, match=r"`sample_weight`|`weight_type='importance'`"):
        ask(y, p, sample_weight=w, weight_type="importance")


def test_measures_are_the_same_and_never_warn(recwarn):
    y, p, w = rows(3)
    for measure in (tn.ece, tn.brier, tn.calibration_slope, tn.auc):
        values = [
            measure(y, p, sample_weight=w, weight_type=kind) for kind in ("auto", "importance")
        ]
        assert values[0] == pytest.approx(values[1])
    assert not recwarn.list


def test_a_verdict_says_that_weights_were_taken_as_counts():
    y, p, w = rows(4)
    clause = f"weights were taken as counts: 400 rows stand for {w.sum():,}"
    guessed = tn.verdict(y, p, sample_weight=w)
    assert clause in guessed.certainty
    assert (guessed.n, guessed.counted_rows) == (w.sum(), 400)
    for kind, n in (("frequency", w.sum()), ("importance", 400)):
        said = tn.verdict(y, p, sample_weight=w, weight_type=kind)
        assert "taken as counts" not in said.certainty
        assert (said.n, said.counted_rows) == (n, 0)


def test_fields_that_count_rows_count_rows():
    y, p, w = rows(5)
    p = np.where(np.arange(400) < 30, 1.0, p)
    y = np.where(np.arange(400) < 30, 1, y)
    shift = tn.prior_shift(y, p, sample_weight=w, weight_type="importance")
    assert (shift.n, shift.n_certain) == (370, 30)
    assert tn.verdict(y, p, sample_weight=w, weight_type="importance").n_certain == 30
    assert tn.prior_shift(y, p, sample_weight=w, weight_type="frequency").n == w[30:].sum()
    assert tn.assess(y, p, sample_weight=w, weight_type="frequency").n == w.sum()


@pytest.mark.parametrize("make", [tn.tally, tn.sketch, partial(tn.binned, bins=7)])
def test_sums_know_what_their_weights_were(make):
    y, p, w = rows(6)
    counts = make(y, p, sample_weight=w)
    sampling = make(y, p, sample_weight=w, weight_type="importance")
    half = [
        make(y[at], p[at], sample_weight=w[at], weight_type="importance")
        for at in (slice(0, 200), slice(200, 400))
    ]
    assert tn.observed_expected(sampling) == pytest.approx(tn.observed_expected(counts))
    ask = partial(tn.estimate, "observed_expected")
    assert ask(sampling).n == ask(sampling, weight_type="importance").n == 400
    assert ask(half[0] + half[1]).low == pytest.approx(ask(sampling).low, rel=1e-9)
    assert ask(type(counts).from_bytes(sampling.to_bytes())).n == 400
    with pytest.warns(WeightsWarning, match="400 rows stand for"):
        ask(counts)
    with pytest.raises(tn.InputError, match=r"count rows: 400 stand for .* where the .* is made"):
        ask(counts, weight_type="importance")
    with pytest.raises(tn.InputError, match="holds sampling weights"):
        ask(sampling, weight_type="frequency")


def test_an_accumulator_keeps_the_type_and_adds_only_the_same():
    y, p, w = rows(7)
    sampling = tn.Accumulator("distinct", weight_type="importance")
    sampling.update(y, p, sample_weight=w)
    again = tn.Accumulator.from_bytes(sampling.to_bytes())
    again.update(y, p, sample_weight=w)
    assert tn.estimate("observed_expected", again.total).n == 800
    counts = tn.Accumulator("distinct")
    counts.update(y, p, sample_weight=w)
    with pytest.raises(tn.InputError):
        counts.merge(sampling)


def test_an_unknown_type_is_refused():
    y, p, w = rows(9)
    with pytest.raises(tn.InputError, match="'auto', 'frequency' or 'importance'; got 'survey'"):
        tn.estimate("slope", y, p, sample_weight=w, weight_type="survey")


@pytest.mark.slow
def test_whole_design_weights_keep_the_level_and_the_coverage():
    runs = 150
    rejected = covered = 0
    for seed in range(runs):
        y, p, w = rows(seed)
        how = {"sample_weight": w, "weight_type": "importance"}
        rejected += tn.calibration_test(y, p, resamples=399, **how).pvalue <= 0.05
        ratio = tn.estimate("observed_expected", y, p, **how)
        covered += ratio.low <= 1 <= ratio.high
    assert rejected / runs <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)
    assert covered / runs >= 0.93 - 3 * math.sqrt(0.93 * 0.07 / runs)


def test_sums_of_weights_that_count_rows_are_told_like_the_rows():
    rng = np.random.default_rng(5)
    p = rng.random(100)
    y = (rng.random(100) < p).astype(int)
    with pytest.warns(tn.TruenessWarning, match="100 rows stand for 199"):
        tn.calibration_test(tn.tally(y, p, sample_weight=1 + np.arange(100) % 3), method="ks")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tn.calibration_test(tn.tally(y, p), method="ks")
        tn.calibration_test(tn.tally(y, p, sample_weight=np.ones(100, int)), method="ks")

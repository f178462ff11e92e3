"""Events in place of labels and scores: every function reads the same rows as by hand."""

from functools import partial

import numpy as np
import pytest

import trueness as tn
from trueness.errors import InputError

N = 400
RNG = np.random.default_rng(7)
X = RNG.normal(size=N)
Y = X + RNG.normal(size=N)
RISK = RNG.beta(2, 5, size=N)
LEVELS = np.array([0.1, 0.5, 0.9])
Z = np.array([-1.2816, 0.0, 1.2816])
REGION = RNG.choice(["north", "south"], N)
BY = {"region": REGION, "x": X}


def made():
    """One of each kind."""
    time = -np.log(RNG.random(N)) / -np.log(1 - RISK) * 5
    censoring = RNG.exponential(15, N)
    followed = np.minimum(time, censoring), (time <= censoring).astype(int)
    trials = RNG.integers(3, 6, N)
    successes = RNG.binomial(trials, RISK)
    preferred = RNG.choice([0, 0.5, 1], N, p=[0.4, 0.2, 0.4])
    return {
        "interval": tn.events.interval(Y, X - 1.4, X + 1.4, coverage=0.9),
        "quantiles": tn.events.quantiles(Y, X[:, None] + Z * 0.8, levels=LEVELS),
        "horizon": tn.events.at_horizon(*followed, RISK, horizon=5),
        "counts": tn.events.counts(successes, trials, RISK),
        "pairs": tn.events.pairs(preferred, RNG.random(N)),
    }


EVENTS = made()
MEASURES = [tn.ece, tn.brier, tn.log_loss, tn.smooth_ece, tn.mce, tn.auc, tn.calibration_slope]


def by_hand(events):
    """The same rows, written out."""
    options = {} if events.weight is None else {"sample_weight": events.weight}
    return (events.event, events.p), options


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("kind", ["quantiles", "horizon", "counts"])
def test_a_measure_of_events_is_that_of_their_rows(kind, measure):
    rows, options = by_hand(EVENTS[kind])
    assert measure(EVENTS[kind]) == measure(*rows, **options)


@pytest.mark.parametrize("kind", EVENTS)
def test_estimates_and_sets_use_the_clusters_and_weights_of_the_events(kind):
    events = EVENTS[kind]
    rows, options = by_hand(events)
    options |= {"cluster": events.cluster}
    hand = tn.assess(*rows, **options, weight_type=events.weight_type)
    assessed = tn.assess(events)
    assert assessed.estimate("brier").low == hand.estimate("brier").low
    assert assessed.interval.high == hand.interval.high
    assert tn.ece_interval(events).high == hand.interval.high
    if kind != "pairs":
        assert assessed.test.pvalue == hand.test.pvalue == tn.calibration_test(events).pvalue


def asked():
    """Functions that take rows, as functions of events."""
    return {
        "verdict": lambda events: tn.verdict(events, by=BY),
        "segments": lambda events: tn.segments(events, by=BY),
        "worst_slices": lambda events: tn.worst_slices(events, columns=BY),
        "gate": partial(tn.gate, max_ece=0.1),
        "equivalence_test": partial(tn.equivalence_test, within=0.3),
        "noise_floor": lambda events: tn.noise_floor("ece", events, resamples=99),
        "panel": tn.panel,
        "bin_table": tn.bin_table,
        "reliability_curve": tn.reliability_curve,
        "compare": lambda events: tn.compare({"a": events, "b": events}),
        "tally": tn.tally,
        "sketch": tn.sketch,
        "binned": tn.binned,
        "display": lambda events: tn.plot.ReliabilityDisplay.from_predictions(events),
    }


SLOW = ("verdict", "worst_slices", "panel", "display")
CASES = [
    pytest.param(
        name, kind, marks=[pytest.mark.slow] if name in SLOW and kind != "interval" else []
    )
    for name in asked()
    for kind in EVENTS
]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_each_function_of_rows_takes_each_kind_of_events(name, kind):
    assert asked()[name](EVENTS[kind]) is not None


@pytest.mark.parametrize("kind", ["interval", "counts", "quantiles"])
def test_a_watch_counts_a_cluster_as_one_row_at_most(kind):
    events = EVENTS[kind]
    rows, options = by_hand(events)
    watch, same = tn.Watch(), tn.Watch()
    watch.update(events)
    same.update(*rows, **options, cluster=events.cluster)
    assert watch.evidence == same.evidence


@pytest.mark.parametrize("kind", ["pairs", "horizon"])
def test_each_kind_has_a_test_with_clusters_too(kind):
    assert 0 < tn.calibration_test(EVENTS["pairs"]).pvalue <= 1
    site = np.repeat(np.arange(80), N // 80)
    found = tn.assess(EVENTS[kind], cluster=site)
    assert found.test is not None
    assert found.verdict.test.pvalue == found.test.pvalue
    shuffled = np.array([f"site {code}" for code in site])
    assert tn.calibration_test(EVENTS[kind], cluster=shuffled).pvalue == found.test.pvalue


def test_a_pair_without_ties_is_tested_as_its_rows_are():
    preferred = (RNG.random(N) < 0.7).astype(float)
    plain = tn.events.pairs(preferred, RISK)
    hand = tn.calibration_test(plain.event, plain.p, cluster=np.arange(N))
    assert tn.calibration_test(plain, cluster=np.arange(N)).pvalue == hand.pvalue


def test_a_watch_takes_a_tie_as_half_an_event_and_half_a_non_event():
    preferred, p = np.array([1.0, 0.5, 0.0]), np.array([0.8, 0.7, 0.6])
    watch = tn.Watch(alternatives=[(0.5, 1.0)])
    watch.update(tn.events.pairs(preferred, p))
    q = 1 / (1 + np.exp(-np.log(p / (1 - p)) - 0.5))
    ratios = preferred * np.log(q / p) + (1 - preferred) * np.log((1 - q) / (1 - p))
    # The onset is this look, with weight 1/2, or one that has not come.
    assert watch.evidence[""] == pytest.approx(0.5 * np.exp(ratios.sum()) + 0.5)


def test_a_watch_divides_the_ratios_of_risks_by_the_largest_weight():
    events = EVENTS["horizon"]
    watch = tn.Watch(alternatives=[(0.5, 1.0)])
    watch.update(events)
    q = 1 / (1 + np.exp(-np.log(events.p / (1 - events.p)) - 0.5))
    ratios = np.where(events.event == 1, np.log(q / events.p), np.log((1 - q) / (1 - events.p)))
    total = (events.weight * ratios).sum() / events.largest_weight
    assert watch.evidence[""] == pytest.approx(0.5 * np.exp(total) + 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("n", [100, 400])
def test_the_omnibus_test_of_pairs_with_ties_keeps_its_level(n):
    rng = np.random.default_rng(n)
    rejected = 0
    for _ in range(200):
        p = rng.random(n)
        half = 0.3 * np.minimum(p, 1 - p)  # ties, as often taken from either side
        drawn = rng.random(n)
        preferred = np.where(drawn < p - half, 1.0, np.where(drawn < p + half, 0.5, 0.0))
        events = tn.events.pairs(preferred, p)
        rejected += tn.calibration_test(events, resamples=199).pvalue <= 0.05
    assert rejected <= 20  # 200 runs: 10 expected, standard error 3.1


def test_a_tally_of_events_keeps_their_clusters():
    assert tn.tally(EVENTS["quantiles"]).buckets is not None
    assert tn.tally(EVENTS["interval"]).buckets is None
    assert tn.tally(EVENTS["horizon"]) == tn.tally(
        EVENTS["horizon"].event, EVENTS["horizon"].p, sample_weight=EVENTS["horizon"].weight
    )


def test_columns_have_an_entry_per_input_row():
    found = tn.segments(EVENTS["quantiles"], by={"region": REGION})
    expected = {value: 3 * int((value == REGION).sum()) for value in ("north", "south")}
    assert dict(zip(found.value, found.n.tolist(), strict=True)) == expected
    with pytest.raises(InputError, match="one entry per row"):
        tn.segments(EVENTS["quantiles"], by={"region": REGION[:-1]})


def test_a_cluster_beside_events_replaces_the_row():
    site = np.repeat(np.arange(40), N // 40)
    assert tn.assess(EVENTS["quantiles"], cluster=site).asked.rows.evidence.units.number == 40
    with pytest.raises(InputError, match=r"`cluster` must have one entry per row of the input"):
        tn.assess(EVENTS["quantiles"], cluster=site[:-1])


def test_functions_of_independent_rows_refuse_dependent_events():
    with pytest.raises(InputError, match=r"independent rows here.*quantiles at 3 levels"):
        tn.curve_band(EVENTS["quantiles"], method="monotone")
    risks = EVENTS["horizon"]
    assert tn.curve_band(risks.event, risks.p, method="monotone") is not None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e: tn.ece(e, RISK), "`y_prob` must be left out when Events are passed"),
        (lambda e: tn.ece(e, sample_weight=RISK), "`sample_weight` describes rows"),
        (lambda e: tn.assess(e, from_logits=True), "`from_logits` describes rows"),
        (lambda e: tn.ece(e, weight_type="importance"), "`weight_type` must be 'auto' for these"),
        (lambda e: tn.report(e, RISK), "got Events, which hold theirs"),
        (lambda e: tn.compare({"a": e, "b": RISK}), "must hold Events only"),
        (lambda e: tn.compare(e, {"a": RISK, "b": RISK}), "must be a dict of Events"),
        (lambda e: tn.compare({"a": e, "b": EVENTS["horizon"]}), "Events of one kind"),
        (lambda e: tn.PlattScaling().fit(e), "`IntervalCalibration` moves the ends"),
        (lambda e: tn.noise_floor("ece", e, y_true=RISK), "`y_prob` is Events, which hold labels"),
    ],
)
def test_what_events_already_say_is_refused_beside_them(call, message):
    with pytest.raises(InputError, match=message):
        call(EVENTS["interval"])


def test_calibrators_take_the_weights_of_events():
    events = EVENTS["horizon"]
    fitted = tn.PlattScaling().fit(events)
    by_hand_fitted = tn.PlattScaling().fit(events.p, events.event, events.weight)
    np.testing.assert_array_equal(fitted.predict([0.2, 0.5]), by_hand_fitted.predict([0.2, 0.5]))


def test_models_of_intervals_are_compared_row_by_row():
    wide = tn.events.interval(Y, X - 1.645, X + 1.645, coverage=0.9)
    narrow = tn.events.interval(Y, X - 0.8, X + 0.8, coverage=0.9)
    found = tn.compare({"wide": wide, "narrow": narrow})
    assert found["wide", "narrow"].high < 0


def test_one_model_at_a_time_unless_a_dict_is_meant():
    for function in (tn.assess, tn.verdict):
        with pytest.raises(InputError, match=r"`y_true` must|got a dict of 1"):
            function({"a": EVENTS["interval"]})
    wide = tn.events.interval(Y, X - 1.7, X + 1.7)
    report = tn.report({"narrow": EVENTS["interval"], "wide": wide}, intervals=False)
    assert list(report.verdicts) == ["narrow", "wide"]


@pytest.mark.slow
def test_a_report_on_several_horizons_compares_no_rows_of_different_weights():
    rng = np.random.default_rng(0)
    time, censored = rng.exponential(5 / RISK), rng.uniform(0, 20, N)
    rows = np.minimum(time, censored), (time <= censored).astype(int)
    found = tn.events.at_horizons(*rows, np.stack([RISK / 3, RISK], axis=1), horizons=[2, 5])
    report = tn.report({str(time): events for time, events in found.items()}, intervals=False)
    assert list(report.verdicts) == ["2.0", "5.0"]
    assert report.to_dict()["comparison"] is None


def test_weights_of_events_are_what_they_are():
    risks = EVENTS["horizon"]
    for ask in (tn.assess, tn.ece, tn.tally):
        with pytest.raises(InputError, match="`weight_type` must be 'importance' for these Events"):
            ask(risks, weight_type="frequency")
    assert tn.ece(risks, weight_type="importance") == tn.ece(risks)
    sums = tn.tally(risks, weight_type="importance")
    assert tn.estimate("brier", sums, weight_type="importance").n == np.count_nonzero(risks.weight)


def test_a_series_takes_independent_events():
    day = np.arange(N) // 100
    by_hand = tn.calibration_series(EVENTS["interval"].event, EVENTS["interval"].p, by=day)
    assert tn.calibration_series(EVENTS["interval"], by=day).name == by_hand.name

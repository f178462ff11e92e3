"""The four answers of the first screen are words for numbers of the report."""

import datetime
import re
from dataclasses import replace

import numpy as np
import pytest

import trueness as tn
from trueness._report.answers import _change, _command, _range_in_words
from trueness._report.records import Provenance
from trueness.errors import InputError


def answers(report, model=0):
    return report.to_dict()["models"][model]["answers"]


@pytest.fixture(scope="module")
def demo():
    return tn.simulate.demo(4_000)


@pytest.fixture(scope="module")
def off(demo):
    return tn.report(demo.y_true, demo.y_prob, by={"half": demo.y_prob > 0.3})


@pytest.fixture(scope="module")
def calibrated():
    rng = np.random.default_rng(0)
    p = rng.random(6_000)
    return tn.report((rng.random(p.size) < p).astype(int), p)


def test_how_far_off_is_the_l2_error_with_its_set_and_the_ece_with_its_floor(off):
    found, summary = answers(off)["how_far"], off.to_dict()["models"][0]["summary"]
    interval = summary["ece_interval"]
    assert found["numbers"]["l2"] == interval["estimate"]
    assert [found["numbers"]["low"], found["numbers"]["high"]] == interval["hull"]
    assert found["numbers"]["chance"] == summary["noise_floor"]["mean"]
    assert found["phrase"] == f"Typically {100 * interval['estimate']:.1f} points"
    assert f"{100 * interval['low']:.1f} to {100 * interval['high']:.1f}" in found["detail"]
    assert f"The average gap is {100 * summary['ece']:.1f}" in found["detail"]


def test_the_worst_range_is_flagged_and_its_score_is_farthest_outside_the_interval_of_the_rate(off):
    found, bins = answers(off)["where"]["numbers"], off.to_dict()["models"][0]["bins"]
    distance = np.maximum(
        np.subtract(bins["interval_low"], bins["score"]), np.subtract(bins["score"], bins["interval_high"])
    )
    worst = int(np.argmax(np.where(bins["outside"], distance, -1)))
    assert (found["low_edge"], found["n"]) == (bins["low_edge"][worst], bins["n"][worst])
    assert found["flagged"] == sum(bins["outside"])


def test_the_cost_is_the_gain_of_the_best_calibrator_on_held_out_rows(off):
    found, fixes = answers(off)["cost"], off.to_dict()["models"][0]["remedies"]
    best = next(one for one in fixes["after"] if one["name"] == fixes["best"])
    assert [found["numbers"][key] for key in ("gain", "gain_low", "gain_high")] == [
        best[key] for key in ("gain", "gain_low", "gain_high")
    ]
    assert found["phrase"] == f"{100 * best['gain'] / fixes['before']['brier']:.1f} % of the Brier score"


def test_the_lines_to_copy_run(off, demo):
    found = answers(off)["action"]
    names = {"tn": tn, "y_prob": demo.y_prob, "y_true": demo.y_true, "new_scores": np.array([0.1, 0.9])}
    exec(found["command"], names)
    assert names["calibrated"].shape == (2,)
    assert found["numbers"]["after"] < found["numbers"]["before"]


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ((0.0, 0.0, 0.1, True), "error of 20.0 points is then no longer distinguishable from chance"),
        ((0.0, 0.0, 0.1, False), "error goes from 20.0 points to between 0 and 10.0 (95 % confidence)"),
        ((0.05, 0.0, 0.1, False), "error goes from 20.0 points to 5.0 (95 % confidence: above 0, at most 10.0)"),
        ((0.05, 0.02, 0.1, False), "error goes from 20.0 points to 5.0 (95 % confidence: 2.0 to 10.0)"),
    ],
)
def test_the_error_after_recalibration_is_not_claimed_to_be_zero(off, limits, words):
    before = off._contents.models[0].remedies.before
    whole = replace(before, ece_interval=replace(before.ece_interval, estimate=0.2))
    estimate, low, high, zero = limits
    found = replace(before.ece_interval, estimate=estimate, low=low, high=high, includes_zero=zero)
    assert _change(whole, replace(before, ece_interval=found)).endswith(words)


def test_nothing_is_to_be_done_about_calibrated_scores(calibrated):
    found = answers(calibrated)
    assert found["action"]["phrase"] == "Nothing"
    assert found["action"]["command"] == ""
    assert found["where"]["phrase"] == "No range stands out"
    assert found["cost"]["phrase"] == "Nothing measurable"
    assert found["cost"]["numbers"]["gain"] < 0
    brier = f"{found['cost']['numbers']['brier']:.4f}"
    words = f"No map that was tried lowers the Brier score of {brier}: the best one raises it by "
    assert found["cost"]["detail"].startswith(words)
    raised = float(found["cost"]["detail"].removeprefix(words).split()[0])
    assert raised == pytest.approx(-found["cost"]["numbers"]["gain"], abs=5e-6)
    assert found["how_far"]["phrase"].startswith("At most ")


@pytest.mark.slow
def test_one_range_outside_the_band_does_not_contradict_the_verdict():
    rng = np.random.default_rng(4)
    p = rng.random(6_000)
    found = tn.report((rng.random(p.size) < p).astype(int), p, intervals=False)
    assert found.verdicts == {"scores": "no-evidence"}
    assert answers(found)["where"]["phrase"] == "Perhaps between 10 and 20 %"
    assert answers(found)["where"]["detail"].endswith("Taken together, the ranges are within chance.")


def test_few_rows_ask_for_more():
    rng = np.random.default_rng(0)
    p = rng.random(40)
    found = tn.report((rng.random(40) < p).astype(int), p)
    action, rows = answers(found)["action"], found.to_dict()["models"][0]["summary"]["power"]["rows_needed"]
    assert action["numbers"] == {"rows": rows}
    assert action["phrase"] == f"Collect about {round(rows, -1)} rows"


@pytest.mark.slow
def test_scores_fitted_on_the_judged_rows_are_sent_to_new_ones(demo):
    own = np.round(demo.y_prob, 2)
    groups = [own == value for value in np.unique(own)]
    for group in groups:
        own[group] = demo.y_true[group].mean()
    found = tn.report(demo.y_true, own, intervals=False)
    assert found.verdicts == {"scores": "too-good"}
    assert answers(found)["action"]["phrase"] == "Evaluate the scores on new rows"
    assert answers(found)["how_far"]["phrase"] == "These rows cannot show it"
    assert answers(found)["cost"]["phrase"] == "These rows cannot show it"


def test_a_segment_that_is_off_is_named_with_its_factor():
    rng = np.random.default_rng(2)
    p = rng.beta(2, 6, 6_000)
    south = rng.random(p.size) < 0.1
    y = (rng.random(p.size) < np.where(south, p / 2.5, p)).astype(int)
    found = answers(tn.report(y, p, by={"region": np.where(south, "south", "north")}, intervals=False))
    assert re.search(r"region = south: over-predicted 2\.\d-fold \(", found["where"]["detail"])
    assert found["where"]["numbers"]["segment"]["value"] == "south"


def test_certainty_that_was_contradicted_is_advised_against():
    found = answers(tn.report([0] + [1] * 90, [1.0] * 91))
    assert found["action"]["phrase"] == "Predict no exact 0 or 1"
    assert found["action"]["detail"].startswith("91 rows have a score of exactly 0 or 1, 1 with the other label: ")
    assert found["how_far"]["phrase"].startswith("Above 0, at most ")


@pytest.mark.parametrize(("y", "p"), [([0] * 60, [1e-4] * 60), ([1], [0.3]), ([0, 1] * 20, [0.4] * 40)])
def test_few_rows_claim_no_cost(y, p):
    found = answers(tn.report(y, p))
    assert found["cost"]["phrase"] == "Too few rows to tell"
    assert found["action"]["phrase"].startswith("Collect ")


@pytest.mark.slow
def test_events_far_more_frequent_than_predicted_are_not_left_alone():
    rng = np.random.default_rng(0)
    p = rng.beta(1, 300, 40_000)
    y = (rng.random(p.size) < np.minimum(1, 1.6 * p)).astype(int)
    found = answers(tn.report(y, p, intervals=False))
    assert found["action"]["phrase"].startswith(("Recalibrate ", "Multiply the odds by 1."))
    assert found["action"]["command"]


def test_the_cost_of_sums_is_the_miscalibration_beside_its_floor(demo):
    found = tn.report(tn.tally(demo.y_true, demo.y_prob))
    cost, summary = answers(found)["cost"], found.to_dict()["models"][0]["summary"]
    assert cost["numbers"]["miscalibration"] == summary["miscalibration"]
    assert cost["numbers"]["miscalibration_chance"] == summary["miscalibration_floor"]
    assert cost["phrase"].startswith("At most about ")
    assert answers(tn.report(tn.binned(demo.y_true, demo.y_prob)))["cost"]["phrase"] == "Not known"


@pytest.mark.slow
def test_a_matrix_is_about_confidence(multiclass):
    found = answers(multiclass)
    assert found["where"]["detail"].startswith("Confidence ")
    assert "Class 3: predicted" in found["where"]["detail"]


@pytest.mark.parametrize(
    ("calibrator", "python", "typed"),
    [
        ("PlattScaling()", "tn.PlattScaling()", "platt-scaling"),
        ("OneVsRest(PlattScaling())", "tn.OneVsRest(tn.PlattScaling())", "one-vs-rest:platt-scaling"),
        (
            "HistogramBinning(n_bins=5, scheme='randomized', seed=3)",
            "tn.HistogramBinning(n_bins=5, scheme='randomized', seed=3)",
            "histogram-binning --set n_bins=5 --set scheme=randomized --seed 3",
        ),
        (
            "TopLabel(calibrator=HistogramBinning(n_bins=5))",
            "tn.TopLabel(calibrator=tn.HistogramBinning(n_bins=5))",
            "top-label:histogram-binning --set calibrator__n_bins=5",
        ),
    ],
)
def test_a_calibrator_is_written_as_python_and_as_options(calibrator, python, typed):
    origin = Provenance("rows.parquet", "y", "1", "2026-11-16", {"a": "trueness fit rows.parquet --label y --prob a"})
    assert _command(calibrator, origin, "other").startswith(f"calibrator = {python}.fit(y_prob, y_true)\n")
    fit, apply = _command(calibrator, origin, "a").splitlines()
    assert fit == f"trueness fit rows.parquet --label y --prob a --calibrator {typed} -o map.json"
    assert apply == "trueness apply new.parquet --calibrator map.json -o calibrated.parquet"


def test_every_form_starts_with_the_same_answers(off):
    found = answers(off)
    for form in (off.to_markdown().replace("\\", ""), " ".join(str(off).split()), re.sub(r"<[^>]*>", "", off.page())):
        places = [form.index(one["phrase"]) for one in found.values()]
        assert places == sorted(places)
        assert places[-1] < form.index("Prevalence")


def test_the_names_of_the_data_and_the_date_are_on_the_report(demo, monkeypatch):
    pandas = pytest.importorskip("pandas")
    y, p = pandas.Series(demo.y_true, name="churned"), pandas.Series(demo.y_prob, name="model_a")
    found = tn.report(y, p, source="mart.churn", date=datetime.date(2026, 2, 3), intervals=False)
    assert found.to_dict()["provenance"] == {
        "file": "mart.churn", "label": "churned", "event": "1", "date": "2026-02-03"
    }  # fmt: skip
    head = "mart.churn · scores model_a · 4,000 rows · event: churned = 1 (20.2 %) · 3 February 2026 · trueness"
    assert head in " ".join(str(found).split())
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert tn.report(y[:50], p[:50], intervals=False).to_dict()["provenance"]["date"] == "1970-01-02"


@pytest.mark.parametrize(
    ("options", "event"),
    [({"pos_label": "yes"}, "yes"), ({"labels": ["no", "yes"]}, "yes")],
)
def test_the_event_is_named(options, event):
    d = tn.simulate.demo(60)
    y = np.where(d.y_true == 1, "yes", "no")
    assert tn.report(y, d.y_prob, intervals=False, **options).to_dict()["provenance"]["event"] == event


def test_the_lines_to_copy_name_the_event_and_the_column(demo):
    y, p, w = np.where(demo.y_true == 1, "yes", "no"), demo.y_prob, np.ones(4_000) * 2
    given = {"tn": tn, "y_true": y, "y_prob": p, "sample_weight": w, "new_scores": p[:3]}
    vector = answers(tn.report(y, p, pos_label="yes", sample_weight=w, intervals=False))["action"]["command"]
    assert ".fit(y_prob, y_true, pos_label='yes', sample_weight=sample_weight)" in vector
    exec(vector, dict(given))
    matrix = np.column_stack([1 - p, p])
    found = tn.report(y, matrix, intervals=False)
    assert found.to_dict()["provenance"]["event"] == "yes"
    two = answers(found)["action"]["command"]
    assert ".fit(y_prob[:, 1], y_true, pos_label='yes')" in two
    exec(two, given | {"y_prob": matrix})


def test_the_event_of_true_and_false_is_true():
    d = tn.simulate.demo(60)
    assert tn.report(d.y_true == 1, d.y_prob, intervals=False).to_dict()["provenance"]["event"] == "True"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"source": 3}, "`source` must be a string or None; got 3"),
        ({"date": "today"}, "`date` must be a datetime.date or None; got 'today'"),
    ],
)
def test_a_wrong_name_of_the_data_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        tn.report([0, 1], [0.2, 0.7], **options)


def test_a_range_at_an_end_is_named_by_its_other_edge():
    named = [_range_in_words(*edges) for edges in ((0.0, 0.1), (0.0033, 1.0), (0.1, 0.2), (0.0, 1.0))]
    assert named == ["below 10 %", "above 0.33 %", "between 10 and 20 %", "between 0 and 100 %"]

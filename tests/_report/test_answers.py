"""The four answers of the first screen are words for numbers of the report."""

import datetime
import re

import numpy as np
import pytest
from _report.conftest import answers, entry

import trueness as tn
from trueness.errors import InputError


def test_the_answers_are_words_for_numbers_of_the_report(off):
    found, model = answers(off), entry(off)
    interval, floor = model["summary"]["ece_interval"], model["summary"]["noise_floor"]
    far = found["how_far"]
    assert far["numbers"]["l2"] == interval["estimate"]
    assert [far["numbers"]["low"], far["numbers"]["high"]] == interval["hull"]
    assert far["numbers"]["chance"] == floor["mean"]
    estimate, low, high = (f"{100 * interval[key]:.1f}" for key in ("estimate", "low", "high"))
    assert far["phrase"] == f"Typically {estimate} percentage points ({low} to {high})"
    ece = f"{100 * model['summary']['ece']:.1f}"
    average = (
        f"The average gap over ranges (ECE) is {ece}, where a perfectly calibrated model would show"
    )
    assert far["detail"].startswith(f"95 % confidence. {average} about ")
    # The range that is named is flagged and contributes most to the error.
    where, bins = found["where"]["numbers"], model["bins"]
    damage = np.multiply(bins["weight"], np.abs(bins["gap"]))
    worst = int(np.argmax(np.where(bins["outside"], damage, -1)))
    assert where["share"] == pytest.approx(damage[worst] / damage.sum())
    assert (
        f"({100 * where['share']:.0f} % of the average error): predicted "
        in found["where"]["detail"]
    )
    assert found["where"]["sections"] == ["segments", "bins"]
    assert (where["low_edge"], where["n"]) == (bins["low_edge"][worst], bins["n"][worst])
    assert where["flagged"] == sum(bins["outside"])
    assert (where["segment"]["column"], where["segment"]["value"]) == ("region", "True")
    # The cost is the gain of the best calibrator on held-out rows.
    fixes, cost = model["remedies"], found["cost"]
    best = next(one for one in fixes["after"] if one["name"] == fixes["best"])
    assert all(cost["numbers"][key] == best[key] for key in ("gain", "gain_low", "gain_high"))
    assert (
        cost["phrase"]
        == f"{100 * best['gain'] / fixes['before']['brier']:.1f} % of the Brier score"
    )
    action = found["action"]
    assert (action["numbers"]["before"], action["numbers"]["after"]) == (
        interval["estimate"],
        best["ece_interval"]["estimate"],
    )
    assert best["ece_interval"]["includes_zero"]  # which is not said to be an error of zero
    (left,) = [100 * best["ece_interval"]["high"]]
    (now,) = [100 * interval["hull"][1]]
    assert action["detail"].endswith(
        f"; the typical error is then at most {left:.1f} percentage points (now at most {now:.1f})."
    )
    assert action["detail"].startswith(
        "A clear gain: on held-out rows it lowers the Brier score by "
    )


def test_the_sentence_of_the_verdict_has_the_evidence(off):
    interval = entry(off)["summary"]["ece_interval"]
    limits = f"{100 * interval['low']:.1f} to {100 * interval['high']:.1f}"
    assert f" percentage points (95 % confidence: {limits})." in off.verdict


@pytest.mark.slow
def test_several_models_get_one_sentence_and_one_each(two):
    assert two.verdict == "“off” is miscalibrated; “fine” shows no miscalibration."
    assert two.to_dict()["verdict"]["code"] == "miscalibrated"
    assert two.verdicts == {"fine": "no-evidence", "off": "miscalibrated"}
    own = entry(two, 1)["verdict"]
    assert own["headline"].startswith("Not calibrated: the predictions are overconfident")
    # The one shows its size, the other its bound.
    fine, off = (entry(two, i)["answers"]["how_far"]["phrase"] for i in range(2))
    assert re.fullmatch(r"At most [\d.]+ percentage points", fine)
    assert re.fullmatch(r"Typically [\d.]+ percentage points \([\d.]+ to [\d.]+\)", off)
    assert own["sentence"] == f"“off”: n{own['headline'][1:]} {own['certainty']}"


def test_the_lines_to_copy_run(off, demo):
    found = answers(off)["action"]
    names = {
        "tn": tn,
        "y_prob": demo.y_prob,
        "y_true": demo.y_true,
        "new_scores": np.array([0.1, 0.9]),
    }
    exec(found["command"], names)
    assert names["calibrated"].shape == (2,)


@pytest.mark.slow
def test_an_error_that_is_left_has_its_limits():
    """Stripes are more than the maps can follow."""
    rng = np.random.default_rng(0)
    p = rng.random(3_000)
    y = (rng.random(p.size) < 0.1 + 0.4 * p + 0.4 * ((20 * p).astype(int) % 2)).astype(int)
    found = tn.report(y, p, intervals=False)
    fixes, action = entry(found)["remedies"], answers(found)["action"]
    best = next(one for one in fixes["after"] if one["name"] == fixes["best"])
    left = 100 * best["ece_interval"]["high"]
    assert (
        best["name"] == "automatic calibration"
    )  # isotonic regression is better, but has an infinite log loss
    assert f"the typical error is then at most {left:.1f} percentage points (" in action["detail"]


@pytest.mark.slow
def test_nothing_is_to_be_done_about_calibrated_scores(calibrated):
    found = answers(calibrated[2])
    assert found["action"]["phrase"] == "Leave the scores as they are"
    assert found["action"]["command"] == ""
    assert found["where"]["phrase"] == "No range stands out"
    assert found["cost"]["phrase"] == "Nothing measurable"
    assert re.fullmatch(r"At most [\d.]+ percentage points", found["how_far"]["phrase"])
    gain, words = found["cost"]["numbers"]["gain"], found["cost"]["detail"]
    assert gain < 0
    assert words.startswith(
        f"No map that was tried lowers the Brier score of {found['cost']['numbers']['brier']:.4f}"
    )
    assert float(re.search(r"the best one raises it by (\S+)", words)[1]) == pytest.approx(
        -gain, abs=5e-6
    )


@pytest.mark.slow
def test_one_range_outside_the_band_does_not_contradict_the_verdict():
    rng = np.random.default_rng(4)
    p = rng.random(6_000)
    found = tn.report((rng.random(p.size) < p).astype(int), p, intervals=False)
    assert found.verdicts == {"scores": "no-evidence"}
    assert answers(found)["where"]["phrase"] == "Perhaps between 10 and 20 %"
    assert answers(found)["where"]["detail"].endswith("Taken together, they are within chance.")


@pytest.mark.slow
def test_few_rows_ask_for_more(few):
    action, rows = answers(few)["action"], entry(few)["summary"]["power"]["rows_needed"]
    assert action["numbers"] == {"rows": rows}
    assert action["phrase"] == f"Collect about {round(rows, -1)} rows"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("y", "p"), [([0] * 60, [1e-4] * 60), ([1], [0.3]), ([0, 1] * 20, [0.4] * 40)]
)
def test_few_rows_claim_no_cost(y, p):
    found = answers(tn.report(y, p))
    assert found["cost"]["phrase"] == "Too few rows to tell"
    assert found["action"]["phrase"].startswith("Collect ")


@pytest.mark.slow
def test_scores_fitted_on_the_judged_rows_are_sent_to_new_ones():
    d = tn.simulate.demo(4_000)
    own = np.round(d.y_prob, 2)
    for group in [own == value for value in np.unique(own)]:
        own[group] = d.y_true[group].mean()
    found = tn.report(d.y_true, own, intervals=False)
    assert found.verdicts == {"scores": "too-good"}
    assert answers(found)["action"]["phrase"] == "Evaluate the scores on new rows"
    assert answers(found)["how_far"]["phrase"] == "These rows cannot show it"
    assert answers(found)["cost"]["phrase"] == "These rows cannot show it"


@pytest.mark.slow
def test_a_segment_that_is_off_is_named_with_its_factor():
    rng = np.random.default_rng(2)
    p = rng.beta(2, 6, 6_000).round(2)
    south = rng.random(p.size) < 0.1
    y = (rng.random(p.size) < np.where(south, p / 2.5, p)).astype(int)
    found = answers(
        tn.report(y, p, by={"region": np.where(south, "south", "north")}, intervals=False)
    )
    assert re.search(
        r"1 of 2 segments is off: region = south, over-predicted 2\.\d-fold \(",
        found["where"]["detail"],
    )
    assert found["where"]["numbers"]["segment"]["value"] == "south"


@pytest.mark.slow
def test_answers_about_all_rows_do_not_follow_segments(tmp_path):
    """The same rows with and without segments; only one with segments is off."""
    p = np.tile(np.linspace(0.05, 0.95, 19), 60)
    bad = np.repeat(np.arange(60) % 15 == 0, 19)
    y = (np.random.default_rng(3).random(p.size) < np.where(bad, p / 3, p)).astype(int)
    alone = tn.report(y, p, intervals=False)
    found = tn.report(y, p, by={"g": np.where(bad, "b", "a")}, intervals=False)
    code = alone.verdicts["scores"]
    assert found.verdicts["scores"] == "miscalibrated" != code
    assert entry(found)["verdict"]["all_rows"] == code
    # How far off begins with that segment; the numbers are those of all rows.
    how_far, of_all_rows = (answers(report)["how_far"] for report in (found, alone))
    assert " percentage points in g = b (" in how_far["phrase"]
    assert of_all_rows["phrase"].removeprefix("At most") in how_far["detail"]
    assert how_far["numbers"] == of_all_rows["numbers"]
    # What it costs is what the advised map saves, that of the segment.
    assert answers(found)["action"]["phrase"] == "Recalibrate by g"
    assert "by a map by g" in answers(found)["cost"]["detail"]
    assert f'<div class="screen {code}">' in found.to_html(tmp_path / "x.html").read_text(
        encoding="utf-8"
    )


@pytest.mark.slow
def test_an_error_too_small_to_be_estimated_is_not_said_to_be_zero():
    """Rejected, with a debiased estimate of 0: no zero in the headline, the advice or the printed limits."""
    rng = np.random.default_rng(2)
    p = rng.random(900)
    y = (rng.random(900) < p**0.8 / (p**0.8 + (1 - p) ** 0.8)).astype(int)
    found = answers(tn.report(y, p, intervals=False))
    assert found["how_far"]["numbers"]["l2"] == 0
    assert found["how_far"]["phrase"].startswith("Too small to be estimated (at most ")
    assert "0.0 percentage points before" not in found["action"]["detail"]
    one = tn.estimate("l2", y, p, seed=0)
    assert one.low_open
    assert 0 not in one
    assert " above 0 to " in str(one)


@pytest.mark.slow
def test_certainty_that_was_contradicted_is_advised_against():
    found = answers(tn.report([0] + [1] * 90, [1.0] * 91, intervals=False))
    assert found["action"]["phrase"] == "Predict no exact 0 or 1"
    assert found["action"]["detail"].startswith(
        "91 rows have a score of exactly 0 or 1, 1 with the other label: "
    )
    assert found["how_far"]["phrase"].startswith("Too small to be estimated (at most ")


@pytest.mark.slow
def test_events_far_more_frequent_than_predicted_are_not_left_alone():
    rng = np.random.default_rng(0)
    p = rng.beta(1, 300, 40_000)
    y = (rng.random(p.size) < np.minimum(1, 1.6 * p)).astype(int)
    found = answers(tn.report(y, p, intervals=False))
    assert found["action"]["phrase"].startswith(("Recalibrate ", "Multiply the odds by 1."))
    assert found["action"]["command"]


@pytest.mark.slow
def test_the_cost_of_sums_is_the_miscalibration_beside_its_floor(demo):
    found = tn.report(tn.tally(demo.y_true, demo.y_prob))
    cost, summary = answers(found)["cost"], entry(found)["summary"]
    assert cost["numbers"]["miscalibration"] == summary["miscalibration"]
    assert cost["numbers"]["miscalibration_chance"] == summary["miscalibration_floor"]
    assert cost["phrase"].startswith("At most about ")
    assert answers(tn.report(tn.binned(demo.y_true, demo.y_prob)))["cost"]["phrase"] == "Not known"


@pytest.mark.slow
def test_a_matrix_is_about_confidence(multiclass, classes):
    found = answers(multiclass)
    assert " Confidence " in found["where"]["detail"]
    assert "Class 3: predicted" in found["where"]["detail"]
    # A name that is not among the everyday ones, so that `tn.` alone would not do.
    made = "tn.recalibrate.StructuredScaling(structure='vector')"
    lines = found["action"]["command"]
    assert lines.startswith(f"calibrator = {made}.fit(y_prob, y_true, labels=labels)\n")
    text = " ".join(str(multiclass).split())
    assert f"In Python, {made}.fit(y_prob, y_true);" in text
    assert (
        "trueness fit FILE --calibrator structured-scaling --set structure=vector -o map.json"
        in text
    )
    y, scores = classes
    copied = {"tn": tn, "y_true": y, "y_prob": scores, "labels": list(range(10))}
    exec(lines, copied | {"new_scores": scores[:5]}, written := {})
    assert written["calibrated"].shape == (5, 10)


def test_every_form_starts_with_the_same_answers(off):
    found = answers(off)
    for form in (
        off.to_markdown().replace("\\", ""),
        " ".join(str(off).split()),
        re.sub(r"<[^>]*>", "", off.page()).replace("\u00a0", " "),
    ):
        places = [form.index(one["phrase"]) for one in found.values()]
        assert places == sorted(places)
        assert places[-1] < form.index("Prevalence")


@pytest.mark.slow
def test_the_names_of_the_data_and_the_date_are_on_the_report(demo, monkeypatch):
    pandas = pytest.importorskip("pandas")
    y, p = (
        pandas.Series(demo.y_true[:200], name="churned"),
        pandas.Series(demo.y_prob[:200], name="model_a"),
    )
    found = tn.report(y, p, source="mart.churn", date=datetime.date(2026, 2, 3), intervals=False)
    assert found.to_dict()["provenance"] == {
        "file": "mart.churn", "label": "churned", "event": "1", "date": "2026-02-03"
    }  # fmt: skip
    head = "mart.churn · scores model_a · 200 rows · event: churned = 1 (19 %) · 3 February 2026 · trueness"
    assert head in " ".join(str(found).split())
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert (
        tn.report(tn.tally(y[:50], p[:50]), intervals=False).to_dict()["provenance"]["date"]
        == "1970-01-02"
    )


@pytest.mark.slow
def test_the_event_is_named_on_the_page_and_in_the_lines_to_copy(demo):
    y, p, w = (
        np.where(demo.y_true == 1, "yes", "no")[:1_100],
        demo.y_prob[:1_100],
        np.ones(1_100) * 2,
    )
    given = {"tn": tn, "y_true": y, "y_prob": p, "sample_weight": w, "new_scores": p[:3]}
    found = tn.report(y, p, pos_label="yes", sample_weight=w, intervals=False)
    assert found.to_dict()["provenance"]["event"] == "yes"
    vector = answers(found)["action"]["command"]
    assert ".fit(y_prob, y_true, pos_label='yes', sample_weight=sample_weight)" in vector
    exec(vector, dict(given))
    matrix = np.column_stack([1 - p, p])
    found = tn.report(y, matrix, intervals=False)
    assert found.to_dict()["provenance"]["event"] == "yes"
    two = answers(found)["action"]["command"]
    assert ".fit(y_prob[:, 1], y_true, pos_label='yes')" in two
    exec(two, given | {"y_prob": matrix})
    for labels, options, event in ((y, {"labels": ["no", "yes"]}, "yes"), (y == "yes", {}, "True")):
        found = tn.report(labels[:40], p[:40], intervals=False, **options)
        assert found.to_dict()["provenance"]["event"] == event


def test_a_wrong_name_of_the_data_is_refused():
    with pytest.raises(InputError, match="`source` must be a string or None; got 3"):
        tn.report([0, 1], [0.2, 0.7], source=3)
    with pytest.raises(InputError, match=r"`date` must be a datetime.date or None; got 'today'"):
        tn.report([0, 1], [0.2, 0.7], date="today")


@pytest.mark.parametrize(
    ("shift", "edges", "words"),
    [
        (0.2, [0, 0.1, 1], "below 10 %"),
        pytest.param(0.2, [0, 0.33, 1], "above 33 %", marks=pytest.mark.slow),
        pytest.param(0.2, [0, 0.1, 0.2, 1], "between 10 and 20 %", marks=pytest.mark.slow),
        pytest.param(0.2, [0, 1], "between 0 and 100 %", marks=pytest.mark.slow),
    ],
)
def test_a_range_at_an_end_is_named_by_its_other_edge(shift, edges, words):
    rng = np.random.default_rng(0)
    low, high = edges[-2:] if "above" in words else edges[-3:-1] if len(edges) > 2 else edges
    p = rng.random(4_000).round(2)
    y = (rng.random(p.size) < np.clip(p + shift * ((low <= p) & (p < high)), 0, 1)).astype(int)
    found = tn.report(tn.tally(y, p), bins=edges, intervals=False)
    assert answers(found)["where"]["phrase"] == f"Mostly {words}"


def test_the_range_with_most_of_the_error_is_named_not_the_one_farthest_off():
    """Nine tenths of the rows lie below 10 % and are off by 4 points, one hundredth above 90 % by 40."""
    n = np.array([9_000, 900, 100])
    p, rate = np.array([0.05, 0.5, 0.95]), np.array([0.09, 0.5, 0.55])
    y = np.concatenate([np.arange(m) < round(m * r) for m, r in zip(n, rate, strict=True)]).astype(
        int
    )
    found = answers(tn.report(tn.tally(y, p.repeat(n)), intervals=False))["where"]
    assert found["phrase"] == "Mostly below 10 %"
    assert found["numbers"]["share"] == pytest.approx(9_000 * 0.04 / (9_000 * 0.04 + 100 * 0.4))
    assert found["detail"].startswith(
        "90 % of the average error comes from there. Predicted 5.0 %, happened 9.0 %"
    )


def test_of_rare_events_observed_over_expected_leads():
    p = np.repeat([0.005, 0.04], [6_000, 2_000])
    y = (np.arange(8_000) % 4_000 < 30).astype(int)  # 60 events, 110 expected
    found = answers(tn.report(tn.tally(y, p), intervals=False))
    ratio = found["how_far"]["numbers"]
    assert ratio["ratio"] == pytest.approx(60 / 110)
    limits = f"{ratio['ratio_low']:.2f} to {ratio['ratio_high']:.2f}"
    assert found["how_far"]["phrase"] == f"0.55 ({limits}) times as many events as predicted"
    assert "Events are rare, so their ratio leads. The error is " in found["how_far"]["detail"]
    assert " times as often." in found["where"]["detail"]


def agreeing(n=300):
    """Labels and scores that agree, without chance: every twentieth score has its share of events."""
    p = (np.arange(n) % 20 + 0.5) / 20
    return ((np.arange(n) // 20 + 0.5) * 20 / n < p).astype(int), p


@pytest.mark.slow
def test_scores_of_the_other_label_are_to_be_checked_and_swapped():
    y, p = agreeing()
    found = tn.report(1 - y, p, intervals=False)
    action = answers(found)["action"]
    assert action["phrase"] == "Check the label coding or the class column"
    assert "(slope −" in action["detail"]
    assert action["command"] == "tn.report(y_true, y_prob, pos_label=0)"
    assert not tn.verdict(1 - y, p, pos_label=0).rejected
    assert "Platt scaling would" not in found.to_text()
    assert answers(found)["cost"]["phrase"] == "Not known before the scores are checked"


@pytest.mark.slow
def test_confidences_of_the_predicted_class_are_asked_about():
    y, p = agreeing()
    found = tn.report(y, np.maximum(p, 1 - p), intervals=False)
    assert answers(found)["action"]["phrase"] == "Are these confidences of the predicted class?"
    assert "predicted class? No score is below 50 %." in found.to_text().replace("\n  ", " ")
    assert answers(found)["action"]["command"] == "tn.report(y_true == y_predicted, y_prob)"


@pytest.mark.slow
def test_one_score_for_all_rows_is_calibrated_and_no_use():
    y = np.arange(4_000) % 4 == 0
    action = answers(tn.report(y, np.full(4_000, 0.25), intervals=False))["action"]
    assert action["phrase"] == "Look for scores that tell rows apart"
    assert action["detail"].startswith("Every row has the score 25")


@pytest.mark.slow
def test_a_map_that_nothing_asks_for_is_not_recommended(calibrated):
    text = calibrated[2].to_text().replace("\n", " ")
    assert "What to do: Leave the scores as they are." in text
    assert (
        "Leave the scores alone." in text
        or "Nothing was found that needs a map of all rows." in text
    )


@pytest.mark.slow
def test_a_segment_alone_is_recalibrated_by_itself():
    """All rows are within chance, so no map of all rows is advised, whatever its chance."""
    rng = np.random.default_rng(0)
    p, region = rng.beta(2, 4, 4_000), np.arange(4_000) % 9
    y = (rng.random(4_000) < np.where(region == 3, 1.5 * p, p).clip(0, 1)).astype(int)
    found = tn.report(y, p, by={"region": region}, intervals=False)
    assert not entry(found)["verdict"]["rejected"]
    action = answers(found)["action"]
    assert action["phrase"] == "Recalibrate by region"
    assert action["command"].startswith(
        "calibrator = tn.SegmentCalibration().fit(y_prob, y_true, by="
    )
    fix = " ".join(found.to_markdown().partition("## What would fix it")[2].split())
    assert "Recalibrate by region." in fix
    assert "Leave the scores alone" not in fix
    how_far = answers(found)["how_far"]
    assert " percentage points in region = 3 (" in how_far["phrase"]
    assert re.match(r"Over all rows: at most [\d.]+ percentage points", how_far["detail"])


@pytest.mark.slow
def test_labels_that_are_separated_by_timid_scores_may_be_those_of_the_training():
    p = np.linspace(0.2, 0.8, 200)
    asked = "Was the model trained on these rows?"
    assert (
        asked in answers(tn.report((p > 0.5).astype(int), p, intervals=False))["action"]["detail"]
    )


@pytest.mark.slow
def test_classes_that_are_off_have_one_advice_although_the_top_label_is_within_chance():
    rng = np.random.default_rng(4)
    p = rng.dirichlet(np.ones(4), 3_000)
    y = (p.cumsum(axis=1) < rng.random((3_000, 1))).sum(axis=1)
    q = p * [1, 1, 1.8, 1]
    found = tn.report(y, q / q.sum(axis=1, keepdims=True), intervals=False)
    assert answers(found)["action"]["phrase"] == "Recalibrate with structured vector scaling"
    text = " ".join(found.to_markdown().split())
    assert "| Structured vector scaling | **recommended** |" in text
    assert "Nothing was found" not in text


@pytest.mark.slow
def test_a_rejected_model_has_an_error_above_zero_also_with_weights():
    rng = np.random.default_rng(1)
    p = rng.random(1_500)
    y, w = (rng.random(1_500) < p**1.2).astype(int), rng.uniform(0.2, 3, 1_500)
    found = tn.report(y, p, sample_weight=w, intervals=False)
    assert entry(found)["verdict"]["rejected"]
    assert "(0 to" not in answers(found)["how_far"]["phrase"]
    assert " fits these 1,500 rows (95 % confidence)." in found.verdict
    assert "whatever its shape" not in found.verdict

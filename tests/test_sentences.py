"""What is said, on one page: the sentences of each state, and of gate, comparison and decision."""

import re
from dataclasses import replace

import numpy as np
import pytest

import trueness as tn
from trueness.results._verdict import Flags

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


@pytest.fixture(scope="module")
def base():
    data = tn.simulate.demo(3_000)
    return tn.verdict(data.y_true, data.y_prob)


def estimated(estimate, value, low, high):
    return replace(estimate, value=value, low=low, high=high)


def off_by(base, typical, low, high, **changes):
    """A verdict with a typical error and its limits."""
    interval = replace(base.interval, estimate=typical, low=low, high=high)
    return replace(base, interval=interval, **changes)


def test_an_error_of_size(base):
    found = off_by(base, 0.064, 0.055, 0.075)
    assert found.headline == (
        "Not calibrated: the predictions are overconfident (too extreme) and too high on average."
    )
    assert found.size == "Typically off by 6.4 percentage points (95 % confidence: 5.5 to 7.5)."
    assert found.error == "typically 6.4 percentage points (5.5 to 7.5)"


def test_an_error_of_uncertain_size(base):
    found = off_by(base, 0.08, 0.004, 0.15, n=300)
    assert found.headline.endswith("too high on average; how far off is uncertain.")
    assert found.size == (
        "Typically off by 8.0 percentage points, but anything from 0.4 to 15.0 fits these 300 rows "
        "(95 % confidence)."
    )
    assert replace(found, slope=None, observed_expected=None).headline == (
        "Not calibrated; how far off is uncertain."
    )


def test_a_segment_comes_before_an_error_of_uncertain_size(base):
    flags = Flags("segment", 2, 7, "region = online", "under-predicted", 1.7, 1e-4, own=1)
    found = off_by(base, 0.008, 0.0, 0.034, flags=(flags,))
    assert found.headline.endswith(
        "too high on average. Off by itself: region = online, under-predicted 1.7-fold."
    )
    alike = replace(found, flags=(replace(flags, own=0),))
    assert alike.headline.endswith("; how far off is uncertain.")


@pytest.mark.slow
def test_where_one_segment_is_off_its_gap_comes_first():
    rng = np.random.default_rng(0)
    p = rng.beta(1.2, 3, 6_000)
    region = rng.choice(["north", "south", "west", "online"], p.size, p=[0.3, 0.3, 0.3, 0.1])
    odds = p / (1 - p) * np.where(region == "online", 2.7, 1)
    y = (rng.random(p.size) < odds / (1 + odds)).astype(int)
    found = tn.report(y, p, by={"region": region}, progress=False).to_dict()["models"][0]
    far = found["answers"]["how_far"]
    online = region == "online"
    gap = 100 * (y[online].mean() - p[online].mean())
    assert far["phrase"].startswith(f"{gap:.1f} percentage points in region = online (")
    assert far["detail"].startswith("Over all rows: typically ")


def test_a_small_error(base):
    found = off_by(base, 0.005, 0.0, 0.025, code="nearly-calibrated")
    assert found.headline == (
        "Nearly calibrated: an error is shown, typically 0.5 percentage points (at most 2.5)."
    )
    assert found.size == ""


def test_an_error_too_small_to_be_estimated(base):
    found = off_by(base, 0.0, 0.0, 0.117)
    assert found.error == "too small to be estimated (at most 11.7 percentage points)"
    assert "0.0" not in found.size


def test_no_error_is_led_by_its_bound(base):
    interval = replace(base.interval, estimate=0.0, low=0.0, high=0.034, includes_zero=True)
    found = replace(base, code="no-evidence", rejected=False, interval=interval)
    assert found.headline == "No sign of miscalibration."
    assert found.size.startswith("The typical error is at most 3.4 percentage points (95 % conf")
    assert found.error == "at most 3.4 percentage points"


def test_few_rows_come_first(base):
    found = off_by(base, 0.1, 0.02, 0.2, n=40, rate=9 / 40)
    assert found.headline.startswith("Few rows (40, with 9 events), but not calibrated: the pred")
    assert found.has_few_rows


def test_rare_events_are_told_as_a_factor(base):
    ratio = estimated(base.observed_expected, 1.6, 1.3, 2.0)
    found = off_by(base, 0.002, 0.001, 0.004, rate=0.01, slope=None, observed_expected=ratio)
    assert found.headline == "Not calibrated: 1.60 times as many events as predicted."
    assert found.error == "1.60 (1.30 to 2.00) times as many events as predicted"
    assert not found.is_size_uncertain


def test_few_clusters(base):
    found = replace(
        base, code="too-few-rows", rejected=False, clustered=True, clusters=2, cluster_name="idp"
    )
    assert found.sentence == (
        "2 clusters are too few to tell: is idp the unit that repeats? The 3,000 rows fall into 2 "
        "clusters, and a cluster counts like one row; no test of 2 clusters can reach 5 %."
    )


def test_the_colour_follows_the_size():
    p = np.tile(np.linspace(0.3, 0.7, 41), 3_000)
    rng = np.random.default_rng(0)
    codes = {}
    for error in (0.0, 0.008, 0.05):
        y = (rng.random(p.size) < p + error).astype(int)
        codes[error] = tn.verdict(y, p).code
    assert codes == {0.0: "no-evidence", 0.008: "nearly-calibrated", 0.05: "miscalibrated"}


def test_advice_follows_the_gain():
    rng = np.random.default_rng(1)
    p = rng.beta(1, 2, 2_000)
    clear = tn.assess((rng.random(p.size) < 0.5 + 0.4 * (p - 0.5)).astype(int), p).advice
    assert clear.kind == "recalibrate"
    assert clear.reason.startswith("A large gain: on held-out rows it lowers the Brier score by ")
    few = p[:300]
    unclear = tn.assess((rng.random(300) < np.minimum(1, 1.3 * few)).astype(int), few)
    assert unclear.verdict.code == "miscalibrated"
    assert unclear.advice.phrase == "Recalibration is optional"
    assert unclear.advice.reason.startswith("These rows do not show that it helps: on held-out ro")
    assert unclear.advice.gain_low < 0


@pytest.mark.slow
def test_a_page_without_an_error_has_no_heading_about_one():
    data = tn.simulate.demo(1_000)
    fine = tn.report(data.y_true, data.truth, progress=False).to_markdown()
    assert "## Range by range" in fine
    assert "## What recalibration would change" in fine
    off = tn.report(data.y_true, data.y_prob, progress=False).to_markdown()
    assert "## Where it is wrong" in off
    assert "## What would fix it" in off


@pytest.mark.slow
def test_a_page_does_not_mark_a_change_as_a_range():
    data = tn.simulate.demo(1_000)
    page = tn.report(data.y_true, data.y_prob, progress=False).page()
    assert "<strong>" in page
    assert "from <strong>" not in page


def test_a_certainty_that_was_wrong_has_a_clause_of_its_own(base):
    ratio = estimated(base.observed_expected, 0.31, 0.24, 0.38)
    test = replace(base.test, contradicted=4, alone=False)
    found = replace(base, rate=0.006, observed_expected=ratio, test=test, slope=None)
    assert found.headline.endswith(
        "4 scores of exactly 0 or 1 were wrong (impossible if calibrated), and there were 0.31 "
        "times as many events as predicted."
    )


def test_one_score_of_exactly_0_or_1_is_not_called_them():
    y = np.array([0, 1, 0, 1, 1, 0])
    p = np.array([0.2, 0.7, 0.4, 0.6, 0.4, 0.0])
    with pytest.warns(tn.errors.TruenessWarning, match="leave it out, .* it does not contradict"):
        tn.calibration_slope(y, p)


def test_clusters_are_collected_with_rows():
    rng = np.random.default_rng(1)
    cluster = np.repeat(np.arange(30), 10)
    p = rng.beta(2, 3, cluster.size)
    y = (rng.random(p.size) < p).astype(int)
    found = tn.assess(y, p, cluster=cluster)
    assert found.verdict.code == "too-few-rows"
    rows, clusters = re.search(
        r"Collect about ([\d,]+) rows in ([\d,]+) clusters like these", found.advice.phrase
    ).groups()
    assert int(clusters.replace(",", "")) == pytest.approx(
        int(rows.replace(",", "")) / 10, rel=0.06
    )


@pytest.mark.slow
def test_the_bar_of_a_bound_reaches_its_end_without_an_arrow():
    rng = np.random.default_rng(1)
    cluster = np.repeat(np.arange(30), 26)
    p = rng.beta(2, 3, cluster.size)
    y = (rng.random(p.size) < p).astype(int)
    report = tn.report(y, p, cluster=cluster, progress=False)
    numbers = report.to_dict()["models"][0]["answers"]["how_far"]["numbers"]
    assert numbers["high"] > 3 * max(numbers["ece"], numbers["chance"])
    meter = report.page().partition('class="meter"')[2].partition("</svg>")[0]
    assert "typical error" in meter
    assert "arrow" not in meter


def test_two_models():
    data = tn.simulate.demo(4_000)
    found = tn.compare(data.y_true, {"old": data.y_prob, "new": data.truth})
    assert found.sentence.startswith("“new” is better calibrated than “old”: typical error ")
    assert found.sentence.endswith(" percentage points (p < 0.0001).")


def test_a_decision():
    data = tn.simulate.demo(2_000)
    lines = str(tn.decide(data.y_true, data.y_prob, cost_fp=1, cost_fn=4)).split("\n")
    assert (
        lines[0] == "Act where the score is at least 0.2000 (a miss costs 4 times a false alarm)."
    )
    assert lines[1].startswith("This costs 0.5")
    assert lines[2].startswith("Recalibrating first would save ")


def test_the_same_sentence_is_said_everywhere():
    data = tn.simulate.demo(2_000)
    y, p = data.y_true, data.y_prob
    found, a = tn.verdict(y, p), tn.assess(y, p)
    report = tn.report(a, intervals=False, progress=False)
    assert report.verdict == found.sentence
    assert report.brief == str(a)
    assert report.brief.startswith(found.headline)
    assert str(found).startswith(found.headline)
    for cell in (found._repr_html_(), a._repr_html_()):
        assert found.headline in cell
        assert "(p &lt; 0.0001, omnibus test); slope" in cell
        assert '<th scope="row" style="text-align:left;white-space:nowrap">How far off</th>' in cell
        assert "\\n" not in cell
    for text in (report.brief, report.to_markdown()):
        assert f"{found.error[:1].upper()}{found.error[1:]}" in text


def test_a_verdict_and_an_assessment_print_a_headline_and_a_line_per_answer():
    data = tn.simulate.demo()
    a = tn.assess(data.y_true, data.y_prob)
    headline = (
        "Not calibrated: the predictions are overconfident (too extreme) and too high on average."
    )
    assert str(a.verdict).split("\n") == [
        headline,
        "  How far off  Typically 6.4 percentage points (5.5 to 7.5)",
        "  Evidence     Overwhelming (p < 0.0001, omnibus test); slope 0.62 (0.58 to 0.66); "
        "observed/expected",
        "               0.94 (0.91 to 0.98).",
        "10,000 rows; limits at 95 % confidence.",
    ]
    assert str(a).split("\n") == [
        headline,
        "  How far off    Typically 6.4 percentage points (5.5 to 7.5)",
        "  Where          Most of all below 10 %: predicted 4.0 %, happened 7.4 %",
        "  What it costs  2.9 % of the Brier score",
        "  What to do     Recalibrate with automatic calibration",
        "                 calibrator = tn.AutoCalibration().fit(y_prob, y_true)",
        "                 calibrated = calibrator.predict(new_scores)",
        "  Evidence       Overwhelming (p < 0.0001, omnibus test); slope 0.62 (0.58 to 0.66);",
        "                 observed/expected 0.94 (0.91 to 0.98).",
        "10,000 rows; limits at 95 % confidence; seed 0.",
    ]


@pytest.mark.slow
def test_no_note_or_limit_of_a_page_has_digits_that_say_nothing():
    """All labels equal: the notes of single folds differ in their numbers only."""
    p = np.random.default_rng(1).beta(2, 30, 300)
    text = tn.report(np.zeros(300, int), p, progress=False).to_markdown()
    assert "no events, where about" in text
    assert text.count("Platt's smoothed targets replaced the labels") <= 2
    assert not re.search(r"\d(\.\d+)?e-\d\d", text)


def test_classes_that_are_off_are_a_place():
    rng = np.random.default_rng(5)
    p = rng.dirichlet([1, 1, 1, 1], 3_000)
    sharp = p**0.6 / (p**0.6).sum(axis=1, keepdims=True)
    y = np.array([rng.choice(4, p=row) for row in sharp])
    found = tn.report(y, p, progress=False, intervals=False).to_dict()["models"][0]
    largest = max((row for row in found["classes"] if row["flagged"]), key=lambda row: row["ece"])
    assert f"class {largest['label']}" in found["verdict"]["sentence"]


def test_bin_rules_and_levels_are_said_in_words():
    data = tn.simulate.demo(500)
    y, p = data.y_true, np.round(data.y_prob, 1)
    rng = np.random.default_rng(0)
    several = rng.random((300, 3))
    labels = (rng.random((300, 3)) < several).astype(int)
    texts = [
        str(tn.estimate("squared_ece", y, p, bins=tn.Distinct())),
        str(tn.estimate("squared_ece", y, p, bins=[0, 0.3, 1])),
        str(tn.calibration_test(y, p, method="exact")),
        str(tn.calibration_test(y, p, method="hosmer-lemeshow", bins=tn.EqualMass(7))),
        str(tn.compare(y, {"a": p, "b": p**2, "c": p**3}, bins=tn.EqualMass(7))),
        str(tn.estimate("brier", labels, several, kind="multilabel")),
    ]
    for text in texts:
        assert not re.search(r"(Equal\w+|Distinct|Edges)\(|\d\.\d{3,} %", text)
    assert "one bin per distinct score: 10 bins with rows" in texts[0]
    assert "(test inversion (score), 2 bins between the edges 0, 0.3, 1, n = 500)" in texts[1]
    assert "Groups: 7 bins of equal mass, 6 of them." in texts[3]
    assert "each of level 98.33 %" in texts[4]
    assert "mean of 3 limits at 98.33 %" in texts[5]


@pytest.mark.slow
def test_a_weighted_segment_that_is_flagged_within_its_limits_says_why_and_names_no_huge_factor():
    rng = np.random.default_rng(22)
    p = rng.beta(1, 30, 1_500)
    group = rng.choice(list("abc"), 1_500, p=[0.2, 0.3, 0.5])
    weight = rng.lognormal(0, 1.7, 1_500)
    y = (rng.random(1_500) < np.where(group == "a", 0.15 * p, p)).astype(int)
    report = tn.report(
        y, p, by={"group": group}, sample_weight=weight, intervals=False, progress=False
    )
    text = " ".join(report.to_text().split())
    assert "over-predicted (predicted 3.24 %, happened 0.02 %)" in text
    assert (
        "Flagged although the limits of observed/expected include 1: group = a. The limits use the event rate "
        "alone and, with weights, the number of equally weighted rows; the test, which decides, also uses the "
        "score of each row."
    ) in text


@pytest.mark.slow
def test_an_ece_above_the_typical_error_is_explained():
    rng = np.random.default_rng(3)
    p = rng.random(400)
    explained = []
    for shift in (0.05, 0.06, 0.11):
        y = (rng.random(400) < np.clip(p + shift, 0, 1)).astype(int)
        found = tn.report(y, p, intervals=False, progress=False).to_dict()["models"][0]
        answer = found["answers"]["how_far"]
        size = answer["numbers"]["l2" if found["verdict"]["rejected"] else "high"]
        sentence = "It is the larger of the two since chance adds to it, and is taken off the typical error."
        explained.append(sentence in answer["detail"])
        assert explained[-1] == (size < answer["numbers"]["ece"])
    assert any(explained)
    assert not all(explained)


def test_records_say_it_in_words_before_numbers_and_name_no_object():
    data = tn.simulate.demo(2_000)
    models = {"a": data.y_prob, "b": np.sqrt(data.y_prob)}
    found = tn.compare(data.y_true, models)
    assert str(found).splitlines()[0] == found.sentence
    records = [
        found,
        tn.reliability_curve(data.y_true, data.y_prob),
        tn.ece_interval(data.y_true, data.y_prob),
        tn.assess(data.y_true, np.full(2_000, data.y_true.mean())).power,
    ]
    for record in records:
        assert not re.search(r"[A-Z]\w+\(\w*=?", str(record)), str(record)


def test_a_gate_over_many_groups_names_three_and_counts_the_others():
    data = tn.simulate.demo(5_000)
    shop = np.arange(5_000) % 9
    open_question = tn.gate(data.y_true, data.truth, max_ece=0.05, by={"shop": shop}, require=True)
    assert open_question.headline.startswith(
        "Cannot be decided with these rows. shop = 0: ECE in 10 bins of equal width lies between 0 and 0.0677, "
        "and 0.05 is allowed; about 9,800 rows would decide. shop = 1: ECE"
    )
    assert open_question.headline.endswith("6 more of 9 findings cannot be decided.")
    passed = tn.gate(data.y_true, data.truth, max_ece=0.05, by={"shop": shop})
    assert passed.headline.endswith("The other 6 of 9 findings pass, too.")
    failed = tn.gate(data.y_true, 0.5 * data.y_prob, oe_within=0.1, by={"shop": shop})
    assert failed.headline.endswith("6 more of 9 findings fail.")


def test_a_gate_that_passes_without_proof_says_that_it_shows_nothing_against_the_bound():
    p = np.random.default_rng(1).beta(2, 5, 400)
    y = np.random.default_rng(2).random(400) < p
    found = tn.gate(y, p, max_ece=0.02)
    assert found.passed
    assert "which does not show it to exceed 0.02" in str(found)


def test_fitted_maps_say_what_they_do_not_how_they_are_stored():
    data = tn.simulate.demo(2_000)
    fitted = [
        tn.IsotonicCalibration().fit(data.y_prob, data.y_true),
        tn.HistogramBinning().fit(data.y_prob, data.y_true),
        tn.recalibrate.PriorCorrection().fit(data.y_prob, data.y_true),
    ]
    isotonic, binning, prior = map(str, fitted)
    assert re.search(r"\d+ steps, from 0[\d.]* to [01][\d.]*\.$", isotonic)
    assert "10 steps, from " in binning
    assert re.search(r"divided by [\d.]+ \(95 %: [\d.]+ to [\d.]+\)\.$", prior)


def test_the_range_that_is_named_is_called_the_clearest_where_another_contributes_more():
    """At 0.5 a gap of 2.5 points may be chance; at 0.01 a gap of 0.6 points cannot be."""
    n = np.array([1_000, 4_000])
    p = np.array([0.5, 0.01])
    rate = np.array([0.475, 0.016])
    y = np.concatenate([np.arange(m) < round(m * r) for m, r in zip(n, rate, strict=True)])
    report = tn.report(tn.tally(y.astype(int), p.repeat(n)), intervals=False)
    place = report.to_dict()["models"][0]["answers"]["where"]
    assert place["phrase"] == "Clearest below 10 %"
    assert place["detail"].startswith("49 % of the average error comes from there.")
    assert "Most of the ECE comes from [0.5, 0.6) (51.0 %)" in report.to_markdown().replace(
        "\\", ""
    )


def test_no_number_of_a_page_or_of_a_paper_has_more_than_twelve_digits():
    """Two clusters left the scaled Brier score a lower limit of 170 digits."""
    data = tn.simulate.demo(400)
    a = tn.assess(data.y_true, data.y_prob, cluster=np.arange(400) % 2)
    panel = a.panel
    for text in (panel.text("tripod"), tn.report(a).to_markdown()):
        assert not re.search(r"\d(,\d{3}){4}|\d{13}\.", text)
    (found,) = (estimate for estimate in panel.estimates if estimate.low == -np.inf)
    huge = replace(panel, estimates=(replace(found, low=-1.08e168),), names=("scaled_brier",))
    assert "95% CI −1.08e+168 to 1.000" in " ".join(huge.text("tripod").split())


@pytest.mark.slow
def test_the_text_for_a_paper_does_not_ask_for_what_its_page_shows():
    data = tn.simulate.demo(2_000)
    half = np.arange(2_000) % 2
    report = tn.report(data.y_true, data.y_prob, by={"half": half}, progress=False)
    page = report.page()
    shown = page.partition("On the same page:")[2].partition("To be added:")[0]
    assert "- a calibration plot with a flexible curve" in shown
    assert "- observed and predicted events in subgroups;" in shown
    assert "- the results before and after recalibration, on held-out rows." in shown
    to_add = page.partition("To be added:")[2].partition("</code>")[0]
    assert "- whether the model was updated or recalibrated." in to_add
    assert "calibration plot" not in to_add
    assert "key subgroups" not in to_add
    assert "- the same results in key subgroups" in tn.panel(data.y_true, data.y_prob).text()


def test_a_page_of_intervals_says_nothing_that_needs_scores_that_differ():
    rng = np.random.default_rng(0)
    y = rng.normal(size=600)
    events = tn.events.interval(y, y * 0 - 1.5, y * 0 + 1.5, coverage=0.9)
    report = tn.report(events, progress=False)
    text = report.page().partition("Definitions")[0]
    for words in (
        "AUC",
        "Slope",
        "Intercept",
        "Cox",
        "Prevalence",
        "MCE",
        "Most of the ECE",
        "ICI",
        "AUC:",
        "slope,",
    ):
        assert f"{words} " not in text, words
        assert f">{words}<" not in text, words
    assert "Stated and observed shares" in text
    assert "no finite estimate" not in text


@pytest.mark.slow
def test_of_several_labels_limits_have_the_level_that_is_named():
    """Three labels, one of them off: its error has a higher level, the gain of a map has not."""
    rng = np.random.default_rng(3)
    P = rng.uniform(0.05, 0.95, (1_500, 3))
    shifted = np.column_stack([P[:, 0] ** 2, P[:, 1], P[:, 2]])
    Y = (rng.random(P.shape) < shifted).astype(int)
    report = tn.report(Y, P, kind="multilabel", labels=["a", "b", "c"])
    off, *_ = report.to_dict()["models"]
    far = off["answers"]["how_far"]
    assert far["numbers"]["level"] == pytest.approx(1 - 0.05 / 3)
    low, high = re.search(r"\((.*) to (.*?)\)", far["phrase"]).groups()
    assert 100 * far["numbers"]["low"] == pytest.approx(float(low), abs=0.05)
    assert 100 * far["numbers"]["high"] == pytest.approx(float(high), abs=0.05)
    assert far["detail"].startswith("98.33 % confidence, so that all labels together have 95 %.")
    assert "98.33" not in off["answers"]["cost"]["detail"]


@pytest.mark.slow
def test_a_calm_page_says_why_a_measure_may_exceed_its_value_if_calibrated():
    """In these calibrated rows the smooth ECE is 6 % above the value that 5 % exceed."""
    rng = np.random.default_rng(17)
    p = rng.random(2_000).round(2)
    y = (rng.random(2_000) < p).astype(int)
    report = tn.report(y, p, progress=False)
    text = " ".join(report.to_markdown().split())
    assert report.verdict.startswith("No sign of miscalibration.")
    assert re.search(r"[^.]*Smooth ECE exceeds? the value that calibrated labels exceed", text)
    assert "The verdict rests on the test of calibration." in text

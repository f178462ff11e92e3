"""The verdict follows from tests that hold their level, names its evidence, and is not fooled."""

import re
from dataclasses import replace

import numpy as np
import pytest
from grids import slow

import trueness as tn
from trueness.errors import TruenessWarning


def drawn(truth, p, seed=77):
    return (np.random.default_rng(seed).random(len(p)) < truth).astype(int)


@pytest.fixture(scope="module")
def base():
    d = tn.simulate.demo(3_000)
    return tn.verdict(d.y_true, d.y_prob)


def limits(estimate, value, low, high):
    return replace(estimate, value=value, low=low, high=high)


def logit_line(p, slope=1.0, shift=0.0):
    return 1 / (1 + np.exp(-slope * np.log(p / (1 - p)) - shift))


@pytest.fixture(scope="module")
def scores():
    return np.random.default_rng(9).random(4_000)


def test_scores_that_are_true_are_not_refuted(scores):
    found = tn.verdict(drawn(0.9 * scores, 0.9 * scores), 0.9 * scores)
    assert found.code == "no-evidence"
    assert found.sentence.startswith("No sign of miscalibration. The typical error is at most ")
    assert found.size.endswith(
        " percentage points (95 % confidence), if it varies smoothly with the score."
    )
    assert found.evidence.startswith(
        "Labels and predictions differ no more than chance allows (p = 0."
    )


def test_scores_that_are_too_extreme_are_said_to_be_so(scores):
    found = tn.verdict(drawn(0.5 + 0.5 * (scores - 0.5), scores), scores)
    assert found.code == "miscalibrated"
    assert found.sentence.startswith(
        "Not calibrated: the predictions are overconfident (too extreme). Typically off by "
    )
    assert found.evidence.startswith(
        "The evidence is overwhelming (p < 0.0001, omnibus test); slope 0."
    )


@pytest.mark.parametrize(
    ("factor", "words"), [(0.7, "too high on average"), (1.3, "too low on average")]
)
def test_scores_that_are_off_on_average_are_said_to_be_so(scores, factor, words):
    p = scores / 2
    assert words in tn.verdict(drawn(factor * p, p), p).headline


@pytest.mark.parametrize(("y", "p"), [(np.ones(25, int), 1.0), (np.zeros(60, int), 1e-4)])
def test_one_class_alone_cannot_tell(y, p):
    found = tn.verdict(y, np.full(y.size, p))
    assert found.code == "too-few-rows"
    assert (
        found.headline
        == f"{y.size} rows are too few to tell whether the predictions are calibrated."
    )
    assert " rows would show " in found.certainty


def test_a_label_that_a_score_rules_out_is_called_impossible():
    found = tn.verdict(np.r_[0, np.ones(90, int)], np.ones(91))
    assert found.code == "miscalibrated"
    assert found.headline.startswith(
        "Not calibrated: 1 of 91 scores of exactly 0 or 1 was wrong (impossible if calibrated)"
    )
    assert found.evidence.startswith("The evidence is overwhelming (p < 0.0001, omnibus test)")


def test_labels_that_rounding_explains_are_not_called_impossible():
    rng = np.random.default_rng(0)
    p = np.r_[rng.uniform(0.995, 1, 2_800), rng.beta(5, 2, 7_200)]
    y = (rng.random(p.size) < p).astype(int)
    found = tn.verdict(y, p.round(2), rounded_to=0.01)
    wrong = int((y[p.round(2) == 1] == 0).sum())
    assert wrong > 0
    assert found.code == "no-evidence"
    certain = (p.round(2) == 1).sum()
    words = f"{wrong} of {certain:,} scores of exactly 0 or 1 were wrong, which is possible only if they were rounded"
    assert words in found.certainty
    extreme = tn.verdict(
        (rng.random(p.size) < 0.3 + 0.5 * p).astype(int), p.round(2), rounded_to=0.01
    )
    assert extreme.code == "miscalibrated"
    assert "impossible" not in extreme.sentence
    assert "possible only if they were rounded" in extreme.certainty


def test_a_slope_without_an_estimate_has_one_limit():
    p = np.linspace(0.02, 0.98, 20)
    found = tn.verdict((p < 0.5).astype(int), p)
    assert "the wrong way round" in found.headline
    assert "; slope below −" in found.certainty
    found = tn.verdict((p > 0.5).astype(int), np.where(p > 0.5, 0.9, 0.1))
    assert "–" not in found.certainty


def test_limits_show_that_they_exclude_one():
    rng = np.random.default_rng(0)
    p = rng.beta(9, 1, 200_000)
    found = tn.verdict((rng.random(p.size) < p * 0.995).astype(int), p)
    assert found.code == "nearly-calibrated"
    value = found.certainty.split("observed/expected ")[1]
    assert float(value.split(" to ")[1].split(")")[0]) < 1


def test_scores_fitted_on_the_same_rows_are_too_good_to_be_true(scores):
    y = (np.random.default_rng(1).random(scores.size) < scores**2).astype(int)
    with pytest.warns(TruenessWarning):
        fitted = tn.IsotonicCalibration().fit(scores, y).predict(scores)
    found = tn.verdict(y, fitted)
    assert found.code == "too-good"
    assert found.headline.startswith("Too good to be true for new rows: ")
    assert found.certainty.startswith(
        "The evidence is overwhelming (p = 0.0001, lower tail of the omnibus test); scores fitted on these very rows"
    )


def segmented(n, n_segments, seed, bad=None):
    rng = np.random.default_rng(seed)
    segment = np.arange(n) % n_segments
    p = rng.uniform(0.05, 0.4, n)
    y = (rng.random(n) < np.where(segment == bad, p / 2.2, p)).astype(int)
    return y, p, np.char.add("s", segment.astype(str))


def test_a_flagged_segment_reaches_the_headline():
    y, p, segment = segmented(24_000, 60, 1, bad=54)
    found = tn.verdict(y, p, by={"region": segment})
    assert found.code == "miscalibrated"
    assert found.headline.startswith(
        "Not calibrated in 1 of 60 segments: region = s54, over-predicted "
    )
    assert "-fold." in found.headline
    assert found.evidence.startswith(
        "The evidence is overwhelming (p < 0.0001, all segments jointly); over all ro"
    )


@pytest.mark.slow
def test_a_flagged_segment_is_named_beside_an_error_of_all_rows():
    y, p, segment = segmented(24_000, 60, 1, bad=54)
    found = tn.verdict(y, p**0.8, by={"region": segment})
    assert found.headline.startswith("Not calibrated: the predictions are ")
    words = r"of 60 segments are flagged \(p < 0\.0001, all segments jointly\), above all region = s54, over-predicted"
    assert re.search(words, found.certainty)


def test_segments_that_are_off_as_all_rows_are_not_named(base):
    """Every segment of a model that is too low is flagged; none has an error of its own."""
    rng = np.random.default_rng(4)
    p = rng.uniform(0.05, 0.5, 3_000)
    found = tn.verdict(drawn(1.6 * p, p), p, by={"sex": np.arange(3_000) % 2})
    assert found.flags[0].own == 0
    words = ", all segments jointly), but at equal scores not shown to differ from all rows"
    assert f"; 2 of 2 segments are flagged (p < 0.0001{words};" in found.certainty
    one = str(replace(found.flags[0], flagged=1))
    assert one.endswith(" jointly), but at equal scores not shown to differ from all rows.")


@pytest.mark.slow
def test_a_flagged_class_reaches_the_headline():
    rng = np.random.default_rng(2)
    P = rng.dirichlet([4, 1, 1, 1], 3_000)
    truth = P[:, [0, 2, 1, 3]]  # the largest score is right; two others are swapped
    truth = np.where((P.argmax(axis=1) == 0)[:, None], truth, P)
    y = (rng.random(3_000)[:, None] >= np.cumsum(truth, axis=1)[:, :-1]).sum(axis=1)
    found = tn.verdict(y, P, labels=range(4))
    assert found.code == "miscalibrated"
    assert found.test.pvalue > 0.05
    assert found.headline.startswith("Not calibrated in 2 of 4 classes: ")
    assert ", all classes, adjusted)" in found.certainty


@pytest.mark.slow
def test_calibrated_classes_are_not_accused():
    rng = np.random.default_rng(2)
    P = rng.dirichlet([1, 1, 1], 2_000)
    y = (rng.random(2_000)[:, None] >= np.cumsum(P, axis=1)[:, :-1]).sum(axis=1)
    found = tn.verdict(y, P, labels=range(3))
    assert found.headline == "No sign of miscalibration of the top label or of any class."


def test_few_rows_cannot_tell():
    found = tn.verdict([0, 1, 0, 1, 1, 0], [0.1, 0.9, 0.4, 0.6, 0.7, 0.2])
    assert found.code == "too-few-rows"
    assert found.sentence.startswith(
        "6 rows are too few to tell whether the predictions are calibrated."
    )


@pytest.mark.parametrize("weight", [None, 0.7])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_very_few_rows_are_too_few(n, weight):
    w = None if weight is None else np.full(n, weight)
    found = tn.verdict([1, 0, 1][:n], [0.1, 0.5, 0.8][:n], sample_weight=w)
    assert found.code == "too-few-rows"
    assert found.sentence.startswith("One row is too few" if n == 1 else f"{n} rows are too few")


@pytest.mark.parametrize(("n", "code"), [(150, "too-few-rows"), (1_500, "no-evidence")])
def test_too_few_rows_is_a_matter_of_power(n, code):
    p = np.random.default_rng(2).random(n)
    found = tn.verdict((np.random.default_rng(4).random(n) < p).astype(int), p)
    assert found.code == code
    assert ("rows would show 25 % more" in found.certainty) is (code == "too-few-rows")


def test_a_verdict_says_what_its_rows_would_have_noticed():
    """More rows notice less: the sentence follows them."""
    rng, found = np.random.default_rng(3), {}
    for n in (500, 8_000):
        p = rng.beta(0.7, 0.7, n)
        found[n] = tn.verdict((rng.random(n) < p).astype(int), p)
    few, many = (found[n].power for n in found)
    (low, high), slope, error = few.noticed_ratio, few.noticed_slope, 100 * few.noticed_error
    words = f"observed/expected outside {low:.2f} to {high:.2f} or a slope outside {slope[0]:.2f} to {slope[1]:.2f} "
    assert (
        f"{words}would have been noticed 9 times out of 10 (an error of {error:.1f} p"
        in found[500].certainty
    )
    assert low < many.noticed_ratio[0] < 1 < many.noticed_ratio[1] < high
    assert slope[0] < many.noticed_slope[0] < 1 < many.noticed_slope[1] < slope[1]
    assert many.noticed_error < few.noticed_error / 2.5


def test_ends_near_one_have_digits_and_one_end_may_be_missing(base):
    power = tn.verdict([0, 1] * 200, [0.5] * 400).power
    assert np.isnan(power.noticed_slope).all()  # one score has no slope
    for ends, words in (
        ((0.99731, 1.0027), "outside 0.997 to 1.003"),
        ((np.nan, 1.5), "above 1.50"),
        ((0.5, np.nan), "below 0.50"),
    ):
        one = replace(
            base, code="no-evidence", rejected=False, power=replace(power, noticed_ratio=ends)
        )
        assert (
            f"; observed/expected {words} would have been noticed 9 times out of 10 (an error"
            in one.certainty
        )


def test_many_rows_are_too_few_if_events_are_rare():
    p = np.full(8_000, 0.001)
    found = tn.verdict((np.arange(8_000) < 8).astype(int), p)
    assert found.code == "too-few-rows"
    assert "rows would show 25 % more or 20 % fewer events than predicted, or " in found.certainty


@pytest.mark.parametrize("runs", [3, *slow(15)])
def test_limits_agree_with_the_verdict(runs):
    rng = np.random.default_rng(8)
    for _ in range(runs):
        p = rng.random(150)
        y = (rng.random(150) < logit_line(p, shift=0.3)).astype(int)
        test, found = tn.calibration_test(y, p, seed=0), tn.ece_interval(y, p, seed=0)
        assert (test.pvalue <= 0.05) is not found.includes_zero


@pytest.mark.slow
@pytest.mark.parametrize(("power", "code"), [(0.7, "miscalibrated"), (1, "no-evidence")])
def test_fractional_weights_in_clusters_are_judged_by_the_confidence_set(scores, power, code):
    rng = np.random.default_rng(3)
    y = (rng.random(scores.size) < scores**power).astype(int)
    w, cluster = rng.random(scores.size), np.arange(scores.size) // 2
    assert tn.verdict(y, scores, sample_weight=w, cluster=cluster).code == code


def test_two_clusters_cannot_tell(scores):
    y = (np.random.default_rng(3).random(scores.size) < scores).astype(int)
    found = tn.verdict(y, scores, cluster=np.arange(scores.size) % 2)
    assert found.code == "too-few-rows"
    assert found.sentence == (
        "2 clusters are too few to tell: is that the unit that repeats? The 4,000 rows fall into 2 "
        "clusters, and a cluster counts like one row; no test of 2 clusters can reach 5 %."
    )


@pytest.mark.slow
def test_scores_with_a_small_error_are_called_nearly_calibrated():
    p = np.random.default_rng(0).uniform(0.3, 0.7, 150_000).round(2)
    found = tn.verdict(drawn(p + 0.008, p), p)
    assert found.code == "nearly-calibrated"
    assert found.headline.startswith("Nearly calibrated: an error is shown, typically 0.")
    assert found.size == ""


@pytest.mark.slow
def test_what_is_small_depends_on_how_rare_events_are():
    p = np.full(200_000, 0.002)
    found = tn.verdict(drawn(0.004, p), p)  # off by 0.002: little, and yet half of all events
    assert found.code == "miscalibrated"


def test_a_kind_of_error_is_named_only_if_its_interval_shows_it(base):
    for low, high, words in ((0.1, 0.9, True), (0.1, 1.1, False)):
        found = replace(
            base,
            slope=limits(base.slope, 0.4, low, high),
            observed_expected=limits(base.slope, 0.7, low, high),
        )
        assert ("overconfident (too extreme) and too high on average" in found.headline) is words
        assert (
            "slope 0.40 (0.10 to 0.90); observed/expected 0.70 (0.10 to 0.90)" in found.certainty
        ) is words
        assert found.headline.startswith("Not calibrated: ")


def test_timid_scores_that_are_off_on_average_are_not_called_underconfident(base):
    slope, ratio = limits(base.slope, 1.2, 1.1, 1.3), limits(base.slope, 0.95, 0.93, 0.97)
    assert (
        "are too timid and too high on average."
        in replace(base, slope=slope, observed_expected=ratio).headline
    )


def test_the_larger_error_is_named_first(base):
    slope, ratio = limits(base.slope, 0.96, 0.93, 0.99), limits(base.slope, 0.12, 0.11, 0.13)
    assert (
        "too high on average and overconfident (too extreme)"
        in replace(base, slope=slope, observed_expected=ratio).headline
    )


@pytest.mark.parametrize(
    ("pvalue", "words"),
    [
        (2e-5, "overwhelming"),
        (5e-4, "very strong"),
        (4e-3, "strong"),
        (0.03, "clear, but not strong"),
        (0.2, "weak"),
    ],
)
def test_the_strength_of_the_evidence_has_words(base, pvalue, words):
    found = replace(base, test=replace(base.test, pvalue=pvalue))
    assert found.evidence.startswith(f"The evidence is {words} (p {'<' if pvalue < 1e-4 else '='} ")


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (-0.1, 0.1, "unrelated to the labels"),
        (-0.4, -0.1, "the wrong way round"),
        (1.2, 2, "underconfident (too timid)"),
    ],
)
def test_the_slope_is_put_into_words(base, low, high, words):
    slope = limits(base.slope, (low + high) / 2, low, high)
    assert words in replace(base, slope=slope, auc=None, observed_expected=None).headline


def test_the_mean_of_a_top_label_is_over_or_underconfident(base):
    top = replace(base, top_label=True, slope=limits(base.slope, 0.8, 0.7, 0.9))
    for value, words in (
        (0.8, "too high on average (overconfident)"),
        (1.2, "too low on average (underconfident)"),
    ):
        found = replace(top, observed_expected=limits(base.slope, value, value - 0.1, value + 0.1))
        assert found.headline.startswith("Not calibrated: the confidences of the top label are ")
        assert words in found.headline
        assert " too extreme" in found.headline


def test_scores_that_may_not_be_meant_are_doubted(base, scores):
    """Scores of the other label, confidences of the predicted class, and one score for all rows."""
    scores = scores[:1_000]
    y = drawn(scores, scores)
    assert tn.verdict(1 - y, scores).doubt == "inverted"
    found = tn.verdict(y, np.maximum(scores, 1 - scores))
    assert found.doubt == "confidence"
    assert found.scores == (
        np.maximum(scores, 1 - scores).min(),
        np.maximum(scores, 1 - scores).max(),
    )
    assert found.headline == (
        "Not calibrated: no score is below 50 %, as if they were confidences of the predicted class."
    )
    found = tn.verdict(y, np.full(y.size, y.mean()))
    assert found.doubt == "constant"
    assert found.headline == (
        "No sign of miscalibration, but one score for all rows tells none of them apart (AUC 0.5, discrimination 0)."
    )
    high = 0.5 + scores / 2
    for p, truth in ((scores, scores), (high, high), (high, high - 0.1)):
        assert (
            tn.verdict(drawn(truth, p), p).doubt == ""
        )  # calibrated, or overconfident about frequent events
    assert base.doubt == ""


def test_certain_scores_count_when_scores_look_inverted():
    """The slope leaves out scores of exactly 0 and 1, of which the AUC knows."""
    y, p = np.repeat([0, 1, 0, 1], [80, 20, 20, 80]), np.repeat([0.0, 1.0], 100)
    y, p = np.r_[y, np.repeat([0, 1, 0, 1], [1, 9, 9, 1])], np.r_[p, np.repeat([0.3, 0.7], 10)]
    found = tn.verdict(y, p)
    assert found.slope.high < 0 < found.auc.value - 0.5
    assert found.doubt == ""
    assert "wrong way round" not in found.headline
    assert found.headline.endswith("overconfident (too extreme).")
    found = tn.verdict(y[:200], 1.0 - y[:200])
    assert found.doubt == "inverted"
    assert found.auc.value == 0
    assert found.headline.endswith("the wrong way round.")
    assert "; AUC 0.00 (0.0000 to " in found.certainty


def test_a_flagged_segment_leaves_the_decision_on_all_rows():
    p = np.random.default_rng(1).beta(2, 2, 2_000)
    bad = np.arange(p.size) % 20 == 0
    y = drawn(np.where(bad, p / 3, p), p)
    alone, found = tn.verdict(y, p), tn.verdict(y, p, by={"g": np.where(bad, "b", "a")})
    assert (found.code, found.all_rows) == ("miscalibrated", alone.code)
    assert alone.all_rows == alone.code != "miscalibrated"
    one = replace(found.flags[0], flagged=1, own=1)
    assert "jointly): g = b, over-predicted" in one.sentence
    assert "jointly), above all g = b, over-predicted" in replace(one, flagged=2).sentence


def test_ratios_lead_if_events_are_rare(base):
    slope, ratio = limits(base.slope, 0.5, 0.4, 0.6), limits(base.slope, 0.9, 0.8, 0.95)
    for rate, first in ((0.049, "observed/expected"), (0.05, "slope")):
        found = replace(base, rate=rate, slope=slope, observed_expected=ratio)
        assert found.rare is (rate < 0.05)
        assert found.certainty.split("; ")[1].startswith(first)


def test_a_lower_limit_of_zero_is_not_said_to_be_one(base):
    for low, words in (
        (0.0, "points, but anything up to 20.0 fits these 3,000 rows (95 % confidence)."),
        (0.01, "points (95 % confidence: 1.0 to 20.0)."),
    ):
        interval = replace(base.interval, low=low, high=0.2, includes_zero=False)
        assert replace(base, interval=interval).size.endswith(words)
    interval = replace(
        base.interval, estimate=0.0, low=0.0, high=0.2, low_closed=False, includes_zero=False
    )
    words = "The typical error is too small to be estimated (95 % confidence: at most 20.0 percentage points)."
    assert replace(base, interval=interval).size == words
    interval = replace(base.interval, estimate=1.0, low=1.0, high=1.0)
    words = "The typical error is 100.0 percentage points (95 % confidence)."
    assert replace(base, interval=interval).size == words


def test_the_verdict_of_the_report_is_that_of_the_function(base):
    d = tn.simulate.demo(3_000)
    report = tn.report(d.y_true, d.y_prob, intervals=False, progress=False)
    assert report.verdict == base.sentence
    assert base.sentence == f"{base.headline} {base.certainty}"
    assert base.alpha == 0.05


def test_segments_are_a_second_question():
    """The answer about all rows, its p-value and its limits are those without segments."""
    p = np.random.default_rng(74).beta(2, 2, 400)
    y, segment = drawn(logit_line(p, 0.8), p, seed=74), np.arange(400) % 3
    alone, found = tn.verdict(y, p), tn.verdict(y, p, by={"g": segment})
    assert 0.025 < alone.test.pvalue < 0.05
    for one in (alone, found):
        assert one.rejected
        assert one.code == "miscalibrated"
        assert not one.interval.includes_zero
    assert found.headline == alone.headline
    assert found.alpha == alone.alpha == 0.05
    assert alone.questions == ""
    assert found.questions == (
        "all rows and segments are two questions, each answered wrongly in at most 5 % of cases"
    )


def test_sums_have_the_verdict_of_their_rows(base):
    d = tn.simulate.demo(3_000)
    assert str(tn.verdict(tn.tally(d.y_true, d.y_prob))) == str(base)
    with pytest.raises(tn.InputError, match="`by` needs labels and scores"):
        tn.verdict(tn.tally(d.y_true, d.y_prob), by=d.y_true)


@pytest.mark.slow
def test_a_pure_shift_is_rarely_said_to_be_a_slope_too():
    rng, found = np.random.default_rng(5), []
    for _ in range(120):
        p = rng.random(200)
        one = tn.verdict((rng.random(200) < logit_line(p, shift=0.5)).astype(int), p)
        if one.code == "miscalibrated":
            found.append("extreme" in one.headline or "timid" in one.headline)
    assert len(found) > 60
    assert np.mean(found) <= 0.1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::trueness.errors.OneClassWarning")
@pytest.mark.parametrize(("n", "runs"), [(50, 150), (300, 100), (2_000, 60)])
@pytest.mark.parametrize("law", ["uniform", "rare", "verbal"])
def test_each_question_is_answered_wrongly_in_one_of_twenty_at_most(n, runs, law):
    rng, wrong = np.random.default_rng(n + 1), np.zeros(3)
    draw = {
        "uniform": lambda: rng.random(n),
        "rare": lambda: rng.beta(0.5, 30, n),
        "verbal": lambda: rng.integers(0, 21, n) / 20,
    }[law]
    for run in range(runs):
        p = draw()
        found = tn.verdict(
            (rng.random(n) < p).astype(int), p, by={"g": rng.integers(0, 12, n)}, seed=run
        )
        wrong += np.array([found.rejected, bool(found.flags), found.code == "too-good"])
    rates = np.array([0.05, 0.05, 0.001])  # one for each question
    assert (wrong <= rates * runs + 3 * np.sqrt(rates * (1 - rates) * runs)).all()


def test_sums_of_bins_have_the_error_of_these_bins():
    rng = np.random.default_rng(1)
    p = rng.random(300)
    sums = tn.binned((rng.random(300) < p).astype(int), p, bins=tn.EqualMass(6))
    assert tn.verdict(sums).ece.value == pytest.approx(
        tn.ece(sums, bins=tn.Edges(sums.parts[0].edges))
    )
    assert tn.verdict(sums).code == "undetermined"


def test_the_groups_of_an_accumulator_are_segments():
    y, p, segment = segmented(400, 3, 1)
    sums = tn.Accumulator(by="g")
    for value in np.unique(segment):
        sums.update(y[segment == value], p[segment == value], group=value)
    found = tn.verdict(sums)
    assert found.segmented
    alone = tn.verdict(sums.total)
    assert (found.n, found.test, found.headline) == (400, alone.test, alone.headline)
    sums = tn.Accumulator()
    sums.update(y, p)
    assert tn.verdict(sums).test == alone.test


def test_several_models_are_refused_with_a_way_out():
    with pytest.raises(
        tn.InputError, match=r"one model; got a dict of 2.*or pass the dict to `tn.report`"
    ):
        tn.verdict([0, 1], {"a": [0.1, 0.9], "b": [0.2, 0.8]})


def test_class_wise_sums_have_a_joint_verdict():
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(3), 2_000)
    reached = P.cumsum(axis=1)
    calibrated = (rng.random((2_000, 1)) > reached[:, :2]).sum(axis=1)
    assert not tn.verdict(tn.tally(calibrated, P)).rejected
    wrong = np.where(rng.random(2_000) < 0.2, 2, calibrated)
    found = tn.verdict(tn.tally(wrong, P))
    assert (found.code, found.flags[0].kind, found.flags[0].flagged) == (
        "miscalibrated",
        "label",
        3,
    )

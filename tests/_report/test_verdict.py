"""The verdict follows from tests that hold their level, names its evidence, and is not fooled."""

from dataclasses import replace

import numpy as np
import pytest

import trueness as tn
from trueness._input.segment_columns import read_by
from trueness._report.evidence import read_rows
from trueness._report.inference import Alpha, Notes, Options
from trueness._report.segments import segments
from trueness._report.summary import summarize
from trueness._report.verdict import verdict
from trueness._tally.rules import EqualWidth
from trueness.errors import TruenessWarning
from trueness.infer.limits._observed_expected import observed_expected_interval
from trueness.infer.limits._slope import slope_interval


def report_of(truth, p, seed=77):
    rng = np.random.default_rng(seed)
    return tn.report((rng.random(len(p)) < truth).astype(int), p)


def judged(y, p, seed=0):
    """The verdict alone, without the rest of a report."""
    subject = read_rows(y, p, {})
    options = Options(EqualWidth(10), 0.95, seed, intervals=False)
    return verdict(summarize(subject.evidence("scores"), options, Notes()), 0.95)


def quickly_judged(base, y, p, seed=0, groups=None):
    """The verdict from what decides it, without floors, sets and power."""
    cells = tn.tally(y, p).parts[0]
    slope, ratio = slope_interval(cells, 0.95), observed_expected_interval(cells, 0.95)
    changed = replace(
        base,
        n=y.size,
        test=tn.calibration_test(y, p, seed=seed),
        ece_interval=None,
        slope=slope.slope,
        slope_low=slope.slope_low,
        slope_high=slope.slope_high,
        observed_expected=ratio.value,
        observed_expected_low=ratio.low,
        observed_expected_high=ratio.high,
    )
    return verdict(changed, 0.95, groups)


def logit_line(p, slope=1.0, shift=0.0):
    return 1 / (1 + np.exp(-slope * np.log(p / (1 - p)) - shift))


@pytest.fixture(scope="module")
def scores():
    return np.random.default_rng(9).random(4_000)


def test_scores_that_are_true_are_not_refuted(scores):
    found = report_of(0.9 * scores, 0.9 * scores)
    assert found.verdicts == {"scores": "no-evidence"}
    assert found.verdict.startswith(
        "No sign of miscalibration. Labels and predictions differ no more than chance allows (p = 0."
    )
    assert (
        "25 % more or 20 % fewer events than predicted, or a smooth error of 5.0 points, would have been noticed"
        in found.verdict
    )


def test_scores_that_are_too_extreme_are_said_to_be_so(scores):
    found = report_of(0.5 + 0.5 * (scores - 0.5), scores)
    assert found.verdicts == {"scores": "miscalibrated"}
    assert found.verdict.startswith(
        "Not calibrated: the predictions are too extreme. "
        "The evidence is overwhelming (p < 0.0001, omnibus test); slope 0."
    )


@pytest.mark.parametrize(("factor", "words"), [(0.7, "too high on average"), (1.3, "too low on average")])
def test_scores_that_are_off_on_average_are_said_to_be_so(scores, factor, words):
    p = scores / 2
    found = report_of(factor * p, p)
    assert words in found.verdict


def test_a_kind_of_error_is_named_only_if_its_interval_shows_it(binary):
    summary = replace(binary._contents.models[0].summary, slope=0.4, observed_expected=0.7)
    for low, high, words in ((0.1, 0.9, True), (0.1, 1.1, False)):
        changed = replace(
            summary, slope_low=low, slope_high=high, observed_expected_low=low, observed_expected_high=high
        )
        found = verdict(changed, 0.95)
        assert ("too extreme and too high on average" in found.headline) is words
        numbers = "slope 0.40 (0.10 to 0.90); observed/expected 0.70 (0.10 to 0.90)"
        assert (numbers in found.certainty) is words
        assert found.headline.startswith("Not calibrated: ")


def test_the_larger_error_is_named_first(binary):
    limits = {"slope_low": 0.93, "slope_high": 0.99, "observed_expected_low": 0.11, "observed_expected_high": 0.13}
    summary = replace(binary._contents.models[0].summary, slope=0.96, observed_expected=0.12, **limits)
    assert "too high on average and too extreme" in verdict(summary, 0.95).headline


@pytest.mark.parametrize(
    ("pvalue", "words"),
    [
        (0.00002, "overwhelming"),
        (0.0005, "very strong"),
        (0.004, "strong"),
        (0.03, "clear, but not strong"),
        (0.2, "weak"),
    ],
)
def test_the_strength_of_the_evidence_has_words(binary, pvalue, words):
    summary = binary._contents.models[0].summary
    found = verdict(replace(summary, test=replace(summary.test, pvalue=pvalue)), 0.7)
    assert found.certainty.startswith(
        f"The evidence is {words} (p = " if pvalue >= 1e-4 else f"The evidence is {words} (p <"
    )


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [(-0.1, 0.1, "unrelated to the labels"), (-0.4, -0.1, "the wrong way round"), (1.2, 2, "too timid")],
)
def test_the_slope_is_put_into_words(binary, low, high, words):
    summary = replace(binary._contents.models[0].summary, slope_low=low, slope_high=high)
    assert words in verdict(summary, 0.95).headline


@pytest.mark.slow
def test_a_pure_shift_is_rarely_said_to_be_a_slope_too(binary):
    rng, found = np.random.default_rng(5), []
    for _ in range(120):
        p = rng.random(200)
        y = (rng.random(200) < logit_line(p, shift=0.5)).astype(int)
        one = quickly_judged(binary._contents.models[0].summary, y, p)
        if one.code == "miscalibrated":
            found.append("extreme" in one.headline or "timid" in one.headline)
    assert len(found) > 60
    assert np.mean(found) <= 0.1  # before: 73 of 139


@pytest.mark.slow
def test_a_wrong_slope_is_found_about_as_often_as_by_coxs_test(binary):
    rng = np.random.default_rng(6)
    omnibus, cox = [], []
    for _ in range(80):
        p = rng.random(600)
        y = (rng.random(600) < logit_line(p, slope=0.7)).astype(int)
        one = quickly_judged(binary._contents.models[0].summary, y, p)
        omnibus.append(one.code == "miscalibrated")
        cox.append(tn.calibration_test(y, p, method="cox").pvalue <= 0.049)
    assert np.mean(omnibus) >= np.mean(cox) - 0.1
    assert np.mean(omnibus) >= 0.8


def test_naive_bayes_on_breast_cancer_is_miscalibrated():
    datasets = pytest.importorskip("sklearn.datasets")
    from sklearn.model_selection import train_test_split
    from sklearn.naive_bayes import GaussianNB

    X, y = datasets.load_breast_cancer(return_X_y=True)
    train, test, known, label = train_test_split(X, y, test_size=0.5, random_state=0)
    p = GaussianNB().fit(train, known).predict_proba(test)[:, 1]
    found = judged(label, p)
    assert found.code == "miscalibrated"
    assert found.headline.startswith("Not calibrated: the predictions are too extreme")
    assert found.certainty.startswith("The evidence is overwhelming (p < 0.0001, omnibus test); ")


@pytest.mark.parametrize(("y", "p"), [(np.ones(25, int), 1.0), (np.zeros(60, int), 1e-4)])
def test_one_class_alone_cannot_tell(y, p):
    found = judged(y, np.full(y.size, p))
    assert found.code == "too-few-rows"
    assert found.headline == f"{y.size} rows are too few to tell whether the predictions are calibrated."
    assert "rows are needed for 80 %" in found.certainty


def test_a_label_that_a_score_rules_out_is_called_impossible():
    found = judged(np.r_[0, np.ones(90, int)], np.ones(91))
    assert found.code == "miscalibrated"
    assert found.headline.startswith(
        "Not calibrated: 1 of 91 scores of exactly 0 or 1 was wrong (impossible if calibrated)"
    )
    assert found.certainty.startswith("The evidence is overwhelming (p < 0.0001, omnibus test); ")


def test_labels_that_rounding_explains_are_not_called_impossible():
    rng = np.random.default_rng(0)
    p = np.r_[rng.uniform(0.995, 1, 2_800), rng.beta(5, 2, 7_200)]
    y = (rng.random(p.size) < p).astype(int)
    found = judged(y, p.round(2))
    wrong = int((y[p.round(2) == 1] == 0).sum())
    assert wrong > 0
    assert found.code == "no-evidence"
    certain = (p.round(2) == 1).sum()
    words = f"{wrong} of {certain:,} scores of exactly 0 or 1 were wrong, which is possible only if they were rounded"
    assert words in found.certainty
    extreme = judged((rng.random(p.size) < 0.3 + 0.5 * p).astype(int), p.round(2))
    assert extreme.code == "miscalibrated"
    assert "impossible" not in extreme.sentence
    assert "possible only if they were rounded" in extreme.certainty


def test_a_slope_without_an_estimate_has_one_limit():
    p = np.linspace(0.02, 0.98, 20)
    found = judged((p < 0.5).astype(int), p)
    assert "the wrong way round" in found.headline
    assert "; slope below −" in found.certainty
    found = judged((p > 0.5).astype(int), np.where(p > 0.5, 0.9, 0.1))
    assert "–" not in found.certainty


def test_limits_show_that_they_exclude_one():
    rng = np.random.default_rng(0)
    p = rng.beta(9, 1, 200_000)
    found = judged((rng.random(p.size) < p * 0.995).astype(int), p)
    assert "too high on average" in found.headline
    value = found.certainty.split("observed/expected ")[1]
    assert float(value.split(" to ")[1].split(")")[0]) < 1


def test_scores_fitted_on_the_same_rows_are_too_good_to_be_true(scores):
    y = (np.random.default_rng(1).random(scores.size) < scores**2).astype(int)
    with pytest.warns(TruenessWarning):
        fitted = tn.IsotonicCalibration().fit(scores, y).predict(scores)
    found = judged(y, fitted)
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
    found = tn.report(y, p, by={"region": segment}, progress=False)
    assert found.verdicts == {"scores": "miscalibrated"}
    model = found._contents.models[0]
    assert model.verdict.headline.startswith("Not calibrated in 1 of 60 segments: region = s54, over-predicted ")
    assert "-fold." in model.verdict.headline
    assert model.verdict.certainty.startswith(
        "The evidence is overwhelming (p < 0.0001, all segments jointly); over all ro"
    )


@pytest.mark.slow
def test_a_flagged_segment_is_named_beside_an_error_of_all_rows():
    y, p, segment = segmented(24_000, 60, 1, bad=54)
    found = tn.report(y, p**0.8, by={"region": segment}, progress=False)._contents.models[0].verdict
    assert found.headline.startswith("Not calibrated: the predictions are ")
    assert "of 60 segments are flagged, above all region = s54, over-predicted" in found.certainty


@pytest.mark.slow
def test_a_flagged_class_reaches_the_headline():
    rng = np.random.default_rng(2)
    P = rng.dirichlet([4, 1, 1, 1], 3_000)
    truth = P[:, [0, 2, 1, 3]]  # the largest score is right; two others are swapped
    truth = np.where((P.argmax(axis=1) == 0)[:, None], truth, P)
    y = (rng.random(3_000)[:, None] >= np.cumsum(truth, axis=1)[:, :-1]).sum(axis=1)
    found = tn.report(y, P, labels=range(4), progress=False)._contents.models[0]
    assert found.verdict.code == "miscalibrated"
    assert found.summary.test.pvalue > 0.05
    assert found.verdict.headline.startswith("Not calibrated in 2 of 4 classes: ")
    assert ", all classes, adjusted)" in found.verdict.certainty


@pytest.mark.slow
def test_calibrated_classes_are_not_accused():
    rng = np.random.default_rng(2)
    P = rng.dirichlet([1, 1, 1], 2_000)
    y = (rng.random(2_000)[:, None] >= np.cumsum(P, axis=1)[:, :-1]).sum(axis=1)
    found = tn.report(y, P, labels=range(3), progress=False)._contents.models[0].verdict
    assert found.headline == "No sign of miscalibration of the top label or of any class."


@pytest.mark.slow
def test_the_error_rate_is_split_between_the_whole_and_its_segments(binary):
    alone, split, both = (Alpha.of_level(0.95, parts) for parts in (0, 1, 2))
    assert alone == pytest.approx((0.049, 0.001, 0))
    assert both == pytest.approx((0.024, 0.001, 0.0125))
    assert split == pytest.approx((0.024, 0.001, 0.025))
    assert sum(Alpha.of_level(0.999, 1)) == pytest.approx(0.001)
    summary = binary._contents.models[0].summary
    y, p, segment = segmented(600, 3, 1)
    calm = tn.report(y, p, by=segment, progress=False)._contents.models[0].segments
    for pvalue, codes in ((0.02, ("miscalibrated", "miscalibrated")), (0.04, ("miscalibrated", "too-few-rows"))):
        changed = replace(summary, test=replace(summary.test, pvalue=pvalue))
        assert tuple(verdict(changed, 0.95, one).code for one in (None, calm)) == codes


def test_few_rows_cannot_tell():
    found = tn.report([0, 1, 0, 1, 1, 0], [0.1, 0.9, 0.4, 0.6, 0.7, 0.2])
    assert found.verdicts == {"scores": "too-few-rows"}
    assert found.verdict.startswith("6 rows are too few to tell whether the predictions are calibrated.")


@pytest.mark.parametrize("weight", [None, 0.7])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_very_few_rows_are_too_few(n, weight):
    w = None if weight is None else np.full(n, weight)
    found = tn.report([1, 0, 1][:n], [0.1, 0.5, 0.8][:n], sample_weight=w)
    assert found.verdicts == {"scores": "too-few-rows"}
    assert found.verdict.startswith("One row is too few" if n == 1 else f"{n} rows are too few")


@pytest.mark.parametrize(("n", "code"), [(150, "too-few-rows"), (1_500, "no-evidence")])
def test_too_few_rows_is_a_matter_of_power(n, code):
    p = np.random.default_rng(2).random(n)
    found = judged((np.random.default_rng(4).random(n) < p).astype(int), p)
    assert found.code == code
    assert ("would be noticed with probability" in found.certainty) is (code == "too-few-rows")


def test_many_rows_are_too_few_if_events_are_rare():
    p = np.full(8_000, 0.001)
    found = judged((np.arange(8_000) < 8).astype(int), p)
    assert found.code == "too-few-rows"
    assert "25 % more or 20 % fewer events than predicted would be noticed" in found.certainty


@pytest.mark.parametrize(("p", "code"), [(0.001, "miscalibrated"), (0.4, "too-few-rows"), (None, "undetermined")])
def test_the_test_decides(binary, p, code):
    summary = binary._contents.models[0].summary
    test = None if p is None else replace(summary.test, pvalue=p)
    assert verdict(replace(summary, ece_interval=None, test=test), 0.95).code == code


def test_limits_agree_with_the_verdict():
    rng = np.random.default_rng(8)
    for _ in range(40):
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
    assert tn.report(y, scores, sample_weight=w, cluster=cluster, progress=False).verdicts == {"scores": code}


def test_two_clusters_cannot_tell(scores):
    y = (np.random.default_rng(3).random(scores.size) < scores).astype(int)
    found = tn.report(y, scores, cluster=np.arange(scores.size) % 2, progress=False)
    assert found.verdicts == {"scores": "too-few-rows"}
    assert "would be noticed hardly ever." in found.verdict


@pytest.mark.slow
def test_a_small_error_that_excludes_zero_is_called_slight():
    p = np.random.default_rng(0).uniform(0.3, 0.7, 150_000).round(2)
    found = report_of(p + 0.01, p)
    assert found.verdicts == {"scores": "slightly-miscalibrated"}
    assert found.verdict.startswith("Slightly miscalibrated: the predictions are too low on average")


@pytest.mark.slow
def test_what_is_slight_depends_on_how_rare_events_are():
    p = np.full(200_000, 0.002)
    found = report_of(np.full(p.size, 0.004), p)  # off by 0.002: little, and yet half of all events
    assert found.verdicts == {"scores": "miscalibrated"}


def test_the_sentence_has_the_evidence(binary):
    summary = binary.to_dict()["models"][0]["summary"]
    low, high = summary["ece_interval"]["low"], summary["ece_interval"]["high"]
    assert f"lies between {100 * low:.1f} and {100 * high:.1f} points (95 % confidence)" in binary.verdict
    found = binary._contents.verdict
    assert found.sentence == f"{found.headline} {found.certainty}"


def test_a_lower_limit_of_zero_is_not_said_to_be_one(binary):
    summary = binary._contents.models[0].summary
    for low, words in ((0.0, "is above 0 and at most 20.0 points"), (0.01, "lies between 1.0 and 20.0 points")):
        found = replace(summary.ece_interval, low=low, high=0.2, includes_zero=False)
        assert words in verdict(replace(summary, ece_interval=found), 0.95).certainty


def test_several_models_get_one_sentence_and_one_each():
    d = tn.simulate.demo(3_000)
    found = tn.report(d.y_true, {"model": d.y_prob, "better": d.columns["recalibrated"]})
    assert found.verdict == "“model” is miscalibrated; “better” shows no miscalibration."
    first = found.to_dict()["models"][0]["verdict"]
    assert first["code"] == "miscalibrated"
    assert first["headline"].startswith("Not calibrated: the predictions are too")
    assert first["sentence"] == f"“model”: n{first['headline'][1:]} {first['certainty']}"


@pytest.mark.slow
def test_the_verdict_of_several_models_has_the_worst_code():
    d = tn.simulate.demo(3_000)
    models = {"bad": d.y_prob, "good": d.columns["recalibrated"]}
    for names in (("bad", "good"), ("good", "bad")):
        found = tn.report(d.y_true, {name: models[name] for name in names}, intervals=False)
        assert found.to_dict()["verdict"]["code"] == "miscalibrated"
        assert found.verdicts == {"bad": "miscalibrated", "good": "no-evidence"}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::trueness.errors.OneClassWarning")
@pytest.mark.parametrize(("n", "runs"), [(50, 300), (300, 200), (2_000, 120), (10_000, 40)])
@pytest.mark.parametrize("law", ["uniform", "rare", "verbal"])
def test_calibrated_models_are_accused_in_one_of_twenty_at_most(binary, n, runs, law):
    rng, wrong = np.random.default_rng(n), 0
    draw = {
        "uniform": lambda: rng.random(n),
        "rare": lambda: rng.beta(0.5, 30, n),
        "verbal": lambda: rng.integers(0, 21, n) / 20,
    }[law]
    for run in range(runs):
        p = draw()
        y = (rng.random(n) < p).astype(int)
        columns = read_by({"g": rng.integers(0, 12, n)}, y, np.ones(n, bool))
        groups = segments(read_rows(y, p, {}).evidence("scores"), columns, Options(EqualWidth(10), 0.95, run))
        found = quickly_judged(binary._contents.models[0].summary, y, p, run, groups)
        wrong += found.code in ("miscalibrated", "slightly-miscalibrated", "too-good")
    assert wrong <= 0.05 * runs + 3 * np.sqrt(0.05 * 0.95 * runs)

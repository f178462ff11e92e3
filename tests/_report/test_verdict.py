"""The verdict follows from the evidence, and names it."""

from dataclasses import replace

import numpy as np
import pytest

import trueness as tn
from trueness._report.verdict import verdict


def report_of(truth, p, seed=77):
    rng = np.random.default_rng(seed)
    return tn.report((rng.random(len(p)) < truth).astype(int), p)


@pytest.fixture(scope="module")
def scores():
    return np.random.default_rng(9).random(4_000)


def test_scores_that_are_true_are_not_refuted(scores):
    found = report_of(scores, scores)
    assert found.verdicts == {"scores": "no-evidence"}
    assert found.verdict.startswith("No sign of miscalibration. The l2 calibration error")


def test_scores_that_are_too_extreme_are_said_to_be_so(scores):
    found = report_of(0.5 + 0.5 * (scores - 0.5), scores)
    assert found.verdicts == {"scores": "miscalibrated"}
    assert "too extreme (slope 0." in found.verdict


@pytest.mark.parametrize(("factor", "words"), [(0.7, "too high on average"), (1.3, "too low on average")])
def test_scores_that_are_off_on_average_are_said_to_be_so(scores, factor, words):
    p = scores / 2
    found = report_of(factor * p, p)
    assert words in found.verdict


def test_few_rows_cannot_tell():
    found = tn.report([0, 1, 0, 1, 1, 0], [0.1, 0.9, 0.4, 0.6, 0.7, 0.2])
    assert found.verdicts == {"scores": "too-few-rows"}
    assert found.verdict.startswith("These 6 rows are too few to tell whether the predictions are calibrated.")


@pytest.mark.parametrize("weight", [None, 0.7])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_rows_without_a_confidence_set_are_too_few(n, weight):
    w = None if weight is None else np.full(n, weight)
    found = tn.report([1, 0, 1][:n], [0.1, 0.5, 0.8][:n], sample_weight=w)
    model = found.to_dict()["models"][0]
    assert found.verdicts == {"scores": "too-few-rows"}
    assert found.verdict.startswith("One row is too few" if n == 1 else f"These {n} rows are too few")
    assert model["summary"]["ece_interval"] is None
    assert "The confidence set could not be computed: there are too few rows." in model["notes"]


@pytest.mark.parametrize(("p", "code"), [(0.001, "miscalibrated"), (0.4, "no-evidence"), (None, "undetermined")])
def test_where_there_is_no_set_the_test_decides(binary, p, code):
    summary = binary._contents.models[0].summary
    test = None if p is None else replace(summary.test, pvalue=p)
    changed = replace(summary, ece_interval=None, noise_floor=None, test=test)
    assert verdict("scores", changed, 0.95, several=False).code == code


def test_a_small_error_that_excludes_zero_is_called_slight():
    p = np.random.default_rng(0).uniform(0.3, 0.7, 150_000).round(2)
    found = report_of(p + 0.01, p)
    assert found.verdicts == {"scores": "slightly-miscalibrated"}
    assert found.verdict.startswith("Slightly miscalibrated")


def test_what_is_slight_depends_on_how_rare_events_are():
    p = np.full(200_000, 0.002)
    found = report_of(np.full(p.size, 0.004), p)  # off by 0.002: little, and yet half of all events
    assert found.verdicts == {"scores": "miscalibrated"}


def test_the_sentence_has_the_evidence(binary):
    summary = binary.to_dict()["models"][0]["summary"]
    low, high = summary["ece_interval"]["low"], summary["ece_interval"]["high"]
    assert f"lies between {low:.4f} and {high:.4f} (95 % confidence)" in binary.verdict
    assert f"p = {summary['test']['pvalue']:.2g}" in binary.verdict
    assert f"the ECE is {summary['ece']:.4f}, and a calibrated model would show about" in binary.verdict


def test_several_models_get_one_sentence_and_one_each():
    d = tn.simulate.demo(3_000)
    found = tn.report(d.y_true, {"model": d.y_prob, "better": d.columns["recalibrated"]})
    assert found.verdict == "“model” is miscalibrated; “better” shows no miscalibration."
    first = found.to_dict()["models"][0]["verdict"]
    assert first["code"] == "miscalibrated"
    assert first["headline"].startswith("Not calibrated: the predictions are too")
    assert first["sentence"] == f"“model”: n{first['headline'][1:]} {first['certainty']}"


def test_the_verdict_of_several_models_has_the_worst_code():
    d = tn.simulate.demo(3_000)
    for names in (("bad", "good"), ("good", "bad")):
        models = {"bad": d.y_prob, "good": d.columns["recalibrated"]}
        found = tn.report(d.y_true, {name: models[name] for name in names})
        assert found.to_dict()["verdict"]["code"] == "miscalibrated"
        assert found.verdicts == {"bad": "miscalibrated", "good": "no-evidence"}

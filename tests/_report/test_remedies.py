"""What would fix it: numbers of rows that the calibrator has not seen."""

import numpy as np
import pytest

import trueness as tn
from trueness import recalibrate
from trueness._report.remedies import folds_of


@pytest.fixture(scope="module")
def demo():
    return tn.simulate.demo(3_000)


@pytest.fixture(scope="module")
def found(demo):
    return tn.report(demo.y_true, demo.y_prob)


@pytest.fixture(scope="module")
def remedies(found):
    return found.to_dict()["models"][0]["remedies"]


def test_folds_are_as_large_as_each_other_and_reproducible():
    fold = folds_of(103, 0)
    assert sorted(np.bincount(fold)) == [20, 20, 21, 21, 21]
    assert (fold == folds_of(103, 0)).all()
    assert (fold != folds_of(103, 1)).any()


def test_the_numbers_are_of_rows_that_were_not_fitted(remedies, demo):
    y, p, fold = demo.y_true, demo.y_prob, folds_of(3_000, 0)
    after = np.empty(p.size)
    for i in range(5):
        after[fold == i] = recalibrate.PlattScaling().fit(p[fold != i], y[fold != i]).predict(p[fold == i])
    platt = next(one for one in remedies["after"] if one["name"] == "Platt scaling")
    assert platt["ece"] == tn.ece(y, after)
    assert platt["brier"] == tn.brier(y, after)
    assert platt["log_loss"] == pytest.approx(tn.log_loss(y, after))
    pair = tn.compare(y, {"before": p, "after": after}, measure="brier", level=0.95)["before", "after"]
    assert (platt["gain"], platt["gain_low"], platt["gain_high"]) == (pair.difference, pair.low, pair.high)


def test_the_scores_as_they_are_come_first(remedies, demo):
    assert remedies["before"]["ece"] == tn.ece(demo.y_true, demo.y_prob)
    assert remedies["before"]["brier"] == tn.brier(demo.y_true, demo.y_prob)


def test_the_best_is_named_only_if_the_interval_of_its_gain_is_above_zero(remedies, found):
    best = next(one for one in remedies["after"] if one["name"] == remedies["best"])
    assert best["gain_low"] > 0
    assert best["brier"] == min(one["brier"] for one in remedies["after"] if one["gain_low"] > 0)
    assert "would lower the Brier score from" in str(found)


def test_scores_that_are_true_are_left_alone():
    rng = np.random.default_rng(4)
    p = rng.random(2_000)
    found = tn.report((rng.random(p.size) < p).astype(int), p)
    assert found.to_dict()["models"][0]["remedies"]["best"] is None
    assert "No calibrator showed a clear improvement on held-out data." in " ".join(str(found).split())


def test_the_guarantee_is_that_of_the_theorem(remedies):
    found = remedies["guarantee"]
    assert (found["n"], found["n_bins"], found["scheme"]) == (3_000, 10, "umd")
    assert found["epsilon"] == recalibrate.epsilon(3_000, 10, alpha=0.05)
    assert found["marginal"] == recalibrate.epsilon(3_000, 10, alpha=0.05, kind="marginal")


def test_ties_are_broken_at_random_so_that_the_guarantee_holds(demo):
    found = tn.report(demo.y_true, demo.y_prob.round(2)).to_dict()["models"][0]["remedies"]
    assert found["guarantee"]["scheme"] == "randomized"
    again = tn.report(demo.y_true, demo.y_prob.round(2)).to_dict()["models"][0]["remedies"]
    assert found == again


def test_a_matrix_gets_calibrators_of_matrices(multiclass):
    found = multiclass.to_dict()["models"][0]["remedies"]
    names = [one["name"] for one in found["after"]]
    assert "temperature scaling" in names
    assert found["best"] is not None
    assert found["guarantee"] is None


def test_few_rows_are_not_split():
    found = tn.report([0, 1] * 5, [0.2, 0.7] * 5).to_dict()["models"][0]
    assert found["remedies"] is None


def test_scores_moved_in_every_fold_are_noted_once(demo):
    found = tn.report(demo.y_true, demo.y_prob.round(2)).to_dict()["models"][0]["remedies"]
    moved = [note for note in found["notes"] if "moved inwards" in note]
    assert moved == [
        "Platt scaling needs logits, which scores of exactly 0 or 1 do not have: these were moved inwards."
    ]


def test_an_infinite_log_loss_of_a_calibrator_is_explained():
    d = tn.simulate.demo(400)
    found = tn.report(d.y_true, d.y_prob).to_dict()["models"][0]["remedies"]
    isotonic = next(one for one in found["after"] if one["name"] == "isotonic regression")
    assert isotonic["log_loss"] is None
    assert "Log loss ∞, isotonic regression: an observed outcome had predicted probability 0." in found["notes"]


@pytest.fixture(scope="module")
def weighted():
    """A calibrated model after its positives were weighted 20-fold."""
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 10, 4_000)
    return (rng.random(p.size) < p).astype(int), 20 * p / (20 * p + 1 - p)


def test_a_prior_shift_is_named_and_undone(weighted):
    report = tn.report(*weighted)
    shift, model = tn.prior_shift(*weighted), report.to_dict()["models"][0]
    assert model["summary"]["prior_shift"] == shift.to_dict()
    assert shift.low < 20 < shift.high
    assert f"it looks like {shift.factor};" in report.verdict
    assert (model["remedies"]["best"], model["remedies"]["after"][0]["name"]) == ("prior correction",) * 2
    action = model["answers"]["action"]
    assert action["phrase"] == f"Divide the odds by {shift.weight:.0f}"
    assert action["command"] == f"calibrated = tn.prior_correction(new_scores, weight={shift.weight:.3g})"
    for text in (report.page(), str(report).replace("\n", " ")):
        assert f"tn.prior_correction(p, weight={shift.weight:.3g})" in text
        assert "trueness fit --method prior" in text


def test_sums_of_shifted_scores_say_by_how_much(weighted):
    action = tn.report(tn.tally(*weighted)).to_dict()["models"][0]["answers"]["action"]
    assert action["phrase"].startswith("Divide the odds by ")
    assert "tn.prior_correction(new_scores, weight=" in action["command"]


def test_scores_that_are_too_extreme_are_no_prior_shift():
    d = tn.simulate.demo(1_000)
    model = tn.report(d.y_true, d.y_prob).to_dict()["models"][0]
    assert not model["summary"]["prior_shift"]["detected"]
    assert "prior correction" not in {one["name"] for one in model["remedies"]["after"]}

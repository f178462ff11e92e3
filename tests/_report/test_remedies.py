"""What would fix it: numbers of rows that the calibrator has not seen."""

import numpy as np
import pytest

import trueness as tn
from trueness import recalibrate
from trueness._input.sample import Sample
from trueness._report.answers import _command
from trueness._report.records import Provenance, Remedy
from trueness._report.remedies import _best, folds_of, order_of_content


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
    order, _ = order_of_content(Sample(demo.y_true, demo.y_prob))
    y, p, fold = demo.y_true[order], demo.y_prob[order], folds_of(3_000, 0)
    assert [one["name"] for one in remedies["after"]] == ["automatic calibration", "Platt scaling", "histogram binning"]
    for found, calibrator in zip(remedies["after"], (tn.AutoCalibration(), tn.PlattScaling()), strict=False):
        after = np.empty(p.size)
        for i in range(5):  # the automatic map chooses anew among the other folds
            after[fold == i] = calibrator.fit(p[fold != i], y[fold != i]).predict(p[fold == i])
        assert found["calibrator"] == repr(calibrator)
        assert found["ece"] == tn.ece(y, after)
        assert found["brier"] == tn.brier(y, after)
        assert found["log_loss"] == pytest.approx(tn.log_loss(y, after))
        pair = tn.compare(y, {"before": p, "after": after}, measure="brier", level=0.95)["before", "after"]
        assert (found["gain"], found["gain_low"], found["gain_high"]) == (pair.difference, pair.low, pair.high)


@pytest.mark.parametrize(
    "kind",
    ["clusters", *(pytest.param(one, marks=pytest.mark.slow) for one in ("binary", "ties", "weights", "classes"))],
)
def test_the_order_of_the_rows_does_not_matter(kind):
    rng = np.random.default_rng(4)
    p = rng.random(300)
    y, options = (rng.random(300) < p**2).astype(int), {}
    if kind == "ties":
        p = np.round(p, 1)
    elif kind == "weights":
        options = {"sample_weight": rng.uniform(0.5, 3, 300)}
    elif kind == "classes":
        p = rng.dirichlet([1, 1, 1], 300)
        y = rng.integers(0, 3, 300)
    elif kind == "clusters":
        options = {"cluster": rng.integers(0, 40, 300)}
    shuffled = rng.permutation(300)
    first = tn.report(y, p, **options).to_dict()
    second = tn.report(y[shuffled], p[shuffled], **{name: one[shuffled] for name, one in options.items()}).to_dict()
    one, other = (found["models"][0]["remedies"] for found in (first, second))
    assert one["best"] == other["best"]
    for a, b in zip(one["after"], other["after"], strict=True):
        for name in ("ece", "brier", "log_loss", "gain", "gain_low", "gain_high"):
            assert a[name] == pytest.approx(b[name], rel=1e-9), (a["name"], name)


def test_the_scores_as_they_are_come_first(remedies, demo):
    assert remedies["before"]["ece"] == tn.ece(demo.y_true, demo.y_prob)
    assert remedies["before"]["brier"] == tn.brier(demo.y_true, demo.y_prob)


def test_the_best_is_named_only_if_the_interval_of_its_gain_is_above_zero(remedies, found):
    best = next(one for one in remedies["after"] if one["name"] == remedies["best"])
    assert best["gain_low"] > 0
    assert best["gain"] >= min(remedies["after"], key=lambda one: one["brier"])["gain_low"]
    text = " ".join(str(found).split())
    assert "would lower the Brier score from" in text
    assert "tn.AutoCalibration().fit(y_prob, y_true)" in text
    assert "trueness fit FILE --calibrator auto-calibration -o map.json." in text


def test_preferred_are_the_correction_and_the_automatic_map_if_as_good_as_the_best():
    def remedy(name, gain, low):
        return Remedy(name, "", 0.1, None, 0.2 - gain, 0.5, gain, low, 2 * gain - low)

    platt, auto = remedy("Platt scaling", 0.010, 0.006), remedy("automatic calibration", 0.009, 0.005)
    prior = remedy("prior correction", 0.007, 0.001)
    assert _best([prior, auto, platt]) is prior
    assert _best([auto, platt]) is auto
    assert _best([remedy("automatic calibration", 0.004, 0.001), platt]) is platt  # clearly less
    assert _best([remedy("automatic calibration", 0.009, 0.0), platt]) is platt  # which could be nothing
    assert _best([remedy("Platt scaling", 0.010, -0.001)]) is None


def test_the_command_names_clusters_for_the_map_that_takes_them():
    origin = Provenance("rows.csv", "y", "1", "2026-11-16", {"a": "trueness fit rows.csv"}, cluster="--cluster ward")
    fit = "trueness fit rows.csv --cluster ward --calibrator auto-calibration -o map.json\n"
    assert _command("AutoCalibration()", origin, "a").startswith(fit)
    assert "ward" not in _command("PlattScaling()", origin, "a")


def test_scores_that_are_true_are_left_alone():
    rng = np.random.default_rng(4)
    p = rng.random(2_000)
    found = tn.report((rng.random(p.size) < p).astype(int), p)
    assert found.to_dict()["models"][0]["remedies"]["best"] is None
    text = " ".join(str(found).split())
    assert "No calibrator showed a clear improvement on held-out data." in text
    assert "Leave the scores alone" in text
    assert "AutoCalibration" not in text


def test_the_guarantee_is_that_of_the_theorem(remedies):
    found = remedies["guarantee"]
    assert (found["n"], found["n_bins"], found["scheme"]) == (3_000, 10, "umd")
    assert found["epsilon"] == recalibrate.epsilon(3_000, 10, alpha=0.05)
    assert found["marginal"] == recalibrate.epsilon(3_000, 10, alpha=0.05, kind="marginal")


@pytest.mark.slow
def test_ties_are_broken_at_random_so_that_the_guarantee_holds(demo):
    found = tn.report(demo.y_true, demo.y_prob.round(2)).to_dict()["models"][0]["remedies"]
    assert found["guarantee"]["scheme"] == "randomized"
    again = tn.report(demo.y_true, demo.y_prob.round(2)).to_dict()["models"][0]["remedies"]
    assert found == again


def test_a_matrix_gets_calibrators_of_matrices(multiclass):
    found = multiclass.to_dict()["models"][0]["remedies"]
    names = [one["name"] for one in found["after"]]
    assert names == ["structured vector scaling", "temperature scaling"]
    assert found["best"] is not None
    assert found["guarantee"] is None


@pytest.mark.slow
def test_a_small_matrix_gets_the_automatic_map_too():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 200)
    y = (p.cumsum(axis=1) < rng.random((200, 1))).sum(axis=1)
    found = tn.report(y, p, intervals=False).to_dict()["models"][0]["remedies"]
    assert [one["calibrator"] for one in found["after"]] == [
        "AutoCalibration()",
        "StructuredScaling(structure='vector')",
        "TemperatureScaling()",
    ]


def test_few_rows_are_not_split():
    found = tn.report([0, 1] * 5, [0.2, 0.7] * 5).to_dict()["models"][0]
    assert found["remedies"] is None


def test_scores_moved_in_every_fold_are_noted_once(demo):
    found = tn.report(demo.y_true, demo.y_prob.round(2)).to_dict()["models"][0]["remedies"]
    moved = [note for note in found["notes"] if "moved inwards" in note]
    assert moved == [
        "All maps but histogram binning need logits, which scores of exactly 0 or 1 do not have: these were moved "
        "inwards."
    ]


def test_an_infinite_log_loss_of_a_calibrator_is_explained():
    p = np.linspace(0.01, 0.99, 400)
    y = (p > 0.9).astype(int)
    y[50] = 1  # alone in the lower bin
    found = tn.report(y, p).to_dict()["models"][0]["remedies"]
    binning = next(one for one in found["after"] if one["name"] == "histogram binning")
    assert binning["log_loss"] is None
    assert "Log loss ∞, histogram binning: an observed outcome had predicted probability 0." in found["notes"]


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

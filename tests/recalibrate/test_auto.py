"""The default map: laws, choices, gains."""

import json
import warnings

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.exceptions import NotFittedError

import trueness as tn
from trueness.errors import InputError
from trueness.recalibrate import AutoCalibration, _auto_matrix, calibrator_from_dict

GRID = np.linspace(0, 1, 201)


def drawn(n=400, slope=0.5, seed=0):
    d = tn.simulate.binary(n, distortion=tn.simulate.Logit(slope=slope), seed=seed)
    return d.y_prob, d.y_true


def same(one, other):
    np.testing.assert_allclose(one.predict(GRID), other.predict(GRID), rtol=1e-12)
    assert (one.gain_, one.gain_low_) == pytest.approx((other.gain_, other.gain_low_), rel=1e-9)


def test_the_order_of_rows_does_not_matter():
    p, y = drawn()
    order = np.random.default_rng(1).permutation(y.size)
    same(AutoCalibration().fit(p, y), AutoCalibration().fit(p[order], y[order]))


def test_a_weight_is_a_repetition():
    p, y = drawn(300)
    w = np.random.default_rng(2).integers(0, 4, y.size)
    same(AutoCalibration().fit(np.repeat(p, w), np.repeat(y, w)), AutoCalibration().fit(p, y, w))


@pytest.mark.parametrize("columns", [1, 3])
def test_the_unit_of_sampling_weights_does_not_matter(columns):
    rng = np.random.default_rng(4)
    p, new = (rng.dirichlet(np.ones(columns), 120) if columns > 1 else rng.random(120) for _ in range(2))
    y, w = rng.integers(0, max(columns, 2), 120), rng.uniform(0.2, 1.2, 120)
    one, *others = (AutoCalibration().fit(p, y, unit * w) for unit in (1.0, 1e-3, 1e3))
    for other in others:
        assert other.predict(new) == pytest.approx(one.predict(new), abs=1e-6)
        assert (other.gain_, other.gain_low_) == pytest.approx((one.gain_, one.gain_low_), abs=1e-6)


@pytest.mark.parametrize("n", [1, 2, 7, 60, 3000])
def test_the_map_never_decreases(n):
    rng = np.random.default_rng(n)
    p, y = np.round(rng.uniform(size=n), 2), rng.integers(0, 2, n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tn.TruenessWarning)
        fitted = AutoCalibration().fit(p, y)
    found = fitted.predict(GRID)
    assert (np.diff(found) >= -1e-15).all()
    assert ((found > 0) & (found < 1)).all()
    assert fitted.weights_.sum() == pytest.approx(1)


def test_without_the_demand_a_map_may_fall():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.02, 0.98, 5000)
    y = rng.binomial(1, 4 * (p - 0.5) ** 2 * 0.9 + 0.05)
    free, rising = (AutoCalibration(monotone=flag).fit(p, y).predict(GRID) for flag in (False, True))
    assert (np.diff(free) < 0).any()
    assert (np.diff(rising) >= 0).all()


def test_calibrated_scores_are_left_alone_and_bad_ones_are_not():
    fitted = AutoCalibration().fit(*drawn(2000, 1.0))
    assert fitted.leave_alone_
    assert fitted.weights_[0] > 0.2
    assert "leave the scores alone" in fitted.summary()
    bold = AutoCalibration().fit(*drawn(2000, 0.4))
    assert not bold.leave_alone_
    assert bold.weights_[0] < 1e-6
    assert bold.gain_low_ > 0 < bold.brier_gain_low_
    new = drawn(50_000, 0.4, seed=9)
    fall = tn.log_loss(new[1], new[0]) - tn.log_loss(new[1], bold.predict(new[0]))
    assert bold.gain_low_ < fall < bold.gain_high_


def test_logits_give_the_map_of_their_probabilities():
    p, y = drawn(500)
    one, other = AutoCalibration().fit(p, y), AutoCalibration(from_logits=True).fit(logit(p), y)
    np.testing.assert_allclose(one.predict(p[:-1]), other.predict(logit(p[:-1])), rtol=1e-9)


def test_scores_of_zero_and_one_are_moved_unless_their_limits_are_wanted():
    p, y = drawn(300)
    p = np.round(p, 1)
    with pytest.warns(tn.MovedScoresWarning):
        moved, limits = AutoCalibration().fit(p, y), AutoCalibration(limits=True).fit(p, y)
    assert 0 < moved.predict([0.0])[0] < moved.predict([1.0])[0] < 1
    assert limits.predict([0.0, 1.0]).tolist() == [0.0, 1.0]
    np.testing.assert_allclose(limits.predict([0.3, 0.7]), moved.predict([0.3, 0.7]), rtol=1e-12)


def test_a_cluster_is_one_observation():
    p, y = drawn(900, 0.4)
    alone = AutoCalibration().fit(p, y)
    copies = AutoCalibration().fit(np.repeat(p, 8), np.repeat(y, 8), cluster=np.repeat(np.arange(900), 8))
    bold = AutoCalibration().fit(np.repeat(p, 8), np.repeat(y, 8))
    width = [fitted.gain_high_ - fitted.gain_low_ for fitted in (alone, copies, bold)]
    assert width[1] == pytest.approx(width[0], rel=0.2)
    assert width[2] < 0.5 * width[1]
    with pytest.raises(InputError, match=r"`cluster` must have one entry per row \(900\); got shape \(3,\)"):
        AutoCalibration().fit(p, y, cluster=[1, 2, 3])


def test_a_map_survives_json_to_the_bit():
    fitted = AutoCalibration().fit(*drawn())
    again = calibrator_from_dict(json.loads(json.dumps(fitted.to_dict())))
    assert np.array_equal(again.predict(GRID), fitted.predict(GRID))
    assert again.summary() == fitted.summary()


def test_many_rows_are_pooled_with_little_loss():
    p, y = drawn(30_000)
    fitted = AutoCalibration().fit(p, y)
    np.testing.assert_allclose(fitted.predict(GRID[5:-5]), expit(0.5 * logit(GRID[5:-5])), atol=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "bar"), [(100, 0.2), (400, 0.2), (2000, 0.1)])
def test_little_is_lost_on_calibrated_scores(n, bar):
    """Excess Brier score beside isotonic regression's; 60 runs, whose ratio has a standard error of about 0.02."""
    rng, lost, isotonic = np.random.default_rng(n), 0.0, 0.0
    new = rng.beta(0.8, 0.8, 4000)
    for _ in range(60):
        p = rng.beta(0.8, 0.8, n)
        y = rng.binomial(1, p)
        lost += np.mean((AutoCalibration().fit(p, y).predict(new) - new) ** 2)
        isotonic += np.mean((tn.IsotonicCalibration().fit(p, y).predict(new) - new) ** 2)
    assert lost / isotonic < bar + 0.04


def classes(n=500, k=4, seed=0):
    d = tn.simulate.multiclass(n, k, alpha=0.4, distortion=tn.simulate.Temperature(2.0), seed=seed)
    return d.y_prob, d.y_true


def test_several_classes_in_any_order_of_rows_and_classes():
    P, y = classes()
    new = classes(40, seed=5)[0]
    found = AutoCalibration().fit(P, y).predict(new)
    rows, order = np.random.default_rng(0).permutation(y.size), np.array([2, 0, 3, 1])
    np.testing.assert_allclose(AutoCalibration().fit(P[rows], y[rows]).predict(new), found, rtol=1e-7)
    turned = AutoCalibration().fit(P[:, order], np.argsort(order)[y]).predict(new[:, order])
    np.testing.assert_allclose(turned, found[:, order], atol=0.02)  # rows are dealt into other folds
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_several_classes_weigh_rows_as_repetitions():
    P, y = classes(200)
    w = np.random.default_rng(2).integers(0, 3, y.size)
    one, other = AutoCalibration().fit(P, y, w), AutoCalibration().fit(np.repeat(P, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(one.predict(P[:9]), other.predict(P[:9]), rtol=1e-7)


def test_over_confident_classes_are_mended_and_the_map_is_saved():
    P, y = classes(1500)
    fitted = AutoCalibration().fit(P, y)
    assert fitted.gain_low_ > 0 < fitted.brier_gain_low_
    new, truth = classes(5000, seed=7)
    assert tn.log_loss(truth, fitted.predict(new)) < tn.log_loss(truth, new) - fitted.gain_low_ / 2
    again = calibrator_from_dict(json.loads(json.dumps(fitted.to_dict())))
    assert np.array_equal(again.predict(new), fitted.predict(new))
    logits, plain = AutoCalibration(from_logits=True).fit(np.log(P) + 3, y), AutoCalibration(eps=1e-15).fit(P, y)
    np.testing.assert_allclose(logits.predict(np.log(new)), plain.predict(new), atol=1e-6)


def test_impossible_classes_stay_impossible_if_limits_are_wanted():
    P, y = classes(300)
    found = AutoCalibration(limits=True).fit(P, y).predict([[0.0, 0.2, 0.3, 0.5]])
    assert found[0, 0] == 0
    assert found.sum() == pytest.approx(1)
    assert AutoCalibration().fit(P, y).predict([[0.0, 0.2, 0.3, 0.5]])[0, 0] > 0


def test_a_large_matrix_is_learnt_from_some_of_its_rows(monkeypatch):
    P, y = classes(3000)
    whole = AutoCalibration().fit(P, y)
    monkeypatch.setattr("trueness.recalibrate._auto_matrix._MOST_ENTRIES", 6000)
    some = AutoCalibration().fit(P, y)
    assert some.curves_[0] == whole.curves_[0]
    assert not np.array_equal(some.curves_[1], whole.curves_[1])
    np.testing.assert_allclose(some.predict(P[:50]), whole.predict(P[:50]), atol=0.15)


def test_an_unfitted_map_has_no_summary():
    with pytest.raises(NotFittedError):
        AutoCalibration().summary()


def test_a_missing_cluster_is_named():
    p, y = drawn(4)
    with pytest.raises(InputError, match=r"`cluster` must not have missing values; 1 of 4 rows has one, .* at row 2"):
        AutoCalibration().fit(p, y, cluster=["a", "b", None, "a"])


def test_a_single_row_gains_nothing_and_the_summary_says_so():
    with pytest.warns(tn.OneClassWarning):
        fitted = AutoCalibration().fit([0.3], [1])
    assert "falls by 0 per row (95 % limits -inf and inf). It may gain nothing" in fitted.summary()


@pytest.mark.parametrize(
    ("gain", "words"),
    [
        (0.2, "falls by 0.2 per row (95 % limits 0.1 and 0.3)."),
        (-0.2, "rises by 0.2 per row (95 % limits 0.1 and 0.3)."),
    ],
)
def test_the_summary_tells_a_gain_from_a_loss(gain, words):
    fitted = AutoCalibration().fit(*drawn(50))
    fitted.gain_, fitted.gain_low_, fitted.gain_high_ = gain, gain - 0.1, gain + 0.1
    assert words in fitted.summary()
    assert ("leave the scores alone" in fitted.summary()) == (gain < 0)


def test_the_summary_names_candidates_of_five_per_cent_and_more_by_their_shares():
    fitted = AutoCalibration().fit(*drawn(50))
    fitted.weights_ = np.array([0.05, 0.2, 0.0, 0.5, 0.001, 0.049, 0.2])
    shares = "quadratic scaling 50 %, Platt scaling 20 %, isotonic regression 20 %, identity 5 %"
    assert fitted.summary().startswith(f"Map: {shares}. The log loss")


@pytest.mark.parametrize(("low", "leave"), [(0.0, True), (1e-9, False), (-1.0, True), (float("nan"), True)])
def test_scores_are_left_alone_unless_the_lower_limit_of_the_gain_is_above_zero(low, leave):
    fitted = AutoCalibration().fit(*drawn(50))
    fitted.gain_low_ = low
    assert fitted.leave_alone_ == leave


def test_some_rows_of_a_large_matrix_are_worth_their_share(monkeypatch):
    P, y = classes(400)
    worth = []
    monkeypatch.setattr(_auto_matrix, "number_of_deals", lambda rows: worth.append(rows) or 1)
    monkeypatch.setattr(_auto_matrix, "_MOST_ENTRIES", P.size // 2)
    AutoCalibration().fit(P, y)
    assert worth == [pytest.approx(200, abs=4)]

"""The default map of several classes, written out: every candidate in every fold from its own calibrator."""

import math

import numpy as np
import pytest
from scipy.special import log_softmax, logit
from scipy.stats import t

from trueness import simulate
from trueness.recalibrate import (
    AutoCalibration,
    BetaCalibration,
    StructuredScaling,
    TemperatureScaling,
    _auto_matrix,
    calibrator_from_dict,
)
from trueness.recalibrate._auto_matrix import candidate_names, own_log_odds
from trueness.recalibrate._cross_fit import deal_rows

NAMES = (
    "identity",
    "temperature scaling",
    "structured vector scaling",
    "structured matrix scaling",
    "beta calibration of each class",
)
EPS = 1e-9
NEW = np.array([[0.1, 0.2, 0.7], [0.98, 0.01, 0.01], [0.3, 0.4, 0.3]])


def beta_of_each_class(P, y, w):
    maps = [BetaCalibration(ridge=1.0, eps=EPS).fit(P[:, k], (y == k).astype(int), w) for k in range(P.shape[1])]
    return lambda new: log_softmax(np.log([one.predict(new[:, k]) for k, one in enumerate(maps)]).T, axis=1)


def candidate_maps(P, y, w):
    """From probabilities to their logarithms, in the order of the candidates."""
    kinds = [
        TemperatureScaling(ridge=1.0, eps=EPS),
        StructuredScaling(structure="vector", eps=EPS),
        StructuredScaling(structure="matrix", eps=EPS),
    ]
    fits = [kind.fit(P, y, w) for kind in kinds]
    return [np.log, *(lambda new, one=one: np.log(one.predict(new)) for one in fits), beta_of_each_class(P, y, w)]


def weights_of(loss, effect):
    prior = np.full(len(loss), 0.5 / (len(loss) - 1))
    prior[0] = 0.5
    power = prior * np.exp(-(loss - loss.min()) / effect)
    return power / power.sum()


def log_loss(y, log):
    return -log[np.arange(y.size), y]


def brier(y, log):
    return ((np.exp(log) - np.eye(log.shape[1])[y]) ** 2).sum(axis=1)


def cross_fitted(P, y, w, fold):
    out = np.empty((5, *P.shape))
    for f in np.unique(fold):
        rest, here = fold != f, fold == f
        out[:, here] = [one(P[here]) for one in candidate_maps(P[rest], y[rest], w[rest])]
    return out


def mixed(y, w, out, fold, effect):
    """Logarithms of each row's probabilities by the weights that the other folds give."""
    found = np.empty(out.shape[1:])
    for f in np.unique(fold):
        rest = fold != f
        share = weights_of(np.array([w[rest] @ log_loss(y[rest], one[rest]) for one in out]), effect)
        found[~rest] = log_softmax(np.einsum("c,cnk->nk", share, out[:, ~rest]), axis=1)
    return found


def rows(n, seed=0):
    d = simulate.multiclass(n, 3, alpha=0.6, distortion=simulate.Temperature(2.0), seed=seed)
    return np.maximum(d.y_prob, 1e-6) / np.maximum(d.y_prob, 1e-6).sum(axis=1, keepdims=True), d.y_true


def assert_map(fitted, P, y, w, weights):
    assert fitted.candidates_ == NAMES
    assert fitted.weights_.tolist() == pytest.approx(weights.tolist(), rel=1e-4)
    mean = sum(share * one(NEW) for share, one in zip(weights, candidate_maps(P, y, w), strict=True))
    np.testing.assert_allclose(fitted.predict(NEW), np.exp(log_softmax(mean, axis=1)), rtol=1e-5)


def test_clusters_are_folds_and_what_varies():
    rng = np.random.default_rng(1)
    P, y = rows(150)
    cluster = np.repeat(np.arange(5), 30)
    y = np.where(cluster < 3, P.argmax(axis=1), rng.integers(0, 3, 150))  # the scores mean something in three clusters
    w = rng.uniform(0.5, 2, 150)
    w = w * (w.sum() / (w @ w))
    order = rng.permutation(150)
    P, y, w, cluster = (column[order] for column in (P, y, w, cluster))
    fitted = AutoCalibration(eps=EPS, level=0.8).fit(P, y, 3 * w, cluster=cluster)
    out = cross_fitted(P, y, w, cluster)
    loss = np.array([w @ log_loss(y, one) for one in out])
    gain = log_loss(y, np.log(P)) - log_loss(y, out[1 + int(np.argmin(loss[1:]))])
    away = w * (gain - np.average(gain, weights=w))
    effect = sum(away[cluster == one].sum() ** 2 for one in range(5)) / (away @ away)
    assert effect > 1.05
    assert_map(fitted, P, y, w, weights_of(loss, effect))
    after = mixed(y, w, out, cluster, effect)
    sizes = np.bincount(cluster, w)
    freedom = sizes.sum() ** 2 / (sizes @ sizes) - 1
    for score, name in (log_loss, "gain"), (brier, "brier_gain"):
        difference = score(y, np.log(P)) - score(y, after)
        mean = np.average(difference, weights=w)
        sums = np.bincount(cluster, w * (difference - mean))
        reach = t.ppf(0.9, freedom) * math.sqrt(5 / 4 * sums @ sums) / w.sum()
        found = [getattr(fitted, name + end) for end in ("_", "_low_", "_high_")]
        assert found == pytest.approx([mean, mean - reach, mean + reach], rel=1e-4)


def test_rows_of_weights_are_dealt_one_by_one(monkeypatch):
    monkeypatch.setattr(_auto_matrix, "number_of_deals", lambda rows: 2)
    P, y = rows(60)
    w = np.arange(60) % 3 + 1
    fitted = AutoCalibration(eps=EPS, level=0.7).fit(P, y, w)
    P, y = np.repeat(P, w, axis=0), np.repeat(y, w)
    n, one = y.size, np.ones(y.size)
    losses, differences = [], []
    for fold in deal_rows(np.log(P), y, one, None, 5, 2):
        out = cross_fitted(P, y, one, fold)
        losses.append([log_loss(y, each).sum() for each in out])
        after = mixed(y, one, out, fold, 1.0)
        differences.append([score(y, np.log(P)) - score(y, after) for score in (log_loss, brier)])
    assert_map(fitted, P, y, one, weights_of(np.mean(losses, axis=0), 1.0))
    for difference, name in zip(np.mean(differences, axis=0), ("gain", "brier_gain"), strict=True):
        reach = t.ppf(0.85, n - 1) * difference.std(ddof=1) / math.sqrt(n)
        found = [getattr(fitted, name + end) for end in ("_", "_low_", "_high_")]
        mean = difference.mean()
        assert found == pytest.approx([mean, mean - reach, mean + reach], rel=1e-4)


def test_rows_without_weight_do_not_count():
    P, y = rows(60)
    cluster = np.arange(60) // 15
    w = np.where(cluster == 1, 0.0, 1.0)
    one, other = (AutoCalibration().fit(P[some], y[some], w[some], cluster=cluster[some]) for some in (w >= 0, w > 0))
    assert (one.gain_, one.gain_low_, one.gain_high_) == (other.gain_, other.gain_low_, other.gain_high_)


@pytest.mark.filterwarnings("ignore::trueness.OneClassWarning")
def test_a_single_row_or_cluster_holds_nothing_out():
    P, y = rows(30)
    for fitted in (AutoCalibration().fit(P[:1], y[:1]), AutoCalibration().fit(P, y, cluster=["a"] * 30)):
        assert fitted.weights_.tolist() == pytest.approx([0.5, *[0.125] * 4])
        for name in ("gain", "brier_gain"):
            assert [getattr(fitted, name + end) for end in ("_", "_low_", "_high_")] == [0.0, -math.inf, math.inf]
        again = calibrator_from_dict(fitted.to_dict())
        assert np.array_equal(again.predict(NEW), fitted.predict(NEW))


def test_the_log_odds_of_a_class_are_against_all_others():
    assert own_log_odds(np.log(NEW), 1).tolist() == pytest.approx(logit(NEW[:, 1]).tolist())
    assert np.isfinite(own_log_odds(np.array([[0.0, -1e6, -1e6]]), 0)).all()


def test_many_classes_leave_out_what_has_parameters_for_pairs():
    assert tuple(candidate_names(100)) == NAMES[1:]
    assert tuple(candidate_names(101)) == NAMES[1:3]


@pytest.mark.parametrize("clustered", [False, True])
def test_a_large_matrix_is_learnt_from_some_of_its_rows_as_if_there_were_no_others(monkeypatch, clustered):
    P, y = rows(90)
    cluster = np.arange(90) % 9 if clustered else None
    monkeypatch.setattr(_auto_matrix, "_MOST_ENTRIES", 100)
    monkeypatch.setattr(_auto_matrix, "candidate_names", lambda _: list(NAMES[1:3]))
    fitted = AutoCalibration(eps=EPS).fit(P, y, cluster=cluster)
    some = deal_rows(np.log(P), y, np.ones(90), cluster, 3, 1)[0] == 0
    assert some.sum() == 30
    monkeypatch.setattr(_auto_matrix, "_MOST_ENTRIES", 270)
    fewer = AutoCalibration(eps=EPS).fit(P[some], y[some], cluster=None if cluster is None else cluster[some])
    every = AutoCalibration(eps=EPS).fit(P, y, cluster=cluster)
    assert fitted.curves_[0] == every.curves_[0] != fewer.curves_[0]  # the temperature
    assert fitted.curves_[1].tolist() == fewer.curves_[1].tolist()
    for name in ("gain_", "gain_low_", "gain_high_", "brier_gain_low_"):
        assert getattr(fitted, name) == pytest.approx(getattr(fewer, name))

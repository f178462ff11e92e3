"""The default map of a vector, written out: every candidate in every fold from its own calibrator."""

import math
import warnings

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import t
from sklearn.isotonic import IsotonicRegression

from trueness import TruenessWarning
from trueness.recalibrate import AutoCalibration, BetaCalibration, PlattScaling, QuadraticScaling, SplineCalibration
from trueness.recalibrate._auto_vector import Points, isotonic_points, loss_differences
from trueness.recalibrate._cross_fit import deal_folds, number_of_deals
from trueness.recalibrate._shaped_map import logit_cells

EPS = 1e-9
GRID = logit(np.linspace(0.03, 0.97, 24))
NAMES = (
    "identity",
    "Platt scaling",
    "beta calibration",
    "quadratic scaling",
    "signed quadratic scaling",
    "spline",
    "isotonic regression",
)
NEW = np.array([0.01, 0.2, 0.5, 0.77, 0.995])


def isotonic(z, y, w):
    """Blocks at their mean log-odds, each with one more row as the score predicts; slope 1 outside."""
    value = np.unique(z)
    weight, events = (np.array([own[z == one].sum() for one in value]) for own in (w, w * y))
    fit = IsotonicRegression().fit(value, events / weight, weight).predict(value)
    blocks = [np.isclose(fit, level, atol=1e-12) for level in np.unique(fit.round(12))]
    x = np.array([np.average(value[one], weights=weight[one]) for one in blocks])
    rate = np.array(
        [(events[one].sum() + expit(at)) / (weight[one].sum() + 1) for one, at in zip(blocks, x, strict=True)]
    )
    height = np.maximum.accumulate(logit(rate))
    return lambda new: np.interp(new, x, height) + np.minimum(new - x[0], 0) + np.maximum(new - x[-1], 0)


def candidate_maps(z, y, w):
    """From log-odds to log-odds, in the order of the candidates."""
    options = {"ridge": 1.0, "eps": EPS}
    kinds = [
        PlattScaling(**options),
        BetaCalibration(**options),
        QuadraticScaling(**options),
        QuadraticScaling(signed=True, **options),
        SplineCalibration(**options),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruenessWarning)
        fits = [kind.fit(expit(z), y, w) for kind in kinds]
    return [lambda new: new, *(lambda new, one=one: logit(one.predict(expit(new))) for one in fits), isotonic(z, y, w)]


def log_loss(y, z):
    return np.logaddexp(0, np.where(y == 1, -z, z))


def brier(y, z):
    return (y - expit(z)) ** 2


def weights_of(loss, effect):
    prior = np.full(len(loss), 0.5 / (len(loss) - 1))
    prior[0] = 0.5
    power = prior * np.exp(-(loss - loss.min()) / effect)
    return power / power.sum()


def effect_of(y, z, w, out, cluster):
    """How much larger clusters make the variance of the gain of the best candidate."""
    total = [w @ log_loss(y, one) for one in out]
    best = 1 + int(np.argmin(total[1:]))
    gain = log_loss(y, z) - log_loss(y, out[best])
    away = w * (gain - np.average(gain, weights=w))
    together = sum(away[cluster == one].sum() ** 2 for one in np.unique(cluster))
    return max(1.0, together / (away @ away))


def cross_fitted(z, y, w, fold):
    out = np.empty((7, z.size))
    for f in np.unique(fold):
        rest, here = fold != f, fold == f
        out[:, here] = [one(z[here]) for one in candidate_maps(z[rest], y[rest], w[rest])]
    return out


def mixed(y, w, out, fold, effect):
    """Log-odds of each row by the weights that the other folds give."""
    found = np.empty(y.size)
    for f in np.unique(fold):
        rest = fold != f
        share = weights_of(np.array([w[rest] @ log_loss(y[rest], one[rest]) for one in out]), effect)
        found[~rest] = share @ out[:, ~rest]
    return found


def test_clusters_are_folds_and_what_varies():
    """Five clusters with the same scores: each is a fold, and all folds give the spline the same knots."""
    rng = np.random.default_rng(0)
    z, cluster = np.tile(GRID, 5), np.repeat(np.arange(5), GRID.size)
    y = (rng.random(z.size) < expit(0.4 * z + 0.8 * (cluster - 1.5))).astype(int)
    w = np.tile(rng.uniform(0.5, 2, GRID.size), 5)
    w = w * (w.sum() / (w @ w))  # the unit in which the squares of the weights sum to their sum
    order = rng.permutation(z.size)
    z, y, w, cluster = (column[order] for column in (z, y, w, cluster))
    names = np.array(["e", "a", "d", "b", "c"])[cluster]
    fitted = AutoCalibration(eps=EPS, level=0.8).fit(expit(z), y, 7 * w, cluster=names)
    assert fitted.candidates_ == NAMES
    out = cross_fitted(z, y, w, cluster)
    effect = effect_of(y, z, w, out, cluster)
    assert effect > 1.1
    weights = weights_of(np.array([w @ log_loss(y, one) for one in out]), effect)
    assert fitted.weights_.tolist() == pytest.approx(weights.tolist(), rel=1e-5)
    wanted = expit(sum(share * one(logit(NEW)) for share, one in zip(weights, candidate_maps(z, y, w), strict=True)))
    assert fitted.predict(NEW).tolist() == pytest.approx(wanted.tolist(), rel=1e-6)
    for loss, name in (log_loss, "gain"), (brier, "brier_gain"):
        difference = loss(y, z) - loss(y, mixed(y, w, out, cluster, effect))
        gain = np.average(difference, weights=w)
        sums = [(w * (difference - gain))[cluster == one].sum() for one in range(5)]
        reach = t.ppf(0.9, 4) * math.sqrt(5 / 4 * sum(one**2 for one in sums)) / w.sum()
        found = [getattr(fitted, name + end) for end in ("_", "_low_", "_high_")]
        assert found == pytest.approx([gain, gain - reach, gain + reach], rel=1e-5)


@pytest.mark.filterwarnings("ignore::trueness.OwnRowsWarning")
def test_rows_that_are_dealt_twice_count_with_half_their_weight_each_time():
    rng = np.random.default_rng(1)
    z, y = np.repeat(GRID, 2), np.tile([0, 1], GRID.size)
    w = rng.poisson(32 * np.where(y == 1, expit(0.5 * z), expit(-0.5 * z))) + 2.0
    assert number_of_deals(w.sum()) == 2
    fitted = AutoCalibration(from_logits=True, level=0.7).fit(z, y, w)
    assert fitted.reach_ == np.abs(GRID).max()
    folds = deal_folds(logit_cells(z, y, w), y, w, None, 5, 2)
    losses, parts = [], []
    for events, others in zip(folds.events, folds.others, strict=True):
        held = np.stack([others, events], axis=2).reshape(5, -1)  # the weight of each row in each fold
        out = np.empty((5, 7, z.size))
        for f in range(5):
            train = held.sum(axis=0) - held[f]
            maps = candidate_maps(z, y, train)
            maps[5] = spline_with(fitted.knots_, y, train)  # the knots are those of all rows
            out[f] = [one(z) for one in maps]
        loss = np.array([[held[f] @ log_loss(y, one) for one in out[f]] for f in range(5)])
        losses.append(loss.sum(axis=0))
        for f in range(5):
            after = weights_of(loss.sum(axis=0) - loss[f], 1.0) @ out[f]
            parts.append((log_loss(y, z) - log_loss(y, after), brier(y, z) - brier(y, after), held[f] / 2))
    assert fitted.weights_.tolist() == pytest.approx(weights_of(np.mean(losses, axis=0), 1.0).tolist(), rel=1e-5)
    *differences, weight = (np.concatenate(column) for column in zip(*parts, strict=True))
    assert weight.sum() == pytest.approx(w.sum())
    for difference, name in zip(differences, ("gain", "brier_gain"), strict=True):
        mean = np.average(difference, weights=weight)
        variance = np.average((difference - mean) ** 2, weights=weight) / (w.sum() - 1)
        reach = t.ppf(0.85, w.sum() - 1) * math.sqrt(variance)
        found = [getattr(fitted, name + end) for end in ("_", "_low_", "_high_")]
        assert found == pytest.approx([mean, mean - reach, mean + reach], rel=1e-5)


def spline_with(knots, y, w):
    """A spline with these knots, fitted to the rows of the grid."""
    spline = SplineCalibration(from_logits=True)
    spline.knots_ = knots
    weight, events = w.reshape(-1, 2).sum(axis=1), (w * y).reshape(-1, 2).sum(axis=1)
    return spline._keep(spline.regressions(GRID, weight[None], events[None])[0])._log_odds


def test_rows_of_clusters_without_weight_do_not_count():
    rng = np.random.default_rng(0)
    p, cluster = rng.uniform(0.05, 0.95, 60), np.arange(60) // 15
    y, w = rng.binomial(1, p**2), np.where(cluster == 0, 0.0, 1.0)
    one, other = (AutoCalibration().fit(p[some], y[some], w[some], cluster=cluster[some]) for some in (w >= 0, w > 0))
    assert (one.gain_, one.gain_low_, one.gain_high_) == (other.gain_, other.gain_low_, other.gain_high_)


def test_points_are_joined_by_lines_and_go_on_with_slope_one():
    curve = Points(np.array([-1.0, 1.0, 2.0]), np.array([0.0, 1.0, 5.0]))
    assert curve(np.array([-3.0, -1.0, 0.0, 1.5, 2.0, 4.0])).tolist() == [-2.0, 0.0, 0.5, 3.0, 5.0, 7.0]


def test_blocks_have_one_more_row_as_their_score_predicts():
    # Log-odds −2, 0 and 1 with 1 of 2, 0 of 1 and 3 of 3 events; the first two are pooled at −4/3.
    found = isotonic_points(np.array([-2.0, 0.0, 1.0]), np.array([2.0, 1.0, 3.0]), np.array([1.0, 0.0, 3.0]))
    assert found.x.tolist() == pytest.approx([-4 / 3, 1.0])
    rates = (1 + expit(-4 / 3)) / 4, (3 + expit(1.0)) / 4
    assert found.y.tolist() == pytest.approx([logit(rate) for rate in rates])


def test_blocks_of_fold_without_rows_leave_scores_alone():
    none = isotonic_points(np.array([-2.0, 3.0]), np.zeros(2), np.zeros(2))
    assert none(np.array([-2.0, 0.5])).tolist() == [-2.0, 0.5]
    some = isotonic_points(np.array([-2.0, 1.0, 3.0]), np.array([0.0, 1.0, 0.0]), np.array([0.0, 1.0, 0.0]))
    assert some.x.tolist() == [1.0]


def test_losses_fall_by_these_numbers():
    plain, better = logit(np.array([0.5, 0.9])), logit(np.array([0.8, 0.4]))
    found = loss_differences(plain, better)
    assert found["log"][0].tolist() == pytest.approx([math.log(0.8 / 0.5), math.log(0.4 / 0.9)])
    assert found["log"][1].tolist() == pytest.approx([math.log(0.2 / 0.5), math.log(0.6 / 0.1)])
    assert found["brier"][0].tolist() == pytest.approx([0.25 - 0.04, 0.01 - 0.36])
    assert found["brier"][1].tolist() == pytest.approx([0.25 - 0.64, 0.81 - 0.16])

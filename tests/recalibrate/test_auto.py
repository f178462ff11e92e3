"""The default map: laws, choices, gains; and the same written out, every candidate in every fold from its own class."""

import json
import math
import warnings

import numpy as np
import pytest
from grids import slow
from scipy.special import expit, log_softmax, logit
from scipy.stats import norm, t
from sklearn.exceptions import NotFittedError
from sklearn.isotonic import IsotonicRegression

import trueness as tn
from trueness import AutoCalibration
from trueness.errors import InputError
from trueness.recalibrate import calibrator_from_dict

GRID = np.linspace(0, 1, 201)
EPS = 1e-9
VECTOR = (
    "identity",
    "Platt scaling",
    "beta calibration",
    "quadratic scaling",
    "signed quadratic scaling",
    "spline",
    "isotonic regression",
)
MATRIX = (
    "identity",
    "temperature scaling",
    "structured vector scaling",
    "structured matrix scaling",
    "beta calibration of each class",
)


def drawn(n=400, slope=0.5, seed=0):
    d = tn.simulate.binary(n, distortion=tn.simulate.Logit(slope=slope), seed=seed)
    return d.y_prob, d.y_true


def classes(n=500, k=4, seed=0):
    d = tn.simulate.multiclass(n, k, alpha=0.4, distortion=tn.simulate.Temperature(2.0), seed=seed)
    return d.y_prob, d.y_true


def gains(fitted, name="gain"):
    return [getattr(fitted, name + end) for end in ("_", "_low_", "_high_")]


def isotonic(z, y, w):
    """Blocks at their mean log-odds, each with one more row as the score predicts; slope 1 outside."""
    value = np.unique(z)
    weight, events = (np.array([own[z == one].sum() for one in value]) for own in (w, w * y))
    fit = IsotonicRegression().fit(value, events / weight, weight).predict(value)
    blocks = [np.isclose(fit, level, atol=1e-12) for level in np.unique(fit.round(12))]
    x = np.array([np.average(value[one], weights=weight[one]) for one in blocks])
    sums = [(events[one].sum(), weight[one].sum()) for one in blocks]
    rate = np.array([(e + expit(at)) / (n + 1) for (e, n), at in zip(sums, x, strict=True)])
    height = np.maximum.accumulate(logit(rate))
    return lambda new: (
        np.interp(new, x, height) + np.minimum(new - x[0], 0) + np.maximum(new - x[-1], 0)
    )


def vector_maps(z, y, w):
    """From log-odds to log-odds, in the order of the candidates."""
    options = {"ridge": 1.0, "eps": EPS}
    kinds = [
        tn.PlattScaling(**options),
        tn.BetaCalibration(**options),
        tn.recalibrate.QuadraticScaling(**options),
        tn.recalibrate.QuadraticScaling(signed=True, **options),
        tn.SplineCalibration(**options),
    ]
    fits = [kind.fit(expit(z), y, w) for kind in kinds]
    return [
        lambda new: new,
        *(lambda new, one=one: logit(one.predict(expit(new))) for one in fits),
        isotonic(z, y, w),
    ]


def matrix_maps(z, y, w):
    """From logarithms to logarithms, in the order of the candidates."""
    P = np.exp(z)
    kinds = [
        tn.TemperatureScaling(ridge=1.0, eps=EPS),
        tn.recalibrate.StructuredScaling(structure="vector", eps=EPS),
        tn.recalibrate.StructuredScaling(structure="matrix", eps=EPS),
    ]
    fits = [kind.fit(P, y, w) for kind in kinds]
    betas = [
        tn.BetaCalibration(ridge=1.0, eps=EPS).fit(P[:, k], (y == k).astype(int), w)
        for k in range(P.shape[1])
    ]

    def beta_of_each(new):
        return log_softmax(
            np.log([one.predict(np.exp(new[:, k])) for k, one in enumerate(betas)]).T, axis=1
        )

    return [
        lambda new: new,
        *(lambda new, one=one: np.log(one.predict(np.exp(new))) for one in fits),
        beta_of_each,
    ]


def log_loss(y, z):
    return np.logaddexp(0, np.where(y == 1, -z, z)) if z.ndim == 1 else -z[np.arange(y.size), y]


def brier(y, z):
    return (
        (y - expit(z)) ** 2
        if z.ndim == 1
        else ((np.exp(z) - np.eye(z.shape[1])[y]) ** 2).sum(axis=1)
    )


def average(share, every):
    found = np.einsum("c...,c...->...", share.reshape(-1, *[1] * (every.ndim - 1)), every)
    return found if found.ndim == 1 else log_softmax(found, axis=1)


def weights_of(loss, effect):
    prior = np.full(len(loss), 0.5 / (len(loss) - 1))
    prior[0] = 0.5
    power = prior * np.exp(-(loss - loss.min()) / effect)
    return power / power.sum()


def written_out(maps, z, y, w, cluster, level):
    """Weights of the candidates and gains of their mixture if each cluster is a fold."""
    out = np.stack([np.empty_like(z)] * len(maps(z, y, w)))
    for f in np.unique(cluster):
        rest = cluster != f
        out[:, ~rest] = [one(z[~rest]) for one in maps(z[rest], y[rest], w[rest])]
    loss = np.array([w * log_loss(y, one) for one in out])
    best = 1 + int(np.argmin(loss[1:].sum(axis=1)))
    gain = (loss[0] - loss[best]) / w
    away = w * (gain - np.average(gain, weights=w))
    effect = sum(away[cluster == one].sum() ** 2 for one in np.unique(cluster)) / (away @ away)
    assert effect > 1.05
    after = np.empty_like(z)
    for f in np.unique(cluster):
        rest = cluster != f
        after[~rest] = average(weights_of(loss[:, rest].sum(axis=1), effect), out[:, ~rest])
    sizes, found = np.bincount(cluster, w), []
    freedom = sizes.sum() ** 2 / (sizes @ sizes) - 1
    for score in log_loss, brier:
        difference = score(y, z) - score(y, after)
        mean = np.average(difference, weights=w)
        sums = np.bincount(cluster, w * (difference - mean))
        reach = t.ppf((1 + level) / 2, freedom) * math.sqrt(5 / 4 * sums @ sums) / w.sum()
        found.append([mean, mean - reach, mean + reach])
    return weights_of(loss.sum(axis=1), effect), found


def clustered_rows(columns):
    """Rows in five clusters. Those of a vector have the same scores in each, so that all folds have the same knots."""
    rng = np.random.default_rng(columns // 3)
    if columns == 1:
        grid = logit(np.linspace(0.03, 0.97, 24))
        z, cluster = np.tile(grid, 5), np.repeat(np.arange(5), grid.size)
        y = (rng.random(z.size) < expit(0.4 * z + 0.8 * (cluster - 1.5))).astype(int)
        w = np.tile(rng.uniform(0.5, 2, grid.size), 5)
    else:
        P = np.maximum(classes(150, 3)[0], 1e-6)
        z, cluster = np.log(P / P.sum(axis=1, keepdims=True)), np.repeat(np.arange(5), 30)
        y = np.where(
            cluster < 3, P.argmax(axis=1), rng.integers(0, 3, 150)
        )  # scores mean something in three clusters
        w = rng.uniform(0.5, 2, 150)
    w = w * (w.sum() / (w @ w))  # the unit in which the squares of the weights sum to their sum
    order = rng.permutation(y.size)
    return tuple(column[order] for column in (z, y, w, cluster))


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
@pytest.mark.parametrize(
    ("columns", "maps", "names"), [(1, vector_maps, VECTOR), (3, matrix_maps, MATRIX)]
)
def test_clusters_are_folds_and_what_varies(columns, maps, names):
    z, y, w, cluster = clustered_rows(columns)
    label = np.array(["e", "a", "d", "b", "c"])[cluster]
    p = expit(z) if columns == 1 else np.exp(z)
    fitted = AutoCalibration(eps=EPS, level=0.8).fit(p, y, 7 * w, cluster=label)
    weights, expected = written_out(maps, z, y, w, cluster, 0.8)
    assert fitted.candidates_ == names
    # Shares of maps that differ little are only as exact as the search for them: 1e-4 on some machines, .04 on others.
    assert fitted.weights_ == pytest.approx(weights, rel=0.05)
    new = (
        np.array([[0.1, 0.2, 0.7], [0.98, 0.01, 0.01]])
        if columns == 3
        else np.array([0.01, 0.2, 0.5, 0.77, 0.995])
    )
    log = np.log(new) if columns == 3 else logit(new)
    mean = average(weights, np.array([one(log) for one in maps(z, y, w)]))
    assert fitted.predict(new) == pytest.approx(
        np.exp(mean) if columns == 3 else expit(mean), rel=1e-2
    )
    assert gains(fitted) == pytest.approx(expected[0], rel=0.05)
    assert gains(fitted, "brier_gain") == pytest.approx(expected[1], rel=0.05)


@pytest.mark.parametrize("columns", [1, pytest.param(4, marks=pytest.mark.slow)])
def test_the_order_of_rows_does_not_matter_and_a_weight_is_a_repetition(columns):
    p, y = drawn() if columns == 1 else classes(60)
    new = GRID if columns == 1 else classes(40, seed=5)[0]
    rng = np.random.default_rng(1)
    order, w = rng.permutation(y.size), rng.integers(0, 4, y.size)
    one, other = AutoCalibration().fit(p, y), AutoCalibration().fit(p[order], y[order])
    weighted, repeated = (
        AutoCalibration().fit(p, y, w),
        AutoCalibration().fit(np.repeat(p, w, axis=0), np.repeat(y, w)),
    )
    for this, that in ((one, other), (weighted, repeated)):
        np.testing.assert_allclose(this.predict(new), that.predict(new), rtol=1e-7)
        assert gains(this) == pytest.approx(gains(that), rel=1e-6)


@pytest.mark.parametrize("columns", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_the_unit_of_sampling_weights_does_not_matter(columns):
    rng = np.random.default_rng(4)
    p, new = (
        rng.dirichlet(np.ones(columns), 120) if columns > 1 else rng.random(120) for _ in range(2)
    )
    y, w = rng.integers(0, max(columns, 2), 120), rng.uniform(0.2, 1.2, 120)
    one, *others = (AutoCalibration().fit(p, y, unit * w) for unit in (1.0, 1e-3, 1e3))
    for other in others:
        assert other.predict(new) == pytest.approx(one.predict(new), abs=1e-6)
        assert gains(other) == pytest.approx(gains(one), abs=1e-6)


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
    free, rising = (
        AutoCalibration(monotone=flag).fit(p, y).predict(GRID) for flag in (False, True)
    )
    assert (np.diff(free) < 0).any()
    assert (np.diff(rising) >= -1e-15).all()


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
    with pytest.warns(tn.errors.MovedScoresWarning):
        moved, limits = AutoCalibration().fit(p, y), AutoCalibration(limits=True).fit(p, y)
    assert 0 < moved.predict([0.0])[0] < moved.predict([1.0])[0] < 1
    assert limits.predict([0.0, 1.0]).tolist() == [0.0, 1.0]
    np.testing.assert_allclose(limits.predict([0.3, 0.7]), moved.predict([0.3, 0.7]), rtol=1e-12)


def test_impossible_classes_stay_impossible_if_limits_are_wanted():
    P, y = classes(2000)
    rows = [[0.0, 0.2, 0.3, 0.5], [0.1, 0.2, 0.3, 0.4]]
    moved, limits = (
        AutoCalibration().fit(P, y).predict(rows),
        AutoCalibration(limits=True).fit(P, y).predict(rows),
    )
    assert moved[0, 0] > 0
    np.testing.assert_allclose(limits[0, 1:], moved[0, 1:] / moved[0, 1:].sum(), rtol=1e-9)
    assert limits[0, 0] == 0
    np.testing.assert_allclose(limits[1], moved[1], rtol=1e-12)


def test_a_cluster_is_one_observation():
    p, y = drawn(900, 0.4)
    alone = AutoCalibration().fit(p, y)
    copies = AutoCalibration().fit(
        np.repeat(p, 8), np.repeat(y, 8), cluster=np.repeat(np.arange(900), 8)
    )
    bold = AutoCalibration().fit(np.repeat(p, 8), np.repeat(y, 8))
    width = [fitted.gain_high_ - fitted.gain_low_ for fitted in (alone, copies, bold)]
    assert width[1] == pytest.approx(width[0], rel=0.2)
    assert width[2] < 0.5 * width[1]


@pytest.mark.parametrize("columns", [1, 3])
def test_rows_of_clusters_without_weight_do_not_count(columns):
    p, y = drawn(60) if columns == 1 else classes(60, 3)
    cluster = np.arange(60) // 15
    w = np.where(cluster == 1, 0.0, 1.0)
    one, other = (
        AutoCalibration().fit(p[some], y[some], w[some], cluster=cluster[some])
        for some in (w >= 0, w > 0)
    )
    assert gains(one) == gains(other)


@pytest.mark.filterwarnings(
    "ignore::trueness.errors.OneClassWarning", "ignore::trueness.errors.OwnRowsWarning"
)
@pytest.mark.parametrize(("rows", "n"), [(drawn(30), 7), (classes(30, 3), 5)])
def test_a_single_row_or_cluster_holds_nothing_out(rows, n):
    p, y = rows
    for fitted in (
        AutoCalibration().fit(p[:1], y[:1]),
        AutoCalibration().fit(p, y, cluster=["a"] * 30),
    ):
        assert fitted.weights_ == pytest.approx([0.5, *[0.5 / (n - 1)] * (n - 1)])
        assert gains(fitted) == gains(fitted, "brier_gain") == [0.0, -math.inf, math.inf]
        assert (
            "falls by 0 per row (95 % limits -inf and inf). That is no more than noise"
            in fitted.summary()
        )
        again = calibrator_from_dict(fitted.to_dict())
        assert np.array_equal(again.predict(p[:9]), fitted.predict(p[:9]))


@pytest.mark.filterwarnings("ignore::trueness.errors.OwnRowsWarning")
@pytest.mark.parametrize("rows", [drawn(), classes(200)])
def test_a_map_survives_json_to_the_bit(rows):
    fitted = AutoCalibration().fit(*rows)
    again = calibrator_from_dict(json.loads(json.dumps(fitted.to_dict())))
    assert np.array_equal(again.predict(rows[0]), fitted.predict(rows[0]))
    assert again.summary() == fitted.summary()


def test_many_rows_are_pooled_with_little_loss():
    p, y = drawn(30_000)
    fitted = AutoCalibration().fit(p, y)
    np.testing.assert_allclose(
        fitted.predict(GRID[5:-5]), expit(0.5 * logit(GRID[5:-5])), atol=0.02
    )


def test_over_confident_classes_are_mended_in_any_order_of_classes():
    P, y = classes(1500)
    fitted = AutoCalibration().fit(P, y)
    assert fitted.gain_low_ > 0 < fitted.brier_gain_low_
    new, truth = classes(5000, seed=7)
    found, order = fitted.predict(new), np.array([2, 0, 3, 1])
    assert tn.log_loss(truth, found) < tn.log_loss(truth, new) - fitted.gain_low_ / 2
    turned = AutoCalibration().fit(P[:, order], np.argsort(order)[y]).predict(new[:, order])
    np.testing.assert_allclose(
        turned, found[:, order], atol=0.04
    )  # rows are dealt into other folds
    logits, plain = (
        AutoCalibration(from_logits=True).fit(np.log(P) + 3, y),
        AutoCalibration(eps=1e-15).fit(P, y),
    )
    np.testing.assert_allclose(logits.predict(np.log(new)), plain.predict(new), atol=1e-6)


def test_many_classes_leave_out_what_has_parameters_for_pairs():
    rng = np.random.default_rng(0)
    P, y = rng.dirichlet(np.ones(101), 30), rng.integers(0, 101, 30)
    assert AutoCalibration().fit(P, y, labels=range(P.shape[1])).candidates_ == MATRIX[:3]


@pytest.mark.parametrize("clustered", [*slow(False), True])
def test_a_large_matrix_is_learnt_from_some_of_its_rows(monkeypatch, clustered):
    P, y = classes(900, 3)
    cluster = np.arange(900) % 9 if clustered else None
    whole = AutoCalibration().fit(P, y, cluster=cluster)
    monkeypatch.setattr("trueness.recalibrate._auto_candidates._MOST_ENTRIES", 900)
    some = AutoCalibration().fit(P, y, cluster=cluster)
    assert some.curves_[0] == whole.curves_[0]  # the temperature
    assert not np.array_equal(some.curves_[1], whole.curves_[1])
    np.testing.assert_allclose(some.predict(P[:50]), whole.predict(P[:50]), atol=0.15)
    assert some.gain_high_ - some.gain_low_ > 1.2 * (whole.gain_high_ - whole.gain_low_)


def test_an_unfitted_map_has_no_summary():
    with pytest.raises(NotFittedError):
        AutoCalibration().summary()


@pytest.mark.parametrize(
    ("cluster", "message"),
    [
        (
            ["a", "b", None, "a"],
            r"`cluster` must not have missing values; 1 of 4 rows has one, .* at row 2",
        ),
        ([1, 2, 3], r"`cluster` must have one entry per row \(4\); got shape \(3,\)"),
    ],
)
def test_bad_clusters_are_refused(cluster, message):
    p, y = drawn(4)
    with pytest.raises(InputError, match=message):
        AutoCalibration().fit(p, y, cluster=cluster)


@pytest.mark.parametrize(
    ("gain", "words"),
    [
        (0.2, "falls by 0.2 per row (95 % limits 0.1 and 0.3)."),
        (-0.2, "rises by 0.2 per row (95 % limits 0.1 and 0.3)."),
    ],
)
def test_the_summary_tells_a_gain_from_a_loss_and_names_large_shares(gain, words):
    fitted = AutoCalibration().fit(*drawn(50))
    fitted.gain_, fitted.gain_low_, fitted.gain_high_ = gain, gain - 0.1, gain + 0.1
    fitted.weights_ = np.array([0.05, 0.2, 0.0, 0.5, 0.001, 0.049, 0.2])
    shares = "quadratic scaling 50 %, Platt scaling 20 %, isotonic regression 20 %, identity 5 %"
    assert fitted.summary().startswith(f"Map: {shares}. The log loss")
    assert words in fitted.summary()
    assert ("leave the scores alone" in fitted.summary()) == (gain < 0)


@pytest.mark.parametrize(
    ("gain", "leave"), [(0.0, True), (0.6, True), (0.62, False), (2.0, False), (float("nan"), True)]
)
def test_scores_are_left_alone_unless_the_gain_exceeds_a_part_of_its_error(gain, leave):
    """Limits of ± 1.96 standard errors of 1: of two samples the difference has the error √2."""
    fitted = AutoCalibration().fit(*drawn(50))
    fitted.gain_, fitted.gain_low_, fitted.gain_high_ = gain, gain - 1.959964, gain + 1.959964
    assert fitted.leave_alone_ == leave


def test_how_often_a_map_is_better_follows_from_its_gain_if_rows_are_many():
    told = 0
    for slope in (1.0, 0.85, 0.8, 0.75, 0.6):
        fitted = AutoCalibration().fit(*drawn(1_200, slope))
        error = (fitted.gain_high_ - fitted.gain_low_) / 2 / 1.959964
        chance = norm.cdf(fitted.gain_ / error / 2**0.5 - 0.3)
        assert math.isnan(fitted.chance_) == (chance < 0.8)
        assert ("its log loss is lower than" in fitted.summary()) == (chance >= 0.8)
        if chance >= 0.8:
            told += 1
            assert fitted.chance_ == pytest.approx(chance, abs=1e-4)
            often = f"about {100 * chance:.0f} % of new samples"
            if chance >= 0.99:
                often = "almost all new samples (99 % or more)"
            assert f"In {often} of this size its log loss is lower" in fitted.summary()
            assert calibrator_from_dict(fitted.to_dict()).chance_ == fitted.chance_
    assert 1 < told < 5


@pytest.mark.filterwarnings("ignore::trueness.errors.OneClassWarning")
def test_no_number_is_given_for_few_rows_events_or_clusters():
    p, y = drawn(1_200, 0.4)
    rare = np.where(np.arange(1_200) < 49, y, 0)
    few = [
        AutoCalibration().fit(p[:900], y[:900]),
        AutoCalibration().fit(p / 20, rare),
        AutoCalibration().fit(p, y, cluster=np.arange(1_200) // 2),
        AutoCalibration().fit(p, y, np.where(y == 1, 0.5, 30.5)),
        AutoCalibration().fit(*classes(900)),
    ]
    for fitted in few:
        assert math.isnan(fitted.chance_)
        assert "its log loss is lower than" not in fitted.summary()
    together = AutoCalibration().fit(
        np.repeat(p, 2), np.repeat(y, 2), cluster=np.repeat(np.arange(1_200), 2)
    )
    assert together.chance_ > 0.9
    assert AutoCalibration().fit(*classes(1_200)).chance_ > 0.9


@pytest.mark.slow
def test_a_map_is_better_in_new_samples_as_often_as_it_says():
    """Laws that chose no constant: 250 fits, of which about half have a number."""
    rng, stated, better = np.random.default_rng(11), [], []
    for _ in range(250):
        a, b, n = rng.uniform(0.6, 4), rng.uniform(0.6, 4), int(rng.integers(1_000, 2_500))
        slope, bend = rng.choice([1.0, 0.85, 1.2]), rng.choice([0.0, 0.0, 0.15, -0.3])
        p, new = (rng.beta(a, b, n).clip(1e-4, 1 - 1e-4) for _ in range(2))
        y, events = (
            rng.random(n) < expit(slope * logit(s) + bend * np.cos(6 * s)) for s in (p, new)
        )
        fitted = AutoCalibration().fit(p, y)
        if not math.isnan(fitted.chance_):
            stated.append(fitted.chance_)
            better.append(tn.log_loss(events, fitted.predict(new)) < tn.log_loss(events, new))
    stated, better = np.array(stated), np.array(better)
    for some in (stated >= 0.8, stated >= 0.9):
        expected, error = (
            stated[some].mean(),
            math.sqrt((stated * (1 - stated))[some].mean() / some.sum()),
        )
        assert better[some].mean() == pytest.approx(expected, abs=3 * error + 0.02)


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

"""What every parametric map does: laws, forms of input, messages, real data."""

import numpy as np
import pytest
from scipy.special import softmax as plain_softmax

import trueness as tn
from trueness.errors import (
    InputError,
    MovedScoresWarning,
    NotConvergedWarning,
    OwnRowsWarning,
    SeparableWarning,
)
from trueness.recalibrate import (
    BetaCalibration,
    DirichletCalibration,
    MatrixScaling,
    PlattScaling,
    TemperatureScaling,
    VectorScaling,
)

BINARY = [PlattScaling, BetaCalibration, TemperatureScaling]
MULTICLASS = [TemperatureScaling, VectorScaling, MatrixScaling, DirichletCalibration]
REGRESSIONS = [VectorScaling, MatrixScaling, DirichletCalibration]
EVERY = [(kind, "vector") for kind in BINARY] + [(kind, "matrix") for kind in MULTICLASS]
every = pytest.mark.parametrize(
    ("kind", "shape"), EVERY, ids=lambda v: v if isinstance(v, str) else v.__name__
)


def drawn(shape, n=120, seed=0, k=3):
    """Scores that are too bold, and labels."""
    rng = np.random.default_rng(seed)
    if shape == "vector":
        x = rng.normal(0.3, 1.5, n)
        return 1 / (1 + np.exp(-1.7 * x)), (rng.logistic(size=n) < x).astype(int)
    Z = 1.5 * rng.standard_normal((n, k))
    P = np.exp(1.6 * Z)
    return P / P.sum(axis=1, keepdims=True), (Z + rng.gumbel(size=Z.shape)).argmax(axis=1)


def elsewhere(shape):
    return drawn(shape, n=50, seed=99)[0]


@every
def test_a_float32_score_is_the_float64_number_it_denotes(kind, shape):
    p, y = drawn(shape)
    p, new = p.astype(np.float32), elsewhere(shape).astype(np.float32)
    assert np.array_equal(
        kind().fit(p, y).predict(new), kind().fit(p.astype(float), y).predict(new.astype(float))
    )


@every
def test_the_log_loss_on_its_own_rows_does_not_rise(kind, shape):
    p, y = drawn(shape)
    fitted = kind().fit(p, y)
    with pytest.warns(OwnRowsWarning):
        after = fitted.predict(p)
    assert tn.log_loss(y, after) < tn.log_loss(y, p) - 0.01


@every
def test_scores_that_separate_the_labels_give_a_finite_map_and_a_warning(kind, shape):
    p, _ = drawn(shape)
    y = (p > 0.5).astype(int) if shape == "vector" else p.argmax(axis=1)
    with pytest.warns(SeparableWarning):
        fitted = kind(eps=1e-12).fit(p, y)
    found = fitted.predict(elsewhere(shape))
    assert np.isfinite(found).all()
    learnt = [np.max(np.abs(getattr(fitted, f"{name}_"))) for name in kind._state]
    assert max(learnt) < 1e3


@every
def test_constant_scores_give_the_share_of_each_class(kind, shape):
    if kind is TemperatureScaling:
        return  # one parameter, and no shift
    p = np.full(8, 0.3) if shape == "vector" else np.tile([0.2, 0.3, 0.5], (8, 1))
    y = (
        np.array([0, 0, 0, 0, 0, 0, 1, 1])
        if shape == "vector"
        else np.array([0, 0, 0, 0, 1, 1, 2, 2])
    )
    options = {"l2": 1e-9} if shape == "matrix" else {}
    if kind is DirichletCalibration:
        options["odir"] = 0
    if shape == "vector":
        with pytest.warns(SeparableWarning, match=r"equal|distinct value does"):
            fitted = kind(**options).fit(p, y)
        np.testing.assert_allclose(fitted.predict([0.3]), [0.25], atol=1e-9)
    else:
        fitted = kind(**options).fit(p, y)
        np.testing.assert_allclose(fitted.predict(p[:1]), [[0.5, 0.25, 0.25]], atol=1e-5)


@every
def test_scores_at_the_ends_are_moved_in_fit_with_a_warning(kind, shape):
    p, y = drawn(shape)
    if shape == "vector":
        p[:2] = 0, 1
        message = "2 scores are exactly 0 or 1 and were moved into \\[1e-07, 1 − 1e-07\\]"
    else:
        p[0] = 0, 0.5, 0.5
        message = "1 score is exactly 0 and was moved to 1e-07"
    with pytest.warns(MovedScoresWarning, match=message):
        fitted = kind(eps=1e-7).fit(p, y)
    moved = np.clip(p, 1e-7, 1 - 1e-7) if shape == "vector" else np.where(p == 0, 1e-7, p)
    other = kind(eps=1e-7).fit(moved, y)
    # Moving 1e-7 into a matrix leaves its rows as they are; the map does not normalise first.
    np.testing.assert_allclose(
        fitted.predict(elsewhere(shape)), other.predict(elsewhere(shape)), atol=1e-8
    )


@pytest.mark.parametrize("kind", [PlattScaling, TemperatureScaling, *REGRESSIONS])
@pytest.mark.parametrize("given", ["logit", None, 1])
def test_from_logits_is_yes_or_no(kind, given):
    with pytest.raises(InputError, match="`from_logits` must be True or False; got"):
        kind(from_logits=given).fit(*drawn("vector" if kind is PlattScaling else "matrix"))


@pytest.mark.parametrize("kind", REGRESSIONS)
def test_penalties_and_limits_are_checked(kind):
    p, y = drawn("matrix")
    for l2 in 0, -1, np.inf, np.nan, "x", True:
        with pytest.raises(InputError, match="`l2` must be a finite number above 0; got"):
            kind(l2=l2).fit(p, y)
    for max_iter in 0, 1.5, True, None:
        with pytest.raises(InputError, match="`max_iter` must be a whole number ≥ 1; got"):
            kind(max_iter=max_iter).fit(p, y)
    if kind is not VectorScaling:
        with pytest.raises(InputError, match="`odir` must be a finite number ≥ 0; got -1"):
            kind(odir=-1).fit(p, y)
    if kind is DirichletCalibration:
        with pytest.raises(
            InputError, match="`odir_intercept` must be a finite number ≥ 0; got nan"
        ):
            kind(odir_intercept=np.nan).fit(p, y)


@pytest.mark.parametrize("kind", REGRESSIONS)
def test_a_search_that_is_cut_short_is_a_warning(kind):
    with pytest.warns(NotConvergedWarning, match="stopped after 1 steps"):
        kind(max_iter=1).fit(*drawn("matrix"))


@pytest.mark.parametrize("kind", MULTICLASS)
@pytest.mark.parametrize("given", [False, True])
def test_classes_may_be_in_any_order(kind, given):
    p, y = drawn("matrix", k=4)
    order = np.array([2, 0, 3, 1])
    scores = 3 * p - 1 if given else p
    new = drawn("matrix", n=20, seed=5, k=4)[0]
    found = (
        kind(from_logits=given).fit(scores[:, order], np.argsort(order)[y]).predict(new[:, order])
    )
    np.testing.assert_allclose(
        found, kind(from_logits=given).fit(scores, y).predict(new)[:, order], atol=1e-8
    )


@pytest.mark.parametrize(
    "kind", [TemperatureScaling, VectorScaling, MatrixScaling, DirichletCalibration]
)
def test_log_probabilities_are_logits(kind):
    p, y = drawn("matrix")
    found = kind(from_logits=True).fit(np.log(p), y).predict(np.log(elsewhere("matrix")))
    np.testing.assert_allclose(
        found, kind(eps=1e-12).fit(p, y).predict(elsewhere("matrix")), atol=1e-9
    )


@pytest.mark.parametrize("kind", [TemperatureScaling, DirichletCalibration])
def test_a_number_added_to_all_logits_of_a_row_does_not_matter(kind):
    p, y = drawn("matrix")
    shift = np.arange(len(p))[:, None] / 10
    fitted = kind(from_logits=True).fit(np.log(p) + shift, y)
    new = np.log(elsewhere("matrix"))
    np.testing.assert_allclose(
        fitted.predict(new - 3), kind(from_logits=True).fit(np.log(p), y).predict(new), atol=1e-8
    )


@pytest.mark.parametrize("kind", [PlattScaling, TemperatureScaling])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_logits_of_any_float_type_give_float64(kind, dtype):
    x = np.array([-2.0, 0.5, 1.0, -1.0, 3.0, 0.0]).astype(dtype)
    fitted = kind(from_logits=True).fit(x, [0, 1, 0, 1, 1, 0])
    assert fitted.predict(x[:3]).dtype == np.float64
    # Their sums are larger than any number of their type.
    most = np.repeat(np.array([1, -1, 1, 1, -1, -1], dtype), 5) * dtype(
        min(float(np.finfo(dtype).max) / 4, 1e300)
    )
    fitted = kind(from_logits=True).fit(most, np.repeat([1, 0, 0, 1, 0, 1], 5))
    np.testing.assert_allclose(fitted.predict(most[4:6]), [2 / 3, 1 / 3], rtol=1e-6)


def cifar10(folder):
    stored = np.load(folder / "cifar10_resnet50_logits.npz")
    return stored["val_logits"], stored["val_labels"], stored["test_logits"], stored["test_labels"]


@pytest.mark.parametrize("kind", MULTICLASS)
def test_held_out_errors_fall_on_cifar10(kind, data_folder):
    logits, y, new, truth = cifar10(data_folder)
    raw, found = (
        plain_softmax(new.astype(float), axis=1),
        kind(from_logits=True).fit(logits, y).predict(new),
    )
    assert tn.log_loss(truth, found) < tn.log_loss(truth, raw)
    assert tn.ece(truth, found, bins=15, kind="confidence") < 0.75 * tn.ece(
        truth, raw, bins=15, kind="confidence"
    )
    assert tn.ece(truth, found, bins=15) < tn.ece(truth, raw, bins=15)
    if kind is TemperatureScaling:
        assert np.array_equal(found.argmax(axis=1), new.argmax(axis=1))


@pytest.mark.parametrize("kind", BINARY)
def test_held_out_errors_fall_on_imagenet_confidences(kind, data_folder):
    stored = np.load(data_folder / "top1_confidence.npz")
    p, y = stored["imagenet_resnet152_confidence"], stored["imagenet_resnet152_correct"]
    order = np.random.default_rng(0).permutation(p.size)
    learn, judge = order[: p.size // 2], order[p.size // 2 :]
    with pytest.warns(MovedScoresWarning):
        fitted = kind().fit(p[learn], y[learn])
    found = fitted.predict(p[judge])
    inside = np.clip(p[judge], 1e-7, 1 - 1e-7)
    assert tn.log_loss(y[judge], np.clip(found, 1e-7, 1 - 1e-7)) < tn.log_loss(y[judge], inside)
    assert tn.ece(y[judge], found, bins=15) < 0.5 * tn.ece(y[judge], p[judge], bins=15)

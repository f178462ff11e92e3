import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import norm

from trueness.errors import InputError
from trueness_papers.matsubara import normal_feature


@pytest.mark.parametrize("share", [0.5, 0.2, 0.01])
def test_the_posterior_is_bayes_rule(share):
    d = normal_feature(1000, prevalence=share, seed=0)
    x = d.columns["x"]
    up, down = share * norm.pdf(x, 0.5, 2), (1 - share) * norm.pdf(x, -0.5, 2)
    np.testing.assert_allclose(d.truth, up / (up + down), rtol=1e-10)
    np.testing.assert_allclose(d.y_prob, d.truth)
    assert d.true_ece("l2") == 0


def test_features_lie_about_their_class():
    d = normal_feature(40_000, prevalence=0.3, seed=0)
    x, y = d.columns["x"], d.y_true
    assert y.mean() == pytest.approx(0.3, abs=5 * 0.5 / 200)
    for label, centre in ((0, -0.5), (1, 0.5)):
        assert x[y == label].mean() == pytest.approx(centre, abs=5 * 2 / 100)
        assert x[y == label].std() == pytest.approx(2, rel=0.05)


def test_rows_do_not_depend_on_the_model():
    one, other = (normal_feature(50, coefficients=c, seed=0) for c in ((0, 1), (1, -2)))
    assert one.columns["x"].tobytes() == other.columns["x"].tobytes()
    assert one.y_true.tobytes() == other.y_true.tobytes()
    np.testing.assert_allclose(other.y_prob, expit(1 - 2 * other.columns["x"]))


@pytest.mark.parametrize(
    "coefficients", [(0.0, 0.25), (-1.0, 0.5), (0.3, -0.2), (0.0, 1000.0), (2.0, 0.0)]
)
def test_the_true_error_is_the_mean_distance_of_truth_and_score(coefficients):
    n = 100_000
    d = normal_feature(n, prevalence=0.2, coefficients=coefficients, seed=1)
    for p in (1, 2):
        powers = np.abs(d.truth - d.y_prob) ** p
        assert d.true_ece(p) ** p == pytest.approx(
            powers.mean(), abs=5 * powers.std() / np.sqrt(n) + 1e-12
        )


def test_a_model_of_the_wrong_prevalence_is_off_by_a_third_at_most():
    d = normal_feature(1, prevalence=0.2, coefficients=(0, 0.25))
    assert d.true_ece("max") == pytest.approx(2 * expit(logit(0.8) / 2) - 1, abs=1e-9)


def test_a_model_without_slope_sees_only_the_prevalence():
    d = normal_feature(10, prevalence=0.2, coefficients=(0, 0))
    assert set(d.truth) == {0.2}
    assert d.true_ece() == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"prevalence": 1}, "`prevalence` must be a number strictly between 0 and 1; got 1"),
        ({"coefficients": (1,)}, r"`coefficients` must be \(intercept, slope\); got \(1,\)"),
        ({"coefficients": 1}, r"`coefficients` must be \(intercept, slope\); got 1"),
        (
            {"coefficients": (0, np.inf)},
            r"`coefficients` must be two finite numbers, \(intercept, slope\); got inf",
        ),
    ],
)
def test_bad_arguments_are_named(keywords, message):
    with pytest.raises(InputError, match=message):
        normal_feature(5, **keywords)

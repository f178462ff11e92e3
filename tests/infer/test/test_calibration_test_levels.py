"""How often calibrated scores are refuted: the level of every test, and the numbers its page prints."""

import math
import re

import numpy as np
import pytest

from trueness import simulate
from trueness.infer import calibration_test
from trueness.infer.test._calibration_test import _METHODS

pytestmark = pytest.mark.filterwarnings("ignore::trueness.OneClassWarning", "ignore::trueness.FewRowsWarning")

ALPHAS = (0.1, 0.05, 0.01)
LAWS = {
    "uniform": simulate.Beta(1, 1),
    "rare": simulate.Beta(0.3, 60),
    "concentrated": simulate.Beta(12, 0.25),
    "tied": simulate.Discrete(np.arange(101) / 100),
}
DRAWN = ("omnibus", "exact", "t-cal", "adaptive-t-cal")
LIMITS = tuple(name for name in _METHODS if name not in DRAWN)
REDRAWN = tuple(name for name in LIMITS if "resamples" in _METHODS[name].uses)


def pvalues(method, law, n, runs, seed, **how):
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(runs):
        data = simulate.binary(n, scores=LAWS[law], seed=rng)
        given = how | ({"seed": rng} if method in DRAWN or "resamples" in how else {})
        found.append(calibration_test(data.y_true, data.y_prob, method=method, **given).pvalue)
    return np.array(found)


def slack(alpha, runs, deviations=4.5):
    """What a share of `runs` may differ from `alpha` by chance: about once in 150,000 comparisons."""
    return deviations * math.sqrt(alpha * (1 - alpha) / runs) + 1 / runs


def assert_level_kept(found, spent=ALPHAS):
    """No more rejections than the level allows."""
    for alpha in spent:
        assert np.mean(found <= alpha) <= alpha + slack(alpha, found.size), alpha


@pytest.mark.parametrize("method", DRAWN + REDRAWN)
def test_drawn_labels_keep_the_level_in_few_runs(method):
    # A hundred draws: levels of 0.1, 0.05 and 0.01 are whole numbers of them.
    assert_level_kept(pvalues(method, "rare", 60, 150, seed=1, resamples=99))


@pytest.mark.parametrize("method", LIMITS)
def test_limits_keep_the_level_in_few_runs(method):
    found = pvalues(method, "uniform", 300, 250, seed=1)
    assert np.mean(found <= 0.1) <= 0.13 + slack(0.1, 250)
    assert np.mean(found > 0.5) == pytest.approx(0.5, abs=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("n", [50, 200, 1000])
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("method", ["exact", "t-cal"])
def test_drawn_labels_give_the_level_exactly(method, law, n):
    found = pvalues(method, law, n, 1_000, seed=2, resamples=199)
    assert_level_kept(found)
    if law in ("uniform", "tied"):  # elsewhere many sets of labels share a statistic, and the level is not used up
        for alpha in ALPHAS:
            assert np.mean(found <= alpha) == pytest.approx(alpha, abs=slack(alpha, found.size))


@pytest.mark.slow
@pytest.mark.parametrize("n", [50, 200])
@pytest.mark.parametrize("law", LAWS)
def test_adaptive_t_cal_keeps_the_level(law, n):
    assert_level_kept(pvalues("adaptive-t-cal", law, n, 300, seed=3))


@pytest.mark.slow
@pytest.mark.parametrize("n", [50, 200, 1000])
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("method", REDRAWN)
def test_redrawn_labels_mend_the_level(method, law, n):
    assert_level_kept(pvalues(method, law, n, 500, seed=4, resamples=199))


@pytest.mark.slow
@pytest.mark.parametrize("law", ["uniform", "tied"])
@pytest.mark.parametrize("method", ["ks", "kuiper", "spiegelhalter", "cox", "hosmer-lemeshow"])
def test_limits_hold_for_spread_scores_and_many_rows(method, law):
    """Within Monte-Carlo error of the level, or below it, with 1,000 rows; at most a fifth (0.05) above."""
    found = pvalues(method, law, 1_000, 4_000, seed=5)
    for alpha in ALPHAS:
        share = np.mean(found <= alpha)
        assert 0.8 * alpha - slack(alpha, 4_000) <= share <= 1.2 * alpha + slack(alpha, 4_000), alpha


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 50, 150, 400])
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("method", REDRAWN)
def test_single_tests_keep_their_level_by_default(method, law, n):
    """At most 0.06 at 0.05 and 0.015 at 0.01, up to Monte-Carlo error: labels are redrawn where limits would not do."""
    found = pvalues(method, law, n, 600, seed=8)
    assert np.mean(found <= 0.05) <= 0.06 + slack(0.06, 600, 3.5)
    assert np.mean(found <= 0.01) <= 0.015 + slack(0.015, 600, 3.5)


def printed():
    """The table of the page: {(method, law, alpha): share}."""
    columns = [(law, alpha) for law in ("uniform", "rare", "concentrated") for alpha in (0.05, 0.01)]
    found = {}
    for line in calibration_test.__doc__.splitlines():
        match = re.fullmatch(r"\s*'([a-z-]+)'((?:\s+\.\d{3}){6})\s*", line)
        if match:
            shares = [float(value) for value in match[2].split()]
            found |= {(match[1], *column): share for column, share in zip(columns, shares, strict=True)}
    return found


def test_the_page_prints_the_level_of_every_limit():
    assert {method for method, _, _ in printed()} == set(LIMITS)


@pytest.mark.slow
@pytest.mark.parametrize("law", ["uniform", "rare", "concentrated"])
@pytest.mark.parametrize("method", LIMITS)
def test_levels_are_those_of_the_page(method, law):
    runs, table = 5_000, printed()
    found = pvalues(method, law, 200, runs, seed=6)
    for alpha in (0.05, 0.01):
        share = table[method, law, alpha]
        assert np.mean(found <= alpha) == pytest.approx(share, abs=slack(max(share, 0.001), runs) + 0.003), alpha


@pytest.mark.slow
@pytest.mark.parametrize(("fitted", "freedom"), [(False, 10), (True, 8)])
def test_degrees_of_freedom_are_g_on_new_rows_and_g_minus_2_on_fitted_ones(fitted, freedom):
    """The mean of a chi-squared number is its degrees of freedom."""
    rng = np.random.default_rng(7)
    n, runs, values = 500, 1_000, []
    for _ in range(runs):
        x = rng.normal(size=n)
        p = 1 / (1 + np.exp(-0.3 - x))
        y = (rng.random(n) < p).astype(int)
        score = fit(x, y) if fitted else p
        values.append(calibration_test(y, score, method="hosmer-lemeshow", fitted=fitted).statistic)
    assert np.mean(values) == pytest.approx(freedom, abs=5 * math.sqrt(2 * freedom / runs) + 0.15)


def fit(x, y):
    """Logistic regression by Newton's method."""
    design, line = np.column_stack([np.ones_like(x), x]), np.zeros(2)
    for _ in range(12):
        p = 1 / (1 + np.exp(-design @ line))
        line += np.linalg.solve(design.T @ (design * (p * (1 - p))[:, None]), design.T @ (y - p))
    return 1 / (1 + np.exp(-design @ line))

"""The last value an argument may take is taken, and the next is refused."""

import math
import warnings

import numpy as np
import pytest
from grids import fast

import trueness as tn

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")

RNG = np.random.default_rng(3)
P = RNG.random(40).round(2) / 2 + 0.2
Y = (RNG.random(40) < P).astype(int)
MATRIX = RNG.dirichlet([1, 1, 1], 40)
CLASS = np.arange(40) % 3
LABELS = np.stack([Y, 1 - Y], axis=1)
UP, DOWN = (lambda x: math.nextafter(x, math.inf)), (lambda x: math.nextafter(x, -math.inf))
HUGE = 1 << 52


def weights(total, n=40):
    """Whole weights with this sum."""
    return np.append(np.ones(n - 1), float(total - (n - 1)))


def interval(**options):
    return tn.ece_interval(Y, P, **options)


def plan(**options):
    return tn.validation_size(scores=P, seed=0, **options)


# What is called, its last allowed argument, and the first that is not.
LIMITS = {
    "bins": (lambda x: tn.ace(Y, P, bins=x), 1, 0),
    "bins at most": (lambda x: tn.ece(Y, P, bins=x), 1 << 20, (1 << 20) + 1),
    "edges": (lambda x: tn.ece(Y, P, bins=x), [0.0, 1.0], [0.0]),
    "an edge above 1": (lambda x: tn.ece(Y, P, bins=[0, x]), 1.0, UP(1.0)),
    "an edge below 0": (lambda x: tn.ece(Y, P, bins=[x, 1]), 0.0, DOWN(0.0)),
    "edges that ascend": (lambda x: tn.ece(Y, P, bins=[0, 0.5, x, 1]), UP(0.5), 0.5),
    "alpha of the TCE, low": (lambda x: tn.tce(Y, P, alpha=x), 0, DOWN(0.0)),
    "alpha of the TCE, high": (lambda x: tn.tce(Y, P, alpha=x), 1, UP(1.0)),
    "p-values of a test, high": (
        lambda x: tn.tce(Y, P, test=lambda k, n, p: np.full(p.shape, x)),
        1.0,
        UP(1.0),
    ),
    "p-values of a test, low": (
        lambda x: tn.tce(Y, P, test=lambda k, n, p: np.full(p.shape, x)),
        0.0,
        DOWN(0.0),
    ),
    "rows of a block": (lambda x: tn.tce(Y, P, bins=tn.BlockIsotonic(x)), 40, 41),
    "most rows of a block": (lambda x: tn.tce(Y, P, bins=tn.BlockIsotonic(5, x)), 5, 4),
    "rows of a preset": (lambda n: tn.preset("hle")(np.resize(Y, n), np.resize(P, n)), 100, 99),
    "models": (lambda x: tn.compare(Y, {str(i): P for i in range(x)}), 2, 1),
    "rows of a comparison": (
        lambda n: tn.compare(Y[:n], {"a": P[:n], "b": 1 - P[:n]}, measure="brier"),
        3,
        1,
    ),
    "costs": (lambda x: tn.decide(Y, P, cost_fp=x, cost_fn=1), 1e60, 1.1e60),
    "level of a gate": (lambda x: tn.gate(Y, P, max_ece=0.5, level=x), 0.75, DOWN(0.75)),
    "bound of a gate": (lambda x: tn.gate(Y, P, max_ece=x), 1, UP(1.0)),
    "threshold, low": (lambda x: tn.net_benefit(Y, P, thresholds=[x]), 1e-300, 0),
    "threshold, high": (lambda x: tn.net_benefit(Y, P, thresholds=[x]), DOWN(1.0), 1.0),
    "correlation": (
        lambda x: tn.grade_table(Y, P, bins={"A": 0.4, "B": 1}, correlation=x),
        0,
        -1e-9,
    ),
    "correlation, high": (
        lambda x: tn.grade_table(Y, P, bins={"A": 0.4, "B": 1}, correlation=x),
        1 - 1e-9,
        1,
    ),
    "cut-offs that ascend": (
        lambda x: tn.grade_table(Y, P, bins={"A": 0.4, "B": x, "C": 1}),
        0.5,
        0.4,
    ),
    "lights": (
        lambda x: tn.grade_table(Y, P, bins={"A": 0.4, "B": 1}, lights=(x, 0.99)),
        0.95,
        0.99,
    ),
    "the highest cut-off": (lambda x: tn.grade_table(Y, P, bins={"A": 0.4, "B": x}), 1, UP(1.0)),
    "level, low": (lambda x: interval(level=x), UP(0.5), 0.5),
    "level, high": (lambda x: interval(level=x), 0.99, 0.99991),
    "level of the published interval": (
        lambda x: interval(level=x, method="analytic"),
        1 - 1e-9,
        1 - 9e-10,
    ),
    "rows of HulC": (lambda n: tn.ece_interval(Y[:n], P[:n], method="hulc", level=0.875), 8, 7),
    "rows of adaptive HulC": (
        lambda n: tn.ece_interval(Y[:n], P[:n], method="adaptive-hulc", level=0.6),
        40,
        3,
    ),
    "rows of equivalence": (lambda n: tn.equivalence_test(Y[:n], P[:n], within=0.2), 2, 1),
    "accepted error": (lambda x: plan(accept_l2=x), 1, UP(1.0)),
    "accepted ECE": (lambda x: plan(accept_ece=x), 1, UP(1.0)),
    "width of a plan": (lambda x: plan(oe_width=x), 1e9, 1.1e9),
    "prevalence": (
        lambda x: tn.validation_size(prevalence=x, c_statistic=0.8, oe_width=0.3),
        1e-9,
        9e-10,
    ),
    "c-statistic": (
        lambda x: tn.validation_size(prevalence=0.3, c_statistic=x, oe_width=0.3),
        0.51,
        0.5,
    ),
    "classes of a test": (lambda k: tn.calibration_test(CLASS, MATRIX, k=k), 3, 4),
    "k of labels": (
        lambda k: tn.calibration_test(LABELS, MATRIX[:, :2], kind="multilabel", k=k),
        1,
        2,
    ),
    "k of an interval": (lambda k: tn.ece_interval(CLASS, MATRIX, k=k), 3, 4),
    "share of a watch": (lambda x: tn.Watch(eps=x), DOWN(0.5), 0.5),
    "alternative of a watch": (lambda x: tn.Watch(alternatives=[(0.0, x)]), 1e-6, 0.0),
    "no alternative": (lambda x: tn.Watch(alternatives=[(0.0, x)]), 2.0, 1.0),
    "folds": (lambda x: tn.VennAbers(folds=x).fit(P, Y), 2, 1),
    "folds of rows": (lambda x: tn.VennAbers(folds=x).fit(P, Y), 40, 41),
    "y_min": (lambda x: tn.IsotonicCalibration(y_min=x, y_max=0.5).fit(P, Y), 0.5, UP(0.5)),
    "knots": (lambda x: tn.SplineCalibration(n_knots=x).fit(P, Y), 1000, 1001),
    "weights of a histogram": (
        lambda x: tn.HistogramBinning(n_bins=2).fit(P, Y, sample_weight=weights(x)),
        HUGE,
        HUGE + 1,
    ),
    "planned rows per bin": (lambda n: tn.epsilon(n, 10), 20, 19),
    "shares": (
        lambda x: tn.recalibrate.prior_correction(
            MATRIX, rate_train=[0.2, 0.3, 0.5], rate_deploy=[0.5, 0.3, 0.2 + x]
        ),
        9e-7,
        1.2e-6,
    ),
    "a weight of odds": (lambda x: tn.recalibrate.prior_correction(P, weight=x), 1e-300, 0.0),
    "clusters": (lambda x: tn.calibration_test(Y, P, cluster=np.arange(40) % x), 2, 1),
    "smoothness": (lambda x: interval(smoothness=x, method="analytic"), 1, UP(1.0)),
}


# What is called, the fewest rows without a warning, and one row less.
WARNED = {
    "rows for bins": (lambda n: tn.ace(Y[:n], P[:n], bins=20), 20),
    "rows for bins of several classes": (lambda n: tn.ace(CLASS[:n], MATRIX[:n], bins=20), 20),
    "rows per value": (lambda n: tn.validity_curve(Y[:n], np.full(n, 0.5)), 5),
}


@pytest.mark.parametrize("name", fast(list(LIMITS), *LIMITS.keys() - {"knots", "bins at most"}))
def test_the_last_value_is_taken_and_the_next_refused(name):
    call, last, beyond = LIMITS[name]
    call(last)
    with pytest.raises(tn.InputError):
        call(beyond)


@pytest.mark.parametrize("name", WARNED)
def test_one_row_too_few_gives_a_warning(name):
    call, enough = WARNED[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error", tn.errors.FewRowsWarning)
        call(enough)
    with pytest.warns(tn.errors.FewRowsWarning):
        call(enough - 1)

"""The paired bootstrap: the same resampled rows for all models."""

import math

import numpy as np
import pytest
from grids import slow

import trueness as tn
from trueness.errors import NoEstimateWarning

RNG = np.random.default_rng(0)
P = RNG.uniform(0.1, 0.9, 300)
Y = (RNG.random(300) < P).astype(int)
Q = np.clip(P + RNG.normal(0, 0.1, 300), 0.01, 0.99)
CLUSTER = np.repeat(np.arange(60), 5)
BOTH = {"p": P, "q": Q}


def pair(measure, **options):
    return tn.compare(Y, BOTH, measure=measure, progress=False, seed=0, **options)["p", "q"]


@pytest.mark.parametrize("cluster", [None, *slow(CLUSTER)])
@pytest.mark.parametrize("name", ["brier", *slow("log_loss")])
def test_resamples_of_a_mean_loss_spread_like_its_influences(name, cluster):
    influence = pair(name, cluster=cluster)
    units = 300 if cluster is None else 60
    for measure in (name, getattr(tn, name)):
        found = pair(measure, method="bootstrap", resamples=1_999, cluster=cluster)
        assert found.difference == pytest.approx(influence.difference, rel=1e-10)
        assert found.standard_error == pytest.approx(
            influence.standard_error * math.sqrt(1 - 1 / units), rel=0.08
        )
        assert found.low == pytest.approx(influence.low, abs=0.25 * influence.standard_error)


def test_workers_change_nothing():
    one, two = (pair("brier", method="bootstrap", resamples=199, workers=n) for n in (1, 2))
    assert one == two


@pytest.mark.parametrize("kind", ["classwise", "confidence", "top-label"])
@pytest.mark.filterwarnings("ignore::trueness.errors.OneClassWarning")
def test_a_measure_of_a_matrix_is_that_of_the_resampled_rows(kind):
    rng = np.random.default_rng(1)
    P3 = rng.dirichlet([1, 2, 1], 200)
    y = np.array([rng.choice(3, p=row) for row in P3])
    models = {"a": P3, "b": np.roll(P3, 1, axis=1)}
    found = tn.compare(
        y,
        models,
        measure=tn.ece,
        method="bootstrap",
        kind=kind,
        resamples=199,
        seed=0,
        progress=False,
    )
    for name, scores in models.items():
        assert found.estimates[name] == pytest.approx(tn.ece(y, scores, kind=kind), abs=1e-12)


def test_resamples_without_a_value_are_left_out_and_counted():
    def rarely(tally):
        return math.nan if tally.parts[0].events.sum() < np.sum(Y) else tn.brier(tally)

    with pytest.warns(NoEstimateWarning, match=r"not finite in \d+ of 199 resamples"):
        found = pair(rarely, method="bootstrap", resamples=199)
    assert found.difference == pytest.approx(tn.brier(Y, P) - tn.brier(Y, Q))
    with pytest.raises(tn.InputError, match="must be finite to be compared"):
        pair(lambda tally: math.inf, method="bootstrap")


def test_the_p_value_is_the_level_at_which_the_interval_meets_zero():
    found = pair("brier", method="bootstrap", resamples=999)
    for level in (1 - found.pvalue + 0.01, 1 - found.pvalue - 0.01):
        if not 0.5 < level < 0.99:
            continue
        other = pair("brier", method="bootstrap", resamples=999, level=level)
        assert (other.low <= 0 <= other.high) is (level > 1 - found.pvalue)
    same = tn.compare(
        Y, {"a": P, "b": P}, measure="brier", method="bootstrap", seed=0, progress=False
    )["a", "b"]
    assert (same.difference, same.pvalue) == (0.0, 1.0)
    far = tn.compare(
        Y,
        {"a": Y * 0.98 + 0.01, "b": 1 - Y * 0.98 - 0.01},
        measure="brier",
        method="bootstrap",
        seed=0,
    )
    assert far["a", "b"].pvalue == pytest.approx(2 / 1000)

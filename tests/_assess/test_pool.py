"""Rubin's rules: by hand, laws, messages, and coverage with imputed labels."""

import math

import numpy as np
import pytest
from scipy.stats import t

import trueness as tn


def made(value, error, measure="slope", **fields):
    return tn.results.Estimate(
        measure, value, value - 1, value + 1, 0.95, "Wald", 101, "", error, **fields
    )


def test_rubins_rules_by_hand():
    values, errors = [0.9, 1.1, 1.3], [0.2, 0.1, 0.3]
    found = tn.pool([made(v, e) for v, e in zip(values, errors, strict=True)])["slope"]
    within = (0.04 + 0.01 + 0.09) / 3
    between = 4 / 3 * 0.04
    total = within + between
    share = between / total
    old = 2 / share**2
    observed = 101 / 103 * 100 * (1 - share)
    freedom = 1 / (1 / old + 1 / observed)
    assert found.value == pytest.approx(1.1)
    assert found.standard_error == pytest.approx(math.sqrt(total))
    assert found.high == pytest.approx(1.1 + t.ppf(0.975, freedom) * math.sqrt(total))
    assert "53 % of the variance" in found.note


@pytest.mark.parametrize(
    ("name", "there", "back", "derivative"),
    [
        ("observed/expected", np.log, np.exp, lambda v: 1 / v),
        (
            "AUC",
            lambda v: np.log(v / (1 - v)),
            lambda x: 1 / (1 + np.exp(-x)),
            lambda v: 1 / (v * (1 - v)),
        ),
    ],
)
def test_ratios_and_rates_are_averaged_on_their_scales(name, there, back, derivative):
    values, errors = np.array([0.8, 0.85, 0.7]), np.array([0.05, 0.04, 0.06])
    several = [made(v, e, name) for v, e in zip(values, errors, strict=True)]
    (found,) = tn.pool(several).estimates
    on_scale = tn.pool(
        [made(v, e) for v, e in zip(there(values), errors * derivative(values), strict=True)]
    )["slope"]
    assert found.value == pytest.approx(back(on_scale.value))
    assert found.low == pytest.approx(back(on_scale.low))


def data(seed=0, n=300):
    rng = np.random.default_rng(seed)
    p = rng.beta(2, 5, n)
    return rng.random(n) < p, p, rng


def test_the_same_data_thrice_have_the_limits_of_one_by_students_t():
    y, p, _ = data()
    one = tn.assess(y, p)
    pooled = tn.pool([one, one, one])
    assert list(pooled)[:2] == ["prevalence", "auc"]
    alone = one.estimate("slope")
    assert pooled["slope"].value == pytest.approx(alone.value)
    assert pooled["slope"].standard_error == pytest.approx(alone.standard_error)
    reach = t.ppf(0.975, 300 / 302 * 299) * alone.standard_error
    assert pooled["slope"].high == pytest.approx(alone.value + reach)
    chosen = tn.pool([one, one], ["calibration_slope"])
    assert list(chosen) == ["slope"]


def test_the_order_of_imputations_changes_nothing():
    y, p, rng = data()
    several = [tn.assess(np.where(rng.random(300) < 0.2, rng.random(300) < p, y), p) for _ in "abc"]
    first, second = tn.pool(several), tn.pool(several[::-1])
    for key in first:
        assert first[key].high == pytest.approx(second[key].high, rel=1e-12)
    assert len(first.to_frame()) == len(first)


@pytest.mark.filterwarnings("ignore::trueness.errors.OneClassWarning")
def test_what_an_imputation_lacks_is_left_out_and_named():
    _, p, _ = data()
    y = np.zeros(300, bool)
    pooled = tn.pool([tn.assess(y, p), tn.assess(y, p)])
    assert "observed_expected" not in pooled.names
    assert any("observed/expected is left out" in note for note in pooled.notes)
    with pytest.raises(tn.InputError, match="`imputations` must have a value of observed/expected"):
        tn.pool([tn.assess(y, p), tn.assess(y, p)], ["observed_expected"])


@pytest.mark.parametrize(
    ("imputations", "options", "message"),
    [
        ([], {}, "`imputations` must be two or more"),
        (7, {}, "`imputations` must be two or more"),
        ([made(1, 1)], {}, "`imputations` must be two or more"),
        ([made(1, 1), 2], {}, "must all be assessments, or all estimates; got Estimate and int"),
        ([made(1, 1), made(1, 1, "AUC")], {}, "must be of one measure, level and view"),
        ([made(1, 1, "ECE"), made(1, 1, "ECE")], {}, "must be of one of prevalence"),
        ([made(1, math.nan), made(1, 1)], {}, "number 1 has 1 with standard error nan"),
        ([made(1, 1), made(1, 1)], {"measures": ["slope"]}, "`measures` must be left out"),
    ],
)
def test_what_cannot_be_pooled_is_refused_by_name(imputations, options, message):
    with pytest.raises(tn.InputError, match=message):
        tn.pool(imputations, **options)


def test_measures_without_a_scale_are_refused():
    y, p, _ = data()
    one = tn.assess(y, p)
    with pytest.raises(tn.InputError, match=r"`measures` must be among prevalence, .*; got 'ece'"):
        tn.pool([one, one], ["ece"])
    with pytest.raises(tn.InputError, match="`measures` must be a sequence of names"):
        tn.pool([one, one], "slope")
    other = tn.assess(y[:200], p[:200])
    with pytest.raises(tn.InputError, match="must be the same rows at one level"):
        tn.pool([one, other])


@pytest.mark.slow
def test_limits_hold_as_often_as_their_level_says_with_a_third_of_the_labels_imputed():
    rng = np.random.default_rng(4)
    runs, n = 250, 300
    held = {"observed_expected": 0, "brier": 0}
    for _ in range(runs):
        p = rng.beta(2, 5, n)
        y = rng.random(n) < p
        missing = rng.random(n) < 1 / 3
        seen = ~missing
        # Proper: the odds factor of the imputation is itself drawn.
        factor = tn.estimate("intercept", y[seen], p[seen], floor=False)
        completed = []
        for _ in range(5):
            shift = rng.normal(factor.value, factor.standard_error)
            q = 1 / (1 + (1 - p) / p * np.exp(-shift))
            completed.append(tn.assess(np.where(missing, rng.random(n) < q, y), p))
        pooled = tn.pool(completed, list(held))
        truth = {"observed_expected": 1.0, "brier": float(np.mean(p * (1 - p)))}
        for key in held:
            held[key] += pooled[key].low <= truth[key] <= pooled[key].high
    least = 0.95 - 3 * math.sqrt(0.95 * 0.05 / runs)
    assert min(held.values()) / runs >= least, held

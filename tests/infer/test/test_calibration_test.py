"""`calibration_test`: laws, small data by hand, messages."""

import itertools
import json
import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from strategies import arrays, rows, weighted_rows

import trueness as tn
from trueness._tally.binned_scores import of_cells
from trueness.infer import calibration_test
from trueness.infer.test._calibration_test import _METHODS, pvalue_of_cells
from trueness.infer.test._pair_tests import exact_pvalue, number_of_resolutions

METHODS = tuple(_METHODS)

DRAWN = ("omnibus", "exact", "t-cal", "adaptive-t-cal")

LIMITS = tuple(name for name in METHODS if name not in DRAWN)

BINNED = ("exact", "analytic", "t-cal", "hosmer-lemeshow")

pytestmark = pytest.mark.filterwarnings("ignore::trueness.OneClassWarning", "ignore::trueness.FewRowsWarning")

# Every way to ask for a p-value.
WAYS = [(name, {} if name == "analytic" else {"seed": 3}) for name in LIMITS] + [
    (name, {"resamples": 49, "seed": 3}) for name in METHODS if "resamples" in _METHODS[name].uses
]


def same(a, b):
    return a.pvalue == pytest.approx(b.pvalue, rel=1e-9, abs=1e-12) and (
        a.statistic == b.statistic or a.statistic == pytest.approx(b.statistic, rel=1e-9, abs=1e-12)
    )


@pytest.mark.parametrize(("method", "how"), WAYS)
@given(pairs=rows, data=st.data())
def test_order_and_split_of_the_rows_change_nothing(method, how, pairs, data):
    y, p = arrays(pairs)
    order = np.array(data.draw(st.permutations(range(y.size))))
    cut = data.draw(st.integers(0, y.size))
    expected = calibration_test(y, p, method=method, **how)
    assert calibration_test(y[order], p[order], method=method, **how) == expected
    assert calibration_test(tn.tally(y[:cut], p[:cut]) + tn.tally(y[cut:], p[cut:]), method=method, **how) == expected


@pytest.mark.parametrize(("method", "how"), WAYS)
@given(rows=weighted_rows())
def test_a_whole_weight_is_the_row_that_many_times(method, how, rows):
    y, p, w = rows
    times = w.astype(int)
    weighted = calibration_test(y, p, method=method, sample_weight=w, **how)
    repeated = calibration_test(np.repeat(y, times), np.repeat(p, times), method=method, **how)
    assert (weighted.statistic, weighted.pvalue) == (repeated.statistic, repeated.pvalue)


@pytest.mark.parametrize(("method", "how"), WAYS)
@given(pairs=rows)
def test_a_pvalue_is_a_probability_and_a_drawn_one_never_zero(method, how, pairs):
    found = calibration_test(*arrays(pairs), method=method, **how)
    assert 0 <= found.pvalue <= 1
    assert not math.isnan(found.statistic)
    assert found.n == len(pairs)
    if "resamples" in how and method != "omnibus":  # which has proven tails below its floor
        assert found.pvalue >= 1 / 50


@pytest.mark.parametrize("method", ["kuiper", "spiegelhalter", "cox"])
@given(pairs=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 64).map(lambda i: i / 64)), min_size=1, max_size=40))
def test_swapping_the_classes_changes_nothing(method, pairs):
    y, p = arrays(pairs)
    a, b = calibration_test(y, p, method=method), calibration_test(1 - y, 1 - p, method=method)
    assert a.statistic == b.statistic or a.statistic == pytest.approx(b.statistic, abs=1e-9)
    a, b = (calibration_test(np.tile(q, 500), np.tile(s, 500), method=method) for q, s in ((y, p), (1 - y, 1 - p)))
    assert a.pvalue == pytest.approx(b.pvalue, abs=1e-9) or "drawn" in a.assumptions


@pytest.mark.parametrize("method", BINNED)
def test_swapping_the_classes_changes_nothing_without_ties_or_edges(method):
    rng = np.random.default_rng(1)
    p = rng.random(400)
    y = (rng.random(400) < p**1.3).astype(int)
    a = calibration_test(y, p, method=method, bins=10)
    b = calibration_test(1 - y, 1 - p, method=method, bins=10)
    assert a.statistic == pytest.approx(b.statistic, rel=1e-9)


# By hand: u = 0.8, −0.3 and, for two rows of score 0.4, +0.6 − 0.4 = 0.2. Path 0.8, 0.5 at scores 0.2 and 0.3,
# then 0.7.
BY_HAND = ([1, 0, 1, 0], [0.2, 0.3, 0.4, 0.4])


def copies(y, p, times=100):
    """So many rows that limiting distributions are accurate."""
    return np.tile(y, times), np.tile(p, times)


def test_spiegelhalter_is_the_standardised_brier_score():
    y, p = copies(*BY_HAND)
    z = ((y - p) * (1 - 2 * p)).sum() / math.sqrt(((1 - 2 * p) ** 2 * p * (1 - p)).sum())
    found = calibration_test(y, p, method="spiegelhalter")
    assert found.statistic == pytest.approx(z)
    assert found.pvalue == pytest.approx(2 * stats.norm.sf(abs(z)))


def test_cox_is_the_quadratic_form_of_the_score():
    y, p = copies(*BY_HAND)
    x = np.column_stack([np.ones(400), np.log(p / (1 - p))])
    score, information = x.T @ (y - p), x.T @ (x * (p * (1 - p))[:, None])
    expected = score @ np.linalg.solve(information, score)
    found = calibration_test(y, p, method="cox")
    assert found.statistic == pytest.approx(expected)
    assert found.pvalue == pytest.approx(stats.chi2.sf(expected, 2))


def test_cox_with_one_distinct_score_has_one_degree_of_freedom():
    found = calibration_test([1] * 60 + [0] * 40, [0.5] * 100, method="cox")
    assert found.statistic == pytest.approx(10**2 / 25)
    assert found.pvalue == pytest.approx(stats.chi2.sf(4, 1))


@pytest.mark.parametrize(("fitted", "freedom"), [(False, 4), (True, 2)])
def test_hosmer_lemeshow_is_the_sum_over_groups(fitted, freedom):
    y, p = copies([0, 1, 1, 1, 0, 1, 1, 0], [0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9])
    groups = [(1, 0.3), (2, 0.7), (1, 1.3), (1, 1.7)]
    expected = 100 * sum((o - e) ** 2 / (e * (1 - e / 2)) for o, e in groups)
    found = calibration_test(y, p, method="hosmer-lemeshow", bins=tn.EqualMass(4), fitted=fitted)
    assert found.statistic == pytest.approx(expected)
    assert found.pvalue == pytest.approx(stats.chi2.sf(expected, freedom))
    assert f"{freedom} degrees of freedom" in found.assumptions


@pytest.mark.parametrize(("bins", "rule"), [(4, 4), (tn.EqualMass(6), tn.EqualMass(6)), (tn.Distinct(), tn.Distinct())])
def test_the_exact_statistic_is_the_squared_ece(bins, rule):
    rng = np.random.default_rng(0)
    p = rng.integers(0, 40, 200) / 40
    y = (rng.random(200) < p).astype(int)
    found = calibration_test(y, p, method="exact", bins=bins, resamples=9)
    assert found.statistic == pytest.approx(tn.squared_ece(y, p, bins=rule))


def test_analytic_is_the_squared_ece_over_its_null_deviation():
    rng = np.random.default_rng(0)
    P = rng.dirichlet([1, 1, 1], 300)
    y = np.array([rng.choice(3, p=row) for row in P])
    top = (y == P.argmax(axis=1)).astype(int)
    binary = calibration_test(top, P.max(axis=1), method="analytic", bins=8)
    assert binary.statistic == pytest.approx(300 * tn.squared_ece(top, P.max(axis=1), bins=8) * math.sqrt(15 / 8))
    assert binary.pvalue == pytest.approx(stats.norm.sf(binary.statistic))
    variance = 2 * ((1 - 1 / 27) / 3 - (1 - 1 / 81) / 2 + (1 - 1 / 243) / 5)
    matrix = calibration_test(y, P, method="analytic", bins=8)
    assert matrix.statistic == pytest.approx(300 * tn.squared_ece(y, P, bins=8) / math.sqrt(8 * variance))


def test_the_exact_test_is_that_of_the_score_interval():
    rng = np.random.default_rng(3)
    for p in (rng.random(300), rng.integers(1, 20, 300) / 20, rng.random(6_000)):
        y = (rng.random(p.size) < p).astype(int)
        scores = of_cells(tn.tally(y, p).parts[0], tn.EqualMass(9), None)
        found = calibration_test(y, p, method="exact", bins=tn.EqualMass(9), resamples=199, seed=5)
        assert found.pvalue == exact_pvalue(scores, found.statistic, 199, np.random.default_rng(5))


ENUMERATED = [
    ([1, 0, 1, 1, 0, 0, 1], [0.1, 0.2, 0.2, 0.4, 0.6, 0.8, 0.9]),
    ([1, 1, 0, 0, 1, 1, 0, 0], [0.05, 0.3, 0.3, 0.3, 0.5, 0.5, 0.9, 1.0]),
    ([0, 1, 1], [0.5, 0.5, 0.5]),
]


@pytest.mark.parametrize("rows", ENUMERATED)
# Not those that combine several p-values: test_t_cal.py and test_omnibus.py have them.
@pytest.mark.parametrize(
    "method", [m for m in METHODS if "resamples" in _METHODS[m].uses and m not in ("adaptive-t-cal", "omnibus")]
)
def test_drawn_pvalues_are_those_of_all_label_vectors(method, rows):
    y, p = map(np.array, rows)
    how = {"bins": tn.EqualMass(2)} if method in BINNED else {}

    def statistic(labels):
        asked = {"resamples": 1} if method in DRAWN else {}
        value = calibration_test(labels, p, method=method, **how, **asked).statistic
        return abs(value) if method == "spiegelhalter" else value  # the one that is two-sided

    observed, total = statistic(y), 0.0
    for labels in itertools.product([0, 1], repeat=y.size):
        chance = np.prod(np.where(np.array(labels) == 1, p, 1 - p))
        if chance > 0 and statistic(labels) >= observed - 1e-9:
            total += chance
    draws = 20_000
    found = calibration_test(y, p, method=method, resamples=draws, seed=0, **how)
    assert found.pvalue == pytest.approx(total, abs=5 * math.sqrt(total * (1 - total) / draws) + 2 / draws)


@pytest.mark.all_cases
@pytest.mark.parametrize(("method", "how"), WAYS)
def test_certain_scores_are_right_or_refuted(method, how):
    p = np.repeat([0.0, 1.0], 10)
    right = calibration_test(p.astype(int), p, method=method, **how)
    assert right.pvalue == 1
    wrong = p.astype(int)
    wrong[3] = 1
    found = calibration_test(wrong, p, method=method, **how)
    drawn = "resamples" in how
    least = number_of_resolutions(20) / 50 if method == "adaptive-t-cal" else 1 / 50 if drawn else 0
    assert found.pvalue == pytest.approx(0 if method == "omnibus" else least)


@pytest.mark.parametrize("method", LIMITS)
def test_an_impossible_row_among_others_gives_a_number(method):
    y, p = [1, 0, 1, 0, 1, 1], [0.0, 0.0, 0.5, 0.4, 0.6, 1.0]
    found = calibration_test(y, p, method=method)
    assert 0 <= found.pvalue <= 1
    if method == "cox":
        assert found.pvalue == 0


def test_scores_of_one_half_tell_spiegelhalter_nothing():
    found = calibration_test([1] * 9 + [0], [0.5] * 10, method="spiegelhalter")
    assert (found.statistic, found.pvalue) == (0, 1)


SINGLE = ("ks", "kuiper", "spiegelhalter", "cox", "hosmer-lemeshow")


@pytest.mark.parametrize("method", SINGLE)
def test_labels_are_redrawn_where_the_limit_is_not_accurate(method):
    """50 rows of rare events against 3,000 spread ones."""
    rng = np.random.default_rng(0)
    for p, drawn in ((rng.beta(0.3, 60, 50), True), (rng.random(3_000), False)):
        y = (rng.random(p.size) < p).astype(int)
        found = calibration_test(y, p, method=method, seed=1)
        assert ("999 sets of labels were drawn" in found.assumptions) == drawn
        if drawn:
            assert found == calibration_test(y, p, method=method, resamples=999, seed=1)
        else:
            assert found == calibration_test(y, p, method=method)


@pytest.mark.parametrize("method", SINGLE)
def test_fractional_weights_keep_the_approximation_and_say_so(method):
    p, w = np.full(50, 0.02), np.full(50, 0.5)
    found = calibration_test([1] + [0] * 49, p, method=method, sample_weight=w)
    assert found.assumptions.endswith("Few events or non-events are expected, so the p-value may be too small.")
    many = calibration_test([1, 0] * 500, np.full(1000, 0.45), method=method, sample_weight=np.full(1000, 0.5))
    assert "may be too small" not in many.assumptions


WEIGHING = ("ks", "kuiper", "spiegelhalter", "cox", "hosmer-lemeshow")


@pytest.mark.parametrize("method", WEIGHING)
def test_the_unit_of_other_weights_does_not_matter(method):
    rng = np.random.default_rng(2)
    p, w = rng.uniform(0.2, 0.8, 400), rng.choice([0.5, 2.5], 400)
    y = (rng.random(400) < p).astype(int)
    found = calibration_test(y, p, method=method, sample_weight=w)
    assert calibration_test(y, p, method=method, sample_weight=w * 3.7).pvalue == pytest.approx(found.pvalue)


@pytest.mark.slow
@pytest.mark.parametrize("method", WEIGHING)
def test_other_weights_have_the_variance_of_their_squares(method):
    """The level is kept where rows of weight 0.5 and 2.5 are mixed."""
    rng = np.random.default_rng(2)
    p, w = rng.uniform(0.2, 0.8, 400), rng.choice([0.5, 2.5], 400)
    y = (rng.random((400, 400)) < p).astype(int)
    found = [calibration_test(labels, p, method=method, sample_weight=w) for labels in y]
    # 400 runs at level 0.1: deviation 0.015.
    assert np.mean([f.pvalue <= 0.1 for f in found]) == pytest.approx(0.1, abs=0.06)


@pytest.mark.parametrize("method", ["exact", "analytic", "t-cal", "adaptive-t-cal"])
def test_methods_that_count_rows_refuse_other_weights(method):
    with pytest.raises(tn.InputError, match=r"`sample_weight` must be whole numbers .* `method='ks'`"):
        calibration_test([0, 1], [0.2, 0.7], method=method, sample_weight=[0.5, 1])


@pytest.mark.parametrize("method", WEIGHING)
def test_redrawing_refuses_other_weights(method):
    with pytest.raises(tn.InputError, match="redrawing labels, which counts rows"):
        calibration_test([0, 1], [0.2, 0.7], method=method, sample_weight=[0.5, 1], resamples=9)


def test_a_matrix_is_tested_for_its_largest_entry():
    P = np.array([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.6, 0.2, 0.2]])
    y = [0, 1, 0, 2]
    for method, how in WAYS:
        if method != "analytic":
            expected = calibration_test([1, 1, 0, 0], P.max(axis=1), method=method, **how)
            assert same(calibration_test(y, P, method=method, **how), expected)
            assert same(calibration_test(tn.tally(y, P, kind="confidence"), method=method, **how), expected)


@pytest.mark.parametrize("kind", ["classwise", "top-label"])
def test_other_kinds_are_refused_by_single_tests(kind):
    P = np.array([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1]])
    for method in ("exact", "ks", "cox"):
        with pytest.raises(tn.InputError, match=f"kind='{kind}' poses one per class. Use `method='omnibus'`"):
            calibration_test([0, 1], P, kind=kind, method=method)


@pytest.mark.all_cases
@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"method": "chi"}, "`method` must be 'omnibus', .* or 'hosmer-lemeshow'; got 'chi'"),
        ({"method": None}, "`method` must be"),
        ({"method": "ks", "bins": 5}, "`bins` is not used by `method='ks'`.* exact, analytic, t-cal, hosmer-lemeshow"),
        ({"method": "adaptive-t-cal", "bins": 5}, "`bins` is not used"),
        ({"bins": 5}, "`bins` is not used by `method='omnibus'`"),
        ({"method": "analytic", "resamples": 99}, "`resamples` is not used by `method='analytic'`"),
        ({"method": "exact", "fitted": True}, "`fitted` is not used .* used by hosmer-lemeshow"),
        ({"method": "analytic", "seed": 1}, "`seed` is not used by `method='analytic'`, which draws nothing"),
        ({"method": "hosmer-lemeshow", "fitted": True, "resamples": 99}, "With `fitted=True` leave it out"),
        ({"method": "hosmer-lemeshow", "fitted": 1}, "`fitted` must be True or False"),
        ({"method": "hosmer-lemeshow", "fitted": True, "bins": 2}, "needs g ≥ 3 groups; there are 2"),
        ({"resamples": 0}, "`resamples` must be a whole number ≥ 1; got 0"),
        ({"seed": -1}, "`seed` must be"),
        ({"method": "exact", "bins": tn.Isotonic()}, "`bins` must not depend on the labels"),
        ({"method": "hosmer-lemeshow", "bins": tn.BlockIsotonic()}, "`bins` must not depend on the labels"),
        ({"method": "analytic", "bins": tn.EqualMass(3)}, "`bins` must be of equal width .*'exact'` takes any"),
    ],
)
def test_unused_options_are_refused(how, message):
    with pytest.raises(tn.InputError, match=message):
        calibration_test([0, 1, 1, 0], [0.2, 0.7, 0.6, 0.4], **how)


def test_bins_alone_are_refused():
    with pytest.raises(tn.InputError, match="needs every distinct score"):
        calibration_test(tn.binned([0, 1], [0.2, 0.7]))


def test_the_same_seed_gives_the_same_record_and_a_generator_moves_on():
    y, p = [0, 1, 1, 0, 1, 1], [0.2, 0.7, 0.6, 0.4, 0.5, 0.25]
    assert calibration_test(y, p, seed=4) == calibration_test(y, p, seed=4)
    rng = np.random.default_rng(4)
    assert calibration_test(y, p, seed=rng) == calibration_test(y, p, seed=4)
    assert rng.bit_generator.state != np.random.default_rng(4).bit_generator.state


@pytest.mark.all_cases
@pytest.mark.parametrize(("method", "how"), WAYS)
def test_a_record_becomes_json_and_text(method, how):
    found = calibration_test(*ENUMERATED[0], method=method, **how)
    assert json.loads(json.dumps(found.to_dict())) == found.to_dict()
    names = ["statistic", "pvalue", "method", "n", "assumptions", "alone", "strongest", "too_good", "contradicted"]
    assert list(found.to_dict()) == [*names, "within", "smallest_pvalue"]
    text = str(found)
    assert text.startswith(f"{method} test of calibration: statistic ")
    assert "(n = 7)" in text
    assert "independent" in text


def test_the_record_says_where_near_ties_are_drawn_together():
    p = np.linspace(0.01, 0.99, 4_097)
    y = (np.arange(p.size) % 2).astype(int)
    assert "exact within 0.001, near ties" in calibration_test(y, p, resamples=9, seed=0).assumptions
    assert "exact at any n" in calibration_test(y[1:], p[1:], resamples=9, seed=0).assumptions


def test_the_record_names_the_bins_and_draws_that_were_chosen():
    rng = np.random.default_rng(0)
    p = rng.random(1_000)
    y = (rng.random(1_000) < p).astype(int)
    assert "EqualMass(n=16)" in calibration_test(y, p, method="exact", seed=0).assumptions
    for method in ("omnibus", "exact"):
        assert "999 sets of labels" in calibration_test(y, p, method=method, seed=0).assumptions
    assert "EqualWidth(n=16)" in calibration_test(y, p, method="analytic").assumptions
    assert "EqualMass(n=10), 10 of them" in calibration_test(y, p, method="hosmer-lemeshow").assumptions


@pytest.mark.parametrize("method", ["exact", "ks", "spiegelhalter"])
def test_a_row_of_weight_two_counts_as_two(method):
    y, p = [0, 1, 1, 0, 1], [0.2, 0.4, 0.6, 0.3, 0.9]
    assert calibration_test(y, p, method=method, sample_weight=[1, 2, 3, 1, 1]).n == 8
    assert calibration_test(y, p, method="spiegelhalter", sample_weight=[0.5] * 5).n == 5


def test_many_scores_take_a_faster_way_to_the_same_cox_statistic(monkeypatch):
    rng = np.random.default_rng(0)
    p = np.concatenate([rng.beta(1, 9, 3_000), [0.0, 1.0]])
    y = (rng.random(p.size) < p).astype(int)
    slow = tn.calibration_test(y, p, method="cox")
    monkeypatch.setattr("trueness.infer.test._classical_tests._BLOCK", 100)
    fast = tn.calibration_test(y, p, method="cox")
    assert (fast.statistic, fast.pvalue) == pytest.approx((slow.statistic, slow.pvalue), rel=1e-9)
    assert tn.calibration_test([*y, 1], [*p, 0.0], method="cox").statistic == np.inf


@pytest.mark.parametrize("scale", [1, 0.5, 3.5])
def test_groups_whose_events_have_a_variance_of_5_are_judged_by_chi_square(scale):
    """20 rows of score 1/2; with 19 labels are redrawn or, for weights that cannot be, the result is qualified."""
    caveat = "Few events or non-events are expected, so the p-value may be too small."
    for n, enough in ((20, True), (19, False)):
        y, p = np.arange(n + 40) % 2, np.repeat([0.5, 0.25], [n, 40])
        weight = np.full(n + 40, scale)
        found = calibration_test(y, p, method="hosmer-lemeshow", bins=tn.Distinct(), sample_weight=weight, seed=0)
        groups = [
            (weight * (y - p))[p == one].sum() ** 2 / (weight**2 * p * (1 - p))[p == one].sum() for one in (0.5, 0.25)
        ]
        assert found.statistic == pytest.approx(sum(groups))
        assert ("2 degrees of freedom" in found.assumptions) == (enough or scale != 1)
        assert (caveat in found.assumptions) == (not enough and scale != 1)
        if enough:
            assert found.pvalue == pytest.approx(stats.chi2.sf(found.statistic, 2))


def test_a_group_of_certain_scores_adds_nothing_unless_a_label_contradicts_it():
    y, p = np.concatenate([np.zeros(30, int), np.arange(80) % 2]), np.repeat([0.0, 0.4, 0.6], [30, 40, 40])
    test = partial(calibration_test, method="hosmer-lemeshow", bins=tn.Distinct())
    found, alone = test(y, p), test(y[30:], p[30:])
    assert (found.statistic, found.pvalue) == pytest.approx((alone.statistic, alone.pvalue))
    assert "2 degrees of freedom" in found.assumptions
    y[0] = 1
    wrong = test(y, p)
    assert (wrong.statistic, wrong.pvalue) == (math.inf, 0)


def test_three_groups_leave_one_degree_of_freedom_after_a_fit():
    p = np.repeat([0.2, 0.5, 0.8], 40)
    y = np.concatenate([np.arange(40) < k for k in (6, 22, 33)]).astype(int)
    found = calibration_test(y, p, method="hosmer-lemeshow", bins=3, fitted=True)
    by_hand = (6 - 8) ** 2 / 6.4 + (22 - 20) ** 2 / 10 + (33 - 32) ** 2 / 6.4
    assert found.statistic == pytest.approx(by_hand)
    assert found.pvalue == pytest.approx(stats.chi2.sf(by_hand, 1))


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("method", ["exact", "t-cal"])
def test_the_pvalue_of_several_scores_is_that_of_all_classes_enumerated(method, k):
    """Five rows in one cell: T by its definition for all 3⁵ classes, each with its probability."""
    P = np.array([[0.5, 0.3, 0.2], [0.45, 0.35, 0.2], [0.2, 0.7, 0.1], [0.3, 0.1, 0.6], [0.25, 0.55, 0.2]])
    order = np.argsort(-P, axis=1)[:, :k] if k < 3 else np.tile(np.arange(3), (5, 1))
    divisor = 4 if method == "exact" else 5

    def statistic(y):
        u = (order == np.array(y)[:, None]) - np.take_along_axis(P, order, axis=1)
        return (u.sum(axis=0) @ u.sum(axis=0) - (u**2).sum()) / divisor / 5

    every = list(itertools.product(range(3), repeat=5))
    values = np.array([statistic(y) for y in every])
    chance = np.array([np.prod(P[np.arange(5), y]) for y in every])
    for y in ([0, 1, 1, 0, 0], [2, 2, 1, 2, 2]):
        found = calibration_test(y, P, method=method, k=k, bins=1, resamples=3999, seed=1)
        assert found.statistic == pytest.approx(statistic(y), abs=1e-14)
        share = chance[values >= statistic(y) - 1e-12].sum()
        assert found.pvalue == pytest.approx(share, abs=4 * math.sqrt(share / 4000) + 1 / 4000)
        assert (found.method, found.n) == (method, 5)
        twice = calibration_test(y, P, method=method, k=k, bins=1, sample_weight=[2] * 5, seed=1)
        repeated = calibration_test(np.repeat(y, 2), np.repeat(P, 2, axis=0), method=method, k=k, bins=1, seed=1)
        assert twice.statistic == pytest.approx(repeated.statistic, abs=1e-14)


@pytest.mark.parametrize("method", ["exact", "t-cal"])
def test_several_scores_of_zero_and_one_leave_nothing_to_chance(method):
    P = np.eye(3)[[0, 1, 2, 0]]
    assert calibration_test([0, 1, 2, 0], P, method=method, k=3, seed=0).pvalue == 1
    assert calibration_test([0, 1, 0, 0], P, method=method, k=3, seed=0).pvalue == 0.001
    assert calibration_test([0, 1, 0, 0], P, method=method, k=2, seed=0).pvalue == 0.001


def test_lists_of_two_columns_are_the_binary_problem_of_the_second():
    y, p = [0, 1, 1, 0, 1, 0], [0.2, 0.7, 0.6, 0.4, 0.9, 0.3]
    rows = [[1 - one, one] for one in p]
    as_lists = calibration_test(y, rows, method="cox", seed=0)
    assert as_lists.pvalue == calibration_test(y, np.array(rows), method="cox", seed=0).pvalue
    assert as_lists.statistic == pytest.approx(calibration_test(y, p, method="cox").statistic, rel=1e-9)


def three_classes(n=40):
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(3), n)
    return np.array([rng.choice(3, p=row) for row in P]), P


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
@pytest.mark.all_cases
@pytest.mark.parametrize(
    ("options", "alone"),
    [
        ({"kind": "top-label"}, ["class 0", "class 1", "class 2"]),
        ({"kind": "classwise"}, ["class 0", "class 1", "class 2", "the largest score"]),
        ({"k": 2}, ["score 1 of the 2 largest", "score 2 of the 2 largest"]),
        ({"k": 3}, [f"score {r} of the 3 largest" for r in (1, 2, 3)]),
    ],
)
def test_several_questions_are_answered_with_999_draws_unless_told_otherwise(options, alone):
    y, P = three_classes()
    found = calibration_test(y, P, seed=0, **options)
    assert list(found.alone) == alone
    assert found.n == 40
    assert "999 sets of labels were drawn" in found.assumptions
    fewer = calibration_test(y, P, seed=0, resamples=99, **options)
    assert "99 sets of labels were drawn" in fewer.assumptions
    assert "999" not in fewer.assumptions


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_whole_weights_of_several_columns_repeat_their_rows():
    y, P = three_classes()
    w = 1 + np.arange(40) % 3
    found = calibration_test(y, P, kind="classwise", sample_weight=w, seed=0, resamples=49)
    again = calibration_test(np.repeat(y, w), np.repeat(P, w, axis=0), kind="classwise", seed=0, resamples=49)
    assert (found.pvalue, found.n, found.alone) == (again.pvalue, w.sum(), again.alone)
    with pytest.raises(tn.InputError, match="`k` must be at most 3, the number of classes; got 4"):
        calibration_test(y, P, k=4)
    with pytest.raises(tn.InputError, match="must be whole numbers for several columns"):
        calibration_test(y, P, k=2, sample_weight=w / 2)
    with pytest.raises(tn.InputError, match="`k` must be None or 1 for a vector of scores; got 2"):
        calibration_test(y == 1, P[:, 1], k=2)


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_clusters_have_999_draws_unless_told_otherwise():
    y, P = three_classes()
    ask = {"method": "ks", "cluster": np.arange(40) // 2, "seed": 0}
    assert "999 times the residuals" in calibration_test(y == 1, P[:, 1], **ask).assumptions
    assert ": 49 times the residuals" in calibration_test(y == 1, P[:, 1], resamples=49, **ask).assumptions


def test_sums_of_two_classes_are_the_binary_problem_of_the_second():
    rng = np.random.default_rng(0)
    p = rng.random(200).round(2)
    y = (rng.random(200) < p).astype(int)
    P = np.column_stack([1 - p, p])
    plain = calibration_test(y, p, method="ks")
    for found in (
        calibration_test(tn.tally(y, P, kind="classwise"), method="ks"),
        calibration_test(y, P, method="ks"),
    ):
        assert (found.statistic, found.pvalue) == pytest.approx((plain.statistic, plain.pvalue))
        assert found.assumptions.startswith(plain.assumptions)
        assert "one binary problem: the event is the second" in found.assumptions
    # With `k`, or with a kind, the largest score is examined.
    right, top = (p > 0.5) == y, np.maximum(p, 1 - p)
    right[p == 0.5] = y[p == 0.5] == 0
    expected = calibration_test(right, top, method="ks").statistic
    for options in ({"k": 1}, {"kind": "confidence"}):
        assert calibration_test(y, P, method="ks", **options).statistic == pytest.approx(expected)


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_fractional_weights_are_one_label_per_row(columns):
    rng = np.random.default_rng(0)
    p = rng.random(80)
    y, w = (rng.random(80) < p).astype(int), rng.choice([0.5, 1.5], 80)
    plain = calibration_test(y, p, sample_weight=w, seed=0, resamples=99)
    if columns == 1:
        labels, scores, expected = y, p, plain
    elif columns == 2:
        labels, scores, expected = y, np.column_stack([1 - p, p]), plain
    else:
        scores = np.column_stack([p, 0.7 * (1 - p), 0.3 * (1 - p)])
        labels, top = 1 - y, scores.max(axis=1)
        expected = calibration_test(labels == scores.argmax(axis=1), top, sample_weight=w, seed=0, resamples=99)
    found = calibration_test(labels, scores, sample_weight=w, seed=0, resamples=99)
    assert found.pvalue == pytest.approx(expected.pvalue, abs=1e-9)
    assert found.alone == pytest.approx(expected.alone)


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_classes_are_called_by_their_names():
    y, P = three_classes()
    names = np.array(["cat", "dog", "owl"])
    found = calibration_test(names[y], P, kind="classwise", labels=list(names), resamples=19, seed=0)
    assert [name.replace("'", "") for name in found.alone][:3] == ["class cat", "class dog", "class owl"]

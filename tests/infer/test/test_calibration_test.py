"""`calibration_test`: laws, all label vectors enumerated, options and messages of every method."""

import itertools
import json
import math

import numpy as np
import pytest
from grids import slow
from hypothesis import given
from hypothesis import strategies as st
from strategies import arrays, rows, weighted_rows

import trueness as tn
from trueness import calibration_test

pytestmark = pytest.mark.filterwarnings(
    "ignore::trueness.errors.OneClassWarning", "ignore::trueness.errors.FewRowsWarning"
)
DRAWN = ("omnibus", "exact", "t-cal", "adaptive-t-cal")
SINGLE = ("ks", "kuiper", "spiegelhalter", "cox", "hosmer-lemeshow")
BINNED = ("exact", "analytic", "t-cal", "hosmer-lemeshow")
# Every way to ask for a p-value.
WAYS = [("analytic", {})] + [(name, {"seed": 3}) for name in SINGLE]
WAYS += [(name, {"resamples": 49, "seed": 3}) for name in (*DRAWN, *SINGLE)]
EVERY_WAY = pytest.mark.parametrize(("method", "how"), WAYS)


@EVERY_WAY
@given(pairs=rows, data=st.data())
def test_order_and_split_of_the_rows_change_nothing(method, how, pairs, data):
    y, p = arrays(pairs)
    order = np.array(data.draw(st.permutations(range(y.size))))
    cut = data.draw(st.integers(0, y.size))
    found = calibration_test(y, p, method=method, **how)
    assert calibration_test(y[order], p[order], method=method, **how) == found
    assert (
        calibration_test(
            tn.tally(y[:cut], p[:cut]) + tn.tally(y[cut:], p[cut:]), method=method, **how
        )
        == found
    )
    assert 0 <= found.pvalue <= 1
    assert not math.isnan(found.statistic)
    assert found.n == y.size
    if "resamples" in how and method != "omnibus":  # which has proven tails below its floor
        assert found.pvalue >= 1 / 50


@pytest.mark.parametrize(("method", "how"), WAYS)
@given(rows=weighted_rows())
def test_a_whole_weight_is_the_row_that_many_times(method, how, rows):
    y, p, w = rows
    times = w.astype(int)
    weighted = calibration_test(
        y, p, method=method, sample_weight=w, weight_type="frequency", **how
    )
    repeated = calibration_test(np.repeat(y, times), np.repeat(p, times), method=method, **how)
    assert (weighted.statistic, weighted.pvalue, weighted.n) == (
        repeated.statistic,
        repeated.pvalue,
        repeated.n,
    )


@pytest.mark.parametrize("method", ["kuiper", "spiegelhalter", "cox"])
@given(
    pairs=st.lists(
        st.tuples(st.integers(0, 1), st.integers(0, 64).map(lambda i: i / 64)),
        min_size=1,
        max_size=40,
    )
)
def test_swapping_the_classes_changes_nothing(method, pairs):
    y, p = arrays(pairs)
    a, b = (
        calibration_test(np.tile(q, 500), np.tile(s, 500), method=method)
        for q, s in ((y, p), (1 - y, 1 - p))
    )
    assert a.statistic == b.statistic or a.statistic == pytest.approx(b.statistic, abs=1e-9)
    assert a.pvalue == pytest.approx(b.pvalue, abs=1e-9) or "drawn" in a.assumptions


@pytest.mark.parametrize("method", BINNED)
def test_swapping_the_classes_changes_nothing_without_ties_or_edges(method):
    rng = np.random.default_rng(1)
    p = rng.random(400)
    y = (rng.random(400) < p**1.3).astype(int)
    a, b = (calibration_test(*rows, method=method, bins=10) for rows in ((y, p), (1 - y, 1 - p)))
    assert a.statistic == pytest.approx(b.statistic, rel=1e-9)


ENUMERATED = [
    ([1, 0, 1, 1, 0, 0, 1], [0.1, 0.2, 0.2, 0.4, 0.6, 0.8, 0.9]),
    ([1, 1, 0, 0, 1, 1, 0, 0], [0.05, 0.3, 0.3, 0.3, 0.5, 0.5, 0.9, 1.0]),
    ([0, 1, 1], [0.5, 0.5, 0.5]),
]


@pytest.mark.parametrize("rows", [*slow(*ENUMERATED[:2]), ENUMERATED[2]])
# Not those that combine several p-values: test_pair_tests.py and test_omnibus.py have them.
@pytest.mark.parametrize("method", ["exact", "t-cal", *SINGLE])
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
    assert found.pvalue == pytest.approx(
        total, abs=5 * math.sqrt(total * (1 - total) / draws) + 2 / draws
    )


@EVERY_WAY
def test_certain_scores_are_right_or_refuted(method, how):
    p = np.repeat([0.0, 1.0], 10)
    for w in (None, np.full(20, 0.5)) if method in SINGLE and "resamples" not in how else (None,):
        right = calibration_test(p.astype(int), p, method=method, sample_weight=w, **how)
        assert right.pvalue == 1
        for at in (3, 13):
            wrong = p.astype(int)
            wrong[at] = 1 - wrong[at]
            found = calibration_test(wrong, p, method=method, sample_weight=w, **how)
            least = (
                8 / 50 if method == "adaptive-t-cal" else 1 / 50 if "resamples" in how else 0
            )  # 8 resolutions
            assert found.pvalue == pytest.approx(0 if method == "omnibus" else least)
    inside = calibration_test([0, 1, 0], [0.0, 1.0, 1e-320], method=method, **how)
    assert inside.pvalue == 1 or method == "analytic"


@pytest.mark.parametrize("method", SINGLE)
def test_labels_are_redrawn_where_the_limit_is_not_accurate(method):
    """50 rows of rare events against 3,000 spread ones; sums of unequal weights at one score qualify the result."""
    rng = np.random.default_rng(0)
    for p, drawn in ((rng.beta(0.3, 60, 50), True), (rng.random(3_000), False)):
        y = (rng.random(p.size) < p).astype(int)
        found = calibration_test(y, p, method=method, seed=1)
        assert ("999 sets of labels were drawn" in found.assumptions) == drawn
        more = {"resamples": 999, "seed": 1} if drawn else {}
        assert found == calibration_test(y, p, method=method, **more)
        always = method == "hosmer-lemeshow"  # few rows of large weight may dominate a group
        weighted = calibration_test(y, p, method=method, sample_weight=np.full(p.size, 0.5), seed=1)
        assert ("999 sets of labels were drawn" in weighted.assumptions) == (drawn or always)
        unequal = tn.tally(y.repeat(2), p.repeat(2), sample_weight=np.tile([0.5, 0.7], p.size))
        with_caveat = calibration_test(unequal, method=method).assumptions
        end = "The approximation is not accurate here, and the p-value may be too small."
        assert with_caveat.endswith(end) == (drawn or always)


@pytest.mark.parametrize("method", SINGLE)
def test_neither_the_unit_of_other_weights_nor_equal_ones_matter(method):
    rng = np.random.default_rng(2)
    p, w = rng.uniform(0.2, 0.8, 400), rng.choice([0.5, 2.5], 400)
    y = (rng.random(400) < p).astype(int)
    found = calibration_test(y, p, method=method, sample_weight=w, seed=0)
    assert calibration_test(
        y, p, method=method, sample_weight=w * 3.7, seed=0
    ).pvalue == pytest.approx(found.pvalue)
    equal = calibration_test(y, p, method=method, sample_weight=np.full(400, 0.5), seed=0)
    # Hosmer-Lemeshow draws labels of weighted rows: five standard errors of 999 draws.
    plain, off = (
        calibration_test(y, p, method=method).pvalue,
        0.08 if method == "hosmer-lemeshow" else 1e-9,
    )
    assert (equal.pvalue, equal.n) == (pytest.approx(plain, abs=off), 400)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"method": "chi"}, "`method` must be 'omnibus', .* or 'quantiles'; got 'chi'"),
        (
            {"method": "ks", "bins": 5},
            "`bins` is not used by `method='ks'`.* exact, analytic, t-cal, hosmer-lemeshow",
        ),
        ({"bins": 5}, "`bins` is not used by `method='omnibus'`"),
        ({"method": "analytic", "resamples": 99}, "`resamples` is not used by `method='analytic'`"),
        ({"method": "exact", "fitted": True}, "`fitted` is not used .* used by hosmer-lemeshow"),
        (
            {"method": "hosmer-lemeshow", "fitted": True, "resamples": 99},
            "With `fitted=True` leave it out",
        ),
        ({"method": "hosmer-lemeshow", "fitted": 1}, "`fitted` must be True or False"),
        (
            {"method": "hosmer-lemeshow", "fitted": True, "bins": 2},
            "needs g ≥ 3 groups; there are 2",
        ),
        ({"resamples": 0}, "`resamples` must be a whole number ≥ 1; got 0"),
        ({"seed": -1}, "`seed` must be"),
        ({"method": "exact", "bins": tn.Isotonic()}, "`bins` must not depend on the labels"),
        (
            {"method": "analytic", "bins": tn.EqualMass(3)},
            "`bins` must be of equal width .* other methods",
        ),
        (
            {"method": "t-cal", "sample_weight": [0.5] * 4},
            r"`sample_weight` must be whole numbers .* `method='omnibus'`",
        ),
        ({"method": "exact", "sample_weight": [0.5] * 4}, "`sample_weight` must be whole numbers"),
        (
            {"method": "analytic", "sample_weight": [0.5] * 4},
            "`sample_weight` must be whole numbers",
        ),
        *(
            ({"k": 2, "method": m}, "`k` must be None or 1 for a vector .* got 2")
            for m in ("omnibus", "exact", "analytic")
        ),
        ({"k": 0}, "`k` must be a whole number ≥ 1"),
        ({"k": 2, "method": "ks"}, "`k` is not used by `method='ks'`"),
        ({"k": 2, "cluster": [0, 0, 1, 1]}, "`k` must be 1 with `cluster`; got 2"),
    ],
)
@pytest.mark.filterwarnings("ignore::trueness.errors.FewClustersWarning")
def test_bad_options_are_refused(how, message):
    with pytest.raises(tn.InputError, match=message):
        calibration_test([0, 1, 1, 0], [0.2, 0.7, 0.6, 0.4], **how)


def test_sums_that_do_not_suffice_are_refused():
    with pytest.raises(tn.InputError, match="needs every distinct score"):
        calibration_test(tn.binned([0, 1], [0.2, 0.7]))
    P = np.array([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1]])
    for sums, method in (
        (tn.tally([0, 1], P), "omnibus"),
        (tn.tally([0, 1], P, kind="top-label"), "ks"),
    ):
        with pytest.raises(
            tn.InputError, match=f"kind='{sums.kind}' poses one per class. Use `method='omnibus'`"
        ):
            calibration_test(sums, method=method)
    for kind in ("classwise", "top-label"):
        with pytest.raises(tn.InputError, match=f"kind='{kind}' poses one per class"):
            calibration_test([0, 1], P, kind=kind, method="cox")
    with pytest.raises(
        tn.InputError,
        match=r"kind='top-label'`.* Other weights are taken by `kind='confidence'`\.$",
    ):
        calibration_test([0, 1], P, kind="top-label", sample_weight=[0.5, 0.5])


def test_the_same_seed_gives_the_same_record_and_a_generator_moves_on():
    y, p = [0, 1, 1, 0, 1, 1], [0.2, 0.7, 0.6, 0.4, 0.5, 0.25]
    rng = np.random.default_rng(4)
    assert calibration_test(y, p, seed=4) == calibration_test(y, p, seed=4)
    first, second = (calibration_test(y, p, seed=rng) for _ in range(2))
    assert calibration_test(y, p, seed=np.random.default_rng(4)) == first != second


def test_a_record_becomes_json_and_text():
    for method, how in WAYS:
        found = calibration_test(*ENUMERATED[0], method=method, **how)
        assert json.loads(json.dumps(found.to_dict())) == found.to_dict()
        assert str(found).startswith(f"{method} test of calibration: statistic ")
        assert "(n = 7)" in str(found)
        assert "independent" in str(found)


def test_the_record_names_the_bins_and_draws_that_were_chosen():
    rng = np.random.default_rng(0)
    p = rng.random(1_000)
    y = (rng.random(1_000) < p).astype(int)
    for method in DRAWN[:3]:
        found = calibration_test(y, p, method=method, seed=0)
        assert "999 sets of labels were drawn from the scores" in found.assumptions
        assert found.smallest_pvalue == 0.001
    assert "EqualMass(n=16)" in calibration_test(y, p, method="exact", seed=0).assumptions
    assert "EqualWidth(n=16)" in calibration_test(y, p, method="analytic").assumptions
    assert (
        "EqualMass(n=10), 10 of them"
        in calibration_test(y, p, method="hosmer-lemeshow").assumptions
    )


@pytest.mark.parametrize("method", ["omnibus", "exact"])
def test_the_record_says_where_near_ties_are_drawn_together(method):
    for n, words in (
        (4096, "exact at any n"),
        (4097, "exact within 0.001, near ties being drawn together"),
    ):
        found = calibration_test(
            np.arange(n) % 2, (np.arange(n) + 0.5) / n, method=method, resamples=9, seed=0
        )
        assert f"the level is {words}: 9 sets" in found.assumptions


# ---- matrices


def test_a_matrix_is_tested_for_its_largest_entry():
    P = np.array([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.6, 0.2, 0.2]])
    for method, how in WAYS[1:]:  # 'analytic' has a deviation of its own
        expected = calibration_test([1, 1, 0, 0], P.max(axis=1), method=method, **how)
        for given_rows in (([0, 1, 0, 2], P), (tn.tally([0, 1, 0, 2], P, kind="confidence"),)):
            found = calibration_test(*given_rows, method=method, **how)
            assert (found.statistic, found.pvalue) == pytest.approx(
                (expected.statistic, expected.pvalue), abs=1e-12
            )


def test_of_two_columns_with_k_or_a_kind_the_largest_score_is_examined():
    rng = np.random.default_rng(6)
    p = rng.random(200).round(2)
    y = (rng.random(200) < p).astype(int)
    P = np.column_stack([1 - p, p])
    right, top = np.where(p == 0.5, y == 0, (p > 0.5) == y), np.maximum(p, 1 - p)
    for options in ({"k": 1}, {"kind": "confidence"}):
        found = calibration_test(y, P, method="ks", **options)
        assert found.statistic == pytest.approx(calibration_test(right, top, method="ks").statistic)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("method", ["exact", "t-cal"])
def test_the_pvalue_of_several_scores_is_that_of_all_classes_enumerated(method, k):
    """Five rows in one cell: T by its definition for all 3⁵ classes, each with its probability."""
    P = np.array(
        [[0.5, 0.3, 0.2], [0.45, 0.35, 0.2], [0.2, 0.7, 0.1], [0.3, 0.1, 0.6], [0.25, 0.55, 0.2]]
    )
    order = np.argsort(-P, axis=1)[:, :k] if k < 3 else np.tile(np.arange(3), (5, 1))
    divisor = 4 if method == "exact" else 5

    def statistic(y):
        u = (order == np.array(y)[:, None]) - np.take_along_axis(P, order, axis=1)
        return (u.sum(axis=0) @ u.sum(axis=0) - (u**2).sum()) / divisor / 5

    every = list(itertools.product(range(3), repeat=5))
    values = np.array([statistic(y) for y in every])
    chance = np.array([np.prod(P[np.arange(5), y]) for y in every])
    for y in ([0, 1, 1, 0, 0], [2, 2, 0, 2, 2]):
        found = calibration_test(y, P, method=method, k=k, bins=1, resamples=3999, seed=1)
        assert found.statistic == pytest.approx(statistic(y), abs=1e-14)
        share = chance[values >= statistic(y) - 1e-12].sum()
        assert found.pvalue == pytest.approx(share, abs=4 * math.sqrt(share / 4000) + 1 / 4000)
        assert (found.method, found.n) == (method, 5)
        twice = calibration_test(
            y, P, method=method, k=k, bins=1, sample_weight=[2] * 5, weight_type="frequency", seed=1
        )
        repeated = calibration_test(
            np.repeat(y, 2), np.repeat(P, 2, axis=0), method=method, k=k, bins=1, seed=1
        )
        assert twice.statistic == pytest.approx(repeated.statistic, abs=1e-14)
        assert twice.pvalue == pytest.approx(repeated.pvalue, abs=0.1)  # 999 draws each
    assert "999 sets of classes were drawn from the scores. The" in twice.assumptions
    assert f"{k} largest scores of each row; " in twice.assumptions


@pytest.mark.parametrize("method", ["exact", "t-cal"])
def test_several_scores_of_zero_and_one_leave_nothing_to_chance(method):
    P = np.eye(3)[[0, 1, 2, 0]]
    assert calibration_test([0, 1, 2, 0], P, method=method, k=3, seed=0).pvalue == 1
    for k in (2, 3):
        impossible = calibration_test([0, 1, 0, 0], P, method=method, k=k, resamples=19, seed=0)
        assert (impossible.pvalue, impossible.pvalue_in_words) == (1 / 20, "p ≤ 0.05")


# ---- levels

LAWS = {
    "uniform": tn.simulate.Beta(1, 1),
    "rare": tn.simulate.Beta(0.3, 60),
    "concentrated": tn.simulate.Beta(12, 0.25),
    "tied": tn.simulate.Discrete(np.arange(101) / 100),
}


def pvalues(method, law, n, runs, seed, **how):
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(runs):
        data = tn.simulate.binary(n, scores=LAWS[law], seed=rng)
        more = how if method == "analytic" else {**how, "seed": rng}
        found.append(calibration_test(data.y_true, data.y_prob, method=method, **more).pvalue)
    return np.array(found)


def slack(alpha, runs, deviations=4.5):
    """What a share of `runs` may differ from `alpha` by chance: about once in 150,000 comparisons."""
    return deviations * math.sqrt(alpha * (1 - alpha) / runs) + 1 / runs


@pytest.mark.slow
@pytest.mark.parametrize("n", [50, 200, 1000])
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("method", [*DRAWN[1:], *SINGLE])
def test_drawn_labels_keep_every_level(method, law, n):
    how = {} if method == "adaptive-t-cal" else {"resamples": 199}
    found = pvalues(method, law, n, 400, seed=2, **how)
    for alpha in (0.1, 0.05, 0.01):
        assert np.mean(found <= alpha) <= alpha + slack(alpha, found.size), alpha
        if law in ("uniform", "tied") and method in (
            "exact",
            "t-cal",
        ):  # elsewhere many labels share a statistic
            assert np.mean(found <= alpha) == pytest.approx(alpha, abs=slack(alpha, found.size))


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 50, 200, 1000])
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("method", SINGLE)
def test_single_tests_keep_their_level_by_default(method, law, n):
    """At most 0.06 at 0.05 and 0.015 at 0.01, up to Monte-Carlo error: labels are redrawn where limits would not do."""
    found = pvalues(method, law, n, 600, seed=8)
    assert np.mean(found <= 0.05) <= 0.06 + slack(0.06, 600, 3.5)
    assert np.mean(found <= 0.01) <= 0.015 + slack(0.015, 600, 3.5)
    if n == 1000 and law in ("uniform", "tied"):
        assert np.mean(found <= 0.1) >= 0.08 - slack(0.1, 600)


@pytest.mark.slow
@pytest.mark.parametrize("method", SINGLE)
def test_other_weights_have_the_variance_of_their_squares(method):
    """The level is kept where rows of weight 0.5 and 2.5 are mixed."""
    rng = np.random.default_rng(2)
    p, w = rng.uniform(0.2, 0.8, 400), rng.choice([0.5, 2.5], 400)
    y = (rng.random((400, 400)) < p).astype(int)
    found = [calibration_test(labels, p, method=method, sample_weight=w) for labels in y]
    # 400 runs at level 0.1: deviation 0.015.
    assert np.mean([f.pvalue <= 0.1 for f in found]) == pytest.approx(0.1, abs=0.06)


@pytest.mark.parametrize(("labels", "smallest"), [(24, 24 / 1000), (25, 25 / 1000), (30, 0.025)])
@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_many_labels_have_draws_for_the_correction_by_their_number(labels, smallest):
    """Forty draws for each label, at least 999."""
    rng = np.random.default_rng(0)
    P = 0.3 + rng.random((12, labels)) / 10
    Y = (rng.random(P.shape) < P).astype(int)
    options = {"kind": "multilabel", "method": "t-cal", "bins": 2, "seed": 0}
    assert calibration_test(Y, P, **options).smallest_pvalue == pytest.approx(smallest)
    fewer = calibration_test(Y, P, resamples=99, **options)
    assert fewer.smallest_pvalue == pytest.approx(labels / 100)

"""Histogram binning: against a literal transcription, under changes that must not matter, and in words."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import arrays, rows, weighted_rows

from trueness import InputError
from trueness.errors import FewRowsWarning, TiedScoresWarning
from trueness.recalibrate import HistogramBinning, epsilon, max_bins

DELTA = 1e-9
SCHEMES = ("umd", "randomized", "original", "split", "fixed-width")
QUIET = pytest.mark.filterwarnings(
    "ignore::trueness.errors.TiedScoresWarning",
    "ignore::trueness.errors.FewRowsWarning",
    "ignore::trueness.errors.OneClassWarning",
    "ignore::trueness.errors.OwnRowsWarning",
)


def algorithm_1(p, y, B, original=False):
    """Step by step as printed, with S_(0) = 0, S_(n+1) = 1 and exact fractions; scores must have no ties."""
    n = len(p)
    order = sorted(range(n), key=lambda i: p[i])
    S = [0.0, *(p[i] for i in order), 1.0]
    Y = [None, *(int(y[i]) for i in order)]
    A = [math.ceil(Fraction(b * (n + 1), B)) for b in range(B + 1)]
    values, counts = [], []
    for b in range(1, B + 1):
        low, high = A[b - 1], A[b]
        inside = range(low + 1, high + 1 if original and b < B else high)
        values.append(sum(Y[i] for i in inside) / len(inside))
        counts.append(len(inside))
    return [S[a] for a in A], values, counts


def some_rows(n, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.permutation(rng.random(4 * n))[:n]
    return p, (rng.random(n) < p**2).astype(int)


@pytest.mark.parametrize("scheme", ["umd", "original", "randomized"])
@pytest.mark.parametrize(
    ("n", "B"), [(2, 1), (7, 2), (20, 10), (29, 10), (49, 22), (100, 7), (1_000, 33)]
)
def test_bins_are_those_of_the_algorithm_as_printed(scheme, n, B):
    p, y = some_rows(n, seed=1)
    fitted = HistogramBinning(B, scheme, seed=0).fit(p, y)
    edges, values, counts = algorithm_1(p, y, B, original=scheme == "original")
    assert fitted.edges_.tolist() == edges
    np.testing.assert_allclose(
        fitted.values_, values, rtol=0, atol=DELTA if scheme == "randomized" else 1e-15
    )
    assert fitted.counts_.tolist() == counts
    assert fitted.counts_.sum() == (n if scheme == "original" else n - (B - 1))


@pytest.mark.parametrize("n", [49, 50, 51])
def test_ranks_are_whole_numbers_where_floats_go_wrong(n):
    p = np.arange(1, n + 1) / 100
    for B in range(1, n // 2):
        fitted = HistogramBinning(B).fit(p, np.arange(n) % 2)
        ranks = np.rint(100 * fitted.edges_[1:-1]).tolist()
        assert ranks == [math.ceil(Fraction(b * (n + 1), B)) for b in range(1, B)]
        assert fitted.counts_.min() >= n // B - 1
    assert [math.ceil(b * (50 / 22)) for b in range(23)] != [
        math.ceil(Fraction(b * 50, 22)) for b in range(23)
    ]


def test_a_split_uses_one_part_for_bins_and_the_other_for_rates():
    p, y = some_rows(200)
    for share in (0.1, 0.5, 0.85):
        fitted = HistogramBinning(5, "split", split=share, seed=3).fit(p, y)
        assert fitted.counts_.sum() == 200 - int(200 * share)
        assert np.isin(fitted.edges_[1:-1], p).all()
        part = np.searchsorted(fitted.edges_[1:-1], p, side="right")
        assert (fitted.counts_ <= np.bincount(part, minlength=5)).all()


@pytest.mark.filterwarnings("ignore::trueness.errors.FewRowsWarning")
def test_fixed_width_is_the_rate_of_each_bin():
    fitted = HistogramBinning(4, "fixed-width").fit([0.1, 0.2, 0.25, 0.8], [0, 1, 1, 0])
    assert fitted.edges_.tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert fitted.values_.tolist() == [
        0.5,
        1.0,
        0.5,
        0.0,
    ]  # the third bin is empty: the rate of all rows
    assert fitted.counts_.tolist() == [2, 1, 0, 1]


def learnt(cal):
    return {
        name: entry["value"]
        for name, entry in cal.to_dict()["learnt"].items()
        if name not in ("seen", "n_rows")
    }


@QUIET
@pytest.mark.parametrize("scheme", SCHEMES)
@given(data=weighted_rows(), B=st.integers(1, 6))
def test_weight_is_repetition(scheme, data, B):
    y, p, w = data
    weighted = HistogramBinning(B, scheme, seed=4).fit(p, y, sample_weight=w)
    times = w.astype(int)
    written = HistogramBinning(B, scheme, seed=4).fit(np.repeat(p, times), np.repeat(y, times))
    assert learnt(weighted) == learnt(written)


@QUIET
@pytest.mark.parametrize("scheme", SCHEMES)
@given(pairs=rows, B=st.integers(1, 6), order=st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(scheme, pairs, B, order):
    y, p = arrays(pairs)
    at = list(range(y.size))
    order.shuffle(at)
    assert learnt(HistogramBinning(B, scheme, seed=4).fit(p, y)) == learnt(
        HistogramBinning(B, scheme, seed=4).fit(p[at], y[at])
    )


@QUIET
@pytest.mark.parametrize("scheme", SCHEMES)
@given(pairs=rows, B=st.integers(1, 30), new=st.lists(st.floats(0, 1), max_size=20))
def test_every_score_has_a_bin_and_no_value_is_nan(scheme, pairs, B, new):
    y, p = arrays(pairs)
    fitted = HistogramBinning(B, scheme, seed=4).fit(p, y)
    found = fitted.predict(np.array([0.0, 1.0, 5e-324, *p, *new]))
    assert ((found >= 0) & (found <= 1)).all()
    assert fitted.edges_.size == fitted.n_bins_ + 1 == fitted.values_.size + 1


@QUIET
@pytest.mark.parametrize("scheme", ["umd", "original"])
@given(pairs=rows, B=st.integers(1, 6))
def test_swapping_the_labels_swaps_the_values(scheme, pairs, B):
    y, p = arrays(pairs)
    one, other = (HistogramBinning(B, scheme).fit(p, labels).values_ for labels in (y, 1 - y))
    np.testing.assert_allclose(one, 1 - other, atol=1e-12)


def test_ties_are_a_warning_that_names_the_scheme_for_them():
    with pytest.warns(
        TiedScoresWarning, match="3 of 6 rows share their score.*scheme='randomized'"
    ):
        HistogramBinning(2).fit([0.1, 0.5, 0.5, 0.5, 0.8, 0.9], [0, 1, 0, 1, 1, 1])
    HistogramBinning(2, "randomized", seed=0).fit(
        [0.1, 0.5, 0.5, 0.5, 0.8, 0.9], [0, 1, 0, 1, 1, 1]
    )


@QUIET
def test_tied_rows_of_umd_count_with_their_mean_label():
    # Ranks 1..7, the boundary is rank 4; ranks 3 to 5 are tied with labels 1, 0, 0.
    fitted = HistogramBinning(2).fit([0.1, 0.2, 0.5, 0.5, 0.5, 0.8, 0.9], [0, 0, 1, 0, 0, 1, 1])
    np.testing.assert_allclose(fitted.values_, [(1 / 3) / 3, (1 / 3 + 2) / 3])


def test_a_single_score_is_shared_out_among_the_bins_at_random():
    rng = np.random.default_rng(0)
    p, y = np.full(400, 0.5), rng.integers(0, 2, 400)
    fitted = HistogramBinning(4, "randomized", seed=1).fit(p, y)
    assert fitted.edges_.tolist() == [0, 0.5, 0.5, 0.5, 1]
    assert (np.diff(fitted.ties_) > 0).all()
    assert np.unique(fitted.values_).size == 4
    found = fitted.predict(np.full(20_000, 0.5))
    share = np.array([(found == value).mean() for value in fitted.values_])
    expected = np.diff(fitted.ties_, prepend=0, append=1)
    assert np.abs(share - expected).max() < 4 * 0.5 / math.sqrt(20_000)


def test_a_seed_fixes_fit_and_predict():
    p, y = np.repeat([0.2, 0.4, 0.8], 50), np.tile([0, 1, 1], 50)
    new = np.repeat([0.2, 0.4, 0.8], 200)
    one, same = (HistogramBinning(4, "randomized", seed=7).fit(p, y) for _ in range(2))
    assert learnt(one) == learnt(same)
    assert (one.predict(new) == one.predict(new)).all()
    assert (one.predict(new) == same.predict(new)).all()
    assert (
        one.predict(new[:300]) == one.predict(new)[:300]
    ).all()  # a row's draw depends on its place alone
    other = HistogramBinning(4, "randomized", seed=8).fit(p, y)
    assert learnt(one) != learnt(other)
    for seed in (None, np.random.default_rng(0)):
        fresh = HistogramBinning(4, "randomized", seed=seed).fit(p, y)
        assert (fresh.predict(new) != fresh.predict(new)).any()


@QUIET
@given(pairs=rows, B=st.integers(1, 5))
def test_random_order_spares_scores_that_are_no_edge(pairs, B):
    y, p = arrays(pairs)
    fitted = HistogramBinning(B, "randomized", seed=2).fit(p, y)
    inner = fitted.edges_[1:-1]
    free = np.setdiff1d(np.linspace(0, 1, 41), inner)
    assert (
        fitted.predict(free) == fitted.values_[np.searchsorted(inner, free, side="right")]
    ).all()


def test_auto_takes_the_most_bins_that_keep_epsilon():
    p, y = some_rows(3_000)
    for scheme in ("umd", "randomized", "original", "split"):
        fitted = HistogramBinning("auto", scheme, epsilon=0.12, seed=0).fit(p, y)
        assert fitted.n_bins_ == max_bins(3_000, 0.12, scheme=scheme) > 1
    assert HistogramBinning("auto", epsilon=0.12, alpha=0.3).fit(p, y).n_bins_ == max_bins(
        3_000, 0.12, alpha=0.3
    )
    fitted = HistogramBinning("auto", "split", epsilon=0.12, split=0.2, seed=0).fit(p, y)
    assert fitted.n_bins_ == max_bins(3_000, 0.12, scheme="split", split=0.2)


@pytest.mark.parametrize(("n", "B"), [(1_000, 5), (5_000, 10), (20_000, 22), (100, 2)])
def test_auto_without_epsilon_is_the_advice_of_figure_2(n, B):
    p, y = some_rows(n)
    assert HistogramBinning("auto").fit(p, y).n_bins_ == B


def test_few_rows_make_fewer_bins_and_a_warning():
    with pytest.warns(
        FewRowsWarning, match="5 rows are too few for 10 bins with a label each; 2 bins are used"
    ):
        assert HistogramBinning(10).fit([0.1, 0.2, 0.3, 0.4, 0.5], [0, 1, 0, 1, 1]).n_bins_ == 2
    with pytest.warns(
        FewRowsWarning, match="8 of 10 bins have no labels and predict the overall event rate"
    ):
        HistogramBinning(10, "fixed-width").fit([0.1, 0.2], [0, 1])


@pytest.mark.parametrize("scheme", ["umd", "randomized", "original"])
@pytest.mark.parametrize("bound", ["hoeffding", "exact"])
def test_the_guarantee_is_what_was_planned(scheme, bound):
    p, y = some_rows(2_900)
    found = HistogramBinning(10, scheme, seed=0).fit(p, y).guarantee(0.05, bound=bound)
    plan = {"alpha": 0.05, "scheme": scheme}
    assert found.epsilon == epsilon(2_900, 10, bound=bound, **plan)
    assert found.marginal == epsilon(2_900, 10, bound=bound, kind="marginal", **plan)
    assert found.expected_ece == epsilon(2_900, 10, kind="expected-ece", **plan)
    assert (found.n, found.n_bins, found.scheme, found.bound, found.alpha) == (
        2_900,
        10,
        scheme,
        bound,
        0.05,
    )


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("bound", ["hoeffding", "exact", "clopper-pearson", "bernstein"])
def test_a_guarantee_names_its_theorem_and_assumptions(scheme, bound):
    p, y = some_rows(1_000)
    found = HistogramBinning(5, scheme, seed=0).fit(p, y).guarantee(bound=bound)
    assert 0 < found.marginal < found.epsilon < 0.5
    assert 0 < found.expected_ece < found.epsilon
    assert "independent draws" in found.assumptions
    assert ("Gupta and Ramdas" in found.theorem) == (scheme in ("umd", "randomized", "original"))
    assert str(found).startswith(
        f"conditional: every bin is within {found.epsilon:.4f} of its event rate"
    )
    assert json.loads(json.dumps(found.to_dict()))["epsilon"] == found.epsilon


def test_weights_that_are_not_whole_enter_by_their_effective_number():
    fitted = HistogramBinning(2, "fixed-width").fit(
        [0.1, 0.2, 0.8, 0.9], [0, 1, 1, 0], sample_weight=[0.5, 1.5, 1, 1]
    )
    assert fitted.values_.tolist() == [0.75, 0.5]
    np.testing.assert_allclose(fitted.counts_, [4 / 2.5, 2])
    found = fitted.guarantee(0.4)
    assert found.epsilon == pytest.approx(min(0.75, math.sqrt(math.log(2 * 2 / 0.4) / (2 * 1.6))))
    assert "weights are independent of labels" in found.assumptions
    assert math.isnan(found.expected_ece)


P, Y = [0.1, 0.2, 0.3, 0.4, 0.6, 0.7], [0, 0, 1, 0, 1, 1]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"scheme": "equal-mass"},
            "`scheme` must be 'umd', 'randomized', 'original', 'split' or 'fixed-width'; got",
        ),
        ({"n_bins": 0}, "`n_bins` must be a whole number ≥ 1; got 0"),
        ({"n_bins": "many"}, "`n_bins` must be a whole number ≥ 1; got 'many'"),
        ({"n_bins": 1 << 25}, "`n_bins` must be at most 1,048,576"),
        ({"epsilon": 0.1}, "`epsilon` is only for `n_bins='auto'`; got epsilon=0.1 with 10 bins"),
        ({"n_bins": "auto", "epsilon": 2}, "`epsilon` must lie strictly between 0 and 1; got 2"),
        (
            {"n_bins": "auto", "epsilon": 0.01},
            r"`epsilon` must be larger: .* needs 14,980 .*; got 6",
        ),
        (
            {"n_bins": "auto", "epsilon": 0.1, "scheme": "fixed-width"},
            "`epsilon` must be None for `scheme='fixed-width'`",
        ),
        ({"alpha": 0}, "`alpha` must lie strictly between 0 and 1; got 0"),
        ({"split": 0.3}, "`split` is only for `scheme='split'`"),
        ({"scheme": "split", "split": 1.5}, "`split` must lie strictly between 0 and 1; got 1.5"),
        ({"seed": -1}, "`seed` must be a whole number ≥ 0, a numpy Generator or None; got -1"),
        ({"seed": "x"}, "`seed` must be"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    with pytest.raises(InputError, match=message):
        HistogramBinning(**parameters).fit(P, Y)


@pytest.mark.parametrize("scheme", ["umd", "randomized", "original", "split"])
def test_ranks_need_whole_weights(scheme):
    with pytest.raises(
        InputError,
        match=f"must be whole numbers for `scheme='{scheme}'`.*'fixed-width'` takes any weights",
    ):
        HistogramBinning(2, scheme).fit(P, Y, sample_weight=[1, 1, 0.5, 1, 1, 1])


@QUIET
@pytest.mark.parametrize("scheme", ["umd", "original"])
def test_ties_at_a_boundary_leave_no_guarantee(scheme):
    fitted = HistogramBinning(2, scheme).fit([0.1, 0.2, 0.2, 0.2, 0.5], [0, 1, 1, 0, 1])
    with pytest.raises(
        InputError, match=r"score of a boundary; they do at 1 of 1 boundaries.*scheme='randomized'"
    ):
        fitted.guarantee()


@QUIET
@pytest.mark.parametrize("scheme", ["umd", "original"])
def test_ties_inside_bins_do_not_change_the_guarantee(scheme):
    fitted = HistogramBinning(2, scheme).fit([0.1, 0.1, 0.3, 0.4, 0.5], [0, 1, 1, 0, 1])
    assert fitted.edges_[1] == 0.3
    assert fitted.guarantee().epsilon == epsilon(5, 2, scheme=scheme)
    assert "2 rows are tied inside bins" in fitted.guarantee().assumptions


def test_a_guarantee_is_refused_where_there_is_none():
    fitted = HistogramBinning(2).fit(P, Y)
    with pytest.raises(
        InputError,
        match="`bound` must be 'hoeffding', 'exact', 'clopper-pearson' or 'bernstein'; got 'x'",
    ):
        fitted.guarantee(bound="x")
    with pytest.raises(InputError, match=r"`alpha` must lie strictly between 0 and 1; got 1\.0"):
        fitted.guarantee(1.0)
    weighted = HistogramBinning(2, "fixed-width").fit(P, Y, sample_weight=np.full(6, 0.5))
    with pytest.raises(
        InputError,
        match="`bound` must be 'hoeffding' when weights are not whole numbers; got 'exact'",
    ):
        weighted.guarantee(bound="exact")
    with (
        pytest.raises(InputError, match="at least two rows per bin; got 1"),
        pytest.warns(match="labels are equal"),
    ):
        HistogramBinning(1).fit([0.3], [1]).guarantee()


@pytest.mark.parametrize(
    ("scheme", "weight", "message"),
    [
        (
            "umd",
            2.0**52,
            r"must sum to at most 4,503,599,627,370,496 for `scheme='umd'`, beyond which float sums",
        ),
        ("original", 1e80, "must sum to at most"),
        ("fixed-width", 2.0**53, "must sum to at most 4,503,599,627,370,496"),
        (
            "randomized",
            2e6,
            "must sum to at most 10,000,000 for `scheme='randomized'`, which draws each repetition",
        ),
        ("split", 2e6, "must sum to at most 10,000,000"),
    ],
)
def test_weights_beyond_what_can_be_counted_are_refused(scheme, weight, message):
    p, y = np.linspace(0.05, 0.95, 10), np.arange(10) % 2
    with pytest.raises(InputError, match=message):
        HistogramBinning(2, scheme).fit(p, y, np.full(10, weight))


def test_ties_at_several_edges_are_broken_by_the_random_number_of_the_row():
    rng = np.random.default_rng(0)
    p = np.concatenate([np.full(60, 0.5), rng.random(40)])
    cal = HistogramBinning(6, "randomized", seed=7).fit(p, rng.integers(0, 2, 100))
    inner, new = cal.edges_[1:-1], np.full(50, 0.5)
    assert (inner == 0.5).sum() >= 2
    below = int((inner < 0.5).sum())
    own = np.random.default_rng([7, 1]).random(50)
    place = [
        below + int((cal.ties_[below : below + int((inner == 0.5).sum())] <= one).sum())
        for one in own
    ]
    assert (cal.predict(new) == cal.values_[place]).all()
    assert len(set(place)) > 1


@pytest.mark.parametrize("share", [0.2, 0.5, 0.85])
def test_a_split_cuts_at_order_statistics_of_the_rows_it_drew(share):
    rng = np.random.default_rng(5)
    p = rng.random(80)
    y = (p > 0.5).astype(int)
    fitted = HistogramBinning(4, "split", split=share, seed=2).fit(p, y)
    drawn = int(80 * share)
    ranks = [math.ceil(Fraction(b * (drawn + 1), 4)) for b in range(1, 4)]
    # Of the drawn rows, all before the first boundary are in the first bin; a boundary is in the bin that it begins.
    in_bins = np.diff([0, *(rank - 1 for rank in ranks), drawn])
    place = np.searchsorted(fitted.edges_[1:-1], p, side="right")
    assert fitted.counts_.tolist() == (np.bincount(place, minlength=4) - in_bins).tolist()
    # Labels follow from scores: only the bin with 0.5 inside has both kinds.
    pure = [np.unique(y[place == b]).size == 1 for b in range(4)]
    assert sum(pure) >= 3
    assert all(fitted.values_[b] == y[place == b][0] for b in range(4) if pure[b])


@QUIET
@pytest.mark.parametrize("scheme", ["umd", "original", "fixed-width"])
def test_the_largest_sum_of_weights_is_accepted(scheme):
    p, y = np.linspace(0.1, 0.9, 8), np.arange(8) % 2
    fitted = HistogramBinning(2, scheme).fit(p, y, np.full(8, 2.0**49))
    assert fitted.n_ == 2**52
    with pytest.raises(InputError, match="must sum to at most 4,503,599,627,370,496"):
        HistogramBinning(2, scheme).fit(p, y, [2.0**49] * 7 + [2.0**49 + 1])


def test_ties_are_counted_by_rows():
    with pytest.warns(TiedScoresWarning, match="5 of 7 rows share their score with another"):
        fitted = HistogramBinning(2).fit([0.1, 0.1, 0.3, 0.5, 0.5, 0.5, 0.9], [0, 1, 1, 0, 1, 1, 1])
    assert (fitted.tied_, fitted.tied_edges_) == (5, 1)
    alone = HistogramBinning(2).fit([0.1, 0.2, 0.3, 0.5, 0.6], [0, 1, 1, 0, 1])
    assert (alone.tied_, alone.tied_edges_) == (0, 0)


@pytest.mark.parametrize(("n", "n_bins", "used"), [(8, 4, 4), (9, 4, 4), (7, 4, 3), (1, 1, 1)])
@pytest.mark.filterwarnings("ignore::trueness.errors.OneClassWarning")
def test_bins_have_two_rows_each(n, n_bins, used, recwarn):
    p, y = np.arange(1, n + 1) / (n + 1), np.arange(n) % 2
    assert HistogramBinning(n_bins).fit(p, y).n_bins_ == used
    words = [str(one.message) for one in recwarn if "too few" in str(one.message)]
    assert words == (
        []
        if used == n_bins
        else [f"{n} rows are too few for {n_bins} bins with a label each; {used} bins are used."]
    )


def test_a_split_has_a_drawn_row_for_each_boundary():
    p, y = np.arange(1, 21) / 21, np.arange(20) % 2
    with pytest.warns(
        FewRowsWarning, match="20 rows are too few for 5 bins with a label each; 3 bins are used"
    ):
        assert HistogramBinning(5, "split", split=0.1, seed=0).fit(p, y).n_bins_ == 3


@QUIET
def test_a_bin_with_no_row_of_its_own_has_the_overall_rate():
    fitted = HistogramBinning(3, "fixed-width").fit([0.1, 0.2, 0.9], [1, 0, 1], [2, 1, 1])
    assert fitted.values_.tolist() == [2 / 3, 0.75, 1.0]
    weighted = HistogramBinning(3, "fixed-width").fit([0.1, 0.2, 0.9], [1, 0, 1], [1.5, 0.5, 1])
    assert weighted.values_.tolist() == pytest.approx([0.75, 2.5 / 3, 1.0])
    assert weighted.counts_.tolist() == pytest.approx([4 / 2.5, 0.0, 1.0])


def test_randomized_values_are_moved_by_less_than_delta_and_differ():
    p, y = some_rows(60)
    plain, moved = (
        HistogramBinning(5).fit(p, y),
        HistogramBinning(5, "randomized", seed=1).fit(p, y),
    )
    off = moved.values_ * (1 + DELTA) - plain.values_
    assert ((off > 0) & (off < DELTA)).all()
    assert np.unique(off.round(14)).size == 5


def test_with_boundary_rows_every_bin_but_the_last_has_one():
    """Of eight rows, the third and the sixth are boundaries, and count in the bins below."""
    fitted = HistogramBinning(3, "original").fit(np.arange(1, 9) / 10, [0, 1, 1, 0, 0, 1, 1, 1])
    assert fitted.counts_.tolist() == [3, 3, 2]
    assert fitted.values_ == pytest.approx([2 / 3, 1 / 3, 1])


def test_bins_between_equal_edges_have_no_part_in_warning_and_guarantee():
    with pytest.warns(FewRowsWarning, match="1 of 4 bins has no labels"):  # the one below 0.2
        fitted = HistogramBinning(4, "split", seed=0).fit(
            [0.2] * 10 + [0.6] * 10, [0, 1] * 5 + [1] * 10
        )
    assert (np.diff(fitted.edges_) == 0).sum() == 1
    assert fitted.guarantee().n_bins == 3

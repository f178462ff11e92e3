"""Labels redrawn from the scores."""

import math

import numpy as np
import pytest

import trueness as tn
from trueness._tally.cells import Cells
from trueness._tally.evidence import Evidence
from trueness.infer.null import _redrawn_labels as _redrawn_labels
from trueness.infer.null._redrawn_labels import (
    _draw_classes,
    _trials,
    caveat,
    count_entries,
    draw_hits,
    is_nearly_normal,
    label_batches,
    monte_carlo_outcome,
    monte_carlo_pvalue,
    of_events,
    redraw_of,
    redraw_of_tally,
    weighted_sums,
    with_draws,
)
from trueness.infer.test._method import Options

pytestmark = pytest.mark.filterwarnings("ignore::trueness.OneClassWarning", "ignore::trueness.FewRowsWarning")


@pytest.mark.parametrize("count", [1, 3, 9, 400])
def test_redrawn_events_are_binomial(count):
    p = np.array([0.0, 0.1, 0.5, 0.93, 1.0])
    cells = tn.tally(np.zeros(5, int), p, sample_weight=[count] * 5).parts[0]
    drawn = np.hstack([hits for (hits,) in label_batches(*count_entries(cells), 20_000, np.random.default_rng(1))]).T
    assert drawn.shape == (20_000, 5)
    deviation = np.sqrt(count * p * (1 - p))
    np.testing.assert_allclose(drawn.mean(axis=0), count * p, atol=(5 * deviation.max() / math.sqrt(20_000)))
    np.testing.assert_allclose(drawn.std(axis=0), deviation, rtol=0.05, atol=1e-12)
    assert (drawn[:, 0] == 0).all()
    assert (drawn[:, 4] == count).all()


def test_many_rows_of_a_score_are_drawn_as_one_binomial_number_entry_by_entry():
    count, p = np.full(40, 50), np.linspace(0, 1, 40)
    (hits,) = draw_hits(p[:, None], count, 7, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    rng.integers(0, 1 << 64, 40 * 7 // 4, dtype=np.uint64)  # the bits of single rows come first; none is undecided
    assert hits.tolist() == [rng.binomial(50, chance, 7).tolist() for chance in p]


def test_numbers_by_tables_and_row_by_row_are_drawn_together():
    """Entries of few rows are drawn row by row, the others by tables; each has its own distribution."""
    count, p = np.tile([1, 5, 40, 2_000], 100), np.repeat(np.linspace(0.01, 0.99, 100), 4)
    (hits,) = draw_hits(p[:, None], count, 999, np.random.default_rng(4))
    assert hits.shape == (400, 999)
    assert (hits <= count[:, None]).all()
    z = (hits.mean(axis=1) - count * p) / np.sqrt(count * p * (1 - p) / 999)
    assert np.abs(z).max() < 4.5
    assert (z**2).sum() == pytest.approx(400, abs=4.5 * math.sqrt(800))
    (again,) = draw_hits(p[:, None], count, 999, np.random.default_rng(4))
    assert np.array_equal(again, hits)


def test_billions_of_rows_of_a_score_are_drawn_around_their_mean():
    """Few outcomes are probable, so that tables would serve, but the numbers do not fit 32 bits."""
    count, p = np.full(200, 5 * 10**9), np.repeat([1e-5, 1 - 1e-5], 100)
    (hits,) = draw_hits(p[:, None], count, 999, np.random.default_rng(4))
    z = (hits.mean(axis=1) - count * p) / np.sqrt(count * p * (1 - p) / 999)
    assert np.abs(z).max() < 4.5


def test_labels_are_drawn_with_chances_that_sixteen_bits_cannot_hold():
    """Two steps of 2⁻¹⁶ apart, and with a part that only the further bits can tell."""
    step = 2.0**-16
    p = np.array([0.25 * step, 0.75 * step, 1.5 * step, 1 - 0.25 * step])
    draws = 4_000_000
    rng = np.random.default_rng(7)
    hits = sum(_trials(p, draws // 20, rng).sum(axis=1, dtype=np.int64) for _ in range(20))
    assert np.abs(hits - draws * p).max() < 5 * math.sqrt(draws * 1.5 * step)


@pytest.mark.parametrize("count", [[1, 1, 1, 1], [1, 2, 9, 60]])
def test_several_classes_of_a_row_exclude_each_other(count):
    z = np.array([[0.5, 0.2, 0.2, 0.1], [0.1, 0.2, 0.3, 0.1], [0.6, 0.0, 0.3, 0.1], [1.0, 0.0, 0.0, 0.0]])
    n, draws = np.array(count), 8_000
    hits = np.array(draw_hits(z, n, draws, np.random.default_rng(2)), dtype=float)
    assert hits.shape == (4, 4, draws)
    assert (hits.sum(axis=0) <= n[:, np.newaxis]).all()
    assert (hits[:, 0].sum(axis=0) == n[0]).all()
    assert (hits[:, 3] == [[n[3]], [0], [0], [0]]).all()
    mean, variance = n * z.T, n * (z * (1 - z)).T
    assert (np.abs(hits.mean(axis=2) - mean) <= 4.5 * np.sqrt(variance / draws) + 1e-12).all()
    np.testing.assert_allclose(hits.var(axis=2), variance, rtol=0.12, atol=1e-12)
    # Two classes of one row: −n p q.
    product = ((hits[0] - mean[0][:, np.newaxis]) * (hits[2] - mean[2][:, np.newaxis])).mean(axis=1)
    np.testing.assert_allclose(product, -n * z[:, 0] * z[:, 2], rtol=0.15, atol=0.02 * n.max() ** 0.5)


@pytest.mark.parametrize(("rows", "draws"), [(1, 1), (3, 1_000), (5_000, 77), (70_000, 40)])
def test_batches_have_all_draws_and_bounded_memory(rows, draws):
    batches = [
        hits for (hits,) in label_batches(np.full((rows, 1), 0.5), np.ones(rows, int), draws, np.random.default_rng(0))
    ]
    assert sum(hits.shape[1] for hits in batches) == draws
    assert {len(hits) for hits in batches} == {rows}
    assert max(hits.size for hits in batches) <= 1 << 22


def test_tables_of_binomial_numbers_serve_large_batches_of_bounded_memory():
    z, count = np.linspace(0.1, 0.9, 3_000)[:, np.newaxis], np.full(3_000, 9)
    sizes = [hits.shape[1] for (hits,) in label_batches(z, count, 1_500, np.random.default_rng(0))]
    assert sizes == [(1 << 22) // 3_000, 1_500 - (1 << 22) // 3_000]


def test_a_draw_of_very_many_scores_is_a_batch_of_its_own(monkeypatch):
    monkeypatch.setattr(_redrawn_labels, "_MOST", 100)
    batches = [
        hits.shape for (hits,) in label_batches(np.full((60, 1), 0.5), np.ones(60, int), 3, np.random.default_rng(0))
    ]
    assert batches == [(60, 1)] * 3


def test_labels_are_drawn_by_default_if_the_limit_is_not_accurate_and_they_are_affordable():
    """2·10⁸ labels are 999 sets of 200,200."""
    options = Options(None, None, np.random.default_rng(0), False, None)

    def resamples(size, *, accurate=False, asked=None, dtype=np.int64):
        one = np.ones(size, dtype=dtype)
        cells = Cells(np.linspace(0, 1, size), np.ones(size, dtype=np.int64), one, one)
        return with_draws(cells, options._replace(resamples=asked), accurate=accurate).resamples

    assert resamples(10) == 999
    assert resamples(10, accurate=True) is None
    assert resamples(10, accurate=True, asked=49) == 49
    assert resamples(10, asked=49) == 49
    assert resamples(200_200) == 999
    assert resamples(200_201) is None
    assert resamples(10, dtype=np.float64) is None
    assert caveat(accurate=True) == ""
    assert caveat(accurate=False).endswith("the p-value may be too small.")


def lyapunov(p, w, c):
    """Σ |cw|³ E|y − p|³ / (Σ c² w² p(1 − p))^1.5, row by row."""
    third = sum(abs(a * b) ** 3 * (s * (1 - s) ** 3 + (1 - s) * s**3) for s, b, a in zip(p, w, c, strict=True))
    return third / sum(a**2 * b**2 * s * (1 - s) for s, b, a in zip(p, w, c, strict=True)) ** 1.5


def test_a_sum_is_nearly_normal_up_to_a_lyapunov_ratio_of_a_fifth():
    for n, expected in ((24, False), (25, True)):  # at p = 1/2 the ratio is 1/√n
        cells = tn.tally([0] * n, [0.5] * n).parts[0]
        assert is_nearly_normal(cells, np.ones(1)) == expected
        weighted = tn.tally([0] * n, [0.5] * n, sample_weight=[2.25] * n).parts[0]
        assert is_nearly_normal(weighted, np.array([3.0])) == expected
        whole = tn.tally([0], [0.5], sample_weight=[n]).parts[0]
        assert is_nearly_normal(whole, np.ones(1)) == expected


def test_the_lyapunov_ratio_is_that_of_the_rows():
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(40):
        n = int(rng.integers(10, 120))
        p = np.sort(rng.beta(1, 2, n))
        w = rng.choice([0.5, 1.5], n)
        c = rng.normal(size=n) * (rng.random() < 0.5) + 1
        cells = tn.tally([0] * n, p, sample_weight=w).parts[0]
        found = is_nearly_normal(cells, c)
        assert found == (lyapunov(p, w, c) <= 0.2)
        assert is_nearly_normal(cells, np.ones(n), c) == (found and lyapunov(p, w, np.ones(n)) <= 0.2)
        seen.add(found)
    assert seen == {True, False}


def test_a_monte_carlo_p_value_counts_the_observed_and_its_equals():
    drawn = np.array([0.0, 1.0, 2.0, 1.0 - 1e-12])
    assert monte_carlo_pvalue(1.0, drawn) == 4 / 5
    assert monte_carlo_pvalue(2.5, drawn) == 1 / 5
    assert monte_carlo_pvalue(-1.0, drawn) == 1
    # The slack is a part of the spread, or of the observed value if that is larger.
    assert monte_carlo_pvalue(1e-9, np.array([0.0, 100.0, -100.0])) == 3 / 4
    assert monte_carlo_pvalue(1e6 + 0.05, np.array([1e6, 1e6, 1e6])) == 1
    assert monte_carlo_pvalue(1e6 + 0.2, np.array([1e6, 1e6, 1e6])) == 1 / 4
    assert monte_carlo_pvalue(np.inf, np.array([1.0, np.inf, 2.0])) == 2 / 4
    both = monte_carlo_pvalue(np.array([1.0, 5.0]), np.array([[0.0, 6.0], [2.0, 7.0], [1.0, 4.0]]))
    assert both.tolist() == [3 / 4, 3 / 4]


def test_the_outcome_of_redrawn_labels():
    cells = tn.tally([0, 1, 1, 1], [0.2, 0.2, 0.4, 0.9]).parts[0]
    options = Options(None, None, np.random.default_rng(0), False, None)
    events = of_events(lambda hits: hits.sum(axis=1))
    found = monte_carlo_outcome(events, cells, options)
    assert (found.statistic, found.smallest) == (3, 0.001)
    assert found.assumptions.endswith("999 sets of labels were drawn from the scores.")
    found = monte_carlo_outcome(events, cells, options._replace(resamples=4_999), rows="So", detail="More.")
    assert found.assumptions.startswith("So; the level is exact at any n: 4,999 sets")
    assert found.assumptions.endswith("scores. More.")
    # By hand: at least 3 events of probabilities 0.2, 0.2, 0.4 and 0.9.
    exact = sum(
        math.prod(q if hit else 1 - q for q, hit in zip((0.2, 0.2, 0.4, 0.9), hits, strict=True))
        for hits in np.ndindex(2, 2, 2, 2)
        if sum(hits) >= 3
    )
    assert found.pvalue == pytest.approx(exact, abs=4.5 * math.sqrt(exact / 5_000))


def test_weighted_sums_of_rows():
    assert weighted_sums(np.array([[1.0, 2.0], [3.0, 5.0]]), np.array([10.0, 1.0])).tolist() == [12, 35]


class Constant:
    """A generator of one number."""

    def __init__(self, value):
        self.value = value

    def random(self, size):
        return np.full(size, self.value)


@pytest.mark.parametrize("classes", [2, 3, 4, 7])
def test_a_class_is_where_the_cumulative_scores_first_exceed_a_share_of_their_sum(classes):
    reached = np.cumsum(np.random.default_rng(classes).dirichlet(np.ones(classes), 40) * 0.7, axis=1)
    rows = np.array([3, 3, 0, 39, 17])
    for u in (0.0, 0.1, 0.35, 0.5, 0.77, 0.95, np.nextafter(1, 0)):
        found = _draw_classes(reached, rows, Constant(u))
        expected = [next(k for k in range(classes) if reached[r, k] > u * reached[r, -1]) for r in rows]
        assert found.tolist() == expected


P = np.array([0.2, 0.5, 0.5, 0.7, 0.7, 0.7, 0.9])
M = np.array([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.05, 0.05, 0.9], [0.5, 0.2, 0.3], [0.1, 0.1, 0.8]])
W = np.array([0.5, 2.0, 0.0, 1.5, 3.25])


def drawn_tallies(redraw, number, seed=0):
    rng = np.random.default_rng(seed)
    return [redraw(rng) for _ in range(number)]


def unlabelled(p, rows, weight_type):
    return Evidence.of(np.zeros(len(p), int), p, rows, two_columns="keep", weight_type=weight_type)


def test_rows_without_weights_have_binomial_events_in_cells():
    redraw, _ = redraw_of(unlabelled(P, {}, "frequency"))
    events = np.array([one.parts[0].events for one in drawn_tallies(redraw, 3_000)])
    n, p = np.array([1, 2, 3, 1]), np.array([0.2, 0.5, 0.7, 0.9])
    np.testing.assert_allclose(events.mean(axis=0), n * p, atol=0.08)
    np.testing.assert_allclose(events.var(axis=0), n * p * (1 - p), rtol=0.15)
    assert (events <= n).all()


def test_importance_weights_draw_one_label_per_row_with_its_squares():
    rows = {"sample_weight": W}
    redraw, _ = redraw_of(unlabelled(P[:5], rows, "importance"))
    tallies = drawn_tallies(redraw, 2_000)
    for tally in tallies[:50]:
        (part,) = tally.parts
        assert part.score.tolist() == [0.2, 0.5, 0.7]
        assert part.weight.tolist() == [0.5, 2.0, 4.75]
        assert set(part.events.tolist()) <= {0, 0.5, 2, 1.5, 3.25, 4.75}
        squares = {0: 0, 0.5: 0.25, 2: 4, 1.5: 2.25, 3.25: 3.25**2, 4.75: 2.25 + 3.25**2}
        assert part.event_squares.tolist() == [squares[one] for one in part.events.tolist()]
    events = np.array([tally.parts[0].events for tally in tallies])
    np.testing.assert_allclose(events.mean(axis=0), [0.1, 1.0, 0.7 * 4.75], atol=0.17)
    assert np.var(events[:, 2]) == pytest.approx(0.21 * (1.5**2 + 3.25**2), rel=0.15)


def test_whole_importance_weights_have_whole_events():
    redraw, _ = redraw_of(unlabelled(P, {"sample_weight": [3, 1, 1, 2, 2, 0, 4]}, "importance"))
    for tally in drawn_tallies(redraw, 20):
        assert tally.parts[0].whole
        assert set((tally.parts[0].events % [3, 1, 2, 4]).tolist()) == {0}


@pytest.mark.parametrize("kind", ["confidence", "top-label"])
def test_the_top_label_is_right_with_its_score_whatever_its_weight(kind):
    redraw, _ = redraw_of(unlabelled(M, {"sample_weight": W, "kind": kind}, "importance"))
    tallies = drawn_tallies(redraw, 800)
    total = np.mean([sum(part.events.sum() for part in tally.parts) for tally in tallies])
    assert total == pytest.approx(W @ M.max(axis=1), abs=0.3)
    assert len(tallies[0].parts) == (1 if kind == "confidence" else 3)
    if kind == "top-label":  # class 2 is not predicted
        some, _ = redraw_of(unlabelled(M[:2], {"sample_weight": [0.5, 0.5], "kind": kind}, "importance"))
        assert [part.size for part in some(np.random.default_rng(0)).parts] == [1, 1, 0]


def test_classwise_weights_draw_one_class_per_row():
    redraw, _ = redraw_of(unlabelled(M, {"sample_weight": W, "kind": "classwise"}, "importance"))
    tallies = drawn_tallies(redraw, 600)
    events = np.array([[part.events.sum() for part in tally.parts] for tally in tallies])
    np.testing.assert_allclose(events.sum(axis=1), W.sum())
    np.testing.assert_allclose(events.mean(axis=0), W @ M, atol=0.35)
    squares = [sum(part.event_squares.sum() for part in tally.parts) for tally in tallies[:9]]
    np.testing.assert_allclose(squares, W @ W)
    whole, _ = redraw_of(unlabelled(M, {"sample_weight": [2, 0, 1, 3, 1], "kind": "classwise"}, "frequency"))
    events = np.array([[part.events.sum() for part in tally.parts] for tally in drawn_tallies(whole, 800)])
    assert (events.sum(axis=1) == 7).all()
    assert [part.events.size for part in whole(np.random.default_rng(0)).parts] == [4, 4, 4]
    np.testing.assert_allclose(events.mean(axis=0), [2, 0, 1, 3, 1] @ M, atol=0.2)
    # Rows of weight 2 have two labels.
    np.testing.assert_allclose(events.var(axis=0), [2, 0, 1, 3, 1] @ (M * (1 - M)), rtol=0.25)


def test_sums_of_equal_weights_have_one_label_per_row():
    tally = tn.tally([0, 1, 1, 0, 1], [0.3, 0.3, 0.6, 0.6, 0.6], sample_weight=[2.5, 2.5, 0.5, 0.5, 0.5])
    redraw, same = redraw_of_tally(tally, "importance")
    assert same is tally
    for one in drawn_tallies(redraw, 30):
        (part,) = one.parts
        assert set((part.events / [2.5, 0.5]).tolist()) <= {0, 1, 2, 3}
        np.testing.assert_allclose(part.event_squares, part.events * [2.5, 0.5])
    plain, _ = redraw_of_tally(tn.tally([0, 1], [0.3, 0.6]), "importance")
    assert plain(np.random.default_rng(0)).parts[0].squares is None
    whole = tn.tally([0, 1, 1], [0.3, 0.3, 0.6], sample_weight=[4, 4, 3])
    for one in drawn_tallies(redraw_of_tally(whole, "importance")[0], 20):
        assert one.parts[0].whole
        assert set((one.parts[0].events % [4, 3]).tolist()) == {0}
    counted, sums = redraw_of_tally(whole, "frequency")
    assert sums.parts[0].count.tolist() == [8, 3]
    assert len({one.parts[0].events[0] for one in drawn_tallies(counted, 60)}) > 3


def test_scores_of_zero_and_one_leave_no_label_to_chance():
    never, always = _trials(np.array([0.0, 1.0]), 1 << 20, np.random.default_rng(0))
    assert not never.any()
    assert always.all()


def test_one_row_is_enough():
    redraw, _ = redraw_of_tally(tn.tally([1], [0.5]), "frequency")
    assert {int(one.parts[0].events[0]) for one in drawn_tallies(redraw, 40)} == {0, 1}


def test_small_weights_that_differ_are_different():
    tally = tn.tally([0, 1, 1], [0.3, 0.3, 0.6], sample_weight=[0.001, 0.003, 0.001])
    with pytest.raises(tn.InputError, match="rows of one score have different weights"):
        redraw_of_tally(tally, "importance")


class Bits(Constant):
    """A generator of the same 16 bits, again and again, and of one number."""

    def __init__(self, bits, value):
        super().__init__(value)
        self.bits = bits

    def integers(self, low, high, size, dtype):
        return np.full(size, self.bits * 0x0001000100010001, dtype=dtype)


@pytest.mark.parametrize(
    ("score", "bits", "rest", "hit"),
    [
        (5.25 / 65_536, 4, 0.9, 1),
        (5.25 / 65_536, 6, 0.1, 0),
        (5.25 / 65_536, 5, 0.2, 1),
        (5.25 / 65_536, 5, 0.3, 0),
        (1.0, 65_535, 0.999, 1),
        (0.0, 0, 0.0, 0),
    ],
)
@pytest.mark.all_cases
def test_further_bits_decide_where_sixteen_tie(score, bits, rest, hit):
    assert _trials(np.array([score]), 5, Bits(bits, rest)).tolist() == [[hit] * 5]

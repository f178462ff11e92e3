"""Labels redrawn from the scores."""

import math

import numpy as np
import pytest

import trueness as tn
from trueness.infer._redrawn_labels import _trials, count_entries, draw_hits, label_batches

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

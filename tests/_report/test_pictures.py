"""The embedded sums give what the library computes, for every rule that the page offers."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueness as tn
from trueness._report.pictures import OFFERED, explorer, offered
from trueness._tally.rules import as_rule

TIES = st.sampled_from([0.0, 0.1, 0.2, 0.29, 0.3, 1 / 3, 0.5, 0.57, 0.7, 0.9, 1.0])
ROWS = st.lists(st.tuples(st.integers(0, 1), st.one_of(TIES, st.floats(0, 1))), min_size=1, max_size=60)


def error_of(found, kind, n):
    """What the script computes, in Python."""
    start = np.array(found.rules[kind][str(n)]["start"])
    runs = [slice(a, b) for a, b in pairwise(start)]
    score = [sum(found.high[run]) * 2.0**-26 + sum(found.low[run]) * 2.0**-53 for run in runs]
    excess = np.array([sum(found.events[run]) for run in runs]) - np.array(score)
    return float(np.abs(excess).sum()) / sum(found.weight)


@pytest.mark.filterwarnings("ignore::trueness.errors.TruenessWarning")
@given(rows=ROWS)
def test_every_offered_number_of_bins_is_exact(rows):
    y, p = map(np.array, zip(*rows, strict=True))
    tally = tn.tally(y, p)
    found = explorer("all", tally.parts[0], as_rule(10), 0.95)
    for n in OFFERED:
        assert error_of(found, "width", n) == tn.ece(tally, bins=n)
        assert error_of(found, "mass", n) == tn.ace(tally, bins=n)


def test_intervals_are_those_of_the_table(edges):
    found = explorer("all", tn.tally(*edges).parts[0], as_rule(10), 0.9)
    table = tn.bin_table(*edges, bins=7, level=0.9)
    np.testing.assert_allclose(found.rules["width"]["7"]["low"], table.low, atol=1e-6)
    np.testing.assert_allclose(found.rules["width"]["7"]["high"], table.high, atol=1e-6)


def test_there_are_no_more_cells_than_cuts(edges):
    y, p = np.tile(edges[0], 50), np.random.default_rng(0).random(30_000)
    found = explorer("all", tn.tally(y, p).parts[0], as_rule(10), 0.95)
    assert len(found.n) < 2 * sum(OFFERED)
    assert sum(found.n) == 30_000


@pytest.mark.filterwarnings("ignore::trueness.errors.FewRowsWarning")
def test_what_is_asked_for_is_offered():
    assert offered(as_rule(10)) == OFFERED
    assert 13 in offered(tn.EqualMass(13))
    assert 500 not in offered(as_rule(500))
    found = explorer("all", tn.tally([0, 1, 1], [0.1, 0.5, 0.9]).parts[0], as_rule(500), 0.95)
    assert (found.rule, found.bins) == ("given", "500")
    assert error_of(found, "given", 500) == pytest.approx(tn.ece([0, 1, 1], [0.1, 0.5, 0.9], bins=500), abs=1e-15)


@pytest.mark.parametrize("rule", ["width", "mass"])
def test_every_offered_number_of_bins_has_its_own_simultaneous_band(edges, rule):
    tally = tn.tally(*edges)
    found = explorer("all", tally.parts[0], as_rule(10), 0.95)
    for n in OFFERED:
        bins = tn.EqualWidth(n) if rule == "width" else tn.EqualMass(n)
        wanted = tn.reliability_bands(tally, bins=bins, band="simultaneous-consistency")
        np.testing.assert_allclose(found.rules[rule][str(n)]["least"], wanted.low, atol=1e-6)
        np.testing.assert_allclose(found.rules[rule][str(n)]["most"], wanted.high, atol=1e-6)
        assert list(found.rules[rule][str(n)]["outside"]) == np.flatnonzero(wanted.outside).tolist()


def test_bands_from_pooled_scores_are_at_most_a_count_off():
    rng = np.random.default_rng(5)
    p = rng.beta(0.5, 2, 20_000)
    tally = tn.tally((rng.random(p.size) < p).astype(int), p)
    found = explorer("all", tally.parts[0], as_rule(10), 0.95)
    for n in (2, 10, 50):
        wanted = tn.reliability_bands(tally, bins=tn.EqualMass(n), band="simultaneous-consistency")
        one = found.rules["mass"][str(n)]
        assert np.all(np.abs(np.array(one["least"]) - wanted.low) * wanted.n < 1.1)
        assert np.all(np.abs(np.array(one["most"]) - wanted.high) * wanted.n < 1.1)


def test_fractional_weights_have_bands_too(edges):
    w = np.random.default_rng(0).random(600) + 0.5
    tally = tn.tally(*edges, sample_weight=w)
    found = explorer("all", tally.parts[0], as_rule(10), 0.95)
    wanted = tn.reliability_bands(tally, bins=10, band="simultaneous-consistency")
    np.testing.assert_allclose(found.rules["width"]["10"]["least"], wanted.low, atol=1e-6)

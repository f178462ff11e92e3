"""Sums over segments of cells."""

import numpy as np
import pytest

import trueness as tn
from trueness._tally.cells import score_sums, segment_sums


@pytest.mark.parametrize("n", [1, 40, 512, 513, 100_000])
@pytest.mark.parametrize("weights", ["none", "whole", "other"])
def test_sums_of_scores_are_those_of_the_products_to_the_bit(n, weights):
    rng = np.random.default_rng(n)
    w = {"none": None, "whole": rng.integers(1, 5, n), "other": rng.random(n) + 0.1}[weights]
    cells = tn.tally(np.arange(n) % 2, rng.random(n), sample_weight=w).parts[0]
    for cuts in 0, 3, 50:
        starts = np.union1d([0], rng.integers(0, n, cuts))
        assert score_sums(cells, starts).tolist() == segment_sums(cells.weight * cells.score, starts).tolist()

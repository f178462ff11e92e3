"""Means of validity over runs."""

import json

import numpy as np
import pytest

import trueness as tn
from trueness_papers.gupta.runs import ValidityRuns, draw_runs, mean_validity, validity_runs

Y, P = np.arange(400) % 3 == 0, np.linspace(0.05, 0.95, 400)


def curves():
    rng = np.random.default_rng(0)
    return [tn.validity_curve(rng.integers(0, 2, 60), np.repeat([0.2, 0.5, 0.9], 20)) for _ in range(7)]


def test_the_mean_is_that_of_the_curves_at_every_point():
    every = curves()
    found = mean_validity(every)
    for epsilon in [0, 0.05, *found.jumps, 1]:
        values = np.array([curve(epsilon) for curve in every])
        assert found(epsilon) == pytest.approx(values.mean(), abs=1e-12)
        assert found.error_at(epsilon) == pytest.approx(values.std(ddof=1) / np.sqrt(7), abs=1e-12)
        worst = np.array([curve.epsilon(1) <= epsilon + 1e-12 for curve in every])
        assert found.conditional(epsilon) == pytest.approx(worst.mean(), abs=1e-12)


def test_conditional_validity_is_about_the_worst_value_and_never_above_marginal():
    every = curves()
    found = mean_validity(every)
    assert found.conditional.jumps.tolist() == sorted({curve.jumps[-1] for curve in every})
    grid = np.linspace(0, 1, 201)
    assert (found.conditional(grid) <= found(grid) + 1e-12).all()


def test_calibrators_meet_the_same_rows_and_the_record_survives_json():
    seen = {}

    class Spy(tn.HistogramBinning):
        def __init__(self, n_bins=10, seed=None):
            super().__init__(n_bins, "fixed-width", seed=seed)

        def fit(self, p, y):
            seen.setdefault(self.n_bins, []).append((p, self.seed))
            return super().fit(p, y)

    found = [validity_runs(Spy(n_bins), Y, P, 200, 100, 3, seed=1) for n_bins in (2, 3)]
    assert all(np.array_equal(a, b) for (a, _), (b, _) in zip(seen[2], seen[3], strict=True))
    assert len({seed for _, seed in seen[2]}) == 3
    assert all(p.shape == (200,) for p, _ in seen[2])
    again = ValidityRuns.from_dict(json.loads(json.dumps(found[0].to_dict())))
    assert again.to_dict() == found[0].to_dict()


def test_bands_are_two_standard_errors_wide():
    error, jumps = np.array([0.05, 0.0]), np.array([0.01, 0.1])
    drawn = draw_runs({"umd": ValidityRuns(jumps, np.array([0.4, 1.0]), error, 4)})
    assert {0.3, 0.5} <= set(drawn.ax_.collections[0].get_paths()[0].vertices[:, 1].round(9))

"""Means of validity over runs."""

import json

import numpy as np

import trueness as tn
from trueness_papers.gupta.runs import draw_runs, runs_from_dict, validity_runs

Y, P = np.arange(400) % 3 == 0, np.linspace(0.05, 0.95, 400)


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
    again = runs_from_dict(json.loads(json.dumps(found[0].to_dict())))
    assert again.to_dict() == found[0].to_dict()


def test_bands_are_two_standard_errors_wide():
    error, jumps = np.array([0.05, 0.0]), np.array([0.01, 0.1])
    drawn = draw_runs({"umd": tn.results.ValidityRuns(jumps, np.array([0.4, 1.0]), error, 4)})
    assert {0.3, 0.5} <= set(drawn.ax_.collections[0].get_paths()[0].vertices[:, 1].round(9))

"""Every public function reads its rows once."""

from functools import partial

import numpy as np
import pytest

import trueness as tn
from trueness._tally import rows_or_sums

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
RNG = np.random.default_rng(0)
P = RNG.random(60).round(2)
Y = (RNG.random(60) < P).astype(int)
ROWS = {
    "plain": (Y, P, {}),
    "weights": (Y, P, {"sample_weight": RNG.random(60) + 0.5}),
    "clusters": (Y, P, {"cluster": np.arange(60) // 2}),
    "two columns": (Y, np.column_stack([1 - P, P]), {}),
    "classes": (RNG.integers(0, 3, 60), RNG.dirichlet(np.ones(3), 60), {}),
}
FUNCTIONS = {
    "calibration_test": lambda y, p, **o: tn.calibration_test(y, p, resamples=19, seed=0, **o),
    "cumulative_walk": tn.infer.cumulative_walk,
    "curve_band": tn.curve_band,
    "ece_interval": tn.ece_interval,
    "equivalence_test": lambda y, p, **o: tn.equivalence_test(
        y, p, criterion="oe", within=0.9, seed=0, **o
    ),
    "estimate of the ECE": lambda y, p, **o: tn.estimate("ece", y, p, seed=0, **o),
    "estimate of the l2 error": lambda y, p, **o: tn.estimate("ece_l2", y, p, seed=0, **o),
    "monotone_band": partial(tn.curve_band, method="monotone"),
    "noise_floor": lambda y, p, **o: tn.noise_floor(tn.ece, p, y_true=y, resamples=9, seed=0, **o),
    "panel": lambda y, p, **o: tn.panel(y, p, seed=0, floor=False, **o),
    "powered": lambda y, p, **o: tn.powered(y, y, p, seed=0, **o),
    "prior_shift": tn.prior_shift,
    "reliability_bands": partial(tn.curve_band, method="bins"),
    "slices": lambda y, p, **o: tn.worst_slices(
        y, p, {"x": np.arange(60) % 2}, min_rows=5, seed=0, **o
    ),
    "segments": lambda y, p, **o: tn.segments(y, p, by=np.arange(60) % 2, seed=0, **o),
}


@pytest.fixture
def reads(monkeypatch):
    """One entry for each time that labels and scores are read."""
    found = []

    def counted(reader):
        def read(*rows, **options):
            sample = reader(*rows, **options)
            found.extend([sample] if sample is not None else [])
            return sample

        return read

    for name in ("plain_sample", "read_sample"):
        monkeypatch.setattr(rows_or_sums, name, counted(getattr(rows_or_sums, name)))
    return found


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_public_function_reads_its_rows_once(name, reads):
    answered = []
    for rows, (y, p, options) in ROWS.items():
        reads.clear()
        try:
            FUNCTIONS[name](y, p, **options)
            answered.append(rows)
        except (tn.InputError, TypeError):  # not for these rows
            assert len(reads) <= 1, rows
        else:
            assert len(reads) == 1, rows
    assert answered[0] == "plain"
    assert len(answered) >= 3


def test_compare_reads_the_rows_of_each_model_once(reads):
    tn.compare(Y, {"a": P, "b": P**2}, seed=0)
    assert len(reads) == 2


@pytest.mark.parametrize(
    "rows", [pytest.param(one, marks=[pytest.mark.slow] * (one != "plain")) for one in ROWS]
)
def test_a_report_reads_its_rows_once(rows, reads):
    """Each calibrator reads the rows that it is fitted on: for few rows, none is."""
    y, p, options = ROWS[rows]
    options = {name: values[:19] for name, values in options.items()}
    tn.report(y[:19], p[:19], by=np.arange(19) % 2, intervals=False, **options)
    assert len(reads) == 1
    reads.clear()
    tn.report(
        y[:19], {"a": p[:19], "b": p[::-1][:19]}, intervals=rows in ("plain", "clusters"), **options
    )
    assert len(reads) == 2

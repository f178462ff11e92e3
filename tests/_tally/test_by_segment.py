"""Every measure takes a column of segments."""

import numpy as np
import pytest

import trueness as tn

RNG = np.random.default_rng(3)
P = RNG.random(50)
Y = RNG.integers(0, 2, 50)
M = np.column_stack([1 - P, P / 2, P / 2])

SCALARS = (
    "ace",
    "auc",
    "brier",
    "calibration_intercept",
    "calibration_slope",
    "e50",
    "e90",
    "ece",
    "emax",
    "gce",
)
SCALARS += ("ici",)
SCALARS += (
    "log_loss",
    "mce",
    "observed_expected",
    "scaled_brier",
    "smooth_ece",
    "squared_ece",
    "tce",
)


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_every_measure_has_a_value_in_each_segment():
    by = np.where(np.arange(50) % 3, "b", "a")
    for name in SCALARS:
        measure = getattr(tn.measure, name)
        expected = {value: measure(Y[by == value], P[by == value]) for value in ("a", "b")}
        assert measure(Y, P, by=by) == pytest.approx(expected, rel=1e-9, nan_ok=True), name
    labels, w = np.arange(50) % 3, np.arange(50) % 4
    found = tn.ece(labels, M, by=by, kind="confidence", bins=3, sample_weight=w)
    a = by == "a"
    assert found["a"] == pytest.approx(
        tn.ece(labels[a], M[a], kind="confidence", bins=3, sample_weight=w[a])
    )


@pytest.mark.filterwarnings("ignore::trueness.errors.OneClassWarning")
def test_segments_leave_out_the_rows_that_are_dropped():
    y, p, by = [0, None, 1, 1, 0], [0.2, 0.3, 0.7, None, 0.4], ["a", "a", "a", "b", None]
    with pytest.warns(tn.errors.DroppedRowsWarning, match="2 of 5 rows"):
        assert tn.brier(y, p, by=by, missing="drop") == pytest.approx(
            {"a": 0.065, "(missing)": 0.16}
        )


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda: tn.ece(Y, P, by=["a"]),
            r"`by` must have one entry per row; 'by' has shape \(1,\) and there",
        ),
        (
            lambda: tn.ece(Y, P, by={"x": Y, "z": Y}),
            r"`by` must be one column; got 2\. `segments` takes several\.",
        ),
        (
            lambda: tn.ece(tn.tally(Y, P), by=Y),
            r"`by` needs labels and scores; a Tally holds only sums",
        ),
        (
            lambda: tn.tce(Y, P, by=P > 0.5, bins=tn.BlockIsotonic(99)),
            r"^Segment 'False': `n_min` must be at most",
        ),
    ],
)
def test_segments_that_cannot_be_are_refused(ask, message):
    with pytest.raises(tn.InputError, match=message):
        ask()


def test_an_unknown_option_of_a_measure_by_segment_is_named():
    with pytest.raises(
        TypeError, match=r"ece\(\) got an unexpected .* 'n_bins'\. Did you mean `bins=`\?"
    ):
        tn.ece(Y, P, by=Y, n_bins=3)

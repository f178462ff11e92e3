"""Rows that need no conversion are not copied."""

import array

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import trueness as tn
from trueness._input.sample import read_sample

RNG = np.random.default_rng(5)
N = 12
Y, W = RNG.integers(0, 2, N), RNG.random(N)
P = RNG.random(N)
P3 = RNG.dirichlet([1, 1, 1], N)
Y3 = RNG.integers(0, 3, N)


def shares(a, b):
    return np.shares_memory(a, np.asarray(b))


def test_scores_labels_and_weights_are_passed_on():
    for dtype in ("f2", "f4", "f8", ">f4", "i1", "i8", "u1", "u8", "bool"):
        p, y = (P > 0.5).astype(dtype), Y.astype(dtype)
        sample = read_sample(y, p)
        assert shares(sample.p, p)
        assert shares(sample.y, y)
        assert sample.p.dtype == p.dtype
    assert shares(read_sample(Y, P, sample_weight=W).w, W)
    assert shares(read_sample(Y3, P3).y, Y3)


VIEWS = {
    "every second row": lambda v: np.repeat(v, 2, axis=0)[::2],
    "reversed": lambda v: v[::-1],
    "Fortran order": np.asfortranarray,
    "some columns": lambda v: np.repeat(v, 2, axis=-1)[..., ::2],
    "broadcast": lambda v: np.broadcast_to(v[:1], v.shape),
    "an array behind a memoryview": memoryview,
}


@pytest.mark.parametrize("matrix", [False, True], ids=["vector", "matrix"])
@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_views_are_passed_on(view, matrix):
    p = view(P3 if matrix else P)
    assert shares(read_sample(Y3 if matrix else Y, p).p, p)


def test_a_read_only_array_is_passed_on_and_stays_as_it_was():
    p = P.copy()
    p.flags.writeable = False
    assert shares(read_sample(Y, p).p, p)
    assert np.array_equal(p, P)


SERIES = {
    "pandas": pd.Series,
    "nullable pandas": lambda v: pd.Series(v).astype("Int64" if v.dtype.kind == "i" else "Float64"),
    "Polars": pl.Series,
    "PyArrow": pa.array,
    "PyArrow in one chunk": lambda v: pa.chunked_array([pa.array(v)]),
    "a standard-library array": lambda v: array.array(v.dtype.char, v.tobytes()),
}


@pytest.mark.parametrize("contain", SERIES.values(), ids=SERIES)
def test_series_are_passed_on(contain):
    p, y = contain(P), contain(Y)
    sample = read_sample(y, p)
    assert shares(sample.p, p)
    assert shares(sample.y, y)


def test_a_pandas_frame_of_one_type_is_passed_on():
    frame = pd.DataFrame(P3)
    assert shares(read_sample(Y3, frame).p, frame.to_numpy())


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_tensors_are_passed_on(dtype):
    torch = pytest.importorskip("torch")
    p = torch.tensor(P3, requires_grad=True).to(getattr(torch, dtype))
    y = torch.tensor(Y3)
    sample = read_sample(y, p)
    assert shares(sample.p, p.detach())
    assert shares(sample.y, y)


@pytest.mark.parametrize(
    "options", [{"missing": "drop"}, {"clip_tolerance": 1e-6}, {"sum_tolerance": 1e-3}]
)
def test_options_that_find_nothing_to_do_copy_nothing(options):
    sample = read_sample(Y3, P3, **options)
    assert shares(sample.p, P3)
    assert shares(sample.y, Y3)


@pytest.mark.parametrize(
    "options", [{"clip_tolerance": 1e-6}, {"from_logits": True}, {"missing": "drop"}]
)
def test_what_has_to_change_is_copied_first(options):
    p = np.array([1 + 1e-7, 0.5, np.nan if "missing" in options else 0.25])
    before = p.copy()
    sample = read_sample([0, 1, 1], p, **options)
    assert not shares(sample.p, p)
    assert np.array_equal(p, before, equal_nan=True)


@pytest.mark.parametrize(
    "measure", [tn.brier, tn.tally, tn.calibration_slope], ids=lambda one: one.__name__
)
def test_percentages_are_taken_when_stated(measure):
    y, percentages = [0, 1, 0, 1, 1], [10, 29, 70, 90, 55]
    assert measure(y, percentages, percent=True) == measure(y, [p / 100 for p in percentages])


def test_a_matrix_of_percentages_and_a_stream_of_them():
    y, P = [0, 2, 1], np.array([[50, 30, 20], [0, 0, 100], [33.4, 33.3, 33.3]])
    assert tn.brier(y, P, percent=True) == tn.brier(y, P / 100)
    stream = tn.Accumulator(2, percent=True)
    stream.update([0, 1], [12, 80])
    assert stream.compute(tn.ece, bins=2) == tn.ece([0, 1], [0.12, 0.8], bins=2)


@pytest.mark.parametrize(
    ("scores", "options", "message"),
    [
        (
            [10.0, 120.0],
            {"percent": True},
            r"as percentages must lie in \[0, 100\]; 1 of 2 .* 120 at row 1\.$",
        ),
        ([10.0, 20.0], {"percent": 1}, "`percent` must be True or False; got 1"),
        (
            [10.0, 20.0],
            {"percent": True, "from_logits": True},
            "`percent` is only for probabilities",
        ),
        ([10.0, 20.0], {}, "These look like percentages: say `percent=True` if they are"),
    ],
)
def test_percentages_that_cannot_be(scores, options, message):
    with pytest.raises(tn.InputError, match=message):
        tn.ece([0, 1], scores, **options)

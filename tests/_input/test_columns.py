"""The same data in any container have exactly the same measures."""

import array
from collections import deque
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import trueness as tn

try:
    import torch
except ImportError:  # tensors are tested where torch is installed
    torch = None

# Scores are multiples of 1/64, which every type down to bfloat16 holds exactly.
RNG = np.random.default_rng(20_231)
N = 80
Y = RNG.integers(0, 2, N)
P = RNG.integers(0, 65, N) / 64
W = RNG.integers(0, 5, N).astype(float)
WORDS = np.array(["no", "yes"])[Y]
Y3 = RNG.integers(0, 3, N)
CUTS = np.sort(RNG.integers(0, 65, (N, 2)), axis=1)
P3 = np.diff(CUTS, prepend=0, append=64) / 64
WORDS3 = np.array(["ant", "bee", "cow"])[Y3]

pytestmark = pytest.mark.filterwarnings("ignore::trueness.errors.OneClassWarning")


def measures(y, p, **options):
    return tn.ece(y, p, **options), tn.tce(y, p, **options), tn.brier(y, p, **options)


def strided(values):
    return np.repeat(values, 3, axis=0)[::3]


def reversed_twice(values):
    return np.ascontiguousarray(values[::-1])[::-1]


def read_only(values):
    values = values.copy()
    values.flags.writeable = False
    return values


def unaligned(values):
    return np.frombuffer(b"." + values.tobytes(), values.dtype, offset=1).reshape(values.shape)


def objects(values):
    return pd.Series(list(values), dtype=object)


NUMBERS = {
    "a list": lambda v: v.tolist(),
    "a tuple": lambda v: tuple(v.tolist()),
    "a list of NumPy numbers": list,
    "a deque": lambda v: deque(v.tolist()),
    "a standard-library array": lambda v: array.array("d", v.tolist()),
    "a memoryview": memoryview,
    "a strided array": strided,
    "a reversed array": reversed_twice,
    "a read-only array": read_only,
    "an unaligned array": unaligned,
    "a row of a Fortran matrix": lambda v: np.asfortranarray([v, v])[0],
    "an array of objects": lambda v: v.astype(object),
    "a masked array": lambda v: np.ma.masked_array(v, np.zeros(v.size, bool)),
    **{
        f"an array of {t}": lambda v, t=t: v.astype(t)
        for t in ("f2", "f4", "f8", ">f2", ">f4", ">f8", "longdouble")
    },
    "Fractions": lambda v: [Fraction(x) for x in v],
    "Decimals": lambda v: [Decimal(float(x)) for x in v],
    **{
        f"a pandas Series of {t}": lambda v, t=t: pd.Series(v).astype(t)
        for t in ("float32", "Float32", "Float64")
    },
    "a pandas Series of PyArrow doubles": lambda v: pd.Series(v, dtype=pd.ArrowDtype(pa.float64())),
    "a pandas Series of objects": objects,
    "a pandas Series of categories": lambda v: pd.Series(v, dtype="category"),
    "a sparse pandas Series": lambda v: pd.Series(pd.arrays.SparseArray(v)),
    "a pandas Index": pd.Index,
    "a pandas extension array": lambda v: pd.array(v, dtype="Float64"),
    "a column of a pandas frame": lambda v: pd.DataFrame({"a": v, "b": v})["b"],
    "a Polars Series": lambda v: pl.Series(np.asarray(v)),
    "a Polars Series of float32": lambda v: pl.Series(np.asarray(v), dtype=pl.Float32),
    "a Polars Series of decimals": lambda v: pl.Series([Decimal(float(x)) for x in v]),
    "a PyArrow array": pa.array,
    "a PyArrow array of floats": lambda v: pa.array(v.astype("f4")),
    "a slice of a PyArrow array": lambda v: pa.array(np.concatenate([[0.5], v]))[1:],
    "a PyArrow array in chunks": lambda v: pa.chunked_array([v[:7], v[7:7], v[7:]]),
}
WHOLE_NUMBERS = {
    **{
        f"an array of {t}": lambda v, t=t: v.astype(t)
        for t in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
    },
    **{
        f"an array of {t}": lambda v, t=t: v.astype(t)
        for t in (">i2", ">i8", "f2", "f4", "longdouble")
    },
    **{
        f"a pandas Series of {t}": lambda v, t=t: pd.Series(v).astype(t)
        for t in ("int8", "Int64", "UInt8", "category")
    },
    "a pandas Series of PyArrow integers": lambda v: pd.Series(v, dtype=pd.ArrowDtype(pa.int64())),
    "a Polars Series of UInt8": lambda v: pl.Series(np.asarray(v), dtype=pl.UInt8),
    "a Polars Series": lambda v: pl.Series(np.asarray(v)),
    "a PyArrow array": pa.array,
    "a PyArrow array in chunks": lambda v: pa.chunked_array([v[:7], v[7:]]),
    "a list": lambda v: v.tolist(),
    "a list of floats": lambda v: [float(x) for x in v],
    "bytes seen through a memoryview": lambda v: memoryview(v.astype("u1")),
    "an array of objects": lambda v: v.astype(object),
    "a strided array": strided,
    "a reversed array": reversed_twice,
    "a read-only array": read_only,
    "an unaligned array": unaligned,
}
BOOLS = {
    "a list": lambda v: v.tolist(),
    "an array": lambda v: v,
    "an array of objects": lambda v: v.astype(object),
    "a pandas Series": pd.Series,
    "a nullable pandas Series": lambda v: pd.Series(v, dtype="boolean"),
    "a pandas Series of PyArrow bools": lambda v: pd.Series(v, dtype=pd.ArrowDtype(pa.bool_())),
    "a Polars Series": lambda v: pl.Series(np.asarray(v)),
    "a PyArrow array": pa.array,
}
TEXT = {
    "a list": lambda v: v.tolist(),
    "an array": lambda v: v,
    "an array of objects": lambda v: v.astype(object),
    "a pandas Series": lambda v: pd.Series(v.tolist()),
    "a pandas Series of strings": lambda v: pd.Series(v.tolist(), dtype="string"),
    "a pandas Series of objects": objects,
    "a pandas Series of categories": lambda v: pd.Series(v.tolist(), dtype="category"),
    "a pandas Categorical": lambda v: pd.Categorical(v.tolist()),
    "a pandas Index": lambda v: pd.Index(v.tolist()),
    "a Polars Series": lambda v: pl.Series(v.tolist()),
    "a Polars Categorical": lambda v: pl.Series(v.tolist(), dtype=pl.Categorical),
    "a Polars Enum": lambda v: pl.Series(v.tolist(), dtype=pl.Enum(sorted(set(v.tolist())))),
    "a PyArrow array": lambda v: pa.array(v.tolist()),
    "a PyArrow dictionary": lambda v: pa.array(v.tolist()).dictionary_encode(),
    "a PyArrow array in chunks": lambda v: pa.chunked_array([v[:9].tolist(), v[9:].tolist()]),
}
MATRICES = {
    "lists of lists": lambda v: v.tolist(),
    "a tuple of tuples": lambda v: tuple(map(tuple, v.tolist())),
    "a list of arrays": list,
    "a Fortran matrix": np.asfortranarray,
    "a strided matrix": strided,
    "a reversed matrix": reversed_twice,
    "some columns of a matrix": lambda v: np.repeat(v, 2, axis=1)[:, ::2],
    "a read-only matrix": read_only,
    "an unaligned matrix": unaligned,
    "a matrix of objects": lambda v: v.astype(object),
    "a masked matrix": lambda v: np.ma.masked_array(v, np.zeros(v.shape, bool)),
    **{
        f"a matrix of {t}": lambda v, t=t: v.astype(t)
        for t in ("f2", "f4", ">f4", ">f8", "longdouble")
    },
    "a pandas frame": pd.DataFrame,
    "a pandas frame with names": lambda v: pd.DataFrame(v, columns=["a", "b", "c"]),
    "a pandas frame of nullable columns": lambda v: pd.DataFrame(v).astype("Float64"),
    "a pandas frame of several types": lambda v: pd.DataFrame(v).astype(
        {0: "float32", 1: "Float64"}
    ),
    "a Polars frame": pl.DataFrame,
    "a Polars column of arrays": lambda v: pl.Series(v, dtype=pl.Array(pl.Float64, v.shape[1])),
    "a PyArrow table": lambda v: pa.table({str(k): column for k, column in enumerate(v.T)}),
    "a PyArrow record batch": lambda v: pa.record_batch(
        {str(k): column for k, column in enumerate(v.T)}
    ),
}
if hasattr(np.dtypes, "StringDType"):
    TEXT["an array of NumPy's own strings"] = lambda v: v.astype(np.dtypes.StringDType())
if torch is not None:

    class Marked(torch.Tensor):
        """A subclass defined outside torch, as libraries do."""

    NUMBERS |= {
        **{
            f"a tensor of {t}": lambda v, t=t: torch.tensor(v).to(t)
            for t in (torch.float64, torch.float32)
        },
        **{
            f"a tensor of {t}": lambda v, t=t: torch.tensor(v).to(t)
            for t in (torch.float16, torch.bfloat16)
        },
        "a tensor that needs a gradient": lambda v: torch.tensor(v, requires_grad=True) * 1,
        "a parameter": lambda v: torch.nn.Parameter(torch.tensor(v)),
        "a subclass of tensors": lambda v: torch.tensor(v, requires_grad=True).as_subclass(Marked),
        "a strided tensor": lambda v: torch.tensor(np.repeat(v, 2))[::2],
        "a list of tensors": lambda v: list(torch.tensor(v)),
        "the real part of a conjugate": lambda v: (
            torch.complex(torch.tensor(v), torch.tensor(v)).conj().real
        ),
    }
    WHOLE_NUMBERS |= {
        f"a tensor of {t}": lambda v, t=t: torch.tensor(v).to(t) for t in (torch.int64, torch.uint8)
    }
    BOOLS["a tensor"] = torch.tensor
    MATRICES |= {
        "a tensor": torch.tensor,
        "a transposed tensor": lambda v: torch.tensor(np.ascontiguousarray(v.T)).T,
        "a tensor of bfloat16": lambda v: torch.tensor(v).bfloat16(),
    }


def differ(containers, measured):
    """The containers of which something else is measured than of an array."""
    expected = measured(lambda values: values)
    return [name for name, contain in containers.items() if measured(contain) != expected]


def test_scores_and_weights_are_the_same_in_any_container():
    assert differ(NUMBERS, lambda contain: measures(Y, contain(P))) == []
    assert differ(NUMBERS, lambda contain: measures(Y, P, sample_weight=contain(W))) == []


def test_labels_are_the_same_in_any_container():
    assert differ(WHOLE_NUMBERS, lambda contain: measures(contain(Y), P)) == []
    assert differ(WHOLE_NUMBERS, lambda contain: measures(contain(Y3), P3)) == []
    assert differ(BOOLS, lambda contain: measures(contain(Y == 1), P)) == []


def test_words_are_the_same_in_any_container():
    for options in ({"pos_label": "yes"}, {"labels": ["no", "yes"]}):
        assert measures(WORDS, P, **options) == measures(Y, P)
        assert (
            differ(TEXT, lambda contain, options=options: measures(contain(WORDS), P, **options))
            == []
        )
    assert measures(WORDS3, P3) == measures(Y3, P3)  # columns in sorted order
    assert differ(TEXT, lambda contain: measures(contain(WORDS3), P3)) == []


@pytest.mark.parametrize("kind", ["classwise", "confidence", "top-label"])
def test_a_matrix_is_the_same_in_any_container(kind):
    bins = tn.EqualMass(5)  # BlockIsotonic asks more rows of each predicted class than there are
    for measure in (tn.ece, tn.brier, partial(tn.tce, bins=bins)):
        assert (
            differ(MATRICES, lambda contain, measure=measure: measure(Y3, contain(P3), kind=kind))
            == []
        )


@pytest.mark.parametrize(
    "frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "Polars", "PyArrow"]
)
def test_named_columns_may_come_in_any_order(frame):
    named = frame({name: P3[:, k] for name, k in (("cow", 2), ("ant", 0), ("bee", 1))})
    assert measures(WORDS3, named) == measures(Y3, P3)
    assert measures(WORDS3[:3].tolist() + ["ant"] * 77, named) == measures(
        np.append(Y3[:3], [0] * 77), P3
    )


@pytest.mark.parametrize(
    "given", [np.array, pd.Series, pl.Series, pa.array, tuple, pd.Index, pd.Categorical]
)
def test_labels_may_come_in_any_container(given):
    assert tn.ece(WORDS3, P3[:, [2, 0, 1]], labels=given(["cow", "ant", "bee"])) == tn.ece(Y3, P3)


GAPS = RNG.random(N) < 0.2
NULLS = {
    "nan": lambda v: np.where(GAPS, np.nan, v),
    "None": lambda v: [None if gap else x for gap, x in zip(GAPS, v.tolist(), strict=True)],
    "a mask": lambda v: np.ma.masked_array(v, GAPS),
    "pandas NA": lambda v: pd.Series(v).astype("Float64").mask(GAPS),
    "pandas NA of PyArrow": lambda v: pd.Series(v, dtype=pd.ArrowDtype(pa.float64())).mask(GAPS),
    "a Polars null": lambda v: pl.Series(
        [None if gap else float(x) for gap, x in zip(GAPS, v, strict=True)]
    ),
    "a PyArrow null": lambda v: pa.array(v, mask=GAPS),
    "PyArrow nulls in chunks": lambda v: pa.chunked_array(
        [pa.array(v, mask=GAPS)[:9], pa.array(v, mask=GAPS)[9:]]
    ),
}


@pytest.mark.filterwarnings("ignore::trueness.errors.DroppedRowsWarning")
def test_what_is_missing_is_the_same_in_any_container():
    kept = ~GAPS
    expected, weighted = (
        measures(Y[kept], P[kept]),
        measures(Y[kept], P[kept], sample_weight=np.ones(kept.sum())),
    )
    for name, contain in NULLS.items():
        assert measures(contain(Y), P, missing="drop") == expected, name
        assert measures(Y, contain(P), missing="drop") == expected, name
        assert measures(Y, P, sample_weight=contain(np.ones(N)), missing="drop") == weighted, name


@pytest.mark.skipif(torch is None or not torch.cuda.is_available(), reason="there is no GPU")
def test_tensors_on_a_gpu_are_the_same():
    assert measures(torch.tensor(Y).cuda(), torch.tensor(P).cuda()) == measures(Y, P)
    assert measures(torch.tensor(Y3).cuda(), torch.tensor(P3).bfloat16().cuda()) == measures(Y3, P3)


@pytest.mark.parametrize("unit", ["datetime64[D]", "timedelta64[s]"])
@pytest.mark.parametrize("form", [np.asarray, list, pd.Series], ids=["array", "list", "series"])
def test_a_date_that_is_not_a_time_is_a_missing_cluster(unit, form):
    rng = np.random.default_rng(0)
    p = rng.random(60)
    y = (rng.random(60) < p).astype(int)
    cluster = np.repeat(np.arange(30), 2).astype(unit)
    cluster[3] = "NaT"
    with pytest.raises(tn.InputError, match="1 of 60 rows has one, the first at row 3"):
        tn.estimate("brier", y, p, cluster=form(cluster))
    with pytest.warns(tn.TruenessWarning, match="1 of 60 rows"):
        assert tn.estimate("brier", y, p, cluster=form(cluster), missing="drop").n == 59

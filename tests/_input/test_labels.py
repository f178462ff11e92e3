"""The order of classes that a categorical column carries."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import trueness as tn
from trueness import InputError
from trueness._input.sample import read_sample

LEVELS = ["low", "medium", "high"]
GRADED = ["high", "low", "medium", "high", "low", "low"]
ORDER_KEPT = {
    "a pandas Categorical": lambda v, c: pd.Categorical(v, c),
    "an ordered pandas Series": lambda v, c: pd.Series(pd.Categorical(v, c, ordered=True)),
    "a pandas Index": lambda v, c: pd.CategoricalIndex(v, c),
    "a Polars Enum": lambda v, c: pl.Series(v, dtype=pl.Enum(c)),
    "an ordered dictionary": lambda v, c: pa.DictionaryArray.from_arrays(
        [c.index(x) for x in v], c, ordered=True
    ),
}
ORDER_OF_ROWS = {
    "a Polars Categorical": lambda v: pl.Series(v, dtype=pl.Categorical),
    "a dictionary": lambda v: pa.array(v).dictionary_encode(),
    "dictionaries of two orders": lambda v: pa.chunked_array(
        [
            pa.DictionaryArray.from_arrays([0, 1], ["high", "low"], ordered=True),
            pa.DictionaryArray.from_arrays([0, 1, 2, 2], ["medium", "high", "low"], ordered=True),
        ]
    ),
}
THIRDS = np.full((6, 3), 1 / 3)


@pytest.mark.parametrize("make", ORDER_KEPT.values(), ids=ORDER_KEPT)
def test_columns_are_in_the_order_of_the_categories(make):
    y = make(GRADED, LEVELS)
    sample = read_sample(y, THIRDS)
    assert sample.classes == tuple(LEVELS)
    assert sample.y.tolist() == [2, 0, 1, 2, 0, 0]
    assert read_sample(y, THIRDS, labels=sorted(LEVELS)).classes == (
        "high",
        "low",
        "medium",
    )  # an argument wins
    named = pd.DataFrame(THIRDS, columns=["medium", "low", "high"])  # and so do names of columns
    assert read_sample(y, named).y.tolist() == [2, 1, 0, 2, 1, 1]


@pytest.mark.parametrize("make", ORDER_OF_ROWS.values(), ids=ORDER_OF_ROWS)
def test_an_order_that_depends_on_the_rows_is_not_used(make):
    assert read_sample(make(GRADED), THIRDS).classes == ("high", "low", "medium")


@pytest.mark.parametrize("make", ORDER_KEPT.values(), ids=ORDER_KEPT)
def test_unused_categories_are_columns(make):
    y = make(["high", "low"], LEVELS)
    assert read_sample(y, THIRDS[:2]).y.tolist() == [2, 0]
    with pytest.raises(
        InputError, match=r"one category per column .* got 3 .* for 2 columns.*without rows count"
    ):
        read_sample(y, np.full((2, 2), 0.5))
    assert read_sample(y, np.full((2, 2), 0.5), labels=["low", "high"]).y.tolist() == [1, 0]


def test_the_last_of_two_ordered_categories_is_the_event():
    y, p = ["yes", "no", "no"], [0.2, 0.4, 0.9]
    for order in (["no", "yes"], ["yes", "no"]):
        for given in (pd.Categorical(y, order, ordered=True), pl.Series(y, dtype=pl.Enum(order))):
            assert read_sample(given, p).y.tolist() == [int(v == order[-1]) for v in y]
            assert read_sample(given, p, pos_label="yes").y.tolist() == [1, 0, 0]
    with pytest.raises(InputError, match="pos_label"):  # alphabetical unless someone cared
        read_sample(pd.Categorical(y), p)


def test_categories_of_numbers():
    assert read_sample(pd.Categorical([3, 1, 2], [3, 1, 2]), THIRDS[:3]).y.tolist() == [0, 1, 2]
    assert read_sample(pd.Categorical([0, 2, 2]), THIRDS[:3]).y.tolist() == [
        0,
        2,
        2,
    ]  # codes, of which one is absent
    assert read_sample(pd.Categorical([1, 0], [1, 0], ordered=True), [0.2, 0.3]).y.tolist() == [
        1,
        0,
    ]
    with pytest.raises(InputError, match="they are named 0, 1, 2"):
        read_sample(
            pd.Categorical([0, 1, 2], [2, 0, 1]), pd.DataFrame(THIRDS[:3], columns=["0", "1", "2"])
        )


@pytest.mark.parametrize("make", ORDER_KEPT.values(), ids=ORDER_KEPT)
def test_scan_reads_categories_as_memory_does(make):
    P = np.random.default_rng(0).dirichlet(np.ones(3), 6)
    y = make(GRADED, LEVELS)
    library = pl if isinstance(y, pl.Series) else pd
    columns = {"y": y, **{f"p{k}": P[:, k] for k in range(3)}}
    frame = pa.table(columns) if isinstance(y, pa.Array) else library.DataFrame(columns)
    scores = ["p0", "p1", "p2"]
    both = tn.scan(frame, label="y", prob=scores), tn.binned(y, P)
    assert both[0] == both[1]
    if library is pl:
        assert tn.scan(frame.lazy(), label="y", prob=scores) == both[1]


SHIFTED = np.array([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.7, 0.2, 0.1], [0.3, 0.6, 0.1]])


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.float64])
def test_integer_labels_whose_smallest_is_1_are_refused_unless_labels_say_what_they_mean(kind):
    y = np.array([1, 2, 1, 2], kind)
    message = r"the smallest is 1 and the largest 2, .*`labels=range\(1, 4\)`.*`labels=range\(3\)`"
    for ask in (tn.ece, tn.ece_interval, tn.verdict, tn.brier, tn.report):
        with pytest.raises(InputError, match=message):
            ask(y, SHIFTED)
    with pytest.raises(InputError, match=message):
        tn.TemperatureScaling().fit(SHIFTED, y)
    with pytest.raises(InputError, match=message):
        tn.ece(y, np.log(SHIFTED), from_logits=True)
    counted_from_0 = tn.ece(y - 1, SHIFTED, bins=2)
    assert tn.ece(y, SHIFTED, bins=2, labels=range(1, 4)) == counted_from_0
    words = np.array(["b", "c", "b", "c"])
    absent = tn.ece(words, SHIFTED, bins=2, labels=["a", "b", "c"])
    assert tn.ece(y, SHIFTED, bins=2, labels=range(3)) == absent
    with pytest.raises(InputError, match=r"must hold class codes 0 to 2, .* `labels=\[1, 2, 3\]`"):
        tn.ece([1, 2, 3, 1], SHIFTED, bins=2)
    with pytest.raises(InputError, match=r"`labels=range\(1, 3\)`"):
        tn.ece([1, 1], [[0.5, 0.5], [0.4, 0.6]])


def test_sums_may_be_made_of_rows_that_lack_the_first_class():
    y = np.array([0, 1, 2, 1])
    parts = tn.tally(y[:1], SHIFTED[:1]) + tn.tally(y[1:], SHIFTED[1:])
    assert parts == tn.tally(y, SHIFTED)
    batches = tn.Accumulator()
    batches.update(y[1:], SHIFTED[1:])
    batches.update(y[:1], SHIFTED[:1])
    assert batches.n == 4


def test_a_dict_of_labels_of_models_is_not_told_to_become_a_list_of_lists():
    with pytest.raises(InputError, match=r"got a dict\. Pass one of its 2 entries\."):
        tn.ece({"a": [0, 1], "b": [0, 1]}, [0.2, 0.3])
    with pytest.raises(InputError, match=r"got a dict\. Use `list\(y_true.values\(\)\)`\."):
        tn.ece({"a": 0, "b": 1}, [0.2, 0.3])

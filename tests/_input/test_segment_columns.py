"""`by=` becomes columns of segments: every value is one, and numbers are cut into groups."""

import numpy as np
import pytest

from trueness._input.segment_columns import read_by
from trueness.errors import InputError


def columns(by, n, crossed=1):
    return read_by(by, np.zeros(n), np.ones(n, dtype=bool), crossed)


def cut(values):
    values = np.asarray(values)
    (column,) = columns(values, values.size)
    return [column.values[code] for code in column.code], column.note


def test_few_numbers_are_kept_apart_and_many_are_cut_into_groups():
    assert cut([3, 1, 1, 2])[0] == ["3", "1", "1", "2"]
    names, note = cut(np.arange(100))
    assert sorted(set(names)) == ["0 to 19", "20 to 39", "40 to 59", "60 to 79", "80 to 99"]
    assert names[19] == "0 to 19"
    assert names[20] == "20 to 39"
    assert "cut into 5 groups" in note


def test_groups_do_not_split_equal_numbers():
    names, _ = cut([0.0] * 60 + list(np.arange(1, 41)))
    assert names[:60] == ["0 to 0"] * 60
    assert len(set(names)) == 3


@pytest.mark.parametrize("library", ["pandas.DataFrame", "polars.DataFrame", "pyarrow.table"])
def test_the_columns_of_a_frame_keep_their_types(library):
    module, _, name = library.partition(".")
    make = getattr(pytest.importorskip(module), name)
    text, numbers = columns(make({"shop": ["a", "b"] * 50, "age": list(range(100))}), 100)
    assert (text.name, text.values) == ("shop", ("a", "b"))
    assert (numbers.name, len(numbers.values)) == ("age", 5)


def test_days_are_named_as_days():
    days = np.array(["2024-02-01", "2024-02-02"], dtype="datetime64[ns]")
    assert cut(days)[0] == ["2024-02-01", "2024-02-02"]
    assert cut(days + np.timedelta64(1, "h"))[0][0].startswith("2024-02-01T01:00")


def test_missing_values_are_a_segment_of_their_own():
    assert cut(np.array(["a", None, "b"], dtype=object))[0] == ["a", "(missing)", "b"]
    assert cut([1.0, np.nan, 2.0])[0] == ["1", "(missing)", "2"]
    assert cut(np.array(["(missing)", None], dtype=object))[0] == ["'(missing)'", "(missing)"]


def test_every_one_of_very_many_values_is_a_segment():
    names, note = cut(["big"] * 50 + [f"small {i}" for i in range(6_000)])
    assert len(set(names)) == 6_001
    assert note == ""


def test_crossings_are_the_combinations_that_occur():
    by = {
        "a": np.array(["x", "x", "y", "y"]),
        "b": np.array([1, 2, 1, 1]),
        "c": np.array(["u"] * 4),
    }
    assert [one.name for one in columns(by, 4)] == ["a", "b", "c"]
    pairs = columns(by, 4, crossed=2)
    assert [one.name for one in pairs] == ["a", "b", "c", "a × b", "a × c", "b × c"]
    assert [pairs[3].values[code] for code in pairs[3].code] == ["x × 1", "x × 2", "y × 1", "y × 1"]
    assert columns(by, 4, crossed=5)[-1].values == ("x × 1 × u", "x × 2 × u", "y × 1 × u")


def test_rows_that_were_dropped_have_no_segment():
    (column,) = read_by(np.array(["a", "b", "c"]), np.zeros(3), np.array([True, False, True]))
    assert column.values == ("a", "c")


def test_a_column_that_is_the_labels_gets_a_note():
    y = np.array([0, 1, 1])
    same, other = read_by({"y": y, "z": 1 - y}, y, np.ones(3, dtype=bool))
    assert (same.note[:22], other.note) == ("'y' equals the labels:", "")


def test_messages():
    with pytest.raises(InputError, match="`by` must hold at least one column; the dict is empty"):
        columns({}, 3)
    with pytest.raises(
        InputError,
        match=r"`by` must have one entry per row; 'a' has shape .2,. and there are 3 rows",
    ):
        columns({"a": [1, 2]}, 3)


def test_codes_that_are_whole_numbers_are_all_segments():
    codes = np.arange(600) % 60
    (col,) = read_by({"shop": codes}, np.zeros(600), np.ones(600, dtype=bool))
    assert (len(col.values), col.note) == (60, "")
    (unique,) = read_by({"id": np.arange(600)}, np.zeros(600), np.ones(600, dtype=bool))
    assert len(unique.values) == 5


def test_texts_that_end_in_nul_and_numbers_beside_their_text_are_segments_of_their_own():
    assert cut(np.array(["a", "a\0", "\0", "a"], dtype=object))[0] == ["a", "a\0", "\0", "a"]
    assert cut(np.array([1, "1", 2, "b"], dtype=object))[0] == ["1", "'1'", "2", "b"]

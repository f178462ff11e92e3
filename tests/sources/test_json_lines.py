"""JSON lines: what they mean, and what is said of lines that mean nothing."""

import json

import numpy as np
import pytest

import trueness as tn
from trueness.errors import InputError
from trueness.sources._json_lines import JsonLinesFile


@pytest.fixture
def read(tmp_path):
    def run(text, labels=("y",), numbers=("p",)):
        (tmp_path / "x.jsonl").write_text(text, encoding="utf-8")
        return JsonLinesFile(tmp_path / "x.jsonl", "x.jsonl").read(labels, numbers)

    return run


def objects(*values, key="y"):
    return "".join(json.dumps({key: value, "p": 0.5}) + "\n" for value in values)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([0, 1, 1], "i"),
        ([0.0, 1], "f"),
        ([True, False], "b"),
        (["a", "b"], "O"),
        ([0, None, 1], "f"),
        ([True, None], "O"),
    ],
)
def test_labels_keep_their_type(read, values, kind):
    found = read(objects(*values)).labels["y"]
    assert found.dtype.kind == kind
    np.testing.assert_array_equal(found, np.array(values, dtype=found.dtype))


def test_keys_that_come_late_or_are_left_out_are_missing_values(read):
    found = read('{"y": 1}\n\n{"p": 0.5, "y": 0}\n{"y": 1, "p": null}\n')
    np.testing.assert_array_equal(found.numbers["p"], [np.nan, 0.5, np.nan])
    assert found.labels["y"].tolist() == [1, 0, 1]


def test_nan_is_a_missing_value_and_leaves_integers_whole(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"g": 9007199254740993, "p": NaN}\n{"g": NaN, "p": 0.5}\n')
    found = JsonLinesFile(tmp_path / "x.jsonl", "x.jsonl").read([], ["p"], ["g"])
    assert found.groups["g"].tolist() == [9007199254740993, None]
    np.testing.assert_array_equal(found.numbers["p"], [np.nan, 0.5])


def test_lists_are_rows_of_a_matrix(call, multiclass, tmp_path):
    y, P = multiclass
    rows = zip(y.tolist(), P.tolist(), strict=True)
    (tmp_path / "x.ndjson").write_text("".join(json.dumps({"y": a, "P": b}) + "\n" for a, b in rows))
    found = json.loads(call("measure", "x.ndjson", "--prob", "P", "--format", "json").stdout)
    assert found["models"][0]["measures"]["ece_confidence"] == tn.ece(y, P, kind="confidence")


def test_objects_are_known_by_their_first_letter(call):
    assert call("measure", "-", stdin="\n" + objects(0, 1)).exit_code == 0
    assert call("measure", "-", stdin=b"\xef\xbb\xbf" + objects(0, 1).encode()).exit_code == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"y": 1, "p": 0.5}\n{"y": 1,', r"x\.jsonl, line 2, is not JSON"),
        ('{"y": 1, "p": 0.5}\n[1, 2]\n', "line 2, must be an object; it is a list"),
        ('{"y": 1, "p": 0.5}\n3\n', "line 2, must be an object; it is 3"),
        ('{"y": 1, "p": "0.5"}\n', r"column 'p' must hold numbers; line 1 has \"0.5\""),
        ('{"y": 1, "p": true}\n', "column 'p' must hold numbers; line 1 has true"),
        ('{"y": 1, "p": {"a": 1}}\n', "column 'p' must hold numbers; line 1 has an object"),
        ('{"y": 1, "p": [1]}\n{"y": 1, "p": [1, 2]}\n', "lists of one length; they are mixed"),
        ('{"y": 1, "p": [1]}\n{"y": 1, "p": 0.5}\n', "lists of one length; they are mixed"),
        ('{"y": [1], "p": 0.5}\n', "column 'y' must hold labels: .* line 1 has a list"),
        ('{"y": "a", "p": 0.5}\n{"y": 1, "p": 0.5}\n', "labels of one type; it mixes numbers and text"),
        ('{"y": true, "p": 0.5}\n{"y": 1, "p": 0.5}\n', "it mixes numbers and true/false"),
        ("{}\n", "has no columns"),
    ],
)
def test_lines_that_cannot_be_read_are_located(read, text, message):
    with pytest.raises(InputError, match=message):
        read(text)


def test_text_of_another_encoding_is_refused(tmp_path):
    (tmp_path / "x.jsonl").write_bytes('{"y": "é"}\n'.encode("latin-1"))
    with pytest.raises(InputError, match="line 1, must be UTF-8"):
        JsonLinesFile(tmp_path / "x.jsonl", "x.jsonl")


@pytest.mark.parametrize("text", ['[{"y": 1, "p": 0.5}]', '[\n  {"y": 1,\n  "p": 0.5}\n]', "\ufeff[\n"])
@pytest.mark.parametrize("more", [[], ["--input-format", "jsonl"]])
def test_one_array_is_called_that_whatever_the_name_of_the_file(fails, tmp_path, text, more):
    (tmp_path / "my rows.jsonl").write_text(text, encoding="utf-8")
    message = fails("measure", "my rows.jsonl", *more)
    assert message.startswith("my rows.jsonl is one JSON array; JSON lines have one object per line")
    assert message.endswith("`jq -c '.[]' 'my rows.jsonl' > lines.jsonl` writes them so.")
    assert fails("measure", "-", *more, stdin=text).endswith("`jq -c '.[]' > lines.jsonl` writes them so.")

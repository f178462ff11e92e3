"""JSON lines: what they mean, and what is said of lines that mean nothing."""

import json

import numpy as np
import pytest

import trueness as tn
from trueness.errors import InputError
from trueness.sources import _compression
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
    found = json.loads(call("measure", "--no-intervals", "x.ndjson", "--prob", "P", "--format", "json").stdout)
    assert found["models"][0]["measures"]["ece_confidence"] == tn.ece(y, P, kind="confidence")


def test_objects_are_known_by_their_first_letter(call):
    assert call("measure", "--no-intervals", "-", stdin="\n" + objects(0, 1)).exit_code == 0
    assert call("measure", "--no-intervals", "-", stdin=b"\xef\xbb\xbf" + objects(0, 1).encode()).exit_code == 0


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


@pytest.fixture(params=[1 << 23, 40], ids=["one block", "many blocks"])
def numbered(request, tmp_path, monkeypatch):
    """Write rows with a group each, as JSON; the reader cuts the file into blocks."""
    monkeypatch.setattr(_compression, "BLOCK_BYTES", request.param)

    def write(*groups, name="x.jsonl"):
        rows = [f'{{"y": {y}, "p": 0.5, "g": {group}}}\n' for group in groups for y in (0, 1)]
        (tmp_path / name).write_text("".join(rows))
        return tmp_path / name

    return write


@pytest.mark.parametrize(
    ("cells", "groups"),
    [
        (["9007199254740993", "9007199254740992", "1.5"], ["9007199254740993", "9007199254740992", "1.5"]),
        (["1", "1.0", "2.50", "1e0"], ["1", "1.0", "2.50", "1e0"]),
        (["1", "10", "2"], [1, 10, 2]),
        (["0", "-0"], [0]),
        (["99999999999999999999", "99999999999999999998"], ["99999999999999999999", "99999999999999999998"]),
        (['"1"', '"01"'], ["1", "01"]),
        (["true", "false"], [True, False]),
    ],
)
def test_groups_are_the_cells_as_the_file_has_them(numbered, cells, groups):
    found = JsonLinesFile(numbered(*cells), "x.jsonl").read([], ["p"], ["g"]).groups["g"]
    assert list(dict.fromkeys(found.tolist())) == groups


@pytest.mark.parametrize("verb", [["measure"], ["test"], ["gate", "--max-ece", "1"]])
def test_commands_keep_long_identifiers_apart(call, numbered, verb):
    numbered("9007199254740993", "9007199254740992", "1.5")
    numbered("2.50", "1.0", name="z.jsonl")
    found = call(*verb, "x.jsonl", "z.jsonl", "--by", "g", "--format", "csv").stdout
    for group in ("9007199254740993", "9007199254740992", "1.5", "2.50", "1.0"):
        assert f",{group}," in found


def test_sums_of_groups_keep_long_identifiers_apart(call, numbered, tmp_path):
    numbered("9007199254740993", "9007199254740992", "1.5", "2.50")
    assert call("tally", "x.jsonl", "--by", "g", "-o", "x.tally").exit_code == 0
    expected = {"9007199254740993", "9007199254740992", "1.5", "2.50"}
    assert set(tn.Accumulator.load(tmp_path / "x.tally").groups) == expected


def test_a_column_may_be_label_and_group(numbered):
    path = numbered("1.0", "2")
    found = JsonLinesFile(path, "x.jsonl").read(["g"], ["p"], ["g"])
    assert found.labels["g"].tolist() == [1.0, 1.0, 2.0, 2.0]
    assert found.groups["g"].tolist() == ["1.0", "1.0", "2", "2"]


def test_groups_mix_no_text_and_numbers(numbered):
    with pytest.raises(InputError, match="column 'g' must hold labels of one type; it mixes numbers and text"):
        JsonLinesFile(numbered("1", '"1"'), "x.jsonl").read([], ["p"], ["g"])


@pytest.mark.parametrize(
    "line",
    [
        '{"y": 1, "p": 0.1, "p": 0.9}',
        r'{"y": 1, "p": 0.1, "\u0070": 0.9}',
        '{"y": 1, "p": null, "p": 0.9}',
        '{"y": 1, "p" : 0.1, "p"\t: 0.1}',
    ],
)
@pytest.mark.parametrize("before", ['{"y": 0, "p": 0.5}\n', '{"y": 0}\n'])
def test_a_repeated_key_is_refused(read, line, before):
    with pytest.raises(InputError, match=r"x\.jsonl, line 1202, has the key 'p' more than once"):
        read(before + '{"y": 0, "p": 0.5}\n' * 1200 + line + "\n")


def test_keys_inside_other_objects_are_no_columns(read):
    found = read('{"y": 1, "p": 0.1, "more": {"p": 0.9, "p": 0.8}, "text": "p", "q": 1, "q": 2}\n')
    assert found.numbers["p"].tolist() == [0.1]


def test_apply_loses_no_repeated_key(call, fails, tmp_path):
    rows = "".join(json.dumps({"y": int(i % 5 < i / 40), "p": i / 200}) + "\n" for i in range(200))
    (tmp_path / "x.jsonl").write_text(rows + '{"y": 1, "p": 0.5, "q": 1, "q": 2}\n')
    assert call("fit", "x.jsonl", "-o", "map.json").exit_code == 0
    message = fails("apply", "x.jsonl", "--prob", "p", "--calibrator", "map.json", "-o", "new.jsonl")
    assert message == "x.jsonl, line 201, has the key 'q' more than once."


@pytest.mark.parametrize("number", ["9" * 400, "9" * 5000, "1e400", "-1e999"])
def test_numbers_too_large_for_a_float_are_infinite_not_missing(read, fails, number):
    found = read(f'{{"y": 1, "p": {number}}}\n{{"y": 0, "p": 0.5}}\n').numbers["p"]
    assert abs(found[0]) == np.inf
    assert found[1] == 0.5
    assert "must lie in [0, 1]" in fails("measure", "x.jsonl", "--missing", "drop")


def test_half_a_surrogate_pair_is_refused(fails, tmp_path):
    (tmp_path / "x.jsonl").write_text('{"y": 1, "p": 0.5, "g": "a"}\n' + r'{"y": 0, "p": 0.5, "g": "\ud800"}' + "\n")
    for verb in (["measure"], ["tally", "-o", "x.tally"]):
        message = fails(verb[0], "x.jsonl", "--by", "g", *verb[1:])
        assert message == "x.jsonl: column 'g' must hold text; line 2 has half of a surrogate pair."


def test_surrogate_pairs_are_text(numbered):
    found = JsonLinesFile(numbered(r'"\ud83d\ude00"', '"b"'), "x.jsonl").read([], ["p"], ["g"])
    assert set(found.groups["g"]) == {"\U0001f600", "b"}


def test_scan_gives_integers_where_files_with_types_do(numbered, tmp_path):
    rows = [f'{{"g": "{g}", "k": {k}, "y": 0, "p": 0.5}}\n' for g, k in [("007", 10), ("007", 2), ("8", 0)]]
    (tmp_path / "a.jsonl").write_text("".join(rows))
    found = tn.scan_groups(tmp_path / "a.jsonl", by=["g", "k"], label="y", prob="p")
    assert list(found) == [("007", 2), ("007", 10), ("8", 0)]
    assert [type(k) for _, k in found] == [int] * 3
    path = numbered("9007199254740993", "9007199254740992", "1.5", "2.50")
    found = tn.scan_groups(path, by="g", label="y", prob="p")
    assert set(found) == {"9007199254740993", "9007199254740992", "1.5", "2.50"}

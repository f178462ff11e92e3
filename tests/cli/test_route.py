"""``trueness route``: the library's numbers, exit codes, and two logs paired by question."""

import json
import lzma
from pathlib import Path

import numpy as np
import pytest
from tables_on_disk import write_columns

import trueness as tn

LOGS = Path(__file__).parents[2] / "docs" / "tutorials" / "logs"
COLUMNS = ["--cheap", "small", "--confidence", "c", "--strong", "large"]


@pytest.fixture
def rows(tmp_path):
    rng = np.random.default_rng(0)
    c = rng.uniform(0.5, 1, 600).round(4)
    columns = {
        "small": (rng.random(600) < c).astype(int),
        "large": (rng.random(600) < 0.95).astype(int),
        "c": c,
        "topic": np.where(np.arange(600) % 2, "law", "poetry"),
    }
    write_columns(tmp_path / "x.csv", columns)
    return columns


def test_the_numbers_are_the_librarys(call, rows):
    result = call("route", "x.csv", *COLUMNS, "--loss", "0.05", "--by", "topic", "--format", "json")
    expected = tn.route(
        rows["small"], rows["c"], rows["large"], loss=0.05, by={"topic": rows["topic"]}
    )
    assert result.exit_code == 0
    assert json.loads(result.stdout)["route"] == json.loads(json.dumps(expected.to_dict()))
    text = " ".join(call("route", "x.csv", *COLUMNS, "--loss", "0.05").stdout.split())
    assert str(tn.route(rows["small"], rows["c"], rows["large"], loss=0.05)) in text


def test_the_exit_code_says_whether_a_threshold_is_certified(call, fails, rows):
    assert call("route", "x.csv", *COLUMNS, "--loss", "0.001").exit_code == 1
    assert "no column 'nix'" in fails("route", "x.csv", *COLUMNS[:-1], "nix")
    assert "--cheap must name a column" in fails("route", "x.csv", *COLUMNS[2:])
    assert "Column 'topic' must hold 0 and 1" in fails("route", "x.csv", *COLUMNS[:-1], "topic")
    assert "0<x<1" in fails("route", "x.csv", *COLUMNS, "--loss", "1")


def test_two_logs_are_paired_by_question(call, tmp_path):
    for name in "AB":
        data = lzma.decompress((LOGS / f"{name}.json.xz").read_bytes())
        (tmp_path / f"{name}.json").write_bytes(data)
    result = call("route", "A.json", "B.json", "--loss", "0.05", "--format", "json")
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert (found["data"]["cheap"], found["data"]["strong"]) == ("A", "B")
    assert found["route"]["n"] == 895


def _two_logs(folder):
    """Answers of two models to the same questions, in other orders."""
    rng = np.random.default_rng(3)
    c = rng.uniform(0.4, 1, 500).round(3)
    right = {"small": rng.random(500) < c, "large": rng.random(500) < 0.95}
    for name, ok in right.items():
        rows = [
            {"id": f"q{i}", "ok": bool(ok[i]), "text": f"yes\nConfidence: {c[i]}"}
            for i in rng.permutation(500)
        ]
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return right, c


def test_two_files_of_any_json_are_paired_by_the_field_that_names_the_question(call, tmp_path):
    right, c = _two_logs(tmp_path)
    fields = ["--label-field", "ok", "--text-field", "text", "--confidence", "stated"]
    asked = ["small.jsonl", "large.jsonl", *fields, "--id-field", "id"]
    result = call("route", *asked, "--loss", "0.05", "--format", "json")
    expected = tn.route(right["small"], c, right["large"], loss=0.05, cluster=np.arange(500))
    found = json.loads(result.stdout)["route"]
    assert found["threshold"] == expected.threshold
    for limit in ("value", "low", "high"):
        assert found["difference"][limit] == pytest.approx(getattr(expected.difference, limit))
    assert call("compare", *asked).exit_code == 0


def test_files_of_any_json_are_not_paired_by_the_numbers_of_their_rows(fails, tmp_path):
    _two_logs(tmp_path)
    fields = ["--label-field", "ok", "--text-field", "text", "--confidence", "stated"]
    message = fails("route", "small.jsonl", "large.jsonl", *fields)
    assert "have no question and epoch in common. Of any JSON `--id-field` names" in message


def _write_rows(folder, name, rows):
    (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))


NAMED = ["--label-field", "ok", "--confidence-field", "c", "--id-field", "id"]


def test_only_the_log_of_the_cheap_model_needs_confidences(call, fails, tmp_path):
    rng = np.random.default_rng(5)
    c = rng.uniform(0.4, 1, 500).round(3)
    small = rng.random(500) < c
    large = rng.random(500) < 0.95
    rows = [{"id": f"q{i}", "ok": bool(small[i]), "c": c[i]} for i in range(500)]
    _write_rows(tmp_path, "small", rows)
    rows = [{"id": f"q{i}", "ok": bool(large[i])} for i in rng.permutation(500)]
    _write_rows(tmp_path, "large", rows)

    result = call(
        "route", "small.jsonl", "large.jsonl", *NAMED, "--loss", "0.05", "--format", "json"
    )
    expected = tn.route(small, c, large, loss=0.05, cluster=np.arange(500))
    found = json.loads(result.stdout)["route"]
    assert found["threshold"] == expected.threshold
    for limit in ("value", "low", "high"):
        assert found["difference"][limit] == pytest.approx(getattr(expected.difference, limit))
    assert "large: confidence from" not in result.stderr
    assert "large.jsonl has no field 'c'" in fails("compare", "small.jsonl", "large.jsonl", *NAMED)
    assert "large.jsonl has no field 'c'" in fails("route", "large.jsonl", "small.jsonl", *NAMED)


def test_answers_of_the_strong_model_count_with_and_without_a_confidence(call, tmp_path):
    rng = np.random.default_rng(6)
    c = rng.uniform(0.4, 1, 400).round(3)
    rows = [{"id": f"q{i}", "ok": i % 3 > 0, "c": c[i]} for i in range(400)]
    _write_rows(tmp_path, "small", rows)
    for row in rows[::2]:
        del row["c"]
    _write_rows(tmp_path, "large", rows)
    result = call("route", "small.jsonl", "large.jsonl", *NAMED, "--format", "json")
    assert json.loads(result.stdout)["route"]["n"] == 400

"""``trueness gate`` judges the limits of the error, and never lets nothing pass."""

import csv
import io
import json

import numpy as np
import pytest
from tables_on_disk import write_columns

import trueness as tn


def found(result, code):
    assert result.exit_code == code, result.stderr
    return list(csv.DictReader(io.StringIO(result.stdout)))


@pytest.fixture
def limits(grouped):
    return tn.ece_interval(grouped["y"], grouped["q"], seed=0)


@pytest.mark.parametrize("require", [False, True])
@pytest.mark.parametrize("end", ["low", "high"])
def test_the_gate_is_at_the_limit_that_was_asked_for(call, grouped, limits, tmp_path, require, end):
    write_columns(tmp_path / "x.csv", grouped)
    assert 0 < limits.low < limits.high
    edge = getattr(limits, end)
    for allowed in (np.nextafter(edge, 0), edge, np.nextafter(edge, 1)):
        more = ["--require"] if require else []
        judged = limits.high if require else limits.low
        (line,) = found(
            call("gate", "x.csv", "--prob", "q", "--max-ece", repr(float(allowed)), *more, "--format", "csv"),
            int(judged > allowed),
        )
        assert line["passed"] == str(judged <= allowed).lower()
        assert (float(line["low"]), float(line["high"])) == limits.hull


def test_the_verdict_is_in_words(call, grouped, limits, tmp_path):
    write_columns(tmp_path / "x.csv", grouped)
    middle = repr((limits.low + limits.high) / 2)
    for allowed, more, words in (
        ("0.0001", [], "fails: above"),
        (middle, [], "passes: undecided"),
        (middle, ["--require"], "fails: undecided"),
        ("0.9", ["--require"], "passes: below"),
    ):
        result = call("gate", "x.csv", "--prob", "q", "--max-ece", allowed, *more)
        assert words in result.stdout
        assert ("Passed" in result.stdout) is (result.exit_code == 0) is words.startswith("passes")


def test_a_calibrated_model_passes_the_strictest_gate_unless_proof_is_required(call):
    asked = ["gate", "--demo", "--prob", "truth", "--rows", "2000", "--max-ece", "0"]
    assert call(*asked).exit_code == 0
    assert call(*asked, "--require").exit_code == 1


def test_all_models_and_groups_must_pass_at_a_level_that_holds_for_all(call, grouped, tmp_path):
    write_columns(tmp_path / "x.csv", grouped)
    given = ["gate", "x.csv", "--prob", "p", "--by", "region", "--max-ece", "0.05"]
    north, south = found(call(*given, "--format", "csv"), 1)
    assert (north["passed"], south["passed"]) == ("true", "false")
    rows = grouped["region"] == "south"
    together = tn.ece_interval(grouped["y"][rows], grouped["p"][rows], level=0.975, seed=0)
    assert float(south["low"]) == together.low
    result = json.loads(call(*given, "--format", "json").stdout)
    assert result["gate"] == {"max_ece": 0.05, "require": False, "passed": False}
    assert [entry["level"] for entry in result["findings"]] == [0.975, 0.975]


def test_clusters_widen_the_limits(call, grouped, tmp_path):
    write_columns(tmp_path / "x.csv", grouped)
    (line,) = found(call("gate", "x.csv", "--prob", "q", "--cluster", "who", "--max-ece", "0.9", "--format", "csv"), 0)
    expected = tn.ece_interval(grouped["y"], grouped["q"], cluster=grouped["who"], seed=0)
    assert float(line["high"]) == expected.high


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("y,p\n", "has no rows"),
        ("", "is empty"),
        ("y,p\n0,\n1,\n", "all 2 miss a value"),
        ("y,p\n1,0.3\n", "No bin holds two rows"),
    ],
)
@pytest.mark.parametrize("stream", [(), ("--stream",)])
def test_nothing_to_judge_is_not_a_pass(fails, content, words, stream):
    assert words in fails("gate", "-", "--max-ece", "1", "--missing", "drop", *stream, stdin=content)


def test_rows_without_weight_are_nothing_to_judge(fails):
    assert "weight" in fails("gate", "-", "--weight", "w", "--max-ece", "1", stdin="y,p,w\n0,0.1,0\n1,0.2,0\n")


@pytest.mark.parametrize("words", [["--max-ece", "2"], ["--max-ece", "3%"], [], ["--max-ece", "0.1", "--level", "0.5"]])
def test_wrong_usage_is_not_a_failed_gate(call, words):
    assert call("gate", "--demo", *words).exit_code == 2


def test_a_mistake_of_ours_is_not_a_failed_gate(fails, monkeypatch):
    monkeypatch.setattr(tn, "ece_interval", lambda *_, **__: 1 / 0, raising=False)
    message = fails("gate", "--demo", "--max-ece", "0.5")
    assert message.startswith("A mistake in trueness, not in your data: ZeroDivisionError")


def test_a_failed_gate_still_writes_its_findings(call, tmp_path):
    result = call("gate", "--demo", "--max-ece", "0.001", "-o", "gate.json")
    assert result.exit_code == 1
    assert json.loads((tmp_path / "gate.json").read_text())["gate"]["passed"] is False


def test_the_code_of_a_process_is_that_of_the_gate(process):
    assert process("gate", "--demo", "--max-ece", "0.001").returncode == 1
    assert process("gate", "--demo", "--max-ece", "0.5").returncode == 0


@pytest.mark.parametrize(
    ("verb", "option"), [("gate", "--max-ece"), ("gate", "--level"), ("measure", "--level"), ("plot", "--level")]
)
def test_a_limit_that_is_not_a_number_is_wrong_usage(call, verb, option):
    demanded = ["--max-ece", "0.1"] if verb == "gate" else []
    result = call(verb, "--demo", "--rows", "100", *demanded, option, "nan")
    assert result.exit_code == 2
    assert f"Invalid value for '{option}': nan is not in the range" in result.stderr


def test_bins_are_said_of_each_group_where_they_differ(call, grouped, tmp_path):
    write_columns(tmp_path / "x.csv", grouped)
    given = ["gate", "x.csv", "--prob", "p", "--max-ece", "1", "--by", "region"]
    bins = {f["group"]: f["bins"] for f in json.loads(call(*given, "--format", "json").stdout)["findings"]}
    assert bins["north"] != bins["south"]
    said = " ".join(call(*given).stdout.split())
    for group, words in bins.items():
        assert f"limits; {words}: p, region = {group}." in said
    assert ": p, region" not in call(*given, "--bins", "5").stdout

"""``trueness gate`` words what `tn.gate` decides, and never lets nothing pass."""

import csv
import io
import json

import numpy as np
import pytest
from tables_on_disk import write_columns

import trueness as tn

ALL = ["--max-ece", "0.05", "--max-l2", "0.1", "--oe-within", "0.2"]
BOUNDS = {"max_ece": 0.05, "max_l2": 0.1, "oe_within": 0.2}


def found(result, code):
    assert result.exit_code == code, result.stderr
    return list(csv.DictReader(io.StringIO(result.stdout)))


@pytest.fixture
def file(grouped, tmp_path):
    write_columns(tmp_path / "x.csv", grouped)
    return ["gate", "x.csv", "--prob", "q", "--format", "csv"]


@pytest.mark.parametrize(
    ("more", "options"),
    [
        ([*ALL, "--seed", "3"], {**BOUNDS, "seed": 3}),
        ([*ALL, "--require", "--level", "0.9"], {**BOUNDS, "require": True, "level": 0.9}),
        ([*ALL, "--cluster", "who"], {**BOUNDS, "cluster": "who"}),
        (
            [*ALL[:2], "--by", "region", "--weight", "w"],
            {"max_ece": 0.05, "by": "region", "sample_weight": "w"},
        ),
        (["--max-ece", "0.2", "--bins", "mass:12"], {"max_ece": 0.2, "bins": tn.EqualMass(12)}),
        (["--oe-within", "0.5", "--prob", "p"], {"oe_within": 0.5}),
    ],
    ids=lambda value: value[-2] if isinstance(value, list) else "",
)
def test_findings_are_the_librarys(call, file, grouped, more, options):
    scores = {"q": grouped["q"], "p": grouped["p"]} if "--prob" in more else {"q": grouped["q"]}
    columns = {key: grouped[value] for key, value in options.items() if isinstance(value, str)}
    if "by" in columns:
        columns["by"] = {"region": columns["by"]}
    expected = tn.gate(grouped["y"], scores, **options | columns)
    lines = found(call(*file, *more), int(not expected.passed))
    for line, one in zip(lines, expected.findings, strict=True):
        assert [line["model"], line["quantity"], line["verdict"]] == [
            one.model,
            one.quantity,
            one.outcome,
        ]
        assert f"{line.get('by', '')} = {line.get('group', '')}" == (one.group or " = ")
        for key in ("n", "bound", "estimate", "low", "high", "level"):
            assert float(line[key]) == pytest.approx(getattr(one, key), rel=1e-12), key
        assert line["pvalue"] == ("" if one.pvalue is None else repr(one.pvalue))
        assert line["bins"] == one.bins
        assert line["passed"] == str(one.passed).lower()
        assert line["reason"] == one.sentence


def test_each_line_says_what_was_judged_against_what(call, file, grouped):
    (one,) = tn.gate(grouped["y"], grouped["q"], max_ece=0.9).findings
    low, high = one.low, one.high
    middle, no = (low + high) / 2, "not shown to keep it, "
    for allowed, more, words, passes in (
        (0.0001, [], f"lower 95 % limit {low:.4f} > 0.0001 → fails", False),
        (middle, [], f"lower 95 % limit {low:.4f} ≤ {middle:g} → passes", True),
        (
            middle,
            ["--require"],
            f"{no}p = 1.00 (upper 95 % limit {high:.4f} > {middle:g}) → not certified",
            False,
        ),
        (
            0.9,
            ["--require"],
            f"shown to keep it, p < 0.0001 (upper 95 % limit {high:.4f} ≤ 0.9) → certified",
            True,
        ),
        (
            0.0001,
            ["--require"],
            f"lower 95 % limit {low:.4f} > 0.0001 → fails",
            False,
        ),
    ):
        result = call(*file[:4], "--max-ece", repr(allowed), *more)
        said = " ".join(result.stdout.split())
        assert f"ECE in 10 bins of equal width ≤ {allowed:g}: {words}." in said
        assert ("Passed." in said) is (result.exit_code == 0) is passes
        assert ("p: equivalence test of each bound; p ≤ 0.05 certifies it." in said) is bool(more)


def test_a_gate_that_cannot_know_says_so_and_does_not_pass(call):
    result = call("gate", "-", "--max-ece", "0.03", stdin="y,p\n0,0.3\n1,0.6\n")
    said = " ".join(result.stdout.split())
    assert result.exit_code == 3
    assert "cannot be determined from 2 rows: " in said
    assert "Cannot be decided with these rows. p: ECE in 10 bins of equal width lies" in said


def test_a_gate_that_fails_for_any_segment_adjusts_for_their_number(call, tmp_path):
    rng = np.random.default_rng(1)
    group, p = np.arange(4_000) % 5, rng.uniform(0.2, 0.8, 4_000).round(2)
    write_columns(
        tmp_path / "x.csv",
        {"y": (rng.random(4_000) < p + 0.18 * (group == 4)).astype(int), "p": p, "g": group},
    )
    given = ["gate", "x.csv", "--max-ece", "0.05", "--by", "g"]
    result = json.loads(call(*given, "--format", "json").stdout)
    settings = {"require": False, "level": 0.95, "passed": False}
    settings |= {"outcome": "fail", "needed": None}
    assert result["gate"] == {"max_ece": 0.05, "max_l2": None, "oe_within": None, **settings}
    assert {entry["level"] for entry in result["findings"]} == {0.99}
    assert [entry["group"] for entry in result["findings"] if not entry["passed"]] == [4]
    text = " ".join(call(*given).stdout.split())
    rate = "If every bound is kept, the gate fails with a probability of at most 5 %: one error rate for all 5 comparisons"
    assert f"each with 99 % confidence. {rate} together." in text
    assert "g = 4, p: ECE in 10 bins of equal width ≤ 0.05: lower 99 % limit" in text
    assert "Failed. g = 4, p: ECE in 10 bins of equal width is at least" in text


@pytest.mark.parametrize("stream", [(), ("--stream",)])
def test_nothing_to_judge_is_not_a_pass(fails, stream):
    for content, words in (
        ("y,p\n", "has no rows"),
        ("", "is empty"),
        ("y,p\n0,\n1,\n", "all 2 have a missing value"),
        ("y,p\n1,0.3\n", "must have at least two rows to be judged"),
    ):
        assert words in fails(
            "gate", "-", "--max-ece", "1", "--missing", "drop", *stream, stdin=content
        )
    assert "weight" in fails(
        "gate", "-", "--weight", "w", "--max-ece", "1", stdin="y,p,w\n0,0.1,0\n1,0.2,0\n"
    )


@pytest.mark.parametrize(
    "words",
    [
        ["--max-ece", "2"],
        ["--max-ece", "3%"],
        [],
        ["--require"],
        ["--max-ece", "0.1", "--level", "0.75"],
        ["--max-l2", "0.1", "--bins", "5"],
        ["--max-ece", "0.1", "--bins", "isotonic"],
    ],
)
def test_wrong_usage_is_not_a_failed_gate(call, words):
    assert call("gate", "--demo", *words).exit_code == 2


def test_a_failed_gate_still_writes_its_findings(call, tmp_path):
    result = call("gate", "--demo", "--rows", "1000", "--max-ece", "0.001", "-o", "gate.json")
    assert result.exit_code == 1
    assert json.loads((tmp_path / "gate.json").read_text())["gate"]["passed"] is False


@pytest.mark.slow
def test_the_code_of_a_process_is_that_of_the_gate(process):
    assert process("gate", "--demo", "--max-ece", "0.001").returncode == 1
    assert process("gate", "--demo", "--max-ece", "0.5").returncode == 0


def test_a_limit_that_is_not_a_number_is_wrong_usage(call):
    for verb, option in (
        ("gate", "--max-ece"),
        ("gate", "--level"),
        ("measure", "--level"),
        ("plot", "--level"),
    ):
        demanded = ["--max-ece", "0.1"] if (verb, option) == ("gate", "--level") else []
        result = call(verb, "--demo", "--rows", "100", *demanded, option, "nan")
        assert result.exit_code == 2
        assert f"Invalid value for '{option}': nan is not in the range" in result.stderr


@pytest.fixture
def tallies(call, grouped, tmp_path):
    write_columns(tmp_path / "x.csv", grouped)
    for name, kept in (("sketch", "sketch"), ("distinct", "distinct"), ("bins", "8")):
        asked = [
            "tally",
            "x.csv",
            "--prob",
            "q",
            "--by",
            "region",
            "--bins",
            kept,
            "-o",
            f"{name}.tally",
        ]
        assert call(*asked).exit_code == 0


@pytest.mark.parametrize("kept", ["sketch", "distinct", "bins"])
def test_sums_are_judged_as_their_rows(call, tallies, file, kept):
    bins = ["--bins", "8"]
    bounds = ["--max-ece", "0.9", "--oe-within", "0.9", "--require", *bins]
    rows, sums = (
        found(call(*words, *bounds), 0) for words in (file, ["gate", f"{kept}.tally", *file[-2:]])
    )
    for row, line in zip(rows, sums, strict=True):
        for key in ("n", "estimate", "low", "high"):
            assert float(line[key]) == pytest.approx(float(row[key]), abs=2e-3), key
    own = found(call("gate", f"{kept}.tally", "--max-ece", "0.9", "--format", "csv"), 0)[0]
    assert own["bins"] == ("EqualWidth(n=8)" if kept == "bins" else "EqualWidth(n=10)")


def test_what_sums_of_bins_do_not_tell_does_not_pass(call, tallies):
    for more in ([], ["--require"]):
        (line,) = found(call("gate", "bins.tally", "--max-l2", "0.9", *more, "--format", "csv"), 3)
        assert line["verdict"] == "unknown"
    assert (
        "cannot be determined from sums of bins → not passed"
        in call("gate", "bins.tally", "--max-l2", "0.9").stdout
    )
    assert found(call("gate", "sketch.tally", "--max-l2", "0.9", "--require", "--format", "csv"), 0)


def test_groups_of_sums_are_judged_on_demand(call, fails, tallies, grouped, tmp_path):
    lines = found(
        call(
            "gate", "distinct.tally", "--groups", "--max-ece", "0.9", "--require", "--format", "csv"
        ),
        0,
    )
    assert [line["group"] for line in lines] == sorted(set(grouped["region"]))
    write_columns(tmp_path / "plain.csv", {"y": grouped["y"], "p": grouped["p"]})
    assert call("tally", "plain.csv", "-o", "plain.tally").exit_code == 0
    assert "`--groups` needs sums in groups" in fails(
        "gate", "plain.tally", "--groups", "--max-ece", "0.9"
    )


@pytest.mark.parametrize("stream", [(), ("--stream",)])
def test_two_columns_are_the_binary_problem_of_the_second(call, grouped, tmp_path, stream):
    y, q = grouped["y"], grouped["q"].astype(np.float64)
    write_columns(tmp_path / "x.csv", {"y": y, "no": 1 - q, "yes": q})
    bounds = ["--max-ece", "0.9", "--max-l2", "0.9", "--require", "--format", "csv", *stream]
    two = call("gate", "x.csv", "--prob-columns", "no,yes", *bounds)
    one = call("gate", "x.csv", "--prob", "yes", *bounds)
    assert [line["high"] for line in found(two, 0)] == [line["high"] for line in found(one, 0)]
    if not stream:
        assert "The two columns of scores are one binary problem" in two.stderr

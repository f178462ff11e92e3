"""``trueness gate`` judges what its options name by limits that hold, and never lets nothing pass."""

import csv
import io
import json

import numpy as np
import pytest
from ece_limits import ece_limits
from tables_on_disk import write_columns

import trueness as tn
from trueness.errors import TruenessWarning


def found(result, code):
    assert result.exit_code == code, result.stderr
    return list(csv.DictReader(io.StringIO(result.stdout)))


@pytest.fixture
def file(grouped, tmp_path):
    write_columns(tmp_path / "x.csv", grouped)
    return ["gate", "x.csv", "--prob", "q", "--format", "csv"]


def l2_limits(*data, level=0.95, **options):
    both = tn.ece_interval(*data, level=2 * level - 1, seed=0, **options)
    zero = tn.ece_interval(*data, level=level, seed=0, **options).includes_zero
    return 0.0 if zero else both.hull[0], both.high


@pytest.fixture
def limits(grouped):
    """Lower and upper limit of each quantity, where both modes use the same."""
    y, q = grouped["y"], grouped["q"]
    ece = ece_limits(y, q, seed=0)
    return {"--max-ece": (ece.low, ece.high), "--max-l2": l2_limits(y, q)}


@pytest.mark.parametrize("option", ["--max-ece", "--max-l2"])
@pytest.mark.parametrize("require", [False, True])
def test_the_gate_is_at_the_limit_that_was_asked_for(call, file, limits, option, require):
    low, high = limits[option]
    assert 0 < low < high
    judged = high if require else low
    for allowed in (np.nextafter(judged, 0), judged):
        more = [option, repr(float(allowed)), *(["--require"] if require else [])]
        (line,) = found(call(*file, *more), int(judged > allowed))
        assert line["passed"] == str(judged <= allowed).lower()
        assert (float(line["low"]), float(line["high"])) == (low, high)
        assert line["quantity"] == option.removeprefix("--max-")


def test_the_ece_is_that_of_the_bins_that_are_named(call, file, grouped):
    y, q = grouped["y"], grouped["q"]
    for typed, rule in (("7", 7), ("mass:12", tn.EqualMass(12))):
        (line,) = found(call(*file, "--max-ece", "0.9", "--bins", typed), 0)
        assert float(line["estimate"]) == pytest.approx(tn.ece(y, q, bins=rule), abs=1e-15)
        assert float(line["high"]) == ece_limits(y, q, bins=rule, seed=0).high
    (line,) = found(call(*file, "--max-ece", "0.9"), 0)
    assert float(line["estimate"]) == pytest.approx(tn.ece(y, q), abs=1e-15)


def test_observed_expected_must_lie_within_a_range(call, file, grouped):
    y, q = grouped["y"], grouped["q"]
    limits = tn.estimate("observed_expected", y, q, level=0.9)
    reach = max(limits.high - 1, 1 - limits.low)
    for allowed, code in ((reach * 1.001, 0), (reach * 0.999, 1)):
        (line,) = found(call(*file, "--oe-within", repr(allowed), "--require"), code)
        numbers = [float(line[key]) for key in ("estimate", "low", "high")]
        assert numbers == pytest.approx([limits.value, limits.low, limits.high], rel=1e-12)
    outside = 1 - tn.estimate("observed_expected", y, q).high  # there are fewer events than expected
    assert outside > 0
    assert found(call(*file, "--oe-within", repr(outside * 0.999)), 1)
    assert found(call(*file, "--oe-within", repr(outside * 1.001)), 0)


@pytest.mark.parametrize(("option", "criterion"), [("--max-ece", "ece"), ("--max-l2", "l2"), ("--oe-within", "oe")])
def test_require_is_the_equivalence_test(call, file, grouped, option, criterion):
    y, q = grouped["y"], grouped["q"]
    for within, level in ((0.2, "0.97"), (0.25, "0.8")):
        test = tn.equivalence_test(y, q, within=within, criterion=criterion, seed=0)
        code = int(test.pvalue > 1 - float(level))
        (line,) = found(call(*file, option, repr(within), "--require", "--level", level), code)
        assert float(line["pvalue"]) == pytest.approx(test.pvalue)
    (line,) = found(call(*file, option, "0.5"), 0)
    assert line["pvalue"] == ""
    table = call("gate", "x.csv", "--prob", "q", option, "0.5", "--require").stdout
    assert "p: equivalence test of each bound, certified if p ≤ 0.05." in " ".join(table.split())


def test_each_line_says_what_was_judged_against_what(call, grouped, limits, tmp_path):
    write_columns(tmp_path / "x.csv", grouped)
    low, high = limits["--max-ece"]
    middle, no = (low + high) / 2, "not shown to keep it, "
    for allowed, more, words, passes in (
        (0.0001, [], f"lower 95 % limit {low:.4f} > 0.0001 → fails", False),
        (middle, [], f"lower 95 % limit {low:.4f} ≤ {middle:g} → passes", True),
        (middle, ["--require"], f"{no}p = 1.00 (upper 95 % limit {high:.4f} > {middle:g}) → not certified", False),
        (0.9, ["--require"], f"shown to keep it, p < 0.0001 (upper 95 % limit {high:.4f} ≤ 0.9) → certified", True),
        (0.0001, ["--require"], f"{no}p = 1.00 (lower 95 % limit {low:.4f} > 0.0001) → not certified", False),
    ):
        result = call("gate", "x.csv", "--prob", "q", "--max-ece", repr(allowed), *more)
        assert f"ECE in 10 bins of equal width ≤ {allowed:g}: {words}." in " ".join(result.stdout.split())
        assert ("Passed." in result.stdout) is (result.exit_code == 0) is passes


def test_a_calibrated_model_passes_the_strictest_gate_unless_proof_is_required(call):
    asked = ["gate", "--demo", "--prob", "truth", "--rows", "1000", "--max-ece", "0", "--max-l2", "0"]
    assert call(*asked, "--oe-within", "0").exit_code == 0
    lines = found(call(*asked, "--oe-within", "0.9", "--require", "--format", "csv"), 1)  # all bounds must be kept
    assert [line["verdict"] for line in lines] == ["not certified", "not certified", "certified"]


@pytest.mark.parametrize(
    ("option", "bound"), [("--max-ece", "0.03"), ("--max-ece", "0.2"), ("--max-l2", "0.03"), ("--oe-within", "0.1")]
)
@pytest.mark.parametrize("rows", ["0,0.3\n1,0.6\n", "1,0.9\n" * 12 + "0,0.9\n", "0,0.001\n" * 30])
def test_a_gate_that_cannot_know_says_so_and_does_not_pass(call, tmp_path, option, bound, rows):
    (tmp_path / "x.csv").write_text("y,p\n" + rows)
    result = call("gate", "x.csv", option, bound)
    if rows.startswith("0,0.001") and option != "--oe-within":
        assert result.exit_code == 0  # 30 rows without an event exclude an error above 0.25
        return
    said = " ".join(result.stdout.split())
    assert result.exit_code == 1
    assert f"cannot be determined from {rows.count(chr(10))} rows: " in said
    assert said.endswith("→ not passed. Not passed: 1 of 1 cannot be determined.")
    assert call("gate", "x.csv", option, "1" if option != "--oe-within" else bound).exit_code == int("oe" in option)


@pytest.mark.parametrize(
    ("line", "rows", "limit"), [("1,1.0\n", 25, 1 - 0.05 ** (1 / 25)), ("0,0.0001\n", 60, 1 - 0.05 ** (1 / 60) - 1e-4)]
)
@pytest.mark.parametrize("option", ["--max-ece", "--max-l2"])
def test_one_class_alone_does_not_certify_a_small_error(call, tmp_path, line, rows, limit, option):
    (tmp_path / "x.csv").write_text("y,p\n" + line * rows)
    (line,) = found(call("gate", "x.csv", option, "0.005", "--require", "--format", "csv"), 1)
    assert float(line["high"]) == pytest.approx(limit, rel=1e-6)


@pytest.fixture
def fitted(tmp_path):
    """Scores of an isotonic map, fitted on the rows on which it is judged."""
    rng = np.random.default_rng(0)
    p = rng.random(2_000)
    y = (rng.random(2_000) < p**1.5).astype(int)
    with pytest.warns(TruenessWarning):
        fitted = tn.IsotonicCalibration().fit(p, y).predict(p)
    write_columns(tmp_path / "x.csv", {"y": y, "p": fitted})


@pytest.mark.parametrize("kept", ["rows", "distinct", "sketch", "10"])
def test_what_is_too_good_to_be_true_is_not_certified(call, fitted, kept):
    file = "x.csv"
    if kept != "rows":
        file = "x.tally"
        assert call("tally", "x.csv", "--bins", kept, "-o", file).exit_code == 0
    result = call("gate", file, "--max-ece", "0.1", "--oe-within", "0.2", "--require")
    assert result.exit_code == 1
    assert "too good to be true for new rows: p = 0.0001 (lower tail) → not certified" in " ".join(
        result.stdout.split()
    ).replace("p < 0.0001", "p = 0.0001")
    assert call("gate", file, "--max-ece", "0.1").exit_code == 0


def test_certainty_that_labels_contradict_is_mentioned(call, tmp_path):
    (tmp_path / "x.csv").write_text("y,p\n" + "1,1\n" * 90 + "0,1\n")
    said = " ".join(call("gate", "x.csv", "--max-ece", "0.1", "--require").stdout.split())
    assert "although 1 label contradicts a score of exactly 0 or 1 → certified." in said


def five_segments(seed=1, n=800, bad=0.0):
    rng = np.random.default_rng(seed)
    segment = np.arange(5 * n) % 5
    p = rng.uniform(0.2, 0.8, 5 * n).round(2)
    return {"y": (rng.random(5 * n) < p + bad * (segment == 4)).astype(int), "p": p, "g": segment}


def test_every_segment_is_certified_at_its_own_level(call, tmp_path):
    columns = five_segments()
    write_columns(tmp_path / "x.csv", columns)
    alone = []
    for g in range(5):
        rows = columns["g"] == g
        alone.append(ece_limits(columns["y"][rows], columns["p"][rows], seed=0).high)
    lines = found(call("gate", "x.csv", "--max-ece", repr(max(alone)), "--by", "g", "--require", "--format", "csv"), 0)
    assert [float(line["high"]) for line in lines] == alone


def test_a_gate_that_fails_for_any_segment_adjusts_for_their_number(call, tmp_path):
    columns = five_segments(bad=0.18)
    write_columns(tmp_path / "x.csv", columns)
    given = ["gate", "x.csv", "--max-ece", "0.05", "--by", "g"]
    result = json.loads(call(*given, "--format", "json").stdout)
    assert result["gate"] == {
        "max_ece": 0.05,
        "max_l2": None,
        "oe_within": None,
        "require": False,
        "level": 0.95,
        "passed": False,
    }
    assert {entry["level"] for entry in result["findings"]} == {round(1 - 0.05 / 5, 12)}
    assert [entry["group"] for entry in result["findings"] if not entry["passed"]] == [4]
    rows = columns["g"] == 4
    expected = ece_limits(columns["y"][rows], columns["p"][rows], level=1 - 0.05 / 5, seed=0)
    assert result["findings"][4]["low"] == pytest.approx(expected.low, abs=1e-12)
    text = " ".join(call(*given).stdout.split())
    assert "p, g = 4: ECE in 10 bins of equal width ≤ 0.05: lower 99 % limit" in text
    assert "Failed: 1 of 5." in text


@pytest.mark.slow
def test_the_number_of_groups_does_not_make_a_gate_unknowing(call, tmp_path):
    rng = np.random.default_rng(0)
    p = rng.uniform(0.2, 0.8, 6_000).round(2)
    write_columns(tmp_path / "x.csv", {"y": (rng.random(6_000) < p).astype(int), "p": p, "g": np.arange(6_000) % 30})
    lines = found(call("gate", "x.csv", "--max-l2", "0.05", "--by", "g", "--format", "csv"), 0)
    assert max(float(line["high"]) for line in lines) > 0.25
    assert {line["verdict"] for line in lines} == {"not exceeded"}


def test_a_level_too_high_for_draws_has_the_lower_limit_of_the_ece(call, file, grouped):
    (line,) = found(call(*file, "--max-l2", "0.9", "--level", "0.99999"), 0)
    expected = ece_limits(grouped["y"], grouped["q"], level=0.99999, seed=0)
    assert (float(line["low"]), float(line["high"])) == (expected.low, 1)


def test_clusters_widen_the_limits(call, grouped, file):
    asked = [*file, "--cluster", "who", "--max-ece", "0.9", "--max-l2", "0.9", "--oe-within", "0.9", "--require"]
    ece, l2, oe = found(call(*asked), 0)
    y, q, who = grouped["y"], grouped["q"], grouped["who"]
    assert float(ece["high"]) == ece_limits(y, q, cluster=who, seed=0).high
    assert float(l2["high"]) == l2_limits(y, q, cluster=who)[1]
    alone = found(call(*file, "--oe-within", "0.9", "--require"), 0)[0]
    assert float(oe["high"]) - float(oe["low"]) != float(alone["high"]) - float(alone["low"])


@pytest.mark.parametrize("stream", [(), ("--stream",)])
def test_nothing_to_judge_is_not_a_pass(fails, stream):
    for content, words in (
        ("y,p\n", "has no rows"),
        ("", "is empty"),
        ("y,p\n0,\n1,\n", "all 2 have a missing value"),
        ("y,p\n1,0.3\n", "must have at least two rows to be judged"),
    ):
        assert words in fails("gate", "-", "--max-ece", "1", "--missing", "drop", *stream, stdin=content)
    assert "weight" in fails("gate", "-", "--weight", "w", "--max-ece", "1", stdin="y,p,w\n0,0.1,0\n1,0.2,0\n")


@pytest.mark.all_cases
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
    for verb, option in (("gate", "--max-ece"), ("gate", "--level"), ("measure", "--level"), ("plot", "--level")):
        demanded = ["--max-ece", "0.1"] if verb == "gate" else []
        result = call(verb, "--demo", "--rows", "100", *demanded, option, "nan")
        assert result.exit_code == 2
        assert f"Invalid value for '{option}': nan is not in the range" in result.stderr


@pytest.fixture
def tallies(call, grouped, tmp_path):
    write_columns(tmp_path / "x.csv", grouped)
    for name, kept in (("sketch", "sketch"), ("distinct", "distinct"), ("bins", "8")):
        asked = ["tally", "x.csv", "--prob", "q", "--by", "region", "--bins", kept, "-o", f"{name}.tally"]
        assert call(*asked).exit_code == 0


@pytest.mark.parametrize("kept", ["sketch", "distinct", "bins"])
def test_sums_are_judged_as_their_rows(call, tallies, file, kept):
    bins = ["--bins", "8"]
    bounds = ["--max-ece", "0.9", "--oe-within", "0.9", "--require", *bins]
    rows, sums = (found(call(*words, *bounds), 0) for words in (file, ["gate", f"{kept}.tally", *file[-2:]]))
    for row, line in zip(rows, sums, strict=True):
        for key in ("n", "estimate", "low", "high"):
            assert float(line[key]) == pytest.approx(float(row[key]), abs=2e-3), key
    own = found(call("gate", f"{kept}.tally", "--max-ece", "0.9", "--format", "csv"), 0)[0]
    assert own["bins"] == ("EqualWidth(n=8)" if kept == "bins" else "EqualWidth(n=10)")


def test_what_sums_of_bins_do_not_tell_does_not_pass(call, tallies):
    for more in ([], ["--require"]):
        (line,) = found(call("gate", "bins.tally", "--max-l2", "0.9", *more, "--format", "csv"), 1)
        assert line["verdict"] == "unknown"
    assert "cannot be determined from sums of bins → not passed" in call("gate", "bins.tally", "--max-l2", "0.9").stdout
    assert found(call("gate", "sketch.tally", "--max-l2", "0.9", "--require", "--format", "csv"), 0)


def test_groups_of_sums_are_judged_on_demand(call, fails, tallies, grouped, tmp_path):
    lines = found(call("gate", "distinct.tally", "--groups", "--max-ece", "0.9", "--require", "--format", "csv"), 0)
    assert [line["group"] for line in lines] == sorted(set(grouped["region"]))
    write_columns(tmp_path / "plain.csv", {"y": grouped["y"], "p": grouped["p"]})
    assert call("tally", "plain.csv", "-o", "plain.tally").exit_code == 0
    assert "`--groups` needs sums in groups" in fails("gate", "plain.tally", "--groups", "--max-ece", "0.9")


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

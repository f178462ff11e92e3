"""``trueness gate --policy``, its receipt, and ``trueness verify``."""

import json

import numpy as np
import polars as pl
import pytest

POLICY = """
require = true
max_ece = 0.08
by = ["region"]
segment_gap = 0.12
columns = ["a", "age"]
slice_gap = 0.3
baseline = "old"
margin = 0.01
"""
WORDS = ["gate", "rows.csv", "--label", "y", "--prob", "p", "--policy", "calibration.toml"]


@pytest.fixture
def rows(tmp_path):
    rng = np.random.default_rng(0)
    p = rng.beta(2, 2, 1500).round(4)
    columns = {
        "y": (rng.uniform(size=1500) < p).astype(int),
        "p": p,
        "region": rng.choice(["n", "s"], 1500),
        "a": rng.choice(list("xy"), 1500),
        "age": rng.integers(18, 90, 1500),
        "old": np.clip(p + rng.normal(0, 0.05, 1500), 0, 1).round(4),
    }
    frame = pl.DataFrame(columns)
    frame.write_csv(tmp_path / "rows.csv")
    (tmp_path / "calibration.toml").write_text(POLICY)
    return frame


def test_a_receipt_is_verified_with_the_same_rows_in_any_form(call, rows, tmp_path):
    result = call(*WORDS, "--receipt", "r.json", "--format", "json")
    assert result.exit_code == 0
    receipt = json.loads((tmp_path / "r.json").read_text())
    assert receipt["findings"] == json.loads(result.stdout)["findings"]
    assert (receipt["outcome"], receipt["gate"]["policy"]["baseline"]) == ("pass", "old")
    assert {"digest", "version", "definition", "asked", "versions"} <= receipt.keys()
    assert call("verify", "r.json").stdout.startswith("The same: Passed. ")
    rows.sample(fraction=1, shuffle=True, seed=1).write_parquet(tmp_path / "rows.parquet")
    assert call("verify", "r.json", "rows.parquet").exit_code == 0
    # One label is another one.
    y = rows["y"].to_numpy().copy()
    y[7] = 1 - y[7]
    rows.with_columns(y=y).write_csv(tmp_path / "rows.csv")
    told = call("verify", "r.json")
    assert told.exit_code == 1
    assert told.stdout.startswith("The rows differ: their digest is another one.\n")
    assert "ece: estimate was" in told.stdout


def test_a_receipt_that_was_changed_differs(call, rows, tmp_path):
    words = [*WORDS[:6], "--max-ece", "0.01", "--require", "--receipt", "r.json"]
    assert call(*words).exit_code == 3
    receipt = json.loads((tmp_path / "r.json").read_text())
    receipt["outcome"] = "pass"
    (tmp_path / "r.json").write_text(json.dumps(receipt))
    told = call("verify", "r.json")
    assert (told.exit_code, told.stdout) == (
        1,
        "The outcome was 'pass'; now it is 'investigate'.\n",
    )


def test_what_is_no_receipt_is_refused(call, fails, rows, tmp_path):
    assert "must be the receipt of a gate" in fails("verify", "rows.csv")
    (tmp_path / "x.json").write_text('{"what": "trueness gate receipt", "schema": 1}')
    assert "must be a whole receipt" in fails("verify", "x.json")


def test_the_section_of_pyproject_is_read_where_no_bound_is_given(call, fails, rows, tmp_path):
    assert "Give at least one bound" in fails(*WORDS[:6])
    (tmp_path / "pyproject.toml").write_text(
        "[tool.trueness.gate]\nmax_ece = 0.001\nrequire = true\n"
    )
    result = call(*WORDS[:6])
    assert result.exit_code == 3
    assert "Cannot be decided with these rows. ECE in 10 bins" in " ".join(result.stdout.split())
    assert "note: the bounds are those of [tool.trueness.gate]" in result.stderr


def test_options_beside_a_policy_and_unknown_keys_are_refused(fails, rows, tmp_path):
    told = fails(*WORDS, "--max-ece", "0.1")
    assert "`--max-ece` must not be given beside `--policy`" in told
    (tmp_path / "calibration.toml").write_text("max_eec = 0.1\n")
    assert "Did you mean 'max_ece'?" in fails(*WORDS)
    (tmp_path / "calibration.toml").write_text("max_ece = 0.1\nlevel = 95\n")
    assert fails(*WORDS) == (
        "calibration.toml: `level` must lie strictly between 0.5 and 1; got 95."
    )
    (tmp_path / "calibration.toml").write_text('by = ["zone"]\nsegment_gap = 0.1\n')
    assert "'zone'" in fails(*WORDS)


def test_a_policy_for_stored_sums(call, fails, rows, tmp_path):
    call("tally", "rows.csv", "--label", "y", "--prob", "p", "-o", "s.tally")
    assert "needs rows for 'by'" in fails("gate", "s.tally", "--policy", "calibration.toml")
    (tmp_path / "calibration.toml").write_text("max_l2 = 0.2\nrequire = true\n")
    words = ["gate", "s.tally", "--policy", "calibration.toml", "--receipt", "r.json"]
    assert call(*words, "--format", "markdown").exit_code == 0
    assert call("verify", "r.json").exit_code == 0


def test_a_comparison_that_is_not_listed_is_not_called_a_finding(call, rows, tmp_path):
    (tmp_path / "calibration.toml").write_text("max_ece = 0.2\n")
    words = ["gate", "rows.csv", "--label", "y", "--prob", "p", "--policy", "calibration.toml"]
    text = " ".join(call(*words).stdout.split())
    assert "one error rate for all 2 comparisons together." in text

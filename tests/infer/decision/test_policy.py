"""A gate by a policy: one α over everything that can fail, and what these rows cannot decide."""

import math
from itertools import product

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

import trueness as tn

POLICY = {
    "max_l2": 0.06,
    "oe_within": 0.1,
    "by": ["region"],
    "segment_gap": 0.06,
    "columns": ["a", "b"],
    "slice_gap": 0.1,
    "baseline": "old",
    "margin": 0.004,
}


def world(n, seed=0, shift=None):
    """Calibrated scores from Beta(2, 2), moved in some rows, and columns beside them."""
    rng = np.random.default_rng(seed)
    truth = rng.beta(2, 2, n)
    frame = pl.DataFrame(
        {
            "region": rng.choice(list("nesw"), n),
            "a": rng.choice(list("xyz"), n),
            "b": rng.choice(list("uv"), n),
        }
    )
    moved = truth if shift is None else np.clip(truth + shift(frame), 0, 1)
    y = (rng.uniform(size=n) < moved).astype(int)
    old = np.clip(truth + rng.normal(0, 0.05, n), 0, 1)
    return y, truth, frame.with_columns(old=old)


def judge(rows, **changes):
    y, p, frame = rows
    return tn.gate(y, p, policy={**POLICY, **changes}, data=frame)


def test_a_good_model_passes_and_is_certified():
    found = judge(world(8000), require=True)
    assert (found.outcome, found.passed, found.needed) == ("pass", True, None)
    assert str(found).startswith("Passed. The typical error is at most 0.0")
    assert [one.quantity for one in found.findings] == ["l2", "oe", *["gap"] * 4, "brier", "gap"]
    assert found.tests == 2 + 1 + 4 + (3 + 2 + 6) + 1  # whole, labels, segments, slices, baseline
    assert "11 slices were tried." in found.notes


def test_a_wrong_segment_fails_and_is_named():
    found = judge(world(8000, shift=lambda frame: 0.12 * (frame["region"] == "n").to_numpy()))
    assert found.outcome == "fail"
    assert [one.group for one in found.findings if one.outcome == "exceeded"] == ["region = n"]
    assert found.headline.startswith("Failed. region = n: gap lies between 0.0")


def test_few_rows_are_not_a_pass_and_say_how_many_are_needed():
    rows = world(600)
    assert judge(rows).outcome == "pass"  # nothing is shown to be wrong
    found = judge(rows, require=True)
    assert found.outcome == "investigate"
    assert "rows would decide" in found.headline
    demanded = judge(rows, min_rows=1000)
    assert (demanded.outcome, demanded.needed) == ("investigate", 1000)
    assert "600 rows, and at least 1,000 are demanded." in demanded.headline
    few = judge(world(60))
    assert few.outcome == "investigate"
    assert judge(world(8000, shift=lambda frame: -0.2), min_rows=10**6).outcome == "fail"


def test_the_rows_needed_are_those_of_the_smallest_segment():
    y, p, frame = world(2000)
    policy = {"by": "b", "segment_gap": 0.02, "require": True}
    found = tn.gate(y, p, policy=policy, data=frame)
    z = norm.ppf(0.95) + norm.ppf(0.9)
    for one in found.findings:
        part = (frame["b"] == one.group[-1]).to_numpy()
        mean = (y[part].mean() + p[part].mean()) / 2
        rows = mean * (1 - mean) * (z / 0.02) ** 2 * 2000 / part.sum()
        assert rows <= one.needed <= 1.1 * rows


def test_gap_tests_are_those_of_labels_from_moved_scores():
    y, p, frame = world(900, seed=3)
    for bound, code in product((0.05, 0.15), "uv"):
        part = (frame["b"] == code).to_numpy()
        found = tn.gate(
            y[part],
            p[part],
            policy={"by": "b", "segment_gap": bound, "require": True},
            data=frame.filter(part),
        )
        excess = (y - p)[part].sum()
        total = part.sum() * bound
        tails = []
        for sign in (1, -1):
            q = np.clip(p[part] + sign * bound, 0, 1)
            scale = math.sqrt((q * (1 - q)).sum())
            tails.append(norm.cdf((sign * excess - total + 0.5) / scale))
        assert found.findings[0].pvalue == pytest.approx(max(tails), rel=1e-9)


def test_clusters_widen_the_limits_of_a_segment():
    y, p, frame = world(1000)
    rows = {"policy": {"by": "b", "segment_gap": 0.1}}
    twice = {"data": pl.concat([frame, frame]), "cluster": np.tile(np.arange(1000), 2)}
    once = tn.gate(y, p, data=frame, cluster=np.arange(1000), **rows).findings[0]
    both = tn.gate(np.tile(y, 2), np.tile(p, 2), **twice, **rows).findings[0]
    assert (both.low, both.high) == pytest.approx((once.low, once.high), abs=1e-6)


def test_labels_that_are_too_good_fail():
    p = np.linspace(0.05, 0.95, 2000)
    y = np.diff(np.floor(np.cumsum(p)), prepend=0).astype(int)
    found = tn.gate(y, p, policy={"oe_within": 0.2})
    assert found.outcome == "fail"
    assert "The labels agree with the scores too well" in found.headline


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ({"max_ecee": 0.1}, r"got 'max_ecee'\. Did you mean 'max_ece'\?"),
        ({}, "must have a bound"),
        ({"by": ["region"]}, "must have 'segment_gap' beside 'by'"),
        ({"slice_gap": 0.1}, "must have 'columns' beside 'slice_gap'"),
        ({"max_ece": 0.1, "margin": 0.1}, "must have 'baseline' beside 'margin'"),
        ({"max_ece": "0.1"}, r"`max_ece` must be in \[0, 1\]; got '0.1'"),
        ({"max_ece": 2}, r"`max_ece` must lie in \[0, 1\]; got 2"),
        ({"max_ece": 0.1, "level": 0.6}, "must be at least 0.75 for a gate"),
        ({"max_ece": 0.1, "require": 1}, "`require` must be True or False"),
        ({"by": [], "segment_gap": 0.1}, "must be a list of names of columns"),
        ({"by": ["zone"], "segment_gap": 0.1}, "must hold the column 'zone' of 'by'"),
        ("none.toml", "`policy` must be a file that exists; got 'none.toml'"),
        (3, "must be the path of a TOML file, or a dict; got int"),
    ],
)
def test_a_policy_that_cannot_be_meant_is_refused(policy, message):
    y, p, frame = world(60)
    with pytest.raises(tn.InputError, match=message):
        tn.gate(y, p, policy=policy, data=frame)


def test_values_are_checked_and_nothing_to_judge_is_not_a_pass():
    y, p, frame = world(100)
    with pytest.raises(tn.InputError, match="`y_prob` must lie in"):
        tn.gate(y, 2 * p, policy={"by": "b", "segment_gap": 0.1}, data=frame)
    with pytest.raises(tn.InputError, match=r"must lie in \[0, 1\]"):
        tn.gate(y, p, policy={"baseline": "old"}, data={"old": 2 * p})
    few = {"c": np.arange(100).astype(str)}
    found = tn.gate(y, p, policy={"columns": "c", "slice_gap": 0.1}, data=few)
    assert found.outcome == "investigate"
    assert "No slice has 20 rows." in found.notes


def test_a_policy_says_everything():
    y, p, frame = world(60)
    with pytest.raises(tn.InputError, match="`level` must not be given beside `policy`"):
        tn.gate(y, p, policy={"max_ece": 0.1}, level=0.9)
    with pytest.raises(tn.InputError, match="`data` needs `policy`"):
        tn.gate(y, p, max_ece=0.1, data=frame)
    with pytest.raises(tn.InputError, match="needs rows for 'by', 'columns' and 'baseline'"):
        tn.gate(tn.tally(y, p), policy=POLICY)
    assert tn.gate(tn.tally(y, p), policy={"max_ece": 0.4}).outcome == "pass"


def test_a_policy_is_read_from_toml(tmp_path):
    y, p, _ = world(400)
    text = "max_ece = 0.2\nrequire = true\n"
    (tmp_path / "calibration.toml").write_text(text)
    (tmp_path / "pyproject.toml").write_text(f"[tool.trueness.gate]\n{text}")
    found = tn.gate(y, p, policy={"max_ece": 0.2, "require": True})
    for name in ("calibration.toml", "pyproject.toml"):
        assert tn.gate(y, p, policy=tmp_path / name) == found
    (tmp_path / "pyproject.toml").write_text("[tool.other]\n")
    with pytest.raises(tn.InputError, match=r"must have a section \[tool.trueness.gate\]"):
        tn.gate(y, p, policy=tmp_path / "pyproject.toml")
    (tmp_path / "bad.toml").write_text("max_ece 3")
    with pytest.raises(tn.InputError, match=r"`policy` must be TOML; got|`policy` must be TOML"):
        tn.gate(y, p, policy=tmp_path / "bad.toml")


def test_the_outcome_of_a_gate_of_bounds():
    y, p, _ = world(4000)
    assert tn.gate(y, p, max_l2=0.06, require=True).outcome == "pass"
    assert tn.gate(y, p, max_l2=0.005, require=True).outcome == "investigate"
    for require in (False, True):
        assert tn.gate(y, 0.6 * p, max_l2=0.05, require=require).outcome == "fail"
    found = tn.gate(y, p, max_l2=0.005, require=True)
    assert found.to_dict()["outcome"] == "investigate"
    assert f"about {found.needed:,} rows would decide." in str(found)
    assert "Cannot be decided with these rows." in found._repr_html_()


RUNS = 40
AT_MOST = 0.05 + 3 * math.sqrt(0.05 * 0.95 / RUNS)
"""A share that a true 5 % exceeds once in 700 times."""


def shares(n, shift, runs=RUNS, **changes):
    outcomes = [judge(world(n, seed, shift), **changes).outcome for seed in range(runs)]
    return {name: outcomes.count(name) / runs for name in ("pass", "fail", "investigate")}


@pytest.mark.slow
@pytest.mark.parametrize(
    "shift",
    [
        pytest.param(None, id="calibrated"),
        pytest.param(lambda f: 0.06 * (f["region"] == "n").to_numpy(), id="segment on its bound"),
        pytest.param(
            lambda f: 0.1 * ((f["a"] == "x") & (f["b"] == "u")).to_numpy(), id="slice on its bound"
        ),
    ],
)
def test_a_policy_fails_kept_bounds_rarely(shift):
    # Bounds on all rows are wide, so that what lies on its bound is the segment or the slice.
    assert shares(2000, shift, max_l2=0.2, oe_within=0.3)["fail"] <= AT_MOST


@pytest.mark.slow
@pytest.mark.parametrize(
    "shift",
    [
        pytest.param(lambda f: 0.062 * (f["region"] == "n").to_numpy(), id="segment beyond"),
        pytest.param(
            lambda f: 0.103 * ((f["a"] == "x") & (f["b"] == "u")).to_numpy(), id="slice beyond"
        ),
    ],
)
def test_a_policy_passes_broken_bounds_rarely(shift):
    found = shares(8000, shift, max_l2=0.2, oe_within=0.3, require=True)
    assert found["pass"] <= AT_MOST


def test_a_segment_of_weight_zero_is_left_out():
    y, p, frame = world(200)
    parts = np.array(list("abc"))[np.arange(200) % 3]
    found = tn.gate(
        y,
        p,
        sample_weight=np.where(parts == "c", 0, 1),
        policy={"by": "part", "segment_gap": 0.4},
        data=frame.with_columns(part=pl.Series(parts)),
    )
    assert [one.group for one in found.findings] == ["part = a", "part = b"]

"""``trueness decide``: the numbers of the library, and both costs or none."""

import json

import pytest
from tables_on_disk import write_columns

import trueness as tn


@pytest.fixture
def file(grouped, tmp_path):
    write_columns(tmp_path / "x.csv", grouped)
    return ["decide", "x.csv", "--label", "y", "--prob", "p"]


def test_numbers_are_the_librarys(call, file, grouped):
    costs = ["--cost-fp", "1", "--cost-fn", "3", "--accept-accuracy", "0.6"]
    result = call(*file, *costs)
    assert result.exit_code == 0
    expected = tn.decide(grouped["y"], grouped["p"], cost_fp=1, cost_fn=3)
    accept = tn.accept_threshold(grouped["y"], grouped["p"], accuracy=0.6)
    text = " ".join(result.stdout.split())
    assert " ".join(str(expected).splitlines()[0].split()) in text
    assert str(accept) in text
    (found,) = json.loads(call(*file, *costs, "--format", "json").stdout)["models"]
    assert found["decision"]["cost"]["high"] == expected.cost.high
    assert found["accept"]["threshold"] == pytest.approx(accept.threshold, nan_ok=True)
    assert found["certificate"]["high"] == tn.decision_certificate(grouped["y"], grouped["p"]).high


def test_without_costs_it_certifies_what_a_map_could_save(call, file, fails):
    assert "No increasing map lowers" in call(*file).stdout
    assert "Give both costs" in fails(*file, "--cost-fp", "1")
    assert "`--cost-fp` must be a number above 0" in fails(
        *file, "--cost-fp", "-1", "--cost-fn", "1"
    )

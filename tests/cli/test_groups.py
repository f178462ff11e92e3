"""``--by``: each group by itself, with the classes of all."""

import csv
import io
import json

import numpy as np
import pytest
from tables_on_disk import write_columns

import trueness as tn


def lines(result):
    assert result.exit_code == 0, result.stderr
    return list(csv.DictReader(io.StringIO(result.stdout)))


def test_groups_are_measured_apart(call, grouped, tmp_path):
    write_columns(tmp_path / "x.csv", grouped)
    found = lines(call("measure", "x.csv", "--prob", "p", "--prob", "q", "--by", "region", "--format", "csv"))
    assert [(line["by"], line["group"], line["model"]) for line in found] == [
        ("region", "north", "p"),
        ("region", "north", "q"),
        ("region", "south", "p"),
        ("region", "south", "q"),
    ]
    rows = grouped["region"] == "south"
    assert float(found[3]["ece"]) == tn.ece(grouped["y"][rows], grouped["q"][rows])
    assert int(found[3]["n"]) == rows.sum()


def test_columns_of_groups_come_one_after_the_other(call, grouped, tmp_path):
    write_columns(tmp_path / "x.csv", grouped)
    found = lines(call("measure", "x.csv", "--prob", "p", "--by", "w", "--by", "region", "--format", "csv"))
    assert [line["group"] for line in found] == ["1", "2", "3", "north", "south"]


def test_json_and_tables_name_the_groups(call, grouped, tmp_path):
    write_columns(tmp_path / "x.csv", grouped)
    given = ["measure", "x.csv", "--prob", "p", "--by", "region"]
    found = json.loads(call(*given, "--format", "json").stdout)
    assert [group["group"] for group in found["groups"]] == ["north", "south"]
    assert found["groups"][0]["models"][0]["measures"]["n"] == 400
    head, *rest = call(*given).stdout.splitlines()
    assert head.split()[:4] == ["by", "group", "model", "rows"]
    assert rest[1].split()[:3] == ["region", "south", "p"]
    assert call(*given, "--format", "markdown").stdout.startswith("| by | group | model | rows |")


@pytest.mark.parametrize("said", [["--pos-label", "yes"], ["--labels", "no,yes"]])
def test_a_group_may_lack_a_label(call, tmp_path, said):
    y = np.array(["no"] * 20 + ["no", "yes"] * 20)
    group = np.array(["a"] * 20 + ["b"] * 40)
    write_columns(tmp_path / "x.csv", {"y": y, "p": np.linspace(0.1, 0.9, 60), "g": group})
    first, second = lines(call("measure", "x.csv", "--by", "g", *said, "--format", "csv"))
    assert (first["prevalence"], second["prevalence"]) == ("0.0", "0.5")


def test_a_group_may_lack_a_class(call, multiclass, tmp_path):
    y, P = multiclass
    group = np.where(y == 2, "with", np.where(np.arange(y.size) % 2, "with", "without"))
    np.savez(tmp_path / "x.npz", y=np.array(["a", "b", "c"])[y], P=P, g=group)
    found = lines(call("measure", "x.npz", "--prob", "P", "--by", "g", "--format", "csv"))
    assert [line["classes"] for line in found] == ["3", "3"]


def test_warnings_name_their_group(call, tmp_path):
    y = [0] * 20 + [0, 1] * 10
    rows = "".join(f"{label},{0.02 * i + 0.1:.2f},{'ab'[i >= 20]}\n" for i, label in enumerate(y))
    (tmp_path / "x.csv").write_text("y,p,g\n" + rows)
    said = call("measure", "x.csv", "--by", "g").stderr
    assert "warning: p, g = a: " in said
    assert "warning: p, g = b: All" not in said


def test_an_error_names_its_group(fails, grouped, tmp_path):
    columns = {name: values[:31] for name, values in grouped.items()}
    columns["g"] = np.array(["one", *["many"] * 30])
    write_columns(tmp_path / "x.csv", columns)
    assert fails("gate", "x.csv", "--prob", "p", "--by", "g", "--max-ece", "1").startswith("x.csv, g = one: No bin")


def test_unknown_groups_and_clusters_are_refused(fails, grouped, tmp_path):
    write_columns(tmp_path / "x.csv", grouped)
    assert "`--by`: x.csv has no column 'regions'. Did you mean 'region'?" in fails(
        "measure", "x.csv", "--prob", "p", "--by", "regions"
    )
    assert "`--cluster`: x.csv has no column 'whom'. Did you mean 'who'?" in fails(
        "test", "x.csv", "--prob", "p", "--cluster", "whom"
    )


def test_bin_tables_are_for_all_rows_together(call):
    assert "--table is for all rows together" in call("measure", "x.csv", "--by", "g", "--table").stderr

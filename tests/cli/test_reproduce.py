"""`trueness reproduce` through the front door."""

import subprocess
import sys

import pytest


def trueness(*arguments, cwd):
    command = [sys.executable, "-m", "trueness", "reproduce", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120)


def test_the_list_names_every_experiment(tmp_path):
    from trueness.reproduce import EXPERIMENTS

    done = trueness("--list", cwd=tmp_path)
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(EXPERIMENTS)


def test_a_quick_run_writes_tables_and_the_page(tmp_path):
    done = trueness("gupta-sample-size", "--quick", "--out", "docs/runs", "--page", "page.md", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "gupta-sample-size: " in done.stdout
    assert (tmp_path / "docs/runs/gupta-sample-size.json").is_file()
    assert "trueness reproduce gupta-sample-size --quick" in (tmp_path / "page.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing-such"], "There is no experiment 'nothing-such'"),
        (["--quick"], "Name an experiment"),
        (["--page", "page.md", "--out", "empty"], "There is no result in 'empty'"),
    ],
)
def test_wrong_usage_is_told_and_ends_with_2(arguments, said, tmp_path):
    done = trueness(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_absent_data_are_named(tmp_path, monkeypatch):
    from trueness.reproduce import EXPERIMENTS

    needing = [name for name, experiment in EXPERIMENTS.items() if experiment.needs]
    if not needing:
        pytest.skip("no experiment needs data yet")
    monkeypatch.delenv("TRUENESS_DATA", raising=False)
    done = trueness(needing[0], "--quick", cwd=tmp_path)
    assert done.returncode == 2
    assert "set TRUENESS_DATA to the folder that has it" in done.stderr

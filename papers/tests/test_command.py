"""The command `python -m trueness_papers`."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from trueness_papers.command import _default_folder


def reproduce(*arguments, cwd):
    command = [sys.executable, "-m", "trueness_papers", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120)


def test_the_list_names_every_experiment(tmp_path):
    from trueness_papers import EXPERIMENTS

    done = reproduce("--list", cwd=tmp_path)
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(EXPERIMENTS)


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "trueness_papers", "--list"]
    done = subprocess.run(
        command, cwd=tmp_path, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=120
    )
    os.close(writer)
    assert done.stderr == ""


def test_a_quick_run_writes_tables_and_the_page(tmp_path):
    done = reproduce(
        "gupta-sample-size", "--quick", "--out", "docs/runs", "--page", "page.md", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "gupta-sample-size: " in done.stdout
    assert (tmp_path / "docs/runs/gupta-sample-size.json").is_file()
    assert (
        "python -m trueness_papers gupta-sample-size --quick" in (tmp_path / "page.md").read_text()
    )


def test_results_go_to_the_checkout_but_a_quick_run_does_not_overwrite_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert _default_folder(quick=False) == Path("results")
    (tmp_path / "papers" / "results").mkdir(parents=True)
    assert _default_folder(quick=False) == Path("papers/results")
    assert _default_folder(quick=True) == Path("results-quick")


def test_without_matplotlib_there_are_tables(tmp_path):
    without = "import sys; sys.modules['matplotlib'] = None; from trueness_papers.command import command; command()"
    command = [sys.executable, "-c", without, "sun-bin-count", "--quick", "--out", "out"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "Tables only, no figures" in done.stderr
    assert sorted(path.suffix for path in (tmp_path / "out").glob("sun*")) == [".json", ".md"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["nothing-such"],
            "must be the name of an experiment (--list shows them); got 'nothing-such'",
        ),
        (["--quick"], "Name an experiment"),
        (["--page", "page.md", "--out", "empty"], "There are no results in 'empty'"),
    ],
)
def test_wrong_usage_ends_with_exit_code_2(arguments, message, tmp_path):
    done = reproduce(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_missing_data_files_are_named(tmp_path, monkeypatch):
    from trueness_papers import EXPERIMENTS

    needing = [name for name, experiment in EXPERIMENTS.items() if experiment.needs]
    monkeypatch.delenv("TRUENESS_DATA", raising=False)
    done = reproduce(needing[0], "--quick", cwd=tmp_path)
    assert done.returncode == 2
    assert "`TRUENESS_DATA` must be set to the folder that contains" in done.stderr


def until(something, process, seconds=180):
    """Wait for it; the process must not end before."""
    end = time.monotonic() + seconds
    while not (found := something()):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.05)
    return found


def alive(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def interrupted(name, folder, cwd):
    """Start the full experiment and press Ctrl-C when it has kept a piece that was not there before."""
    before = {path.name for path in folder.glob("*.json")}
    command = [sys.executable, "-m", "trueness_papers", name, "--out", "out", "--jobs", "2"]
    process = subprocess.Popen(
        command,
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        until(lambda: {path.name for path in folder.glob("*.json")} - before, process)
        os.killpg(process.pid, signal.SIGINT)  # a terminal sends it to the whole group
        _, message = process.communicate(timeout=120)
        end = time.monotonic() + 10
        while alive(process.pid) and time.monotonic() < end:
            time.sleep(0.05)
        assert not alive(process.pid), "a process was left behind"
    finally:
        if alive(process.pid):
            os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, message


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is sent as a signal to a group of processes")
def test_after_ctrl_c_the_same_command_continues(tmp_path):
    name = "sun-zero-rule"
    folder = tmp_path / "out" / "pieces" / name / "full-0"
    code, message = interrupted(name, folder, tmp_path)
    assert code == 130
    assert "run the same command to continue" in message
    assert "Traceback" not in message
    kept = {path: (path.stat().st_mtime_ns, path.read_text()) for path in folder.glob("*.json")}
    assert kept
    assert not (tmp_path / "out" / f"{name}.json").exists()
    code, message = interrupted(name, folder, tmp_path)
    assert code == 130
    assert "Traceback" not in message
    assert {path: (path.stat().st_mtime_ns, path.read_text()) for path in kept} == kept

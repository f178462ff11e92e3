"""`trueness reproduce` through the front door."""

import os
import signal
import subprocess
import sys
import time

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


def test_without_matplotlib_there_are_tables(tmp_path):
    without = "import sys; sys.modules['matplotlib'] = None; from trueness.cli import main; main()"
    command = [sys.executable, "-c", without, "reproduce", "sun-bin-count", "--quick", "--out", "out"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "Tables only, no figures" in done.stderr
    assert sorted(path.suffix for path in (tmp_path / "out").glob("sun*")) == [".json", ".md"]


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
    monkeypatch.delenv("TRUENESS_DATA", raising=False)
    done = trueness(needing[0], "--quick", cwd=tmp_path)
    assert done.returncode == 2
    assert "set TRUENESS_DATA to the folder that has it" in done.stderr


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
    command = [sys.executable, "-m", "trueness", "reproduce", name, "--out", "out", "--jobs", "2"]
    process = subprocess.Popen(
        command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        until(lambda: {path.name for path in folder.glob("*.json")} - before, process)
        os.killpg(process.pid, signal.SIGINT)  # a terminal sends it to the whole group
        _, said = process.communicate(timeout=30)
        end = time.monotonic() + 10
        while alive(process.pid) and time.monotonic() < end:
            time.sleep(0.05)
        assert not alive(process.pid), "a process was left behind"
    finally:
        if alive(process.pid):
            os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, said


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is sent as a signal to a group of processes")
def test_ctrl_c_keeps_what_was_done_and_the_same_command_goes_on(tmp_path):
    name = "sun-zero-rule"
    folder = tmp_path / "out" / "pieces" / name / "full-0"
    code, said = interrupted(name, folder, tmp_path)
    assert code == 130
    assert "the same command goes on from there" in said
    assert "Traceback" not in said
    kept = {path: (path.stat().st_mtime_ns, path.read_text()) for path in folder.glob("*.json")}
    assert kept
    assert not (tmp_path / "out" / f"{name}.json").exists()
    code, said = interrupted(name, folder, tmp_path)
    assert code == 130
    assert "Traceback" not in said
    assert {path: (path.stat().st_mtime_ns, path.read_text()) for path in kept} == kept

"""The composite action and the pre-commit hooks: their shell lines run, their names exist."""

import os
import re
import subprocess
import textwrap
import tomllib
from pathlib import Path

import numpy as np
import pytest
from workflows import run_lines, stand_ins

ROOT = Path(__file__).parents[1]
ACTION = (ROOT / "action.yml").read_text(encoding="utf-8")
HOOKS = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")


def inputs():
    """The inputs of the action, with their defaults."""
    block = ACTION.partition("inputs:\n")[2].partition("outputs:\n")[0]
    entries = re.findall(r"^  ([\w-]+):\n((?:    .*\n)+)", block, re.MULTILINE)
    found = {}
    for name, lines in entries:
        default = re.search(r"^    default: (.*)$", lines, re.MULTILINE)
        found[name] = default[1].strip('"') if default else None
    return found


def test_every_input_is_used_and_exists():
    used = set(re.findall(r"inputs\.([\w-]+)", ACTION))
    assert used == set(inputs())
    assert "${{ inputs" not in "".join(run_lines(ACTION))  # text of users is no shell code


@pytest.fixture
def runner(tmp_path):
    rng = np.random.default_rng(0)
    p = rng.beta(2, 2, 3000).round(3)
    y = rng.uniform(size=3000) < p
    lines = [f"{int(a)},{b}" for a, b in zip(y, p, strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join(["y,p", *lines, ""]))
    stand_ins(tmp_path / "bin")

    def run(policy, **given):
        (tmp_path / "policy.toml").write_text(policy)
        values = {**inputs(), "file": "rows.csv", "policy": "policy.toml", **given}
        names = dict(
            re.findall(r"^        (\w+): \$\{\{ inputs\.([\w-]+) \}\}$", ACTION, re.MULTILINE)
        )
        env = {name: values[value] for name, value in names.items()}
        env |= {"GITHUB_STEP_SUMMARY": "summary.md", "GITHUB_OUTPUT": "output"}
        env["PATH"] = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
        line = textwrap.dedent(run_lines(ACTION)[1])
        done = subprocess.run(
            ["bash", "-e", "-c", line],
            cwd=tmp_path,
            env=os.environ | env,
            capture_output=True,
            text=True,
        )
        output = tmp_path / "output"
        return done, output.read_text() if output.exists() else ""

    return run


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "given", "code", "outcome"),
    [
        ("max_l2 = 0.1\nrequire = true\n", {"label": "y", "prob": "p"}, 0, "pass"),
        ("max_l2 = 0.001\nrequire = true\n", {}, 3, "investigate"),
        ("max_l2 = 0.001\nrequire = true\n", {"fail-on": "fail"}, 0, "investigate"),
        ("max_ll = 0.1\n", {}, 2, None),
    ],
)
def test_the_action_runs_in_a_shell(runner, tmp_path, policy, given, code, outcome):
    done, output = runner(policy, **given)
    assert done.returncode == code, done.stderr
    assert output == ("" if outcome is None else f"outcome={outcome}\n")
    if outcome is not None:
        assert "| judged |" in (tmp_path / "summary.md").read_text()
        assert (tmp_path / "trueness-receipt.json").is_file()


def test_the_action_installs_what_it_is_asked_to():
    assert run_lines(ACTION)[0].strip() == 'python -m pip install "$INSTALL"'


def test_hooks_name_commands_and_the_libraries_of_the_command_line():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = sorted(project["optional-dependencies"]["cli"])
    entries = re.findall(r"^  entry: trueness (\w+)$", HOOKS, re.MULTILINE)
    assert entries == ["gate", "verify"]
    for libraries in re.findall(r"additional_dependencies: \[(.*)\]", HOOKS):
        assert sorted(re.findall(r'"([^"]+)"', libraries)) == wanted

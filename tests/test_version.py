"""The list of versions that belongs in a bug report."""

import re
import tomllib
from pathlib import Path

import pytest

import trueness as tn


def test_versions_can_be_shown(capsys):
    tn.show_versions()
    shown = capsys.readouterr().out
    assert f"trueness      {tn.__version__}" in shown
    assert "kernels       " in shown


def test_nothing_but_the_root_imports_the_root_to_learn_the_version():
    source = Path(tn.__file__).parent
    readers = [
        f for f in source.rglob("*.py") if "from trueness import __version__" in f.read_text()
    ]
    assert readers == []


def test_the_citation_has_the_version_of_the_package():
    citation = Path(__file__).parents[1] / "CITATION.cff"
    assert f"\nversion: {tn.__version__}\n" in citation.read_text(encoding="utf-8")


def test_linter_and_type_checker_have_one_version_wherever_they_run():
    root = Path(__file__).parents[1]
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    versions = dict(pin.split("==") for pin in project["optional-dependencies"]["check"])
    hooks = (root / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    assert f"ruff-pre-commit\n    rev: v{versions['ruff']}\n" in hooks
    assert f"mypy=={versions['mypy']}" in hooks


def test_nothing_is_published_that_was_not_tested():
    workflows = Path(__file__).parents[1] / ".github" / "workflows"
    release = (workflows / "release.yml").read_text(encoding="utf-8")
    assert "uses: ./.github/workflows/test.yml" in release
    assert "publish:\n    needs: [wheels, tests]\n" in release
    assert "\n  workflow_call:\n" in (workflows / "test.yml").read_text(encoding="utf-8")


def test_citation_page_and_recipe_have_the_version_and_the_dependencies_of_the_package():
    root = Path(__file__).parents[1]
    page = (root / "docs" / "citation.md").read_text(encoding="utf-8")
    recipe = (root / "recipe" / "recipe.yaml").read_text(encoding="utf-8")
    assert f"version = {{{tn.__version__}}}" in page
    assert f'version: "{tn.__version__}"' in recipe
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for requirement in project["dependencies"]:
        name, least = requirement.split(">=")
        assert f"    - {name} >={least}\n" in recipe


def test_the_skill_names_commands_and_options_that_exist():
    pytest.importorskip("click")
    from click.testing import CliRunner

    from trueness.cli._main import main

    skill = Path(__file__).parents[1] / "skills" / "trueness" / "SKILL.md"
    calls = re.findall(r"`trueness ([a-z][^`]*)`", skill.read_text(encoding="utf-8"))
    assert len(calls) > 10
    for call in calls:
        command = call.split()[0]
        shown = CliRunner().invoke(main, [command, "--help", "--all"])
        assert shown.exit_code == 0, call
        for option in re.findall(r"--[a-z-]+", call):
            assert option in shown.stdout or option in ("--help", "--all"), call


def test_the_changelog_fits_on_one_page():
    changelog = Path(__file__).parents[1] / "CHANGELOG.md"
    assert len(changelog.read_text(encoding="utf-8").splitlines()) <= 120

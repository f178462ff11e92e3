"""`trueness reproduce` where the package trueness-papers is not installed."""

import sys

import pytest


@pytest.fixture(autouse=True)
def _not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "trueness_papers", None)


@pytest.mark.parametrize("arguments", [[], ["--list"], ["sun", "--quick", "--jobs", "2"]])
def test_it_says_how_to_install_the_package(call, arguments):
    result = call("reproduce", *arguments)
    assert result.exit_code == 2
    assert "`trueness reproduce` needs the package trueness-papers: `pip install trueness-papers`" in result.stderr
    assert "`pip install ./papers`" in result.stderr


def test_help_says_how_to_install_the_package(call):
    assert "pip install ./papers" in call("reproduce", "--help").stdout

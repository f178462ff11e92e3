"""The tool for mutation testing tells code that the tests check from code that they only execute."""

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path

import mutants
import pytest

LIBRARY = """'''
>>> price() + hidden(1) is None
False
'''
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    WORD = 1 + 1


def price(n: Literal[1, 2] = 2) -> Literal[3]:
    if n > 2:
        raise ValueError(f"{n + 1}")
    return (n
            * 3)


def hidden(n):
    return n - 1
"""
TESTS = """
from trueness.toy._price import price


def test_two_cost_six():
    assert price() == 6
"""


def changed(source):
    """Text before and after each change, with the lines of its statement."""
    tree = ast.parse(source)
    for position, kind, lines in mutants.changes_of(tree):
        copy = ast.parse(source)
        node = list(ast.walk(copy))[position]
        before = ast.unparse(node)
        mutants.mutate(node, kind)
        yield before, ast.unparse(node), list(lines)


def test_annotations_messages_and_type_checking_are_left_alone():
    assert {before for before, _, _ in changed(LIBRARY)} == {
        "2",
        "n > 2",
        "n * 3",
        "3",
        "n - 1",
        "1",
    }


def test_what_only_checks_lengths_or_saves_a_copy_is_left_alone():
    source = "def f(a, b): return zip(a, b, strict=True), a.astype(int, copy=False), b.astype(int, copy=True)"
    assert [(before, after) for before, after, _ in changed(source)] == [("True", "False")]


def test_a_change_belongs_to_all_lines_of_its_statement_and_a_default_to_none():
    where = {(before, after): lines for before, after, lines in changed(LIBRARY)}
    assert where["n * 3", "n / 3"] == [14, 15]
    assert where["n > 2", "n >= 2"] == [12]
    assert [lines for before, _, lines in changed(LIBRARY) if before == "2"] == [[], [12]]


def test_each_kind_of_change():
    kinds = {
        "a + b": "a - b",
        "a ** 2": "a * 2",
        "a <= b < c": "a < b < c",
        "a or b": "a and b",
        "not a": "not not a",
    }
    for before, after in (kinds | {"-a": "+a", "True": "False", "0.5": "1.5"}).items():
        assert (before, after) in [
            (old, new) for old, new, _ in changed(f"def f(): return {before}")
        ]


@pytest.mark.slow
def test_a_change_that_a_test_notices_is_killed_and_others_survive(tmp_path):
    for name, text in {
        "src/trueness/__init__.py": "",
        "src/trueness/toy/__init__.py": "",
        "src/trueness/toy/_price.py": LIBRARY,
        "tests/toy/test_price.py": TESTS,
        "pytest.ini": "[pytest]\naddopts = --doctest-modules --import-mode=importlib\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "fuzz").mkdir()
    tool = shutil.copy(Path(mutants.__file__), tmp_path / "fuzz")
    command = [sys.executable, tool, "--packages", "toy", "--out", "found.jsonl"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=True
    )
    found = [json.loads(line) for line in (tmp_path / "found.jsonl").read_text().splitlines()]
    assert {(line["line"], line["before"]): line["result"] for line in found} == {
        (11, "2"): "killed",  # a default, made at import
        (12, "n > 2"): "killed",
        (12, "2"): "survived",
        (14, "n * 3"): "killed",
        (15, "3"): "killed",
        (19, "n - 1"): "survived",  # an example executes it
        (19, "1"): "survived",
    }
    assert "| all | 4 | 7 | 57% | 18% to 90% |" in done.stdout

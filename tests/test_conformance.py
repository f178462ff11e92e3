"""The conformance suite: exact cases, a runner that survives its libraries, and the answers of trueness."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

import trueness as tn

ROOT = Path(__file__).resolve().parents[1]
SUITE = ROOT / "conformance"
MODULES = ("adapter", "definitions")


def load(name):
    spec = importlib.util.spec_from_file_location(f"conformance_{name}", SUITE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def suite_on_the_path(monkeypatch):
    monkeypatch.syspath_prepend(str(SUITE))
    yield
    for name in MODULES:
        for module in [module for module in sys.modules if module.split(".")[0] == name]:
            del sys.modules[module]


@pytest.fixture
def run():
    return load("run")


@pytest.mark.filterwarnings("ignore")
def test_trueness_answers_every_case_or_says_why_it_refuses(run):
    library = run.load_adapter(SUITE / "adapters" / "trueness_adapter.py")
    wrong = []
    for case in run.load_cases():
        if "error" in case["expect"]:
            with pytest.raises(tn.InputError):
                library.answer(case)
            continue
        verdict, remark = run.judge(case, run.answer(library, case))
        # A remark on a right answer says that it is right to single precision only.
        if verdict != "right" or (remark and "undefined" not in case["expect"]):
            wrong.append((case["id"], verdict, remark))
    assert not wrong


def test_the_cases_are_what_the_generator_writes():
    written = {
        path.stem: path.read_text(encoding="utf-8") for path in (SUITE / "cases").glob("*.json")
    }
    assert load("generate").texts() == written


def test_every_file_of_cases_follows_the_schema():
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(
        json.loads((SUITE / "schema.json").read_text(encoding="utf-8"))
    )
    for path in (SUITE / "cases").glob("*.json"):
        assert not list(validator.iter_errors(json.loads(path.read_text(encoding="utf-8"))))


def test_the_readme_shows_a_case_of_the_suite(run):
    text = (SUITE / "README.md").read_text(encoding="utf-8")
    shown = json.loads(text.split("```json\n")[1].split("```")[0])
    (case,) = [case for case in run.load_cases() if case["id"] == shown["id"]]
    assert shown == {**case, "others": shown["others"]}
    for other in shown["others"]:
        (same,) = [entry for entry in case["others"] if entry["value"] == other["value"]]
        assert set(other["names"]) <= set(same["names"])
        assert set(other["defects"]) <= set(same["defects"])
    assert f"{len(run.load_cases())} small cases" in text


TROUBLE = """
import os, time
class Library:
    name, notes, documented = "trouble", "", {}
    def versions(self): return {"trouble": "1"}
    def answer(self, case):
        print("noise on standard output")
        if case["id"] == "dies": os._exit(3)
        if case["id"] == "hangs": time.sleep(60)
        if case["id"] == "raises": raise ValueError("no")
        return 0.5
"""


@pytest.mark.slow
def test_a_crash_or_a_hang_is_one_result(run, tmp_path, monkeypatch):
    adapter = tmp_path / "trouble.py"
    adapter.write_text(TROUBLE, encoding="utf-8")
    case = {"measure": "ece", "expect": {"value": 0.5}, "tolerance": 1e-9}
    cases = [{**case, "id": id} for id in ("fine", "dies", "raises", "hangs", "fine again")]
    monkeypatch.setattr(run, "load_cases", lambda: cases)
    record = run.run(adapter, sys.executable, timeout=1.0)
    found = {entry["id"]: (entry["verdict"], entry["remark"]) for entry in run.verdicts(record)}
    assert found["fine"] == found["fine again"] == ("right", "")
    assert found["dies"] == ("crash", "the process ended with code 3")
    assert found["raises"] == ("crash", "ValueError: no")
    assert found["hangs"] == ("crash", "no answer in 1 s")


def explained(*others):
    return {"id": "x", "expect": {"value": 0.25}, "tolerance": 1e-9, "others": list(others)}


def test_the_explanation_is_the_one_that_fits_the_other_answers(run):
    either = {"value": 0.5, "names": ["closed on the right"], "defects": ["rounded edges"]}
    rounded = {"value": 0.75, "names": [], "defects": ["rounded edges"]}
    right = {"value": 1.0, "names": ["closed on the right"], "defects": []}

    def judged(*pairs):
        cases = [explained(*others) for others, _ in pairs]
        found = [
            run.judge(case, {"value": value}) for case, (_, value) in zip(cases, pairs, strict=True)
        ]
        entries = [{"verdict": verdict, "remark": remark} for verdict, remark in found]
        run.settle(entries, cases)
        return [(entry["verdict"], entry["remark"]) for entry in entries]

    assert judged(([either], 0.5)) == [("convention", "closed on the right")]
    assert judged(([either], 0.5), ([rounded, right], 0.75)) == [("wrong", "rounded edges")] * 2
    assert (
        judged(([either], 0.5), ([rounded, right], 1.0))
        == [("convention", "closed on the right")] * 2
    )
    assert judged(([either], 0.25), ([either], 0.125), ([either], "nan")) == [
        ("right", ""),
        ("wrong", "0.125"),
        ("wrong", "nan"),
    ]


def test_answers_to_invalid_input(run):
    case = {"id": "y-labels-1-2", "expect": {"error": True}}
    answers = [
        {"error": "ValueError: no"},
        {"value": "nan"},
        {"value": 0.5},
        {"crash": "died"},
        {"absent": True},
    ]
    assert [run.judge(case, one)[0] for one in answers] == [
        "refused",
        "refused",
        "accepted",
        "crash",
        "absent",
    ]
    assert run.judge(case, {"value": 1.0}, {"labels-1-2": "as said"}) == ("convention", "as said")


@pytest.mark.slow
def test_the_stored_answers_are_to_the_present_cases_and_the_page_shows_them(run):
    ids = {case["id"] for case in run.load_cases()}
    records = [
        json.loads(path.read_text(encoding="utf-8"))
        for path in sorted((SUITE / "results").glob("*.json"))
    ]
    assert len(records) >= 9
    for record in records:
        assert record["answers"].keys() == ids, record["name"]
    assert (SUITE / "results" / "README.md").read_text(encoding="utf-8") == run.page(records)

"""Settings shared by all tests."""

import csv
import gc
import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# A deadline would test the machine, not the code. The quick run draws the same examples each time, so that a change
# is judged by what it changed; the full run, for the slow leg, draws more of them, and the thorough one new ones.
settings.register_profile(
    "quick",
    deadline=None,
    max_examples=12,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.register_profile("full", settings.get_profile("quick"), max_examples=60)
settings.register_profile(
    "thorough", settings.get_profile("quick"), max_examples=1_000, derandomize=False
)
settings.load_profile(os.environ.get("TRUENESS_EXAMPLES", "quick"))

# Cases of each slow test that the slow run takes, and a twelfth of the slow cases of a test that has fast ones, too;
# 0 is all of them. `.ci/run` takes one.
SLOW_CASES = int(os.environ.get("TRUENESS_SLOW_CASES", "0"))
GOLDEN = (5**0.5 - 1) / 2


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """Give each worker of `-n` neighbouring tests, so that few reports, browsers and libraries are made twice."""
    if config.getoption("numprocesses", None) and config.option.dist == "no":
        config.option.dist = "worksteal"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection():
    """Spare the garbage collector what stays to the end anyway: libraries and thousands of tests."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_unconfigure():
    """Let it go at the end, as libraries expect that count what is left of them."""
    gc.unfreeze()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Look for no examples in the docstrings of tests."""
    return [found for found in (yield) if type(found).__name__ != "DoctestModule"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Take some of the cases that are marked slow, if `TRUENESS_SLOW_CASES` asks for it; what else is written, runs."""
    if not SLOW_CASES:
        return
    grids, left_out = {}, set()
    for item in items:
        if hasattr(item, "callspec") and item.get_closest_marker("slow"):
            grids.setdefault((item.path, item.originalname), []).append(item)
    for cases in grids.values():
        marked_one_by_one = any(mark.name == "slow" for mark in cases[0].callspec.marks)
        most = 12 * SLOW_CASES if marked_one_by_one else SLOW_CASES
        # Multiples of the golden ratio spread evenly and, unlike every k-th case, meet every value of a parameter.
        order = sorted(range(len(cases)), key=lambda i: i * GOLDEN % 1)
        left_out.update(cases[i] for i in order[most:])
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def data_folder():
    """The folder with real data, which is not part of the project."""
    folder = os.environ.get("TRUENESS_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("real data are not here: set TRUENESS_DATA to the folder that has them")
    return Path(folder)


@pytest.fixture(scope="session")
def clinical(data_folder):
    """Labels and scores of each clinical set, and R's answers, by its name."""
    rows, answers = {}, json.loads((data_folder / "clinical_r.json").read_text(encoding="utf-8"))
    with gzip.open(data_folder / "clinical.csv.gz", "rt", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            rows.setdefault(line["set"], []).append((int(line["y"]), float(line["p"])))
    return {
        name: (*map(np.array, zip(*rows[name], strict=True)), answers[name]) for name in answers
    }

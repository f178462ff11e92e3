"""The page about the report names every key of its JSON, and no other."""

import re
from pathlib import Path

import numpy as np
import pytest

import trueness as tn
from trueness import recalibrate

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "report.md"
# What stands under these keys is a record of the library, or names of the user.
LEAVES = (
    *(
        "ece_interval",
        "noise_floor",
        "tce_floor",
        "prior_shift",
        "tests",
        "test",
        "comparison",
        "definitions",
        "power",
    ),
    *(
        "interval",
        "before",
        "files",
        "series",
        "numbers",
        "accept",
        "benefit",
        "certificate",
        "risk",
    ),
)
BAND = {"low_edge", "high_edge", "n", "weight", "score", "rate", "low", "high", "gap", "outside"} | {
    "kind", "level", "interval", "band", "level_each", "ratio", "ratio_low", "ratio_high"
}  # fmt: skip


def keys_of(value, path=""):
    """Paths of everything that is not a record of its own."""
    if isinstance(value, dict) and path.rpartition(".")[2] not in LEAVES:
        for name, one in value.items():
            if not (path.endswith(".bins") and name in BAND):
                yield from keys_of(one, f"{path}.{name}" if path else name)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        yield from keys_of(value[0], f"{path}[]")
    else:
        yield path


@pytest.fixture(scope="module")
def documented():
    table = PAGE.read_text(encoding="utf-8").partition("<!-- keys -->")[2]
    first_cells = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
    return {key for cell in first_cells for key in re.findall(r"`([^`]+)`", cell)}


@pytest.fixture(scope="module")
def there(multiclass, off, few, two):
    d = tn.simulate.demo(60)
    clustered = tn.report(d.y_true, d.y_prob, cluster=np.arange(60) // 2, intervals=False)
    return {key for one in (multiclass, off, few, two, clustered) for key in keys_of(one.to_dict())}


def test_every_key_is_documented(there, documented):
    assert there - documented == set()


def test_every_documented_key_exists(there, documented):
    parents = {key[: m.start()] for key in there for m in re.finditer(r"\.|\[\]", key)}
    parents |= {f"{key}[]" for key in parents}
    remedies = {key for key in documented if ".remedies." in key}
    optional = remedies if "PlattScaling" not in recalibrate.__all__ else set()
    assert documented - there - parents - optional == set()


def test_the_columns_of_bins_the_schema_and_the_order_of_keys(few):
    found, page = few.to_dict(), PAGE.read_text(encoding="utf-8")
    assert set(found["models"][0]["bins"]) - BAND == {"interval_low", "interval_high"}
    assert all(f"`{name}`" in page for name in BAND)
    assert f"The key `schema` is {found['schema']};" in page
    assert list(found)[:5] == ["schema", "title", "version", "task", "verdict"]

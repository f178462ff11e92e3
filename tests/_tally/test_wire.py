"""Sums written and read back."""

import json
import os

import numpy as np
import pytest
from hypothesis import given
from strategies import arrays, matrices, rows, weighted_rows

import trueness as tn


def examples():
    y, p = np.array([0, 1, 1, 0]), np.array([0.1, 0.1, 0.7, 1.0])
    P = np.column_stack([1 - p, p / 2, p / 2])
    yield "plain", tn.tally(y, p)
    yield "whole weights", tn.tally(y, p, sample_weight=[1, 2, 0, 4])
    yield "fractional weights", tn.tally(y, p, sample_weight=[0.5, 2, 1, 4])
    yield "classwise", tn.tally(y, P)
    yield "confidence with names", tn.tally(["a", "b", "c", "a"], P, kind="confidence")
    yield "top-label", tn.tally(y, P, kind="top-label")
    yield "names that are not UTF-8", tn.tally(["a", "\udc80"] * 2, P, labels=["a", "\udc80", "\ud83d\ude00"])
    yield "empty", tn.tally([], [])
    yield "binned", tn.binned(y, p)
    yield "binned, weighted", tn.binned(y, p, sample_weight=[0.5, 2, 1, 4])
    yield "binned by mass", tn.binned(y, p, bins=tn.EqualMass(2))
    yield "binned classwise", tn.binned(y, P, bins=3)


EXAMPLES = dict(examples())
every_example = pytest.mark.parametrize("sums", EXAMPLES.values(), ids=EXAMPLES)


@every_example
def test_json_reads_back_to_the_same_bits(sums):
    text = sums.to_json()
    assert type(sums).from_json(text) == sums
    assert json.loads(text)["schema"] == 1


@every_example
def test_npz_reads_back_to_the_same_bits(sums, tmp_path):
    sums.to_npz(tmp_path / "sums.npz")
    assert type(sums).from_npz(tmp_path / "sums.npz") == sums
    assert [f.name for f in tmp_path.iterdir()] == ["sums.npz"]


@given(pairs=rows)
def test_any_tally_survives_json(pairs):
    tally = tn.tally(*arrays(pairs))
    assert tn.Tally.from_json(tally.to_json()) == tally


@given(data=weighted_rows())
def test_any_weighted_tally_survives_json(data):
    tally = tn.tally(data[0], data[1], sample_weight=data[2])
    assert tn.Tally.from_json(tally.to_json()) == tally


@given(data=matrices())
def test_any_tally_of_a_matrix_survives_json(data):
    tally = tn.tally(*data)
    assert tn.Tally.from_json(tally.to_json()) == tally


def good():
    return tn.tally([0, 1], [0.25, 0.5], sample_weight=[0.5, 1]).to_dict()


SPOILT = {
    "another schema": (lambda d: d.update(schema=2), "its schema is 2"),
    "no schema": (lambda d: d.pop("schema"), "its schema is None"),
    "something else": (lambda d: d.update(what="a cake"), "not a trueness tally"),
    "bins, not cells": (lambda d: d.update(what="trueness.binned"), "not a trueness tally"),
    "unknown kind": (lambda d: d.update(kind="ternary"), "kind or parts"),
    "parts no list": (lambda d: d.update(parts=3), "kind or parts"),
    "no part": (lambda d: d.update(parts=[]), "should have 1 parts and has 0"),
    "classes of a binary tally": (lambda d: d.update(classes=["a"]), "classes do not fit"),
    "column missing": (lambda d: d["parts"][0].pop("events"), "has the columns"),
    "column unknown": (lambda d: d["parts"][0].update(extra=[1, 2]), "has the columns"),
    "half the squares": (lambda d: d["parts"][0].pop("squares"), "has the columns"),
    "lengths differ": (lambda d: d["parts"][0].update(count=[1]), "contradict"),
    "scores descend": (lambda d: d["parts"][0].update(score=[0.5, 0.25]), "contradict"),
    "scores repeat": (lambda d: d["parts"][0].update(score=[0.5, 0.5]), "contradict"),
    "score above 1": (lambda d: d["parts"][0].update(score=[0.5, 1.5]), "contradict"),
    "count is zero": (lambda d: d["parts"][0].update(count=[0, 1]), "contradict"),
    "count is a fraction": (lambda d: d["parts"][0].update(count=[0.5, 1]), "contradict"),
    "more events than rows": (lambda d: d["parts"][0].update(events=[0.75, 1.0]), "contradict"),
    "strings": (lambda d: d["parts"][0].update(weight=["a", "b"]), "plain numbers"),
    "nan": (lambda d: d["parts"][0].update(weight=[float("nan"), 1.0]), "plain numbers"),
    "ragged": (lambda d: d["parts"][0].update(weight=[[1.0], 1.0]), "plain numbers"),
}


@pytest.mark.parametrize(("spoil", "message"), SPOILT.values(), ids=SPOILT)
def test_spoilt_sums_are_refused(spoil, message):
    data = good()
    spoil(data)
    with pytest.raises(tn.InputError, match=message):
        tn.Tally.from_dict(data)


def test_text_that_is_no_json_is_refused():
    with pytest.raises(tn.InputError, match="the text is not JSON"):
        tn.Tally.from_json("{")
    with pytest.raises(tn.InputError, match="not a trueness tally"):
        tn.Tally.from_json("[]")


def test_spoilt_bins_are_refused():
    data = tn.binned([0, 1], [0.25, 0.5], bins=2).to_dict()
    data["parts"][0]["table"][0][0][0] = -1
    with pytest.raises(tn.InputError, match="contradict"):
        tn.Binned.from_dict(data)


def test_a_pickle_in_a_file_is_not_loaded(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (pytest.fail, ("a pickle was executed",))

    np.savez(tmp_path / "bomb.npz", header=np.array([Bomb()], dtype=object))
    with pytest.raises(tn.InputError, match="not a file that trueness wrote"):
        tn.Tally.from_npz(tmp_path / "bomb.npz")


def test_a_truncated_file_is_refused(tmp_path):
    path = tmp_path / "t.npz"
    EXAMPLES["plain"].to_npz(path)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(tn.InputError, match="not a file that trueness wrote"):
        tn.Tally.from_npz(path)


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "t.npz"
    EXAMPLES["plain"].to_npz(path)
    before = path.read_bytes()

    def full(*args, **kwargs):
        raise OSError("No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(OSError, match="No space"):
        EXAMPLES["classwise"].to_npz(path)
    assert path.read_bytes() == before
    assert [f.name for f in tmp_path.iterdir()] == ["t.npz"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has other file rights")
def test_a_written_file_has_the_rights_of_any_other(tmp_path):
    (tmp_path / "plain").touch()
    EXAMPLES["plain"].to_npz(tmp_path / "t.npz")
    assert (tmp_path / "t.npz").stat().st_mode == (tmp_path / "plain").stat().st_mode
    (tmp_path / "t.npz").chmod(0o640)
    EXAMPLES["classwise"].to_npz(tmp_path / "t.npz")
    assert (tmp_path / "t.npz").stat().st_mode & 0o777 == 0o640


def test_a_class_that_json_cannot_hold_is_an_error():
    tally = EXAMPLES["classwise"]
    odd = tn.Tally(tally.kind, tally.parts, (object(), 1, 2))
    with pytest.raises(tn.InputError, match="must be a string or a finite number"):
        odd.to_json()


def test_a_damaged_npz_is_refused_whatever_is_damaged(tmp_path):
    path, rng = tmp_path / "t.npz", np.random.default_rng(0)
    tn.tally(rng.integers(0, 2, 300), rng.random(300)).to_npz(path)
    whole = np.frombuffer(path.read_bytes(), dtype=np.uint8)
    refused = []
    for _ in range(300):
        spoilt = whole.copy()
        spoilt[rng.integers(0, whole.size, 3)] = rng.integers(0, 256, 3)
        path.write_bytes(spoilt.tobytes())
        try:
            tn.Tally.from_npz(path)  # bytes that nobody reads, such as dates, may change
        except tn.InputError as reason:
            refused.append(str(reason).startswith("The sums cannot be read"))
    assert len(refused) > 200
    assert all(refused)

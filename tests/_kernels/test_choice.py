import ctypes
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import trueness
from trueness import _kernels
from trueness._kernels import compiled, compiled_logits, library, reference

built = pytest.mark.skipif(not library.available(), reason="the compiled kernels were not built")


def implementation(**environment):
    code = "from trueness import _kernels; print(_kernels.implementation(), _kernels.bin_sums.__module__)"
    path = str(Path(trueness.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": path, **environment}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_the_reference_can_be_asked_for():
    assert implementation(TRUENESS_KERNELS="reference") == ["reference", "trueness._kernels.reference"]


@built
def test_the_compiled_kernels_are_used_where_they_were_built():
    assert implementation(TRUENESS_KERNELS="") == ["compiled", "trueness._kernels.compiled"]


def test_both_implementations_have_the_same_names():
    assert compiled.__all__ == reference.__all__
    assert set(reference.__all__) < set(_kernels.__all__)


def test_without_a_library_the_reference_serves(tmp_path):
    copy = tmp_path / "trueness"
    copy.mkdir()
    (copy / "__init__.py").touch()
    (copy / "_kernels").mkdir()
    for file in Path(_kernels.__file__).parent.glob("*.py"):
        (copy / "_kernels" / file.name).write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
    code = "from trueness import _kernels; print(_kernels.implementation())"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "TRUENESS_KERNELS": ""}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["reference"]


@built
def test_python_and_c_agree_on_the_grid():
    assert library.bind("grid_cells", 0, returns=ctypes.c_int64)() == compiled.GRID_CELLS


@built
def test_arrays_of_another_type_size_or_layout_are_refused():
    p, y, w, edges = np.zeros(4), np.zeros(4, np.int64), np.ones(4), np.array([0.0, 1.0])
    table, sums = np.zeros((1, 2, 5), np.int64), np.zeros((1, 7, 2))
    options = {"uniform": True, "moments": False}
    P = np.full((4, 2), 0.5)
    calls = [
        lambda: compiled.bin_sums(p, y[:3], edges, table, **options),
        lambda: compiled.bin_sums(np.zeros(8)[::2], y, edges, table, **options),
        lambda: compiled.bin_sums(p.astype(">f8"), y, edges, table, **options),
        lambda: compiled.bin_sums(p.astype(np.float16), y, edges, table, **options),
        lambda: compiled.bin_sums(p, y.astype(np.int16), edges, table, **options),
        lambda: compiled.bin_sums(p, y, np.array([0, 1]), table, **options),
        lambda: compiled.bin_sums(p, y, np.array([0, 0.5, 1]), table, **options),
        lambda: compiled.bin_sums(p, y, edges[:1], table[:0], **options),
        lambda: compiled.few_rows(p, y[:3], edges, **options),
        lambda: compiled.few_rows(p.astype(">f8"), y, edges, **options),
        lambda: compiled.few_rows(p, y, edges[:1], **options),
        lambda: compiled.float_sums(table.astype(float)),
        lambda: compiled.float_sums(table[:, :1].copy()),
        lambda: compiled.weighted_bin_sums(p, y, w.astype(np.float32), edges, sums, uniform=True),
        lambda: compiled.cell_sums(p, y[:3], y, np.array([0, 4]), table),
        lambda: compiled.cell_sums(p, y, y.astype(float), np.array([0, 4]), table),
        lambda: compiled.cell_sums(p, y, y, np.array([0, 5]), table),
        lambda: compiled.cell_sums(p, y, y, np.array([0, 2, 4]), table),
        lambda: compiled.mass_sums(p, y[:3], np.array([1]), moments=False),
        lambda: compiled.mass_sums(np.zeros(10**5), y, np.array([1]), moments=False),
        lambda: compiled.cells(p.astype(np.float16), y),
        lambda: compiled.weighted_cells(p, y, w[:3]),
        lambda: compiled.pava(y, y[:3]),
        lambda: compiled.pava(w, w.astype(np.float32)),
        lambda: compiled.block_pava(y.astype(np.int32), y, 1, 2),
        lambda: compiled.top1(P, y.astype(np.int32), 1e-6),
        lambda: compiled.top1(P[:, :0], y, 1e-6),
        lambda: compiled.top1(np.asfortranarray(P), y, 1e-6),
        lambda: compiled.classwise_sums(P, y, 0, np.zeros((2, 0, 2, 3), np.int64), 1e-6),
        lambda: compiled.classwise_sums(P, y, 3, np.zeros((2, 2, 2, 3), np.int64), 1e-6),
        lambda: compiled.ranks(edges, p.astype(np.float16)),
        lambda: compiled.ranks(edges.astype(np.float32), p),
        lambda: compiled.steps(edges, p[:2], p),
        lambda: compiled.steps(edges, p[:3].astype(np.float32), p),
        lambda: compiled.events(p, y[:3]),
        lambda: compiled.venn_abers(y, y[:3], 1),
        lambda: compiled.venn_abers(w, y, 1),
    ]
    for call in calls:
        with pytest.raises(TypeError, match="a kernel got arrays"):
            call()


@built
def test_rows_and_results_that_do_not_fit_are_refused():
    p, y, w, whole = np.zeros(4), np.zeros(4, np.int64), np.ones(4), np.zeros(4, np.int64)
    P, edges, n = np.full((4, 2), 0.5), np.array([0.0, 0.5, 1.0]), ctypes.c_int64()
    table, keys, records = np.zeros((2, 2, 5), np.int64), np.zeros(5, np.uint64), np.zeros(5, compiled._RECORD)
    cells, hits = compiled.GRID_CELLS, np.zeros(4, np.uint8)
    locked = table.copy()
    locked.flags.writeable = False
    bins, guide = np.zeros(cells, np.uint16), np.array([0, 0, 3])
    calls = {
        "count_events": [((p, y), 0, 5, ctypes.byref(n))],
        "bin_sums": [((p, y, edges, table), 0, 5, 1, 0), ((p, y, edges, locked), 0, 4, 1, 0)],
        "grouped_bin_sums": [((p, y, bins[:4], edges, np.zeros((1, 2, 2, 5), np.int64)), -1, 4, 1)],
        "weighted_bin_sums": [((p, y, w, edges, np.zeros((2, 7, 2))), 3, 2, 1)],
        "grid_counts": [((p, whole, w[:2]), 0, 4)],
        "grid_sums": [
            ((p, y, bins[:9], table, keys), 0, 4, 0, ctypes.byref(n)),
            ((p, y, bins + np.uint16(2), table, keys), 0, 4, 0, ctypes.byref(n)),
            ((p, y, bins + np.uint16(1), table, keys[:3]), 0, 4, 0, ctypes.byref(n)),
        ],
        "grid_lowest": [((p, bins[:9], w), 0, 4), ((p, bins + np.uint16(4), w), 0, 4)],
        "key_sums": [((keys, np.array([2, 6]), table), 0), ((keys, np.array([2]), table), 0)],
        "pack_keys": [((p, y, keys[:4]), 0, cells, ctypes.byref(n)), ((p, y, keys), 0, cells + 1, ctypes.byref(n))],
        "pack_records": [((p, y, w, records[:4]), 0, cells, ctypes.byref(n))],
        "sort_keys": [((keys, keys[:4].copy()), 5), ((keys, keys.astype(np.uint32)), 5)],
        "sort_records": [((records, records[:4].copy()), 5)],
        "count_cells": [((keys,), 6)],
        "collect_cells": [((np.arange(0, 8, 2, dtype=np.uint64), p[:3].copy(), whole[:3], y[:3]), 4, 0)],
        "collect_weighted_cells": [((records, p[:1], whole[:1], np.zeros((4, 1))), 5, 1)],
        "pava_counts": [((y, y, whole, whole[:3].copy(), y.copy()),)],
        "pava_weights": [((w, w, whole, w[:3].copy(), w.copy()),)],
        "block_pava": [((y, y, whole, whole.copy(), y[:3].copy()), 1, 2)],
        "top1": [((P, y, p[:3], whole, hits), 0, 4, 1e-6), ((P, y, p, whole, hits), 0, 5, 1e-6)],
        "classwise_sums": [((P, y, np.zeros((2, 1, 2, 3), np.int64)), 0, 5, 1, 1e-6)],
        "make_ranks_guide": [((edges, guide[:2].copy()),)],
        "ranks": [((edges, p, guide + 1, whole), 0, 4), ((edges, p, guide, whole), 0, 5)],
        "steps": [((edges, w, p, guide, p.copy()), 0, 5)],
        "logit_tops": [((P, y, p, p, whole, hits[:3]), 0, 4)],
        "softmax": [((P, p, p, P.copy()), 0, 5)],
        "softmax_derivatives": [((P, y, w, np.zeros(5)), 0, 5, 1.0)],
        "sketch_sums": [((p, y, np.zeros((cells, 2, 5), np.int64), np.zeros((cells, 2))), 0, 5)],
    }
    for name, wrong in calls.items():
        for arrays, *numbers in wrong:
            with pytest.raises(TypeError, match="a kernel got arrays"):
                library.call(
                    getattr(compiled, f"_{name}", None) or getattr(compiled_logits, f"_{name}"), arrays, *numbers
                )

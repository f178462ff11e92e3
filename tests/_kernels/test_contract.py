"""Every kernel against the reference, on the random rows of fuzz/kernels.py; and what the compiled ones refuse."""

import ctypes

import kernels as fuzz
import numpy as np
import pytest
from grids import slow

from trueness._kernels import compiled, library, reference

built = pytest.mark.skipif(not library.available(), reason="the compiled kernels were not built")


def disagreements(found, seeds, n=None):
    for seed in seeds:
        for name, ask, tolerance in fuzz.cases(np.random.default_rng(seed), n):
            if not fuzz.agree(ask(found), ask(reference), tolerance):
                yield seed, name


@pytest.mark.parametrize("seed", [0, *slow(10, 20, 30)])
def test_every_kernel_agrees_with_the_reference(compiled_kernels, seed):
    assert list(disagreements(compiled_kernels, range(seed, seed + 10))) == []


@pytest.mark.parametrize("seed", [0, *slow(1, 2, 3, 4)])
def test_every_kernel_agrees_with_the_reference_on_many_rows(compiled_kernels, seed):
    assert list(disagreements(compiled_kernels, [seed], fuzz.LEAST_GRID + 900)) == []


@pytest.mark.slow
@pytest.mark.parametrize("n", [None, 300, fuzz.LEAST_GRID + 900])
def test_threads_agree_with_the_reference(three_threads, n):
    assert list(disagreements(three_threads, range(2), n)) == []


@built
def test_every_array_of_every_call_is_checked(monkeypatch):
    seen = []

    call = library.call

    def recorded(*arguments):
        seen.append(arguments)
        return call(*arguments)

    for module in compiled, library:
        monkeypatch.setattr(module, "call", recorded)
    for _, ask, _ in fuzz.cases(np.random.default_rng(3), 513):
        ask(compiled)
    assert len({name for name, *_ in seen}) > 25
    for name, arrays, *numbers in seen:
        for i, array in enumerate(arrays):
            wrong = [*arrays[:i], np.zeros(array.shape, np.float16), *arrays[i + 1 :]]
            with pytest.raises(
                TypeError, match="a kernel got arrays of other types, sizes or layouts"
            ):
                call(name, tuple(wrong), *numbers)


@built
def test_rows_and_results_that_do_not_fit_are_refused():
    p, y, w, whole = np.zeros(4), np.zeros(4, np.int64), np.ones(4), np.zeros(4, np.int64)
    P, edges, n = np.full((4, 2), 0.5), np.array([0.0, 0.5, 1.0]), ctypes.c_int64()
    table, keys, records = (
        np.zeros((2, 2, 5), np.int64),
        np.zeros(5, np.uint64),
        np.zeros(5, compiled._RECORD),
    )
    cells, hits = compiled.GRID_CELLS, np.zeros(4, np.uint8)
    locked = table.copy()
    locked.flags.writeable = False
    bins, guide = np.zeros(cells, np.uint16), np.array([0, 0, 3])
    calls = {
        "count_events": [((p, y), 0, 5, ctypes.byref(n)), ((p, y[:3]), 0, 3, ctypes.byref(n))],
        "bin_sums": [
            ((p, y, edges, table), 0, 5, True, False),
            ((p, y, edges, locked), 0, 4, True, False),
            ((np.zeros(8)[::2], y, edges, table), 0, 4, True, False),
            ((p.astype(">f8"), y, edges, table), 0, 4, True, False),
            ((p, y, edges[:1], table[:0]), 0, 4, True, False),
        ],
        "grouped_bin_sums": [
            ((p, y, bins[:4].astype(np.uint32), edges, np.zeros((1, 2, 2, 5), np.int64)), -1, 4, 1)
        ],
        "encode_keys": [
            (
                (
                    np.array([0, end]),
                    hits,
                    np.zeros(1, np.uint32),
                    np.zeros((m, 4), np.uint64),
                    y[:3],
                    hits,
                    whole[:1],
                ),
            )
            for m, end in ((4, 5), (3, 1), (2, 1), (4, -1))
        ],
        "weighted_bin_sums": [((p, y, w, edges, np.zeros((2, 7, 2))), 3, 2, 1)],
        "float_sums": [((table[:, :1].copy(), np.zeros((2, 6))),)],
        "cell_sums": [
            ((p, y, y, np.array([0, 2, 5]), table),),
            ((p, y[:3], y, np.array([0, 2, 4]), table),),
        ],
        "grid_counts": [((p, whole, w[:2]), 0, 4)],
        "grid_sums": [
            ((p, y, bins[:9], table, keys), 0, 4, 0, ctypes.byref(n)),
            ((p, y, bins + np.uint16(2), table, keys), 0, 4, 0, ctypes.byref(n)),
            ((p, y, bins + np.uint16(1), table, keys[:3]), 0, 4, 0, ctypes.byref(n)),
        ],
        "grid_lowest": [((p, bins[:9], w), 0, 4), ((p, bins + np.uint16(4), w), 0, 4)],
        "key_sums": [((keys, np.array([2, 6]), table), 0), ((keys, np.array([2]), table), 0)],
        "pack_keys": [
            ((p, y, keys[:4]), 0, cells, ctypes.byref(n)),
            ((p, y, keys), 0, cells + 1, ctypes.byref(n)),
        ],
        "pack_records": [((p, y, w, records[:4]), 0, cells, ctypes.byref(n))],
        "sort_keys": [((keys, keys[:4].copy()), 5), ((keys, keys.astype(np.uint32)), 5)],
        "sort_weighted": [((records, records[:4].copy()), 5)],
        "count_cells": [((keys,), 6)],
        "collect_cells": [
            ((np.arange(0, 8, 2, dtype=np.uint64), p[:3].copy(), whole[:3], y[:3]), 4, 0)
        ],
        "collect_weighted_cells": [((records, p[:1], whole[:1], np.zeros((4, 1))), 5, 1)],
        "pava_counts": [((y, y, whole, whole[:3].copy(), y.copy()),)],
        "pava_weights": [((w, w, whole, w[:3].copy(), w.copy()),)],
        "block_pava": [((y, y, whole, whole.copy(), y[:3].copy()), 1, 2)],
        "top1": [
            ((P, y, p[:3], whole, hits), 0, 4, 1e-6),
            ((np.asfortranarray(P), y, p, whole, hits), 0, 4, 1e-6),
        ],
        "classwise_sums": [((P, y, np.zeros((2, 1, 2, 3), np.int64)), 0, 5, 1, 1e-6)],
        "grid_moments": [
            ((p + 2, w[None], np.zeros((1, 9, 4))),),
            ((p * np.nan, w[None], np.zeros((1, 9, 4))),),
        ],
        "residual_moments": [((p, y, np.zeros((9, 4))), 0, 5)],
        "make_ranks_guide": [((edges, guide[:2].copy()),)],
        "ranks": [((edges, p, guide + 1, whole), 0, 4), ((edges, p, guide, whole), 0, 5)],
        "steps": [((edges, w, p, guide, p.copy()), 0, 5)],
        "logit_tops": [
            ((P, y, p, p, whole, hits[:3]), 0, 4),
            ((P[:, :0].copy(), y, p, p, whole, hits), 0, 4),
        ],
        "softmax": [((P, p, p, P.copy()), 0, 5), ((P, p[:3], p, P.copy()), 0, 4)],
        "softmax_derivatives": [
            ((P, y, w, np.zeros(5)), 0, 5, 1.0),
            ((P, y, w[:3], np.zeros(5)), 0, 4, 1.0),
        ],
        "sketch_sums": [((p, y, np.zeros((cells, 2, 5), np.int64), np.zeros((cells, 2))), 0, 5)],
        "venn_abers": [((y, y[:3], *np.zeros((2, 3, 3), np.int64), whole[:2], whole.copy()), 1)],
    }
    for name, wrong in calls.items():
        for arrays, *numbers in wrong:
            with pytest.raises(TypeError, match="a kernel got arrays"):
                library.call(name, arrays, *numbers)

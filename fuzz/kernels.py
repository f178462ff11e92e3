"""Random rows through the compiled kernels and the NumPy reference, and calls with sizes that do not fit.

    python fuzz/kernels.py --seconds 20            # the bounded run of .ci/run; --seconds 3600 for a long one
    fuzz/sanitize                                  # the same under AddressSanitizer and UBSan, with tests/_kernels

Every case has a seed, which is printed when it fails: `python fuzz/kernels.py --seed 123 --cases 1` repeats it. Sums of
whole numbers must be equal bit by bit, floats within 1e-12. Each call that reaches the library is then repeated with
one array cut, widened, of another type, read-only or without an axis, or with one number off: the library must return
or refuse it. Without a sanitizer only a crash would show that it wrote elsewhere.
"""

import argparse
import ctypes
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from trueness._kernels import compiled, library, reference
from trueness._kernels.grid import GRID_CELLS, grid_edges

SIZES = (0, 1, 2, 7, 8, 9, 63, 64, 65, 255, 511, 512, 513, 1_025, 5_000)
LEAST_GRID = 1 << 15  # from here on bins of equal mass are counted on the grid
_CALL = library.call


class Calls:
    """Calls of the library, recorded on their way."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, tuple[Any, ...], tuple[Any, ...]]] = []
        self.met: set[str] = set()
        self.refused = self.repeated = 0
        compiled.call = library.call = self.recorded  # type: ignore[attr-defined]  # records them

    def recorded(self, name: str, arrays: tuple[Any, ...], *numbers: Any) -> Any:
        """What `library.call` does, on arrays that are kept as they were."""
        self.seen.append((name, tuple(array.copy() for array in arrays), numbers))
        self.met.add(name)
        return _CALL(name, arrays, *numbers)

    def repeat_wrongly(self, rng: np.random.Generator) -> None:
        """Repeat each call with one array, or one number, that does not fit."""
        for name, arrays, numbers in self.seen:
            for _ in range(2):
                held, values = [array.copy() for array in arrays], list(numbers)
                at = int(rng.integers(len(held) + len(values)))
                if at < len(held):
                    held[at] = misfit(held[at], rng)
                elif type(values[at - len(held)]) is int:
                    values[at - len(held)] = int(
                        rng.choice([-1, -(2**40), 2**30, values[at - len(held)] + 1])
                    )
                try:
                    _CALL(name, tuple(held), *values)
                except (TypeError, ctypes.ArgumentError):
                    self.refused += 1
                self.repeated += 1
        self.seen.clear()


def misfit(array: Any, rng: np.random.Generator) -> Any:
    """The array with another size, type or layout."""
    forms: list[Callable[[], Any]] = [
        lambda: array[: len(array) // 2].copy(),
        lambda: np.concatenate([array, array, array[:1]]),
        lambda: array[:0].copy(),
        lambda: np.zeros((), array.dtype),
        lambda: np.zeros(array.shape, np.int32 if array.dtype.kind in "iu" else np.float32),
        lambda: np.repeat(array, 2, axis=0)[::2],
        lambda: array.astype(array.dtype.newbyteorder()),
        lambda: array[..., None].copy(),
        lambda: locked(array),
    ]
    return forms[int(rng.integers(len(forms)))]()


def locked(array: Any) -> Any:
    """A copy that must not be written."""
    own = array.copy()
    own.flags.writeable = False
    return own


def scores(n: int, rng: np.random.Generator) -> Any:
    """Scores of many kinds: spread, tied, at the ends, on edges, crowded in one place, and rarely invalid."""
    u = rng.random(n)
    kinds: list[Callable[[], Any]] = [
        lambda: u,
        lambda: rng.integers(0, 11, n) / 10,
        lambda: rng.beta(0.05, 0.05, n),
        lambda: np.round(u, 2),
        lambda: np.where(u < 0.5, u * 2.0**-40, 1 - u * 2.0**-40),
        lambda: np.where(np.arange(n) % 3, 1 - u * 2.0 ** -int(rng.integers(30, 54)), u),
        lambda: np.full(n, rng.choice([0.7, 0.0, 1.0, 0.5])),
        lambda: np.where(u < 0.5, 0.0, -0.0),
        lambda: rng.integers(0, 50, n) * 5e-324,
        lambda: rng.choice(grid_edges(), n),
        lambda: np.maximum(np.nextafter(rng.choice(grid_edges(), n), -1), 0),
    ]
    p = kinds[int(rng.integers(len(kinds)))]()
    if n and rng.random() < 0.1:
        p = p.copy()
        p[rng.integers(n)] = rng.choice([np.nan, -0.1, 1.5, -0.0, np.inf, 5e-324])
    return p.astype(np.float32) if rng.random() < 0.3 else p


def labels(n: int, rng: np.random.Generator) -> Any:
    """Labels 0 and 1 of every type that the kernels read; rarely one is neither."""
    types = [np.bool_, np.uint8, np.int8, np.int32, np.int64, np.float32, np.float64]
    y = rng.integers(0, 2, n).astype(types[int(rng.integers(len(types)))])
    if n and rng.random() < 0.05 and y.dtype.kind != "b":
        y[rng.integers(n)] = 2
    return y


def cases(
    rng: np.random.Generator, n: int | None = None
) -> Iterator[tuple[str, Callable[[Any], Any], float]]:
    """A name, what to ask of either implementation, and the tolerance (0: bit by bit)."""
    if n is None:
        n = int(rng.choice(SIZES)) if rng.random() < 0.95 else LEAST_GRID + int(rng.integers(2_000))
    p, y, w = scores(n, rng), labels(n, rng), rng.exponential(1, n) * (rng.random(n) < 0.9)
    b = int(rng.choice([1, 2, 3, 10, 15, 100, 600]))
    equal = np.arange(b + 1) / b
    edges = equal if rng.random() < 0.5 else np.unique(np.concatenate([[0, 1], rng.random(b)]))
    uniform = edges is equal
    moments = bool(rng.random() < 0.5)

    def table(*shape: int, kind: Any = np.int64) -> Any:
        return np.zeros(shape, kind)

    def filled(kernel: Any, *arrays: Any, out: Any, **options: Any) -> Any:
        status = kernel(*arrays, out, **options)
        return (status,) if status else (status, out)

    size = edges.size - 1
    yield "events", lambda k: stop_at_fault(k.events(p, y)), 0
    yield (
        "bin_sums",
        lambda k: filled(
            k.bin_sums, p, y, edges, out=table(size, 2, 5), uniform=uniform, moments=moments
        ),
        0,
    )
    group = rng.integers(0, 3, n).astype(np.uint32)
    yield (
        "grouped_bin_sums",
        lambda k: filled(
            k.grouped_bin_sums, p, y, group, edges, out=table(3, size, 2, 5), uniform=uniform
        ),
        0,
    )

    words = [
        b"key-" + bytes(rng.choice(3, int(m))) for m in rng.choice([0, 1, 3, 4, 8, 12, 13, 30], n)
    ]
    starts = np.cumsum([0, *map(len, words)], dtype=np.int64)
    text = np.frombuffer(b"".join(words) + b"-", np.uint8)

    def codes(k: Any) -> Any:
        code, known = (
            table(n, kind=np.uint32),
            (table(512, 4, kind=np.uint64), table(200), table(1500, kind=np.uint8)),
        )
        number = table(1)
        return k.encode_keys(starts, text, code, *known, number), code, number, *known[1:]

    yield "encode_keys", codes, 0

    def weighted(k: Any) -> Any:
        out = table(size, 7, 2, kind=np.float64)
        status = k.weighted_bin_sums(p, y, w, edges, out, uniform=uniform)
        return (status,) if status else (status, out.sum(axis=2))

    yield "weighted_bin_sums", weighted, 1e-12

    def sketch(k: Any) -> Any:
        out, ends = table(GRID_CELLS, 2, 5), np.tile([np.inf, -np.inf], (GRID_CELLS, 1))
        status = k.sketch_sums(p, y, out, ends)
        return (status,) if status else (status, out, ends)

    yield "sketch_sums", sketch, 0
    yield (
        "residual_moments",
        lambda k: filled(k.residual_moments, p, y, out=table(b + 1, 4, kind=np.float64)),
        1e-9,
    )
    ranks = np.unique(rng.integers(1, n + 1, min(b, n))) if n else np.empty(0, np.int64)
    yield "mass_sums", lambda k: stop_at_fault(k.mass_sums(p, y, ranks, moments=moments)), 0
    yield "cells", lambda k: stop_at_fault(k.cells(p, y)), 0
    yield "weighted_cells", lambda k: stop_at_fault(k.weighted_cells(p, y, w)), 1e-12
    inner = edges[1:-1]
    values = rng.random(inner.size + 1)
    yield "ranks", lambda k: stop_at_fault(k.ranks(inner, p)), 0
    yield "steps", lambda k: stop_at_fault(k.steps(inner, values, p)), 0
    yield from cell_cases(n, rng)
    yield from matrix_cases(n, rng)


def cell_cases(
    n: int, rng: np.random.Generator
) -> Iterator[tuple[str, Callable[[Any], Any], float]]:
    """Kernels of cells rather than rows."""
    score, count = np.sort(rng.random(n)), rng.integers(1, rng.choice([2, 9, 10**6]), n)
    events = rng.binomial(count, score)
    start = np.sort(np.concatenate([[0, n], rng.integers(0, n + 1, 3)])).astype(np.int64)

    def sums(k: Any) -> Any:
        out = np.zeros((start.size - 1, 2, 5), np.int64)
        k.cell_sums(score, count, events, start, out)
        return out

    def moments(k: Any) -> Any:
        out = np.zeros((2, 33, 4))
        k.grid_moments(score, np.stack([count, events]).astype(np.float64), out)
        return out

    size, low = rng.integers(0, 40, 25), np.arange(25)
    begin, mode = np.concatenate([[0], np.cumsum(size)]), low + size // 2

    def drawn(k: Any) -> Any:
        cdf = k.outcome_tables(np.full(25, 100), np.linspace(0.2, 3, 25), mode, low, begin)
        return cdf, k.outcomes(words, np.minimum(cdf, 65535).astype(np.uint16), begin, low)

    words = rng.integers(0, 1 << 16, (25, int(rng.choice([0, 1, 63, 64, 200]))), dtype=np.uint16)
    yield "outcomes", drawn, 0
    first = np.unique(start[:-1][start[:-1] < n]) if n else np.empty(0, np.int64)
    yield "residual_sums", lambda k: k.residual_sums(score, count, events, first), 0
    yield "cell_sums", sums, 0
    yield "float_sums", lambda k: k.float_sums(sums(reference)), 0
    yield "grid_moments", moments, 1e-9
    yield "pava", lambda k: k.pava(count, events), 0
    yield (
        "pava of weights",
        lambda k: k.pava(count.astype(np.float64), events.astype(np.float64)),
        0,
    )
    least = int(rng.integers(1, 20))
    most = int(rng.integers(least, 60))
    yield "block_pava", lambda k: k.block_pava(count, events, least, most), 0
    corners = [np.insert(np.cumsum(one), 0, 0) for one in (count, events)]
    yield "venn_abers", lambda k: k.venn_abers(*corners, 1), 0


def matrix_cases(
    n: int, rng: np.random.Generator
) -> Iterator[tuple[str, Callable[[Any], Any], float]]:
    """Kernels of class probabilities and logits."""
    n, K, b = (
        min(n, 300),
        int(rng.choice([2, 3, 10, 31, 33, 100, 1_100])),
        int(rng.choice([1, 10, 15, 100])),
    )
    Z = rng.normal(size=(n, K)) * rng.choice([1e-17, 1, 10, 300])
    P = np.exp(Z - Z.max(axis=1, keepdims=True)) if n else np.empty((0, K))
    P = P / P.sum(axis=1, keepdims=True) if n else P
    y, w = rng.integers(0, K, n), rng.exponential(1, n)
    if n and rng.random() < 0.1:
        y[0] = rng.choice([-1, K])
    if rng.random() < 0.3:
        Z, P = Z.astype(np.float32), P.astype(np.float32)
    if n and rng.random() < 0.1:
        P[0, 0] = Z[0, 0] = np.nan

    def classwise(k: Any) -> Any:
        out = np.zeros((K, b, 2, 3), np.int64)
        status = k.classwise_sums(P, y, b, out, 1e-5)
        return (status,) if status else (status, out)

    def softmax(k: Any) -> Any:
        out, top = (
            np.zeros((n, K)),
            np.nan_to_num(Z).max(axis=1, initial=-np.inf).astype(np.float64),
        )
        k.softmax(np.nan_to_num(Z), top, np.full(n, 2.0), out)
        return out

    yield "top1", lambda k: stop_at_fault(k.top1(P, y, 1e-5)), 0
    yield "classwise_sums", classwise, 0
    yield "logit_tops", lambda k: stop_at_fault(k.logit_tops(Z, y)), 0
    yield (
        "softmax_derivatives",
        lambda k: stop_at_fault(k.softmax_derivatives(np.nan_to_num(Z), y, w, 0.7)),
        1e-9,
    )
    yield "softmax", softmax, 0


def stop_at_fault(found: tuple[Any, ...]) -> tuple[Any, ...]:
    """What is meant: the rest of the outputs mean nothing after a fault."""
    return found[:1] if found[0] else found


def agree(one: Any, other: Any, tolerance: float) -> bool:
    """Whether two results are equal, or within a relative tolerance."""
    if isinstance(one, tuple):
        return len(one) == len(other) and all(
            agree(a, b, tolerance) for a, b in zip(one, other, strict=True)
        )
    a, b = np.asarray(one), np.asarray(other)
    if a.shape != b.shape:
        return False
    if not tolerance or a.dtype.kind in "iub":
        return bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))
    scale = float(
        np.abs(b[np.isfinite(b)]).max(initial=1e-290)
    )  # subnormal numbers have few digits
    return bool(np.allclose(a, b, rtol=tolerance, atol=tolerance * scale, equal_nan=True))


def run(first: int, cases_wanted: int | None, seconds: float) -> int:
    """Run the seeds from `first` on; the number of disagreements."""
    calls, wrong, seed, end = Calls(), 0, first, time.monotonic() + seconds
    while seed - first < cases_wanted if cases_wanted is not None else time.monotonic() < end:
        _CALL("choose_vectors", (), seed % 3)
        for name, ask, tolerance in cases(np.random.default_rng(seed)):
            if not agree(ask(compiled), ask(reference), tolerance):
                print(f"seed {seed}: {name} differs from the reference")
                wrong += 1
        calls.repeat_wrongly(np.random.default_rng([seed, 1]))
        seed += 1
    _CALL("choose_vectors", (), 2)
    sources = (path.read_text() for path in (Path(library.__file__).parent / "csrc").glob("*.c"))
    functions = {
        name
        for text in sources
        for name in re.findall(r"^EXPORT int64_t (\w+)", text, re.MULTILINE)
    }
    missing = ", ".join(sorted(functions - calls.met - {"choose_vectors"})) or "none"
    print(
        f"{seed - first:,} seeds; functions never called: {missing}; {calls.repeated:,} calls that do not fit, "
        f"{calls.refused:,} of them refused; {wrong} disagreements"
    )
    return wrong


def main() -> int:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=20, help="how long to run (default 20)")
    parser.add_argument("--cases", type=int, help="run this many seeds instead")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    options = parser.parse_args()
    if not library.available():
        print("the compiled kernels were not built: nothing to compare")
        return 0
    return 1 if run(options.seed, options.cases, options.seconds) else 0


if __name__ == "__main__":
    sys.exit(main())

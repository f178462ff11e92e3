"""The passes of `trueness.torch` on a CUDA device: checked on fresh random data, then timed.

Times are medians of CUDA events around repeated calls, after warming up. torchmetrics is timed where it is installed.
"""

import os
import statistics
import time
from contextlib import contextmanager
from functools import partial

import numpy as np
import torch
import triton
from benchmark import Page

import trueness as tn
from trueness.torch import CalibrationError, binned, binned_logits

DEVICE = torch.device("cuda", 0)
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
EDGES = [0, 0.1, 0.13, 0.9, 1]

# On an H200 with torch 2.11.0+cu130 and triton 3.6.0: milliseconds of the kernels that had a table for each thread in
# shared memory, addressed by assembler, and how many times as long the present ones may take.
OLD = {
    "ECE of 268,435,456 float32 scores": (0.471, None),
    "… ten updates in the queue, each": (0.435, None),
    "… wall clock until the host has the number": (0.620, None),
    "… sums with Σp² too": (0.827, None),
    "… sums in 15 bins": (0.558, None),
    "… sums between given edges": (0.802, None),
    "… sums in 100 bins": (0.862, None),
    "… sums in 1,000 bins": (0.824, None),
    "… with an ignored label": (0.528, None),
    "… with float32 weights": (1.010, 3.0),
    "confidence ECE of 65,536 × 128,256 logits, float32": (7.381, 1.3),
    "confidence ECE of 65,536 × 128,256 logits, bfloat16": (3.756, 1.3),
    "confidence ECE of 4,096 × 50,257 logits, float32": (0.255, 1.3),
    "confidence ECE of 4,096 × 50,257 logits, bfloat16": (0.178, 1.3),
    "confidence ECE of 1,000,000 × 1,000 logits, float32": (1.059, 1.3),
    "confidence ECE of 1,000,000 × 1,000 logits, bfloat16": (0.612, 1.3),
    "confidence ECE of 20,000,000 × 10 logits, float32": (0.298, 1.3),
    "confidence ECE of 20,000,000 × 10 logits, bfloat16": (0.254, 1.3),
    "65,536 × 128,256, float32: ten updates in the queue, each": (7.209, None),
    "65,536 × 128,256, bfloat16: ten updates in the queue, each": (3.686, None),
    "4,096 × 50,257, float32: ten updates in the queue, each": (0.197, None),
    "4,096 × 50,257, bfloat16: ten updates in the queue, each": (0.117, None),
    "1,000,000 × 1,000, float32: ten updates in the queue, each": (0.921, None),
    "1,000,000 × 1,000, bfloat16: ten updates in the queue, each": (0.547, None),
    "20,000,000 × 10, float32: ten updates in the queue, each": (0.236, None),
    "20,000,000 × 10, bfloat16: ten updates in the queue, each": (0.178, None),
    "1,000,000 × 1,000, float32: class-wise": (1.506, 3.0),
    "1,000,000 × 1,000, bfloat16: class-wise": (1.321, 3.0),
    "20,000,000 × 10, float32: class-wise": (3.570, 3.0),
    "20,000,000 × 10, bfloat16: class-wise": (3.391, 3.0),
    "1,000,000 × 1,000, float32: with weights": (1.144, 3.0),
    "1,000,000 × 1,000, bfloat16: with weights": (0.750, 3.0),
    "20,000,000 × 10, float32: with weights": (0.473, 3.0),
    "20,000,000 × 10, bfloat16: with weights": (0.393, 3.0),
    "1,000,000 × 1,000, float32: top label": (1.123, None),
    "1,000,000 × 1,000, bfloat16: top label": (0.626, None),
    "20,000,000 × 10, float32: top label": (1.009, None),
    "20,000,000 × 10, bfloat16: top label": (0.792, None),
}


@contextmanager
def operations():
    """Torch's operations instead of kernels."""
    os.environ["TRUENESS_TORCH"] = "operations"
    try:
        yield
    finally:
        del os.environ["TRUENESS_TORCH"]


def median_ms(run, repeats=21, calls=1):
    """Median over the repeats; with several calls between two events, the time of one call."""
    # Long enough that what ran before, and how hot it left the card, no longer matters.
    warm = time.perf_counter() + 0.4
    while time.perf_counter() < warm:
        run()
        torch.cuda.synchronize()
    times = []
    for _ in range(repeats):
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(calls):
            run()
        stop.record()
        stop.synchronize()
        times.append(start.elapsed_time(stop) / calls)
    return statistics.median(times)


def wall_ms(run, repeats=21):
    """From the call until the host has the number."""
    for _ in range(3):
        run()
    times = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        run()
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times)


def scores(n, dtype=torch.float32):
    p = torch.rand(n, device=DEVICE)
    p *= p
    y = torch.empty(n, dtype=torch.uint8, device=DEVICE)
    for i in range(0, n, 1 << 26):
        part = slice(i, i + (1 << 26))
        y[part] = torch.rand(p[part].shape, device=DEVICE) < p[part]
    return y, p.to(dtype)


def logits(n, k, dtype=torch.float32, awkward=False):
    """Logits and labels, half of them the largest; awkward ones have −inf, ties and rows that are left out."""
    z = torch.empty((n, k), dtype=dtype, device=DEVICE)
    step = max(1, (1 << 28) // k)
    for i in range(0, n, step):
        z[i : i + step] = 2.5 * torch.randn(z[i : i + step].shape, device=DEVICE)
    y = torch.randint(0, k, (n,), device=DEVICE)
    y[::2] = torch.cat([z[i : i + step].argmax(dim=1) for i in range(0, n, step)])[::2]
    if awkward:
        z[::3, ::2] = -torch.inf
        z[1::5] = z[1::5].round()
        z[7::50, -1], z[9::50, 0], z[11::50] = torch.nan, torch.inf, -torch.inf
        y[torch.arange(n, device=DEVICE) % 50 % 2 == 1] = -100
    return y, z


def check_scores():
    """Equal bits with the loops of the CPU."""
    cases = 0
    for dtype in FLOATS:
        for bins, moments in ((10, False), (10, True), (15, False), (100, False), (EDGES, False)):
            if dtype != torch.float32 and bins in (15, 100):
                continue
            for n in (1, 1_000, 3_000_001):
                y, p = scores(n, dtype)
                p[:5] = torch.tensor(EDGES, device=DEVICE)[:n].to(dtype)
                found = binned(y, p, bins=bins, moments=moments).parts[0].table
                expected = tn.binned(y.cpu(), p.cpu(), bins=bins).parts[0].table.copy()
                expected[..., 3:] *= moments
                assert np.array_equal(found, expected), (dtype, bins, n, moments)
                cases += 1
    return f"scores: {cases} cases equal to the CPU bit for bit"


def check_large_bins():
    """As many rows in one bin as a thread may add, and more than 32 bits count."""
    n = 2_200_000_001
    y, p = torch.ones(n, dtype=torch.uint8, device=DEVICE), torch.ones(n, device=DEVICE)
    table = binned(y, p, moments=False).parts[0].table
    assert table[-1, 1].tolist() == [n, n << 26, 0, 0, 0]
    z = torch.full((3_000_000, 80), -torch.inf, device=DEVICE)
    z[:, 20:31] = (
        7  # eleven scores of 1/11 in every row: no others make larger sums in the lowest bin
    )
    y = torch.full((3_000_000,), 25, device=DEVICE)
    found = binned_logits(y, z, kind="classwise", moments=False).parts
    one = np.float32(1) / np.float32(11)
    whole = int(float(one) * 2**53)
    for j, part in enumerate(found):
        score = whole if 20 <= j < 31 else 0
        sums = [3_000_000, 3_000_000 * (score >> 27), 3_000_000 * (score % 2**27), 0, 0]
        assert part.table[0, int(j == 25)].tolist() == sums, j
        assert not part.table[0, int(j != 25)].any()
    return f"scores: {n:,} rows in one bin, and 3,000,000 rows of 80 classes, are summed exactly"


def check_weights():
    """Sums of weighted scores as torch's operations have them, to 12 digits."""
    cases = 0
    for dtype in FLOATS:
        for n, bins in ((1 << 22, 18), (300_001, 10), (300_001, EDGES), (1, 10))[
            : 4 if dtype == torch.float32 else 2
        ]:
            y, p = scores(n, dtype)
            for w in (
                torch.rand(n, device=DEVICE),
                1e6 * torch.rand(n, device=DEVICE).double(),
                y.long() + 1,
            ):
                options = {
                    "bins": bins,
                    "moments": cases % 2 == 0,
                    "sample_weight": w,
                    "ignore_index": 255,
                }
                label, score = y.clone(), p.clone()
                label[1::11], score[1::11] = 255, torch.nan
                found = binned(label, score, **options).parts[0]
                with operations():
                    expected = binned(label, score, **options).parts[0]
                assert np.array_equal(found.count, expected.count), (dtype, n, bins)
                assert found.whole == expected.whole
                assert np.allclose(found.floats, expected.floats, rtol=1e-12, atol=0), (
                    dtype,
                    n,
                    bins,
                )
                cases += 1
    return f"weights: {cases} cases as torch's operations have them, to 12 digits"


SHAPES = (
    (4_000, 2),
    (3_001, 3),
    (5_003, 10),
    (2_001, 32),
    (999, 33),
    (1_500, 257),
    (1_000, 1_000),
    (500, 2_049),
)
SHAPES += ((200, 50_257), (100, 128_256), (50, 200_000))


def check_logits():
    """Against softmax in float64 by torch's operations; rows with nan or infinities have a label that is ignored."""
    worst, cases = 0.0, 0
    for dtype in FLOATS:
        for n, k in SHAPES if dtype in (torch.float32, torch.bfloat16) else SHAPES[1::3]:
            y, z = logits(n, k, dtype, awkward=True)
            for kind in ("confidence", "top-label", "classwise"):
                if kind != "confidence" and k > 3_000:
                    continue
                for bins in (10, [0, 0.003, 0.4, 1]) if k in (10, 1_000) else (10,):
                    options = {
                        "kind": kind,
                        "bins": bins,
                        "ignore_index": -100,
                        "moments": k == 257,
                    }
                    found = binned_logits(y, z, **options)
                    with operations():
                        expected = binned_logits(y, z, **options)
                    off = compare(found, expected, dtype, n * k if kind == "classwise" else n)
                    worst = max(worst, off) if dtype != torch.float64 else worst
                    cases += 1
    return f"logits: {cases} cases; right or wrong as in float64, largest relative error of a mean {worst:.1e}"


def compare(found, expected, dtype, entries):
    """The largest relative error of the sums of scores, once counts and events agree."""
    a, b = ([part.table for part in sums.parts] for sums in (found, expected))
    a, b = np.array(a), np.array(b)
    # A score beside an edge may fall on its other side: narrow logits have a softmax in float32.
    moved = np.abs(a - b)[..., 0].sum()
    assert moved <= (0 if dtype == torch.float64 else 2 + entries // 20_000), (
        dtype,
        entries,
        moved,
    )
    assert np.array_equal(a[..., 0].sum(axis=1), b[..., 0].sum(axis=1)), (dtype, entries)
    value = np.array([0, 2.0**-26, 2.0**-53, 0, 0])
    x, y = (table.sum(axis=1) @ value for table in (a, b))
    off = float((np.abs(x - y) / np.maximum(y, 1e-3)).max())
    assert off < (1e-11 if dtype == torch.float64 else 2**-17), (dtype, entries, off)
    return off


def check_classes():
    """Class-wise sums are the same bits for any order and split of the rows."""
    cases = 0
    for dtype in (torch.float32, torch.bfloat16):
        for n, k in ((5_003, 10), (3_000, 1_000), (777, 1_001), (300, 4_000)):
            y, z = logits(n, k, dtype, awkward=True)
            whole = binned_logits(y, z, kind="classwise", moments=False, ignore_index=-100)
            metric = CalibrationError(
                kind="classwise", from_logits=True, n_classes=k, ignore_index=-100, device=DEVICE
            )
            for some in torch.randperm(n, device=DEVICE).split(n // 3):
                metric.update(y[some], z[some])
            assert metric.binned == whole, (dtype, n, k)
            cases += 1
    return f"class by class: {cases} cases with the same bits in any order and split"


def check_metric():
    """Nothing waits for the device in an update, and the values are those of the CPU."""
    y, z = logits(2_000, 7)
    forms = {True: z, False: torch.softmax(z, dim=1)}
    for kind, from_logits in (
        (k, f) for k in ("binary", "confidence", "classwise", "top-label") for f in (False, True)
    ):
        rows = (y % 2, forms[from_logits][:, 0]) if kind == "binary" else (y, forms[from_logits])
        metric = CalibrationError(kind=kind, from_logits=from_logits, n_classes=7, device=DEVICE)
        metric.update(*rows)
        torch.cuda.set_sync_debug_mode("error")
        metric.update(*rows)
        torch.cuda.set_sync_debug_mode("default")
        options = {} if kind == "binary" else {"kind": kind}
        expected = tn.ece(rows[0].cpu(), rows[1].cpu(), from_logits=from_logits, **options)
        assert abs(metric.compute().item() - expected) < 1e-5, (kind, from_logits)
    return "metric: no update waited for the device"


def ceiling():
    a = torch.empty(1 << 30, device=DEVICE).normal_()
    b = torch.empty_like(a)
    ms = median_ms(lambda: b.copy_(a))
    return 2 * 4 * a.numel() / ms / 1e9


def line(page, what, ms, limit, peer=None, judged=True):
    """A row of the table, beside the time before, with a bar where that or a peer sets one."""
    old, most = OLD.get(what, (None, None))
    page.row(
        what,
        f"{ms:.3f}",
        f"{limit:.3f}",
        "" if old is None else f"{old:.3f}",
        "" if old is None else f"{ms / old:.2f}",
        "" if peer is None else f"{peer:.1f}",
    )
    if most is not None:
        page.bar(
            f"{what}: at most {most:g}× as long as before",
            f"{ms / old:.2f}×",
            ms <= most * old if judged else None,
        )
    if peer is not None:
        page.bar(
            f"{what}: at least 5× as fast as torchmetrics",
            f"{peer / ms:.1f}×",
            peer >= 5 * ms if judged else None,
        )


def torchmetrics():
    try:
        import torchmetrics.functional.classification as f
    except ImportError:
        return None
    return f


def time_scores(page, n, bandwidth, judged):
    y, p = scores(n)
    metric, limit, f = CalibrationError(device=DEVICE), 5 * n / bandwidth / 1e9, torchmetrics()
    peer = (
        median_ms(lambda: f.binary_calibration_error(p, y, n_bins=10, validate_args=False), 3)
        if f
        else None
    )
    took = median_ms(lambda: metric.update(y, p))
    line(page, f"ECE of {n:,} float32 scores", took, limit, peer, judged)
    line(
        page,
        "… ten updates in the queue, each",
        median_ms(lambda: metric.update(y, p), calls=10),
        limit,
    )

    def all_of_it():
        metric.reset()
        metric.update(y, p)
        return metric.compute().item()

    line(page, "… wall clock until the host has the number", wall_ms(all_of_it), limit)
    for what, options in (
        ("with Σp² too", {"moments": True}),
        ("in 15 bins", {"bins": 15}),
        ("between given edges", {"bins": [0, 0.1, 0.3, 0.35, 0.8, 1]}),
        ("in 100 bins", {"bins": 100}),
        ("in 1,000 bins", {"bins": 1_000}),
    ):
        other = CalibrationError(device=DEVICE, **options)
        line(page, f"… sums {what}", median_ms(lambda m=other: m.update(y, p), 7), limit)
    weight, padded = torch.rand_like(p), y.clone()
    padded[::5] = 255
    weighted, ignoring = (
        CalibrationError(device=DEVICE),
        CalibrationError(device=DEVICE, ignore_index=255),
    )
    line(page, "… with an ignored label", median_ms(lambda: ignoring.update(padded, p)), limit)
    assert ignoring.compute() > 0  # raises if the label was taken for a bad one
    took = median_ms(lambda: weighted.update(y, p, sample_weight=weight), 5)
    line(page, "… with float32 weights", took, 9 * n / bandwidth / 1e9, peer, judged)


def time_logits(page, n, k, dtype, bandwidth, judged):
    y, z = logits(n, k, dtype)
    metric = CalibrationError(device=DEVICE, kind="confidence", from_logits=True)
    took = median_ms(lambda: metric.update(y, z))
    f = torchmetrics()
    peer = by_class = None
    if f:
        try:
            error = partial(f.multiclass_calibration_error, num_classes=k, n_bins=10)
            peer = median_ms(lambda: error(z, y, validate_args=False), 3)
        except torch.OutOfMemoryError:
            pass
        # It has no class-wise error: one call for each class, of which three are timed.
        if k <= 2_048:
            first = torch.softmax(z[:, :3].float(), dim=1)[:, 0]
            hit = (y == 0).long()
            error = partial(f.binary_calibration_error, n_bins=10, validate_args=False)
            by_class = k * median_ms(lambda: error(first, hit), 3)
        torch.cuda.empty_cache()
    limit = z.element_size() * n * k / bandwidth / 1e9
    name = str(dtype).removeprefix("torch.")
    line(page, f"confidence ECE of {n:,} × {k:,} logits, {name}", took, limit, peer, judged)
    head = f"{n:,} × {k:,}, {name}: "
    line(
        page,
        f"{head}ten updates in the queue, each",
        median_ms(lambda: metric.update(y, z), calls=10),
        limit,
    )
    if k <= 2_048:
        weight = torch.rand(n, device=DEVICE)
        for what, kind, batch, other_peer in (
            ("class-wise", "classwise", {}, by_class),
            ("with weights", "confidence", {"sample_weight": weight}, peer),
            ("top label", "top-label", {}, peer),
        ):
            other = CalibrationError(device=DEVICE, kind=kind, from_logits=True, n_classes=k)
            took = median_ms(lambda m=other, b=batch: m.update(y, z, **b), 11)
            line(page, head + what, took, limit, other_peer, judged)


def run(page: Page, quick: bool, only: str) -> None:
    """Checks, then times; `only` names some of check, a single one such as check_scores, scores and logits."""
    only = only.split(",")
    torch.manual_seed(time.time_ns() % (1 << 40))
    page.text(
        f"{torch.cuda.get_device_name()}, torch {torch.__version__}, triton {triton.__version__}"
    )
    for check in (
        check_scores,
        check_weights,
        check_logits,
        check_classes,
        check_large_bins,
        check_metric,
    ):
        if not {"check", check.__name__} & set(only):
            continue
        start = time.perf_counter()
        try:
            page.text(f"{check()} ({time.perf_counter() - start:.0f} s)")
        except Exception as error:  # the others are still worth a look
            page.text(f"FAIL {check.__name__}: {error!r}")
            page.bar(check.__name__, str(error), False)
    if not {"scores", "logits"} & set(only):
        return
    bandwidth = ceiling()
    page.text(f"A copy moves {bandwidth:.2f} TB/s, read and written.")
    page.head(
        "what", "ms", "limit of the memory, ms", "before, ms", "times as long", "torchmetrics, ms"
    )
    scale = 64 if quick else 1
    if "scores" in only:
        time_scores(page, (1 << 28) // scale, bandwidth, not quick)
        torch.cuda.empty_cache()
    if "logits" in only:
        for n, k in ((65_536, 128_256), (4_096, 50_257), (1_000_000, 1_000), (20_000_000, 10)):
            for dtype in (torch.float32, torch.bfloat16):
                time_logits(page, n // scale, k, dtype, bandwidth, not quick)
                torch.cuda.empty_cache()

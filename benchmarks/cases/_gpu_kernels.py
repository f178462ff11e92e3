"""Times of the Triton kernels on a CUDA device, after checks on fresh random data.

Times are medians of CUDA events around repeated calls, after warming up. torchmetrics is timed where it is installed.
"""

import statistics
import time

import numpy as np
import torch
import triton
from benchmark import Page

import trueness as tn
from trueness.torch import CalibrationError
from trueness.torch._class_sums import class_sums
from trueness.torch._dispatch import device_sums
from trueness.torch._edges import ruler_of
from trueness.torch._logit_kernel import tops
from trueness.torch._rows import Layout, TensorRows
from trueness.torch._score_kernel import score_sums
from trueness.torch._sums import no_sums
from trueness.torch._sums import score_sums as sums_by_operations

DEVICE = torch.device("cuda", 0)
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
SHAPES = (
    (4_000, 2),
    (3_001, 3),
    (5_003, 10),
    (2_001, 32),
    (999, 33),
    (1_500, 257),
    (1_000, 1_000),
    (500, 2_049),
    (200, 50_257),
    (100, 128_256),
    (50, 200_000),
)


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
    z = torch.empty((n, k), dtype=dtype, device=DEVICE)
    step = max(1, (1 << 28) // k)
    for i in range(0, n, step):
        z[i : i + step] = 2.5 * torch.randn(z[i : i + step].shape, device=DEVICE)
    y = torch.randint(0, k, (n,), device=DEVICE)
    y[::2] = torch.cat([z[i : i + step].argmax(dim=1) for i in range(0, n, step)])[::2]
    if awkward:
        z[::3, ::2] = -torch.inf
        z[1::5] = z[1::5].round()
        z[7::50, -1] = torch.nan
        z[9::50, 0] = torch.inf
        z[11::50] = -torch.inf
        y[13::50] = k
    return y, z


def check_scores():
    """Equal bits with the loops of the CPU."""
    edges = [0, 0.1, 0.13, 0.9, 1]
    cases = [(dtype, bins, torch.uint8, True) for dtype in FLOATS for bins in (10, 100, edges)]
    cases += [(torch.float32, bins, torch.uint8, False) for bins in (1, 10, 15, 44, 45, 1_000, 3_000, edges)]
    cases += [(torch.float32, 10, label, False) for label in (torch.bool, torch.int8, torch.int32, torch.int64)]
    for dtype, bins, label, moments in cases:
        for n in (1, 1_000, 300_001):
            y, p = scores(n, dtype)
            at = torch.tensor(ruler_of(bins).edges, device=DEVICE).to(dtype)
            p[: at.numel()] = at[:n]
            found = score_sums(y.to(label), p, ruler_of(bins), moments)
            expected = torch.from_numpy(tn.binned(y.cpu(), p.cpu(), bins=bins).parts[0].table).clone()
            expected[..., 3:] *= moments
            assert torch.equal(found.table[0].cpu(), expected), (dtype, bins, n, label, moments)
            assert not found.faults.any()
    y, p = torch.tensor([0, 1, 2, 1, 0, -1]), torch.tensor([0.5, torch.nan, 0.5, 1.5, 0.95, 0.5])
    for bins in (10, [0, 0.9], 100, 3_000):
        found = score_sums(y.cuda(), p.cuda(), ruler_of(bins), True)
        expected = sums_by_operations(TensorRows(y, p), Layout(ruler_of(bins)))
        assert torch.equal(found.flat.cpu(), expected.flat), bins
    return f"scores: {3 * len(cases)} cases equal to the CPU bit for bit; faults counted, not summed"


def check_logits():
    """Confidences against float64, counts equal given the confidences; nan, infinities, ties and bad labels."""
    worst, cases = 0.0, 0
    for dtype in FLOATS:
        for n, k in SHAPES if dtype in (torch.float32, torch.bfloat16) else SHAPES[1::3]:
            y, z = logits(n, k, dtype, awkward=True)
            confidence, correct, _ = tops(y, z)
            wide = z.double()
            largest, place = wide.max(dim=1)
            expected = 1 / torch.exp(wide - largest[:, None]).sum(dim=1)
            bad = expected.isnan()
            assert torch.equal(confidence.isnan(), bad), (dtype, n, k)
            off = ((confidence - expected).abs() / expected)[~bad].max().item()
            worst = max(worst, off) if dtype != torch.float64 else worst
            assert off < (1e-12 if dtype == torch.float64 else 2**-18), (dtype, n, k, off)
            label = torch.where((y < 0) | (y >= k), 2, (place == y).to(torch.uint8))
            assert torch.equal(correct[~bad].long(), label[~bad].long()), (dtype, n, k)
            found = device_sums(TensorRows(y, z, logits=True), Layout(ruler_of(10), "confidence"))
            again = sums_by_operations(TensorRows(correct, confidence), Layout(ruler_of(10)))
            assert torch.equal(found.flat, again.flat), (dtype, n, k)
            cases += 1
    for dtype in (torch.float32, torch.bfloat16, torch.float64):
        for n, k, moments in (
            (4_000, 2, True),
            (700, 300, True),
            (60, 5_000, True),
            (700, 300, False),
            (3_000, 1_000, False),
            (501, 2_048, False),
        ):
            for bins in (10, 8, [0, 0.003, 0.4, 1], [0.001, 0.6]):
                y, z = logits(n, k, dtype, awkward=True)
                rows, layout = TensorRows(y, z, ignored=5, logits=True), Layout(ruler_of(bins), moments=moments)
                found, expected = device_sums(rows, layout), class_sums(rows, layout)
                # An entry beside an edge may fall on its other side: the confidence is rounded to float32.
                assert (found.table - expected.table)[..., 0].abs().sum() <= 2 + n * k // 20_000, (dtype, n, k, bins)
                assert (found.faults - expected.faults).abs().sum() <= 2 + n * k // 20_000
                assert bool((found.table[..., 0] - expected.table[..., 0]).sum(dim=(1, 2)).abs().max() <= 2)
                value = torch.tensor([0, 2.0**-26, 2.0**-53, 0, 0], dtype=torch.float64, device=DEVICE)
                a, b = (s.table.double().sum(dim=(1, 2)) @ value for s in (found, expected))
                # Beside an outer edge it then counts on one side only.
                moved = (found.faults - expected.faults)[2].abs().item()
                assert torch.allclose(a, b, rtol=2**-17, atol=1e-5 + moved), (dtype, n, k, bins)
    return (
        f"confidence: {cases} cases; right or wrong as in float64, largest relative error {worst:.1e}; "
        "class by class: sums as in float64"
    )


def check_classes():
    """Sums by class are the same bits for any order and split of the rows, and are added to those that are there."""
    shapes = ((3_001, 66), (901, 300), (3_000, 1_000), (777, 1_001), (501, 2_048), (300, 4_000))
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        for n, k in shapes:
            y, z = logits(n, k, dtype, awkward=True)
            z[5::31] *= 300
            layout = Layout(ruler_of(10), moments=False)
            found = device_sums(TensorRows(y, z, logits=True), layout)
            order = torch.randperm(n, device=DEVICE)
            again = no_sums(k, 10, DEVICE)
            for some in order.split(n // 3):
                assert device_sums(TensorRows(y[some], z[some], logits=True), layout, again) is again
            assert torch.equal(found.flat, again.flat), (dtype, n, k)
    # Eleven scores of 1/11 in every row: no others make larger sums in the lowest bin.
    n = 3_000_000
    z = torch.full((n, 80), -torch.inf, device=DEVICE)
    z[:, 20:31] = 7
    found = device_sums(TensorRows(torch.full((n,), 25, device=DEVICE), z, logits=True), layout).table[:, 0]
    expected = torch.zeros_like(found)
    expected[:, 0, 0] = n
    expected[20:31, 0, 1] = n * int(2**26 * np.float32(1) / np.float32(11))
    expected[25] = expected[25].flip(0)
    assert torch.equal(found, expected)
    return f"class by class: {3 * len(shapes)} cases with the same bits in any order and split"


def check_metric():
    """Nothing waits for the device in an update, and the values are those of the CPU."""
    y, z = logits(2_000, 7)
    forms = {True: z, False: torch.softmax(z, dim=1)}
    for kind, from_logits in ((k, f) for k in ("binary", "confidence", "classwise") for f in (False, True)):
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


def error_in_float64(y, p, w, kind):
    """The error in ten bins of scores (n,) or probabilities (n, K), by NumPy alone."""
    if p.ndim == 1:
        parts = [(y, p, w)]
    elif kind == "classwise":
        parts = [(y == j, p[:, j], w) for j in range(p.shape[1])]
    else:
        top, score = p.argmax(axis=1), p.max(axis=1)
        groups = [top == j for j in range(p.shape[1])] if kind == "top-label" else [top >= 0]
        parts = [((top == y)[rows], score[rows], w[rows]) for rows in groups]
    edges = np.arange(1, 10) / 10
    gaps, weights = [], []
    for hit, score, weight in parts:
        place = np.searchsorted(edges, score, side="right")
        gaps.append(np.abs(np.bincount(place, weight * (hit - score), minlength=10)).sum())
        weights.append(weight.sum())
    return sum(gaps) / sum(weights)


def check_options():
    """Weights, ignored rows and every view of scores and logits, against NumPy in float64."""
    cases = 0
    for dtype, k in ((torch.float64, 7), (torch.float64, 3_000), (torch.float32, 7), (torch.bfloat16, 2_100)):
        y, z = logits(3_000, k, dtype)
        y[::7] = -100
        z[::14] = torch.nan
        w = 3 * torch.rand(3_000, dtype=torch.float64, device=DEVICE)
        p = torch.softmax(z.double(), dim=1)
        kept = (y != -100).cpu().numpy()
        for kind in ("binary", "confidence", "classwise", "top-label"):
            label = torch.where(y < 0, y, y % 2) if kind == "binary" else y
            for from_logits, weight in ((f, v) for f in (False, True) for v in (None, w, w.floor())):
                scores = z if from_logits else p
                scores = scores[:, 0] if kind == "binary" else scores
                metric = CalibrationError(
                    kind=kind, from_logits=from_logits, n_classes=k, ignore_index=-100, device=DEVICE
                )
                metric.update(label, scores, sample_weight=weight)
                wide = scores.double()
                if from_logits:
                    wide = torch.sigmoid(wide) if kind == "binary" else p
                weights = np.ones(3_000) if weight is None else weight.cpu().numpy()
                rows = (column[kept] for column in (label.cpu().numpy(), wide.cpu().numpy(), weights))
                off = abs(metric.compute().item() - error_in_float64(*rows, kind))
                # From narrow logits softmax is float32, and a confidence may change its bin.
                assert off < (1e-12 if dtype == torch.float64 or not from_logits else 1e-5), (dtype, k, kind, off)
                cases += 1
    return f"weights, ignored rows and views: {cases} errors as NumPy has them in float64"


def check_weights():
    """Sums of weighted scores as torch's operations have them, to 12 digits, and the same faults."""
    cases = 0
    for dtype in FLOATS:
        for n, bins in ((1, 10), (255, 15), (300_001, 10), (300_001, [0.1, 0.2, 0.9]), (1 << 22, 18)):
            y, p = scores(n, dtype)
            for w in (torch.rand(n, device=DEVICE), 1e6 * torch.rand(n, device=DEVICE).double(), y.long() + 1):
                label, score, weight = y.clone(), p.clone(), w.clone()
                if n > 1_000:
                    label[::11], label[5::13], weight[7::17] = 255, 2, -1
                    score[3::19] = torch.nan
                rows = TensorRows(label, score, weight, 255)
                layout = Layout(ruler_of(bins), moments=cases % 2 == 0)
                found = device_sums(rows, layout)
                expected = sums_by_operations(rows.with_wide_weights(), layout)
                if not layout.moments:
                    expected.weighted[..., 5] = 0
                assert torch.equal(found.flat, expected.flat), (dtype, n, bins)
                assert torch.allclose(found.weighted, expected.weighted, rtol=1e-12, atol=0), (dtype, n, bins)
                cases += 1
    return f"weights: {cases} cases as torch's operations have them, to 12 digits"


def ceiling():
    a = torch.empty(1 << 30, device=DEVICE).normal_()
    b = torch.empty_like(a)
    ms = median_ms(lambda: b.copy_(a))
    return 2 * 4 * a.numel() / ms / 1e9


def line(page, what, ms, limit, peer="", goal=""):
    page.row(what, f"{ms:.3f}", f"{limit:.3f}", goal, peer)


def torchmetrics():
    try:
        import torchmetrics.functional.classification as f
    except ImportError:
        return None
    return f


def time_scores(page, n, bandwidth):
    y, p = scores(n)
    expected = sums_by_operations(TensorRows(y, p), Layout(ruler_of(10), moments=False))
    found = score_sums(y, p, ruler_of(10), False)
    assert torch.equal(found.table, expected.table)
    metric = CalibrationError(device=DEVICE)
    took = median_ms(lambda: metric.update(y, p))
    queued = median_ms(lambda: metric.update(y, p), calls=10)
    f = torchmetrics()
    peer = median_ms(lambda: f.binary_calibration_error(p, y, n_bins=10, validate_args=False), 3) if f else None
    limit = 5 * n / bandwidth / 1e9
    peer = "" if peer is None else f"{peer:.1f}"
    line(page, f"ECE of {n:,} float32 scores", took, limit, peer, "0.62")

    def all_of_it():
        metric.reset()
        metric.update(y, p)
        return metric.compute().item()

    line(page, "the same, ten updates in the queue, each", queued, limit, "", "")
    line(page, "the same, wall clock until the host has the number", wall_ms(all_of_it), limit, "", "")
    for what, bins, moments in (
        ("with Σp² too", 10, True),
        ("in 15 bins", 15, False),
        ("between given edges", [0, 0.1, 0.3, 0.35, 0.8, 1], False),
        ("in 100 bins", 100, False),
        ("in 1,000 bins", 1_000, False),
    ):
        run = lambda b=bins, m=moments: score_sums(y, p, ruler_of(b), m)  # noqa: E731
        line(page, f"sums of the same {what}", median_ms(run, 11), limit)
    weight, padded = torch.rand_like(p), y.clone()
    padded[::5] = 255
    weighted, ignoring = CalibrationError(device=DEVICE), CalibrationError(device=DEVICE, ignore_index=255)
    line(page, "ECE of the same with an ignored label", median_ms(lambda: ignoring.update(padded, p)), limit)
    assert ignoring.compute() > 0  # raises if the label was taken for a bad one
    took = median_ms(lambda: weighted.update(y, p, sample_weight=weight), 5)
    line(page, "ECE of the same with float32 weights", took, 9 * n / bandwidth / 1e9, "", "1.2")


def time_logits(page, n, k, dtype, bandwidth, goal):
    y, z = logits(n, k, dtype)
    metric = CalibrationError(device=DEVICE, kind="confidence", from_logits=True)
    took = median_ms(lambda: metric.update(y, z))
    f = torchmetrics()
    peer = ""
    if f:
        try:
            run = lambda: f.multiclass_calibration_error(z, y, num_classes=k, n_bins=10, validate_args=False)  # noqa: E731
            peer = f"{median_ms(run, 3):.1f}"
        except torch.OutOfMemoryError:
            peer = "out of memory"
        torch.cuda.empty_cache()
    limit = z.element_size() * n * k / bandwidth / 1e9
    name = str(dtype).removeprefix("torch.")
    line(page, f"confidence ECE of {n:,} × {k:,} logits, {name}", took, limit, peer, goal)
    queued = median_ms(lambda: metric.update(y, z), calls=10)
    line(page, "the same, ten updates in the queue, each", queued, limit)
    if k <= 2_048:
        goal = {1_000: {4: "2.2", 2: "1.3"}}.get(k, {}).get(z.element_size(), "")
        weight = torch.rand(n, device=DEVICE)
        for what, kind, batch, own_goal in (
            ("class-wise ECE of the same", "classwise", {}, goal),
            ("confidence ECE of the same with weights", "confidence", {"sample_weight": weight}, ""),
            ("top-label ECE of the same", "top-label", {}, ""),
        ):
            other = CalibrationError(device=DEVICE, kind=kind, from_logits=True, n_classes=k)
            line(page, what, median_ms(lambda m=other, b=batch: m.update(y, z, **b)), limit, "", own_goal)


def run(page: Page, quick: bool, only: str) -> None:
    """Checks, then times; `only` names some of check, scores and logits."""
    torch.manual_seed(time.time_ns() % (1 << 40))
    page.text(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, triton {triton.__version__}")
    if "check" in only:
        for check in (check_scores, check_weights, check_logits, check_classes, check_metric, check_options):
            page.text(check())
    bandwidth = ceiling()
    page.text(f"A copy moves {bandwidth:.2f} TB/s, read and written.")
    page.head("what", "ms", "limit of the memory, ms", "goal, ms", "torchmetrics, ms")
    scale = 64 if quick else 1
    if "scores" in only:
        time_scores(page, (1 << 28) // scale, bandwidth)
    if "logits" in only:
        for n, k, goals in (
            (65_536, 128_256, ("8.2", "4.5")),
            (4_096, 50_257, ("0.22", "0.13")),
            (1_000_000, 1_000, ("1.3", "0.75")),
            (20_000_000, 10, ("0.27", "")),
        ):
            for dtype, goal in zip((torch.float32, torch.bfloat16), goals, strict=True):
                time_logits(page, n // scale, k, dtype, bandwidth, goal)
                torch.cuda.empty_cache()

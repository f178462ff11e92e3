"""Three Triton kernels: binned sums of scores, the softmax of logits, and binned sums of weighted scores.

A program that sums is one warp. Each thread adds rows, or those of one class, to sums in its
registers: a score times 1 to those of its own bin, times 0 to all others. Whole numbers below 2⁵³
are exact in float64, and so are such sums.
"""

# mypy: ignore-errors
# ruff: noqa: SIM108
# Triton's language has the syntax of Python, not its types; what a branch tests is known to its
# compiler.

import triton
import triton.language as tl

# A block is read while the two before it are summed: with 2, 4 or 6 of these stages an H200 is no
# faster (2²⁸ scores: 1.19 ms without, 1.06 with 3; weighted ones 2.74 and 1.96).
_AHEAD = tl.constexpr(3)


@triton.jit
def _power(difference):
    """The power of e to a number ≤ 0."""
    if difference.dtype == tl.float64:
        power = tl.exp(difference)
    else:
        # The difference first: of logits near 1,000 a product with log2(e) would lose the digits
        # that count.
        power = tl.exp2(difference * 1.4426950408889634)
    return power


@triton.jit
def _whole(p):
    """Upper and lower bits of ⌊2⁵³ p⌋, as float64 numbers."""
    hi = tl.floor(p * 67108864.0)
    return hi, tl.floor(p * 9007199254740992.0 - hi * 134217728.0)


@triton.jit
def _place(p, limits, B: tl.constexpr, STEPS: tl.constexpr):
    """The bin of each score; without STEPS of binary search, bins have equal width and scores at most 24 bits."""
    if STEPS == 0:
        place = tl.minimum((p * B).to(tl.int32), B - 1)  # the product is exact
    else:
        place = tl.zeros(p.shape, tl.int32)
        for step in tl.static_range(STEPS):
            further = place + (1 << (STEPS - 1 - step))
            limit = tl.load(limits + further, mask=further < B, other=2.0)
            place = tl.where(p >= limit, further, place)
    return place


@triton.jit
def _read(rows, at, there, WHOLE: tl.constexpr):
    """Rows, of which all are there if WHOLE: a mask would split wide reads."""
    if WHOLE:
        values = tl.load(rows + at)
    else:
        values = tl.load(rows + at, mask=there, other=0)
    return values


@triton.jit
def _count(faults, bad):
    tl.atomic_add(faults, tl.sum(bad.to(tl.int64)), sem="relaxed")


@triton.jit
def _inside(p, keep, valid, fair, limits, faults, B: tl.constexpr, STEPS: tl.constexpr):
    """Which rows lie in a bin; others that should are counted, each under its first fault."""
    good = keep & valid & fair
    if STEPS > 0:
        good = good & (p >= tl.load(limits)) & (p <= tl.load(limits + B))
    if tl.max((keep & (good == 0)).to(tl.int32)) > 0 and tl.program_id(1) == 0:
        _count(faults, keep & (valid == 0))
        _count(faults + 1, keep & valid & (fair == 0))
        _count(faults + 2, keep & valid & fair & (good == 0))
    return good


@triton.jit
def _row_scores(
    p_rows, y_rows, limits, faults, block, n,
    WHOLE: tl.constexpr, SKIPPED: tl.constexpr, B: tl.constexpr, STEPS: tl.constexpr, T: tl.constexpr, V: tl.constexpr,
):  # fmt: skip
    """A block of scores, their labels, which of them count, and where they stand."""
    at = tl.arange(0, T)[:, None] * V + tl.arange(0, V)[None, :]
    here = block * (T * V)
    keep = at < (T * V if WHOLE else n - here)
    p = _read(p_rows + here, at, keep, WHOLE)
    y = _read(y_rows + here, at, keep, WHOLE)
    if SKIPPED is not None:
        keep = keep & (y != SKIPPED)
    good = _inside(
        p.to(tl.float64), keep, (p >= 0) & (p <= 1), (y == 0) | (y == 1), limits, faults, B, STEPS
    )
    return p.to(tl.float64), y == 1, good, here + at


@triton.jit
def _class_scores(
    z_rows, y_rows, top_rows, share_rows, limits, faults, block, n, k,
    WHOLE: tl.constexpr, B: tl.constexpr, STEPS: tl.constexpr, T: tl.constexpr, V: tl.constexpr,
):  # fmt: skip
    """For T classes by V rows: the probabilities, which classes are the labels, and what counts.

    Beside its logits, a row has the largest of them and its share, the probability of that class,
    1 / Σexp(z − largest). A share of 0 leaves the row out.
    """
    column = tl.program_id(0) * T + tl.arange(0, T)[:, None]
    step = tl.arange(0, V)[None, :]
    row = block * V + step
    share = _read(share_rows, row, row < n, WHOLE)
    keep = (column < k) & (row < n)
    z = tl.load(z_rows + block * V * k.to(tl.int64) + (step * k + column), mask=keep, other=0.0).to(
        share.dtype
    )
    p = (_power(z - _read(top_rows, row, row < n, WHOLE)) * share).to(tl.float64)
    good = keep & (share > 0)
    # Rows with bad scores or labels have a share of 0, so the only fault that is left to count is a
    # probability beyond the outermost edges. Bins of equal width, without STEPS, cover [0, 1].
    if STEPS > 0:
        good = _inside(p, good, good, good, limits, faults, B, STEPS)
    return p, _read(y_rows, row, row < n, WHOLE).to(tl.int32) == column, good


@triton.jit
def _confidences(
    z_rows, y_rows, limits, faults, block, n, k: tl.constexpr, DEPTH: tl.constexpr, SKIPPED: tl.constexpr,
    B: tl.constexpr, STEPS: tl.constexpr, T: tl.constexpr, V: tl.constexpr,
):  # fmt: skip
    """As `_row_scores`, for the largest probabilities of short rows of logits, of which a thread reads every T-th."""
    own = block.to(tl.int64) * (T * V) + tl.arange(0, T * V)
    label = tl.load(y_rows + tl.minimum(own, n - 1))
    top, found, total = _alone(z_rows, tl.minimum(own, n - 1), k, DEPTH)
    p = (1.0 / total).to(tl.float64)
    keep = own < n
    if SKIPPED is not None:
        keep = keep & (label != SKIPPED)
    good = _inside(
        p,
        keep,
        (p > 0) & (top > float("-inf")),
        (label >= 0) & (label < k),
        limits,
        faults,
        B,
        STEPS,
    )
    hit = tl.reshape(found == label, (V, T))
    return tl.trans(tl.reshape(p, (V, T))), tl.trans(hit), tl.trans(tl.reshape(good, (V, T)))


@triton.jit
def _columns(x):
    """The columns of a block, of which each thread has a row."""
    if x.shape[1] == 2:
        columns = tl.split(x)
    else:
        even, odd = tl.split(tl.reshape(x, (x.shape[0], 2, 2)))
        columns = tl.split(even) + tl.split(odd)
    return columns


@triton.jit
def _add(sums, place, values, FROM: tl.constexpr, TO: tl.constexpr, LOW: tl.constexpr):
    """Add values to the sums FROM … TO of their bin.

    The second of each half is 0 in bins from LOW on.
    """
    C: tl.constexpr = len(values)
    place = _columns(place)
    parts = ()
    for j in tl.static_range(C):
        parts += (_columns(values[j]),)
    new = ()
    for j in tl.static_range(len(sums)):
        if (j < FROM or j >= TO) or (j % (C // 2) == 1 and j // C >= LOW):
            new += (sums[j],)
        else:
            total = sums[j]
            for v in tl.static_range(len(place)):
                total += tl.where(place[v] == j // C, 1.0, 0.0).to(tl.float64) * parts[j % C][v]
            new += (total,)
    return new


@triton.jit
def _report(to, sums, there, SPREAD: tl.constexpr):
    """Add the sums of all threads to one number, or SPREAD them over one for each."""
    if SPREAD:
        tl.atomic_add(to, sums, mask=there, sem="relaxed")
    else:
        tl.atomic_add(to, tl.sum(sums), mask=there, sem="relaxed")


@triton.jit(do_not_specialize=["k"])
def scores(
    p_rows, y_rows, top_rows, share_rows, limits, table, faults, n, k,
    CLASSES: tl.constexpr, ROW: tl.constexpr, DEPTH: tl.constexpr, PARTS: tl.constexpr, WHOLE: tl.constexpr,
    MOMENTS: tl.constexpr, SKIPPED: tl.constexpr, B: tl.constexpr, STEPS: tl.constexpr, BINS: tl.constexpr,
    LOW: tl.constexpr, T: tl.constexpr, V: tl.constexpr,
):  # fmt: skip
    """Whole-number sums in some BINS: of a vector of scores, or of logits."""
    # Scores may have PARTS, named in `top_rows`. Of rows of logits, the confidence is summed if
    # ROW, their length, is given, or the CLASSES, one for each thread, of which few score above the
    # first bin. The count stands above the 39 bits of Σhi, which are enough for 8,191 scores.
    H: tl.constexpr = 4 if MOMENTS else 2
    first = tl.program_id(1) * BINS
    sums = ()
    for _j in tl.static_range(BINS * 2 * H):
        sums += (tl.zeros((T,), tl.float64),)
    blocks = tl.cdiv(n, V if CLASSES else T * V)
    # Short rows of logits leave no registers to read ahead, and a search would read its edges ahead.
    STAGES: tl.constexpr = 1 if ROW > 0 or STEPS > 0 else _AHEAD
    for block in tl.range(tl.program_id(2), blocks, tl.num_programs(2), num_stages=STAGES):
        if CLASSES:
            p, event, good = _class_scores(
                p_rows,
                y_rows,
                top_rows,
                share_rows,
                limits,
                faults,
                block,
                n,
                k,
                WHOLE,
                B,
                STEPS,
                T,
                V,
            )
        elif ROW > 0:
            p, event, good = _confidences(
                p_rows, y_rows, limits, faults, block, n, ROW, DEPTH, SKIPPED, B, STEPS, T, V
            )
        else:
            p, event, good, at = _row_scores(
                p_rows, y_rows, limits, faults, block, n, WHOLE, SKIPPED, B, STEPS, T, V
            )
        p = tl.where(good, p, 0.0)
        place = _place(p, limits, B, STEPS)
        if PARTS > 1:
            place += _read(top_rows, at, at < n, WHOLE) * B
        place = tl.where(good, place - first, BINS)
        hi, lo = _whole(p)
        values = (hi + 549755813888.0, lo)
        if MOMENTS:
            values += _whole(p * p)
        for j in tl.static_range(H):
            values += (tl.where(event, values[j], 0.0),)
        if CLASSES:
            sums = _add(sums, place, values, 0, H, LOW)
            if tl.max(((place > 0) & (place < BINS) | (event & good)).to(tl.int32)) > 0:
                sums = _add(sums, place, values, H, BINS * 2 * H, LOW)
        else:
            sums = _add(sums, place, values, 0, BINS * 2 * H, LOW)
    to = table + first * 10
    there = first < PARTS * B
    if CLASSES:
        column = tl.program_id(0) * T + tl.arange(0, T)
        to += column.to(tl.int64) * (B * 10)
        there = column < k
    for j in tl.static_range(BINS * 2 * H):
        whole = (sums[j] - (sums[j + H] if j % (2 * H) < H else 0.0)).to(tl.int64)
        own = there & (first + j // (2 * H) < PARTS * B)
        cell = to + j // H * 5
        if j % H == 0:
            _report(cell, whole >> 39, own, CLASSES)
            _report(cell + 1, whole & 0x7FFFFFFFFF, own, CLASSES)
        else:
            _report(cell + 1 + j % H, whole, own, CLASSES)


@triton.jit
def weights(
    p_rows, y_rows, w_rows, limits, table, faults, n,
    WHOLE: tl.constexpr, MOMENTS: tl.constexpr, SKIPPED: tl.constexpr, B: tl.constexpr, STEPS: tl.constexpr,
    BINS: tl.constexpr, LARGEST: tl.constexpr, T: tl.constexpr, V: tl.constexpr,
):  # fmt: skip
    """Float64 sums in some BINS of a vector of weighted scores.

    A thread adds at most 4,096 rows.
    """
    # Rows of fractional weight are counted above the 26 bits for those of any positive weight.
    C: tl.constexpr = 7 if MOMENTS else 6
    first = tl.program_id(1) * BINS
    sums = ()
    for _j in tl.static_range(BINS * C):
        sums += (tl.zeros((T,), tl.float64),)
    blocks = tl.cdiv(n, T * V)
    STAGES: tl.constexpr = 1 if STEPS > 0 else _AHEAD
    for block in tl.range(tl.program_id(2), blocks, tl.num_programs(2), num_stages=STAGES):
        p, event, good, at = _row_scores(
            p_rows, y_rows, limits, faults, block, n, WHOLE, SKIPPED, B, STEPS, T, V
        )
        w = _read(w_rows, at, at < n, WHOLE).to(tl.float64)
        fair = (w >= 0) & (w <= LARGEST)
        if tl.max((good & (fair == 0)).to(tl.int32)) > 0 and first == 0:
            _count(faults + 4, good & (fair == 0))
        p = tl.where(good, p, 0.0)
        w = tl.where(good & fair, w, 0.0)
        place = _place(p, limits, B, STEPS) - first
        count = tl.where(w > 0, 1.0, 0.0).to(tl.float64) + tl.where(
            w != tl.floor(w), 67108864.0, 0.0
        ).to(tl.float64)
        event_weight = tl.where(event, w, 0.0)
        values = (count, w, w * w, event_weight, w * p, event_weight * p)
        if MOMENTS:
            values += (w * p * p,)
        sums = _add(sums, place, values, 0, BINS * C, BINS)
    for j in tl.static_range(BINS * C):
        to = table + (first + j // C) * 8
        there = first + j // C < B
        if j % C == 0:
            rows = sums[j].to(tl.int64)
            _report(to, (rows & 0x3FFFFFF).to(tl.float64), there, False)
            _report(to + 7, (rows >> 26).to(tl.float64), there, False)
        elif j % C < 5:
            _report(to + j % C, sums[j], there, False)
        else:  # Σwyp comes after Σwp², which may be absent
            _report(to + 11 - j % C, sums[j], there, False)


@triton.jit
def _absorb(z, first, largest, total, where):
    """Add a piece of each row to the maxima and sums of powers of its columns."""
    new = tl.maximum(largest, tl.max(z, axis=0))
    where = tl.where(new > largest, first, where)
    base = tl.where(new == float("-inf"), 0.0, new)  # -inf minus itself is nan
    total = total * _power(largest - base) + tl.sum(_power(z - base[None, :, :]), axis=0)
    return new, total, where


@triton.jit
def _alone(z_rows, row, k: tl.constexpr, DEPTH: tl.constexpr):
    """Largest entries of short rows, where they stand, and sums of powers.

    A thread has a row in its registers.
    """
    entry = tl.arange(0, DEPTH)[None, :]
    pieces = ()
    for i in tl.static_range(0, k, DEPTH):
        z = tl.load(z_rows + (row[:, None] * k + (i + entry)))
        pieces += (z if z.dtype == tl.float64 else z.to(tl.float32),)
    top = tl.max(pieces[0], axis=1)
    for i in tl.static_range(1, len(pieces)):
        top = tl.maximum(top, tl.max(pieces[i], axis=1))
    base = tl.where(top == float("-inf"), 0.0, top)[:, None]
    total = tl.sum(_power(pieces[0] - base), axis=1)
    found = tl.min(tl.where(pieces[0] == top[:, None], entry, k), axis=1)
    for i in tl.static_range(1, len(pieces)):
        total += tl.sum(_power(pieces[i] - base), axis=1)
        found = tl.minimum(
            found, tl.min(tl.where(pieces[i] == top[:, None], i * DEPTH + entry, k), axis=1)
        )
    return top, found, total


@triton.jit
def _in_pieces(
    z_rows, row, k: tl.constexpr, WIDE: tl.constexpr, DEPTH: tl.constexpr, WIDTH: tl.constexpr
):
    """The same for rows of any length, read in pieces of DEPTH times WIDTH entries."""
    # Each column of these has a maximum and a sum of its own, and knows the piece where it found
    # the maximum; the place in that piece is looked up in the end.
    STEP: tl.constexpr = DEPTH * WIDTH
    LAST: tl.constexpr = (k - 1) // STEP * STEP
    entry = tl.arange(0, DEPTH)[:, None, None] * WIDTH + tl.arange(0, WIDTH)[None, None, :]
    at = z_rows + (row[None, :, None] * k + entry)
    largest = tl.full((row.shape[0], WIDTH), float("-inf"), WIDE)
    total = tl.zeros(largest.shape, WIDE)
    where = tl.zeros(largest.shape, tl.int32)
    for i in range(0, LAST, STEP):
        z = tl.load(at + i, eviction_policy="evict_first").to(WIDE)
        largest, total, where = _absorb(z, i, largest, total, where)
    z = tl.load(
        at + LAST, mask=LAST + entry < k, other=float("-inf"), eviction_policy="evict_first"
    ).to(WIDE)
    largest, total, where = _absorb(z, LAST, largest, total, where)
    top = tl.max(largest, axis=1)
    base = tl.where(top == float("-inf"), 0.0, top)
    total = tl.sum(total * _power(largest - base[:, None]), axis=1)
    place = where[None, :, :] + entry
    if LAST > 0:
        seen = (largest == top[:, None])[None, :, :] & (place < k)
        z = tl.load(at + where[None, :, :], mask=seen, other=float("-inf")).to(WIDE)
    found = tl.min(tl.min(tl.where(z == top[None, :, None], place, k), axis=0), axis=1)
    return top, found, total


@triton.jit
def logits(
    z_rows, y_rows, confidence, correct, besides, n,
    k: tl.constexpr, WIDE: tl.constexpr, BESIDES: tl.constexpr, SKIPPED: tl.constexpr,
    DEPTH: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """The largest probability of each row, from one read of the logits, and whether its class is the label."""
    # The confidence is nan for a row without a softmax. Right or wrong is 2 for a label that is no
    # class, and 3 for the label that is SKIPPED.
    own = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    row = tl.minimum(own, n - 1)
    if WIDTH == 1:
        top, found, total = _alone(z_rows, row, k, DEPTH)
    else:
        top, found, total = _in_pieces(z_rows, row, k, WIDE, DEPTH, WIDTH)
    label = tl.load(y_rows + row)
    hit = tl.where((label < 0) | (label >= k), 2, (found == label).to(tl.int32))
    if SKIPPED is not None:
        hit = tl.where(label == SKIPPED, 3, hit)
    tl.store(
        confidence + row, tl.where(top == float("-inf"), float("nan"), 1.0 / total), mask=own < n
    )
    tl.store(correct + row, hit.to(tl.uint8), mask=own < n)
    if BESIDES == "largest":
        tl.store(besides + row, top, mask=own < n)
    elif BESIDES == "place":
        tl.store(besides + row, found, mask=own < n)

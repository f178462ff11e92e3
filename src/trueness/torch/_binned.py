"""`binned` and `binned_logits`: sums per bin of tensors.

By the library's loops, Triton, or torch operations.
"""

import os
from functools import lru_cache
from importlib.util import find_spec
from typing import TypedDict, Unpack, cast

import numpy as np
import torch

from trueness._keywords import suggests_keywords
from trueness._tally.bins import MOST_EXACT, Bins
from trueness._tally.multiclass import View
from trueness._tally.rows_or_sums import binned as binned_rows
from trueness._tally.rules import BinsLike, check_class_bins
from trueness._tally.tally import Binned
from trueness.errors import InputError, remedies
from trueness.torch import _rows
from trueness.torch._rows import Layout, TensorRows, explain
from trueness.torch._sums import (
    Sums,
    class_sums,
    no_sums,
    refuse_light,
    score_sums,
    weighted_sums,
    with_weights,
)
from trueness.typing import Kind

_ENTRIES = 1 << 22  # of a chunk of logits that has to be copied for the library


def binned(
    y_true: torch.Tensor,
    y_prob: torch.Tensor,
    *,
    bins: BinsLike = 10,
    kind: Kind = "classwise",
    moments: bool = True,
    sample_weight: torch.Tensor | None = None,
    ignore_index: int | None = None,
    sum_tolerance: float | None = None,
) -> Binned:
    """Sum the rows of each bin on the device of the tensors, and return the sums alone.

    Parameters
    ----------
    y_true : tensor of shape (n,) or (B, …)
        Labels: bool, integers or whole floats; 0/1 for a vector of scores, class codes for a
        matrix.
    y_prob : tensor of shape (n,), (n, K) or (B, K, …)
        Scores: float64, float32, float16 or bfloat16, on the same device. Images and other dense
        scores have their classes second, and are summed one image at a time.
    bins : int, sequence of edges, EqualWidth or Edges, default 10
        An int means that many bins of equal width on [0, 1].
    kind : {'classwise', 'confidence', 'top-label'}, default 'classwise'
        How a matrix is compared with the labels. 'classwise': each column against the rest.
        'confidence': the largest score of each row against whether that class is correct.
        'top-label': the same by predicted class.
    moments : bool, default True
        Whether to sum squares too, which the Brier score and intervals need. Binned errors do not,
        and a pass without them is faster on a GPU.
    sample_weight : tensor of shape (n,), optional
        Frequency weights, on the same device: a weight of 2 counts the row twice, 0 leaves it out.
        Weighted sums are float64 and agree with those of :func:`trueness.binned` to a relative
        10⁻¹².
    ignore_index : int, optional
        The label of rows that are left out, whatever their scores.
    sum_tolerance : float, optional
        How far from one the scores of a row may sum; by default 1e-6, for float16 2e-3. A softmax
        that was rounded to bfloat16 needs about 0.01; its logits need none.

    Returns
    -------
    Binned
        The same sums as :func:`trueness.binned` for the same rows; without weights they are whole
        numbers, equal bit for bit on every device. Measures with these bins take it in place of
        labels and scores.

    Examples
    --------
    >>> import torch
    >>> import trueness as tn
    >>> y, p = torch.tensor([0, 1, 1]), torch.tensor([0.25, 0.5, 1.0])
    >>> sums = tn.torch.binned(y, p, bins=2)
    >>> sums
    Binned(binary, 3 rows, 2 bins)
    >>> tn.ece(sums, bins=2) == tn.ece([0, 1, 1], [0.25, 0.5, 1.0], bins=2)
    True
    >>> tn.torch.binned(y, p, bins=2, sample_weight=torch.tensor([1, 2, 0])).weight
    3.0
    """
    return _sum_images(
        y_true, y_prob, sample_weight, ignore_index, bins, kind, moments, tolerance=sum_tolerance
    )


@suggests_keywords
def binned_logits(
    y_true: torch.Tensor,
    logits: torch.Tensor,
    *,
    bins: BinsLike = 10,
    kind: Kind = "confidence",
    moments: bool = True,
    sample_weight: torch.Tensor | None = None,
    ignore_index: int | None = None,
) -> Binned:
    r"""Sum the rows of each bin from logits, without a matrix of probabilities.

    Parameters
    ----------
    y_true : tensor of shape (n,) or (B, …)
        Labels: class codes 0 to K − 1, or 0/1 for a vector of logits.
    logits : tensor of shape (n, K), (n,) or (B, K, …)
        float64, float32, float16 or bfloat16. A matrix is mapped by the softmax, a vector by the
        logistic function. An entry of a matrix may be −inf, an impossible class; nan, +inf and rows
        without a finite entry are errors. In a vector, ±inf are the probabilities 1 and 0, and nan
        is an error.
    bins : int, sequence of edges, EqualWidth or Edges, default 10
        An int means that many bins of equal width on [0, 1].
    moments : bool, default True
        Whether to sum squares too, which the Brier score and intervals need. Binned errors do not,
        and a pass without them is faster on a GPU.
    sample_weight : tensor of shape (n,), optional
        Frequency weights, on the same device: a weight of 2 counts the row twice, 0 leaves it out.
    kind : {'confidence', 'top-label', 'classwise'}, default 'confidence'
        'confidence': the largest probability of each row (the first one in case of a tie) against
        whether that class is correct. 'top-label': the same by predicted class. 'classwise': each
        column against the rest.
    ignore_index : int, optional
        The label of rows that are left out, whatever their logits; torch's own losses use −100, for
        padding and unlabelled pixels.

    Returns
    -------
    Binned
        On the CPU, exactly the sums of ``trueness.binned(..., from_logits=True)``.

    Notes
    -----
    The confidence of a row with largest logit :math:`m` is :math:`1 / \sum_j e^{z_j - m}`. It is
    computed in float64 on the CPU, and everywhere for float64 logits; other logits on CUDA use
    float32, with a relative error below 2⁻¹⁸ (typically 10⁻⁶). Given the confidence, bins and sums
    are exact.

    Equal largest logits count for the smallest class. If two differ by less than 2⁻⁵², their
    probabilities may be equal in float64; the CPU then takes the smallest class too, a GPU the
    larger logit.

    Examples
    --------
    >>> import torch
    >>> import trueness as tn
    >>> logits = torch.tensor([[2.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -torch.inf]])
    >>> sums = tn.torch.binned_logits(torch.tensor([0, 2, 0]), logits, bins=5)
    >>> sums
    Binned(confidence, 3 rows, 5 bins)
    >>> sums.parts[0].count.tolist()
    [0, 0, 2, 1, 0]

    Text without its padding, with classes last, and images, with classes second:

    >>> words = torch.tensor([[0, 2, -100], [1, -100, -100]])
    >>> logits = torch.zeros(2, 3, 5)
    >>> tn.torch.binned_logits(words.flatten(), logits.flatten(0, -2), ignore_index=-100)
    Binned(confidence, 3 rows, 10 bins)
    >>> tn.torch.binned_logits(torch.zeros(2, 8, 8, dtype=torch.int64), torch.zeros(2, 5, 8, 8))
    Binned(confidence, 128 rows, 10 bins)
    """
    return _sum_images(
        y_true, logits, sample_weight, ignore_index, bins, kind, moments, logits=True
    )


class Scale(TypedDict, total=False):
    """What the numbers of a row are."""

    logits: bool
    tolerance: float | None


def _sum_images(
    y_true: torch.Tensor,
    scores: torch.Tensor,
    weight: torch.Tensor | None,
    ignored: int | None,
    bins: BinsLike,
    kind: Kind,
    moments: bool,
    **scale: Unpack[Scale],
) -> Binned:
    """The sums of all images, or of plain rows, which are as one.

    Waits for the device, and raises for bad values.
    """
    # A tensor of several labels is summed column by column.
    if kind not in ("classwise", "confidence", "top-label"):
        raise InputError(
            "kind", "must be 'classwise', 'confidence' or 'top-label'", f"got {kind!r}"
        )
    layout = _rows.layout_of(bins, kind, moments)
    parts = []
    for image in _rows.images_of(y_true, scores, weight):
        rows = _rows.check_rows(*image, ignored, **scale)
        sums = sums_of(rows, layout).on_host()
        if bool(sums.faults.any()):
            explain(rows, layout)
        if sums.weighted is not None:
            refuse_light(sums.weighted, rows.select_kept().y.shape[0])
        n_classes = None if rows.p.ndim == 1 else rows.p.shape[1]
        parts.append(as_binned(sums, layout, n_classes))
    return sum(parts)  # type: ignore[return-value]  # at least one


@lru_cache(maxsize=64)
def _has_kernels(device: torch.device) -> bool:
    """Whether the Triton kernels run there.

    They do on NVIDIA devices since the A100, compiled by Triton 3.3 or later.
    """
    if device.type != "cuda" or torch.version.hip is not None or find_spec("triton") is None:
        return False
    import triton

    version = tuple(int(part) for part in triton.__version__.split(".")[:2])
    return version >= (3, 3) and bool(torch.cuda.get_device_capability(device) >= (8, 0))


def _only_operations() -> bool:
    """Whether torch's operations are wanted everywhere.

    To compare, or where a kernel does not compile.
    """
    return os.environ.get("TRUENESS_TORCH") == "operations"


def sums_of(rows: TensorRows, layout: Layout, into: Sums | None = None) -> Sums:
    """Sums of scores or logits on any device.

    Bad values raise on the CPU and are counted elsewhere.
    """
    # Where kernels do it all, rows are added to `into`, which is returned.
    check_class_bins(layout.size, layout.parts(rows.p))
    device = rows.p.device
    if device.type == "mps":  # which has no float64
        sums = sums_of(rows.each(torch.Tensor.cpu), layout)
        return Sums(sums.flat.to(device), sums.size, sums.weighted)
    if device.type != "cpu":
        return _device_sums(rows, layout, into)
    if _only_operations():
        sums = _device_sums(rows, layout)
        if bool(sums.faults.any()):
            return explain(rows, layout)
        return sums
    try:
        with remedies(_rows.REMEDIES):
            return _host_sums(rows.select_kept(), layout)
    except InputError:
        if not rows.logits and rows.ignored is None:
            raise
    return explain(rows, layout)  # for logits, or a selection of rows, names and row numbers differ


def _device_sums(rows: TensorRows, layout: Layout, into: Sums | None = None) -> Sums:
    """Sums of a vector, or of a matrix viewed as `layout.kind`, by the device itself.

    What each column holds is said in :func:`sums_of`.
    """
    rows = rows._replace(y=rows.codes)
    if rows.p.ndim == 1 and rows.logits:
        x = rows.p.double()
        small = torch.exp(-x.abs())  # as the library computes 1 / (1 + e⁻ˣ)
        rows = rows._replace(p=torch.where(x >= 0, 1.0, small) / (1.0 + small), logits=False)
    if _has_kernels(rows.p.device) and (rows.p.ndim == 1 or rows.logits) and not _only_operations():
        from trueness.torch import _launch

        launch = _launch.score_sums if rows.p.ndim == 1 else _launch.logit_sums
        sums: Sums = launch(rows, layout, into)
        return sums
    if rows.p.ndim == 1:
        return score_sums(rows, layout)
    return class_sums(rows, layout)


def _host_sums(rows: TensorRows, layout: Layout) -> Sums:
    """Sums by the library's loops.

    Logits in chunks where they are copied: bfloat16, and vectors to be mapped.
    """
    p = rows.p
    options = _rows.library_options(rows, layout)
    rule = layout.rule
    is_copied = rows.logits and (p.ndim == 1 or p.dtype == torch.bfloat16)
    step = max(1, p.shape[0])
    if is_copied and p.numel():
        step = max(1, _ENTRIES * p.shape[0] // p.numel())
    sums = no_sums(layout.parts(p), layout.size, p.device, weighted=rows.w is not None)
    for chunk in rows.chunks(step):
        # Rows of weight 0 are checked, but not summed.
        w = chunk.w if chunk.w is not None and bool(chunk.w.any()) else None
        parts = binned_rows(chunk.y, chunk.p, bins=rule, sample_weight=w, **options).parts
        if sums.weighted is None:
            tables = [part.table for part in parts if part.table is not None]
            sums.table.add_(torch.from_numpy(np.stack(tables)))
        elif w is not None:
            sums.weighted.add_(torch.stack([weighted_sums(part) for part in parts]))
    return sums


def as_binned(sums: Sums, layout: Layout, n_classes: int | None) -> Binned:
    """Sums on the CPU in the library's own form.

    No number of classes means that scores are a vector.
    """
    tables = sums.table.numpy().copy()
    largest = int(tables[..., 0].sum(axis=-1).max(initial=0))
    # The counts are still right, but the sums of scores may have passed 64 bits.
    if largest > MOST_EXACT:
        remedy = "Start a new metric before, and add their `binned`."
        raise InputError(
            "",
            f"sums hold at most {MOST_EXACT:,} rows in a bin",
            f"one has {largest:,}",
            remedy=remedy,
        )
    if not layout.moments:  # the CPU loops always sum squares, but equal rows must give equal sums
        tables[..., 3:] = 0
    parts = tuple(Bins(layout.edges, table, moments=layout.moments) for table in tables)
    if sums.weighted is not None:
        weighted = sums.weighted.numpy()
        parts = tuple(
            with_weights(part, sums_of_part)
            for part, sums_of_part in zip(parts, weighted, strict=True)
        )
    view = cast(View, "binary" if n_classes is None else layout.kind)
    return Binned(view, parts, None if n_classes is None else tuple(range(n_classes)))

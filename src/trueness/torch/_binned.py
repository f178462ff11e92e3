"""`binned` and `binned_logits`: sums per bin of labels and scores, or logits, that are tensors."""

from typing import Any

import torch

from trueness._keywords import suggests_keywords
from trueness._tally.rules import BinsLike
from trueness._tally.tally import Binned
from trueness.errors import InputError
from trueness.torch._dispatch import binned_of
from trueness.torch._rows import Layout, images_of, ruler_of
from trueness.torch._validation import check_ignored, check_rows, check_tolerance
from trueness.typing import Kind


def _checked_kind(kind: Kind) -> Kind:
    if kind not in ("classwise", "confidence", "top-label"):  # a tensor of labels is summed column by column
        raise InputError("kind", "must be 'classwise', 'confidence' or 'top-label'", f"got {kind!r}")
    return kind


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
        Labels: bool, integers or whole floats; 0/1 for a vector of scores, class codes for a matrix.
    y_prob : tensor of shape (n,), (n, K) or (B, K, …)
        Scores: float64, float32, float16 or bfloat16, on the same device. Images and other dense scores have their
        classes second, and are summed one image at a time.
    bins : int, sequence of edges, EqualWidth or Edges, default 10
        An int means that many bins of equal width on [0, 1].
    kind : {'classwise', 'confidence', 'top-label'}, default 'classwise'
        How a matrix is compared with the labels. 'classwise': each column against the rest. 'confidence': the largest
        score of each row against whether that class is correct. 'top-label': the same by predicted class.
    moments : bool, default True
        Whether to sum squares too, which the Brier score and intervals need. Binned errors do not, and a pass without
        them is faster on a GPU.
    sample_weight : tensor of shape (n,), optional
        Frequency weights, on the same device: a weight of 2 counts the row twice, 0 leaves it out. Weighted sums are
        float64 and agree with those of :func:`trueness.binned` to a relative 10⁻¹².
    ignore_index : int, optional
        The label of rows that are left out, whatever their scores.
    sum_tolerance : float, optional
        How far from one the scores of a row may sum; by default 1e-6, for float16 2e-3. A softmax that was rounded to
        bfloat16 needs about 0.01; its logits need none.

    Returns
    -------
    Binned
        The same sums as :func:`trueness.binned` for the same rows; without weights they are whole numbers, equal bit
        for bit on every device. Measures with these bins take it in place of labels and scores.

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
    layout = Layout(ruler_of(bins), _checked_kind(kind), moments)
    ignored, tolerance = check_ignored(ignore_index), check_tolerance(sum_tolerance)
    options: Any = {"logits": False, "tolerance": tolerance}
    images = images_of(y_true, y_prob, sample_weight)
    return sum(binned_of(check_rows(*one, ignored, **options), layout) for one in images)  # type: ignore[return-value]  # at least one


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
        float64, float32, float16 or bfloat16. A matrix is mapped by the softmax, a vector by the logistic function. An
        entry of a matrix may be −inf, an impossible class; nan, +inf and rows without a finite entry are errors. In a
        vector, ±inf are the probabilities 1 and 0, and nan is an error.
    bins : int, sequence of edges, EqualWidth or Edges, default 10
        An int means that many bins of equal width on [0, 1].
    moments : bool, default True
        Whether to sum squares too, which the Brier score and intervals need. Binned errors do not, and a pass without
        them is faster on a GPU.
    sample_weight : tensor of shape (n,), optional
        Frequency weights, on the same device: a weight of 2 counts the row twice, 0 leaves it out.
    kind : {'confidence', 'top-label', 'classwise'}, default 'confidence'
        'confidence': the largest probability of each row (the first one in case of a tie) against whether that class
        is correct. 'top-label': the same by predicted class. 'classwise': each column against the rest.
    ignore_index : int, optional
        The label of rows that are left out, whatever their logits; torch's own losses use −100, for padding and
        unlabelled pixels.

    Returns
    -------
    Binned
        On the CPU, exactly the sums of ``trueness.binned(..., from_logits=True)``.

    Notes
    -----
    The confidence of a row with largest logit :math:`m` is :math:`1 / \sum_j e^{z_j - m}`. It is computed in float64 on
    the CPU, and everywhere for float64 logits; other logits on CUDA use float32, with a relative error below 2⁻¹⁸
    (typically 10⁻⁶). Given the confidence, bins and sums are exact.

    Equal largest logits count for the smallest class. If two differ by less than 2⁻⁵², their probabilities may be equal
    in float64; the CPU then takes the smallest class too, a GPU the larger logit.

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
    layout = Layout(ruler_of(bins), _checked_kind(kind), moments)
    ignored, images = check_ignored(ignore_index), images_of(y_true, logits, sample_weight)
    return sum(binned_of(check_rows(*one, ignored, logits=True), layout) for one in images)  # type: ignore[return-value]  # at least one

"""`binned`: sums of labels and scores that are tensors."""

import torch

from trueness._tally.rules import BinsLike
from trueness._tally.tally import Binned
from trueness.torch._edges import ruler_of
from trueness.torch._given import check_ignored, check_kind, check_rows, check_tolerance
from trueness.torch._pass import binned_of

__all__ = ["binned"]


def binned(
    y_true: torch.Tensor,
    y_prob: torch.Tensor,
    *,
    bins: BinsLike = 10,
    kind: str = "classwise",
    moments: bool = True,
    sample_weight: torch.Tensor | None = None,
    ignore_index: int | None = None,
    sum_tolerance: float | None = None,
) -> Binned:
    """Sum the rows of each bin where the tensors are, and bring back the sums alone.

    Parameters
    ----------
    y_true : tensor of shape (n,)
        Labels: bool, integers or whole floats, 0/1 for a vector of scores, class codes for a matrix.
    y_prob : tensor of shape (n,) or (n, K)
        Scores: float64, float32, float16 or bfloat16, on the same device.
    bins : int, sequence of edges, EqualWidth or Edges, default 10
        An int means that many bins of equal width on [0, 1].
    kind : {'classwise', 'confidence', 'top-label'}, default 'classwise'
        What of a matrix is compared with what; see :func:`trueness.ece`.
    moments : bool, default True
        Whether to sum squares too, which the Brier score and intervals need. The binned
        errors do not, and a pass without them is faster on a GPU.
    sample_weight : tensor of shape (n,), optional
        Weights, on the same device: weight 2 is the row twice, weight 0 is the row left out. Weighted
        sums are float64, as the library's are, and equal to its own within 10⁻¹² relatively.
    ignore_index : int, optional
        The label of rows that are left out, whatever their scores are.
    sum_tolerance : float, optional
        How far from one the scores of a row may sum; by default 1e-6, for float16 2e-3. A softmax that was
        rounded to bfloat16 needs some 0.01; its logits need none.

    Returns
    -------
    Binned
        The very sums that :func:`trueness.binned` returns for the same rows: without weights whole
        numbers, equal bit for bit on every device. Takes the place of labels and scores in measures of those bins.

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
    ruler = ruler_of(bins)
    check_kind(kind)
    ignored, tolerance = check_ignored(ignore_index), check_tolerance(sum_tolerance)
    rows = check_rows(y_true, y_prob, "y_prob", (1, 2), sample_weight, ignored, tolerance)
    return binned_of(rows, ruler, kind, moments, from_logits=False)

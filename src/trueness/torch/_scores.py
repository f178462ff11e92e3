"""`binned`: sums of labels and scores that are tensors."""

import torch

from trueness._tally.rules import BinsLike
from trueness._tally.tally import Binned
from trueness.torch._edges import ruler_of
from trueness.torch._explain import explain_scores
from trueness.torch._given import check_kind, check_pair
from trueness.torch._pass import as_binned, on_host, sums_of_scores

__all__ = ["binned"]


def binned(
    y_true: torch.Tensor,
    y_prob: torch.Tensor,
    *,
    bins: BinsLike = 10,
    kind: str = "classwise",
    moments: bool = True,
) -> Binned:
    """Sum the rows of each bin where the tensors are, and bring back the sums alone.

    Parameters
    ----------
    y_true : tensor of shape (n,)
        Labels: bool or integers, 0/1 for a vector of scores, class codes for a matrix.
    y_prob : tensor of shape (n,) or (n, K)
        Scores: float64, float32, float16 or bfloat16, on the same device.
    bins : int, sequence of edges, EqualWidth or Edges, default 10
        An int means that many bins of equal width on [0, 1].
    kind : {'classwise', 'confidence'}, default 'classwise'
        What of a matrix is compared with what; see :func:`trueness.ece`.
    moments : bool, default True
        Whether to sum squares too, which the Brier score and intervals need. The binned
        errors do not, and a pass without them is faster on a GPU.

    Returns
    -------
    Binned
        The very sums that :func:`trueness.binned` returns for the same rows: whole numbers,
        equal bit for bit on every device. Takes the place of labels and scores in measures of those bins.

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
    """
    ruler = ruler_of(bins)
    check_kind(kind)
    y, p = check_pair(y_true, y_prob, "y_prob", (1, 2))
    sums = on_host(sums_of_scores(y, p, ruler, kind, moments))
    if bool(sums.faults.any()):
        explain_scores(y, p, ruler, kind)
    if p.ndim == 1:
        return as_binned(sums, ruler, "binary", None, moments)
    return as_binned(sums, ruler, kind, p.shape[1], moments)

"""`binned_logits`: sums of labels and logits, without a matrix of probabilities."""

import torch

from trueness._tally.rules import BinsLike
from trueness._tally.tally import Binned
from trueness.errors import InputError
from trueness.torch._edges import ruler_of
from trueness.torch._explain import check_labels, explain_logits
from trueness.torch._given import check_kind, check_pair
from trueness.torch._pass import as_binned, on_host, sums_of_logits

__all__ = ["binned_logits"]


def binned_logits(
    y_true: torch.Tensor,
    logits: torch.Tensor,
    *,
    bins: BinsLike = 10,
    kind: str = "confidence",
    moments: bool = True,
) -> Binned:
    r"""Sum the rows of each bin from logits, reading them once where that is possible.

    Parameters
    ----------
    y_true : tensor of shape (n,)
        Labels: class codes 0 to K − 1, or 0/1 for a vector of logits.
    logits : tensor of shape (n, K) or (n,)
        Softmax makes probabilities of a matrix, the logistic function of a vector: float64, float32,
        float16 or bfloat16. An entry may be −inf, a class that cannot come; nan, +inf and rows
        without a finite entry are errors.
    bins : int, sequence of edges, EqualWidth or Edges, default 10
        An int means that many bins of equal width on [0, 1].
    kind : {'confidence', 'classwise'}, default 'confidence'
        The largest probability of each row (the first, if tied) against whether that class came; or each column
        against the rest.
    moments : bool, default True
        As for :func:`binned`.

    Returns
    -------
    Binned
        On the CPU the very sums of ``trueness.binned(..., from_logits=True)``.

    Notes
    -----
    The confidence of a row with largest logit :math:`m` is :math:`1 / \sum_j e^{z_j - m}`. On the CPU, and for
    float64 logits everywhere, it is computed in float64; from others on CUDA in float32, with a relative error below
    2⁻¹⁸ (10⁻⁶ is typical). Given the confidence, bins and sums are exact.

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
    """
    ruler = ruler_of(bins)
    check_kind(kind)
    y, z = check_pair(y_true, logits, "logits", (1, 2))
    if z.device.type == "cpu":
        check_labels(y, 2 if z.ndim == 1 else z.shape[1])
    try:
        sums = on_host(sums_of_logits(y, z, ruler, kind, moments))
    except InputError:  # its row is counted from the start of a chunk
        explain_logits(y, z, ruler)
    if bool(sums.faults.any()):
        explain_logits(y, z, ruler)
    if z.ndim == 1:
        return as_binned(sums, ruler, "binary", None, moments)
    return as_binned(sums, ruler, kind, z.shape[1], moments)

"""`binned_logits`: sums of labels and logits, without a matrix of probabilities."""

import torch

from trueness._tally.rules import BinsLike
from trueness._tally.tally import Binned
from trueness.torch._edges import ruler_of
from trueness.torch._given import check_ignored, check_kind, check_rows
from trueness.torch._pass import binned_of

__all__ = ["binned_logits"]


def binned_logits(
    y_true: torch.Tensor,
    logits: torch.Tensor,
    *,
    bins: BinsLike = 10,
    kind: str = "confidence",
    moments: bool = True,
    sample_weight: torch.Tensor | None = None,
    ignore_index: int | None = None,
) -> Binned:
    r"""Sum the rows of each bin from logits, reading them once where that is possible.

    Parameters
    ----------
    y_true : tensor of shape (n,)
        Labels: class codes 0 to K − 1, or 0/1 for a vector of logits.
    logits : tensor of shape (n, K) or (n,)
        Softmax makes probabilities of a matrix, the logistic function of a vector: float64, float32,
        float16 or bfloat16. An entry of a matrix may be −inf, a class that cannot come; nan, +inf
        and rows without a finite entry are errors. In a vector ±inf are the probabilities 1 and 0, and nan is an error.
    bins : int, sequence of edges, EqualWidth or Edges, default 10
        An int means that many bins of equal width on [0, 1].
    kind : {'confidence', 'top-label', 'classwise'}, default 'confidence'
        The largest probability of each row (the first, if tied) against whether that class came, of all rows or
        by the class that was predicted; or each column against the rest.
    moments, sample_weight
        As for :func:`binned`.
    ignore_index : int, optional
        The label of rows that are left out, whatever their logits are: −100 by the habit of torch's own losses,
        where padding and unlabelled pixels have it.

    Returns
    -------
    Binned
        On the CPU the very sums of ``trueness.binned(..., from_logits=True)``.

    Notes
    -----
    The confidence of a row with largest logit :math:`m` is :math:`1 / \sum_j e^{z_j - m}`. On the CPU, and for
    float64 logits everywhere, it is computed in float64; from others on CUDA in float32, with a relative error below
    2⁻¹⁸ (10⁻⁶ is typical). Given the confidence, bins and sums are exact.

    Equal largest logits go to the smallest class. Where two differ by less than 2⁻⁵², their probabilities may be
    equal in float64; the CPU then takes the smallest class too, a GPU the larger logit.

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

    Of text, all but padding; of images, classes would be in the second dimension (``logits.movedim(1, -1)``):

    >>> words = torch.tensor([[0, 2, -100], [1, -100, -100]])
    >>> logits = torch.zeros(2, 3, 5)
    >>> tn.torch.binned_logits(words.flatten(), logits.flatten(0, -2), ignore_index=-100)
    Binned(confidence, 3 rows, 10 bins)
    """
    ruler = ruler_of(bins)
    check_kind(kind)
    rows = check_rows(y_true, logits, "logits", (1, 2), sample_weight, check_ignored(ignore_index))
    return binned_of(rows, ruler, kind, moments, from_logits=True)

"""`binned_logits`: sums of labels and logits, without a matrix of probabilities."""

import torch

from trueness._tally.rules import BinsLike
from trueness._tally.tally import Binned
from trueness.torch._dispatch import binned_of
from trueness.torch._edges import ruler_of
from trueness.torch._validation import check_ignored, check_kind, check_rows, check_tolerance

__all__ = ["binned", "binned_logits"]


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

"""`preset`: calibration numbers as other code publishes them, with its own bins and conventions."""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, TypeAlias, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from trueness._input.arguments import checked_word
from trueness._keywords import suggests_keywords
from trueness._numerics.averages import power_mean
from trueness._tally.reading import read_rows
from trueness.errors import InputError, NoEstimateWarning, warn
from trueness.measure._proper_scores import brier
from trueness.measure._val_prob import VAL_PROB, ValProbPreset
from trueness.typing import ArrayLike, Ints, Norm, RowOptions

Name: TypeAlias = Literal["helm", "hle", "torchmetrics", "guo2017", "lm-eval-brier"]
_PAIRS = "whether each answer was right, and its confidence"
_EITHER = f"{_PAIRS}; or labels and a matrix, of which the largest score of each row counts"
_GROUP = 100


@dataclass(frozen=True)
class Preset:
    """A published calibration number: call it with labels and scores."""

    name: str
    measure: str
    view: str
    bins: str
    norm: Norm
    conventions: str
    """What else changes the number, and the code that it was read from."""
    reference: str
    _groups: Callable[[NDArray[Any]], Ints] | None = field(repr=False)
    _matrix: bool | None = field(default=None, repr=False)
    _matrix_type: type = field(default=np.float64, repr=False)

    def cite(self) -> str:
        """What to cite for the number."""
        return self.reference

    def __repr__(self) -> str:
        """The name, measure, view, bins if there are any, and the conventions, a line each."""
        bins = [f"bins: {self.bins}", f"norm: {self.norm}"] if self.bins else []
        lines = [
            f"preset({self.name!r}): {self.measure}",
            f"takes: {self.view}",
            *bins,
            *self.conventions.split("\n"),
        ]
        return "\n  ".join(lines)

    def __call__(self, y_true: ArrayLike, y_prob: ArrayLike, **rows: Unpack[RowOptions]) -> float:
        """The number. `rows` are options of :func:`trueness.ece`, without `kind` and weights."""
        for name in ("kind", "sample_weight"):
            if rows.get(name) is not None:
                raise InputError(
                    name, "must be left out of a preset", f"{self.name!r} takes {self.view}"
                )
        evidence = read_rows(y_true, y_prob, rows, kind="confidence", two_columns="keep")
        evidence.said.one_class = True  # all right, or all wrong, is an answer here
        scores = evidence.need_rows("A preset needs the rows").p
        if self._matrix is not None and self._matrix != (scores.ndim == 2):
            got = "a matrix" if scores.ndim == 2 else "a vector"
            raise InputError(
                "y_prob", f"must fit the preset {self.name!r}: {self.view}", f"got {got}"
            )
        if self._groups is None:  # of two columns, `brier` counts one
            return brier(y_true, y_prob, **rows) * (2 if scores.shape[1] == 2 else 1)
        p = evidence.sample.p if scores.ndim == 1 else evidence.sample.p.astype(self._matrix_type)
        group = self._groups(p) + 1
        total = np.bincount(group, evidence.sample.y - p.astype(np.float64))
        size = np.bincount(group)
        total[0] = 0.0  # rows of group −1 count as if they had no error
        return power_mean(total / np.maximum(size, 1), size, self.norm)


@overload
def preset(name: Name) -> Preset: ...
@overload
def preset(name: Literal["val.prob"]) -> ValProbPreset: ...
@suggests_keywords
def preset(name: Name | Literal["val.prob"]) -> Preset | ValProbPreset:
    """A calibration number as another library or leaderboard computes it.

    Parameters
    ----------
    name : {'helm', 'hle', 'torchmetrics', 'guo2017', 'lm-eval-brier', 'val.prob'}
        HELM's `ece_10_bin`; the RMS calibration error of Humanity's Last Exam; the calibration
        error of torchmetrics, `binary_` of a vector and `multiclass_` of a matrix; the ECE of Guo
        et al. (2017), in 15 bins; the `brier_score` of lm-evaluation-harness; the numbers of
        `val.prob` of the R package rms.

    Returns
    -------
    Preset
        Called with ``(y_true, y_prob)`` it returns the number as a float; 'val.prob' returns a dict
        of 18 numbers by the names of rms. Its text lists what it
        takes, its bins, norm and conventions; ``cite()`` names the publication.

    Notes
    -----
    A vector holds confidences as they are, and `y_true` whether each answer was right; nothing is
    folded at 1/2. A preset reproduces a number, flaws included; :func:`trueness.estimate` has
    limits.

    Examples
    --------
    >>> import trueness as tn
    >>> tn.preset("guo2017")([1, 0, 1], [0.875, 0.875, 1.0])
    0.25
    >>> tn.preset("lm-eval-brier")
    preset('lm-eval-brier'): Brier score of lm-evaluation-harness
      takes: the index of the right option, and a matrix with a column for each option
      squares are summed over all options, also of two: twice the binary score
      code: lm-eval 0.4.13, whose scores are the softmax of the log-likelihoods
    >>> tn.preset("hle").cite()
    "L. Phan et al., Humanity's Last Exam, 2025."
    """
    word = checked_word(name, "name", (*_PRESETS, VAL_PROB.name))
    return VAL_PROB if word == VAL_PROB.name else _PRESETS[word]


def _tenths(p: NDArray[Any]) -> Ints:
    """Cut sorted scores as ``array_split`` does, halfway between neighbours.

    A score on a cut is below it.
    """
    ordered = np.sort(p.astype(np.float64))
    first = [part[0] for part in np.array_split(np.arange(p.size), min(10, p.size))][1:]
    cuts = np.unique([(ordered[i - 1] + ordered[i]) / 2 for i in first] + [1.0])
    return np.searchsorted(cuts, p)


def _hundreds(p: NDArray[Any]) -> Ints:
    """Groups of 100 in ascending order; the last, which takes the rest, is not counted."""
    if p.size < _GROUP:
        raise InputError(
            "y_prob", f"must have at least {_GROUP} rows for the preset 'hle'", f"got {p.size}"
        )
    if p.size < 2 * _GROUP:
        warn(
            f"{p.size} rows are one group, the last, which is not counted: 'hle' is 0.",
            NoEstimateWarning,
        )
    group = np.empty(p.size, np.int64)
    # Not a stable sort: ties are cut as in the original.
    group[np.argsort(p.astype(np.float64))] = np.arange(p.size) // _GROUP
    return np.where(group < p.size // _GROUP - 1, group, -1)


def _edges(dtype: type[np.floating[Any]]) -> NDArray[Any]:
    """``torch.linspace(0, 1, 16)``: from both ends, each number rounded once."""
    step = Fraction(float(dtype(1) / dtype(15)))
    edges = [step * i if i < 8 else 1 - step * (15 - i) for i in range(16)]
    return np.array([float(edge) for edge in edges]).astype(dtype)


def _closed_left(p: NDArray[Any]) -> Ints:
    """Bins [a, b), and one for scores of exactly 1."""
    dtype = p.dtype.type if p.dtype.kind == "f" else np.float64
    return np.searchsorted(_edges(dtype), p.astype(dtype), side="right") - 1


def _closed_right(p: NDArray[Any]) -> Ints:
    """Bins (a, b]; a score of 0 is in none."""
    return np.searchsorted(_edges(np.float32).astype(np.float64), p.astype(np.float64)) - 1


_TABLE: Any = (
    (
        *(
            "helm",
            "ece_10_bin of HELM",
            _EITHER,
            "10 of equal mass, cut halfway between neighbours",
            "l1",
        ),
        "the first bins have one row more if the rows cannot be divided by 10; a score on a cut "
        "is in the lower bin\ncode: crfm-helm 0.5, which calls get_ece_em of "
        "uncertainty-calibration 0.1.4",
        "P. Liang et al., Holistic evaluation of language models, Transactions on Machine "
        "Learning Research, 2023.",
        _tenths,
    ),
    (
        *(
            "hle",
            "RMS calibration error of Humanity's Last Exam",
            _PAIRS,
            "groups of 100 rows by confidence",
            "l2",
        ),
        "the last group, the 100 to 199 rows of the highest confidences, is not counted but "
        "stays in n\nties are cut in the order of NumPy's unstable sort; the leaderboard prints "
        "whole percentages\ncode: centerforaisafety/hle, run_judge_results.py; copies of it in "
        "other harnesses cut other groups",
        *("L. Phan et al., Humanity's Last Exam, 2025.", _hundreds, False),
    ),
    (
        *("torchmetrics", "calibration error of torchmetrics", _EITHER),
        *("15 of equal width, closed on the left, and one for scores of exactly 1", "l1"),
        "edges are `linspace` of PyTorch in the type of the scores, which for a matrix is float32\n"
        "code: torchmetrics 1.9",
        "N. S. Detlefsen et al., TorchMetrics, Journal of Open Source Software 7 (2022), 4101.",
        *(_closed_left, None, np.float32),
    ),
    (
        *(
            "guo2017",
            "expected calibration error",
            _EITHER,
            "15 of equal width, closed on the right",
            "l1",
        ),
        "edges are `linspace` of PyTorch in float32; a confidence of exactly 0 is in no bin\n"
        "code: gpleiss/temperature_scaling",
        "C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger, On calibration of modern neural networks, "
        "ICML 2017.",
        _closed_right,
    ),
    (
        "lm-eval-brier",
        "Brier score of lm-evaluation-harness",
        "the index of the right option, and a matrix with a column for each option",
        "",
        "l2",
        "squares are summed over all options, also of two: twice the binary score\n"
        "code: lm-eval 0.4.13, whose scores are the softmax of the log-likelihoods",
        "L. Gao et al., The language model evaluation harness, 2024.",
        None,
        True,
    ),
)
_PRESETS = {one[0]: Preset(*one) for one in _TABLE}

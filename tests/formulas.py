"""Formulas of maps with numbers that are easy to follow, each with the same map in plain NumPy."""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, softmax

from trueness.recalibrate._formula import (
    Blend,
    Lines,
    LogOdds,
    Odds,
    PerClass,
    Pieces,
    Softmax,
    Steps,
    VectorFormula,
)

_NONE = np.zeros(0)
_EDGES = np.array([0.1, 0.25, 0.3, 0.5, 0.55, 0.7, 0.8, 0.9])
_VALUES = np.array([0.05, 0.2, 0.15, 0.4, 0.35, 0.6, 0.8, 0.7, 0.95])
_LINES = Lines(np.array([0.125, 0.4, 0.5, 0.8]), np.array([0.1, 0.3, 0.3, 0.9]))
# Value, slope and bend of the log-odds, at −1 below −0.5, at −0.5 up to 1.5, and at 1.5 beyond.
_AT, _VALUE, _SLOPE, _BEND = np.array([[-1, -0.5, 1.5], [0.3, 0.7, 1.1], [2, 0.5, 1], [0.25, -0.125, 0]])
_BREAKS = np.array([-0.5, 1.5])
_MATRIX = np.array([[1.0, 0.25, -0.5], [0.125, 2.0, 0.0], [0.0, -0.25, 0.75]])
_DIAGONAL, _SHIFT = np.array([0.5, 1.0, 2.0]), np.array([0.25, -0.5, 0.0])
_BETA = np.array([[0.5, 1.5, 0.75], [-0.25, 0.5, 2.0], [0.125, 1.0, 1.0]])


class Case(NamedTuple):
    """A formula, and its map in NumPy."""

    name: str
    formula: Any
    map: Any
    from_logits: bool = False

    @property
    def n_classes(self):
        return None if isinstance(self.formula, VectorFormula) else 3

    @property
    def scores(self):
        """Scores that the map takes: ends, edges, and some between them."""
        rng = np.random.default_rng(0)
        if self.n_classes is None:
            if self.from_logits:
                return np.concatenate([[-700.0, -0.5, 0.0, 1.5, 700.0], rng.normal(0, 2, 20)])
            return np.concatenate([[0.0, 1.0], _EDGES, _LINES.x, [0.0625, 0.9375, 0.01, 0.99], rng.random(20)])
        rows = np.concatenate([rng.dirichlet([0.5, 1, 2], 20), np.eye(3), [[0.5, 0.0, 0.5], [0.05, 0.05, 0.9]]])
        return np.log(rows + 1e-3) + 1.5 if self.from_logits else rows


def _logit(p):
    with np.errstate(divide="ignore"):
        return np.log(p / (1 - p))


def _steps(edges, values):
    return Steps(edges, values), lambda p: values[(p[:, None] >= edges).sum(axis=1)]


def _pieces(z):
    i = (z >= -0.5).astype(int) + (z >= 1.5)
    away = z - _AT[i]
    return _VALUE[i] + _SLOPE[i] * away + _BEND[i] * away**2


def _line(value, slope):
    return Pieces(_NONE, *np.array([[0.0], [value], [slope], [0.0]]))


def _line_case(a, b, from_logits):
    """0.5 + 1.5 z + a log p − b log(1 − p), outside [1/16, 15/16] the values 0.03 and 0.96."""

    def plain(score):
        p, z = (expit(score), score) if from_logits else (score, _logit(score))
        with np.errstate(invalid="ignore", divide="ignore"):
            line = 0.5 + 1.5 * z - a * np.logaddexp(0, -z) + b * np.logaddexp(0, z)
        inside = expit(line)
        return inside if from_logits else np.where(p <= 1 / 16, 0.03, np.where(p >= 15 / 16, 0.96, inside))

    ends = None if from_logits else (1 / 16, 0.03, 0.96)
    formula = VectorFormula(LogOdds(_line(0.5, 1.5), _NONE, a, b), from_logits, ends)
    return Case(f"line, a={a}, b={b}, from_logits={from_logits}", formula, plain, from_logits)


def _bent(from_logits):
    def plain(score):
        z = score if from_logits else _logit(np.clip(score, 1e-300, 1 - 1e-16))
        inside = expit(_pieces(z))
        return inside if from_logits else np.select([score == 0, score == 1], [0.0, 1.0], inside)

    pieces = Pieces(_BREAKS, _AT, _VALUE, _SLOPE, _BEND)
    edges = _BREAKS if from_logits else expit(_BREAKS)
    ends = None if from_logits else (0.0, 0.0, 1.0)
    return Case(
        f"bent, {from_logits}", VectorFormula(LogOdds(pieces, edges, 0.0, 0.0), from_logits, ends), plain, from_logits
    )


def _softmax(matrix, from_logits, least, beta=None, weight=0.0):
    def plain(score):
        with np.errstate(divide="ignore"):
            z = score if from_logits else np.log(np.maximum(score, least))
        if least or from_logits:
            logits = z @ matrix.T + _SHIFT
        else:
            logits = np.where(score > 0, np.where(score > 0, z, 0) * np.diag(matrix) + _SHIFT, -np.inf)
        if beta is not None:
            share = softmax(z, axis=1)
            line = beta[:, 0] + beta[:, 1] * np.log(share) - beta[:, 2] * np.log(1 - share)
            logits = logits + weight * np.log(expit(line))
        return softmax(logits, axis=1)

    return Softmax(matrix, _SHIFT, from_logits, least, beta=beta, beta_weight=weight), plain


_PARTS = [_softmax(np.diag(_DIAGONAL), False, 0.01), _softmax(np.eye(3), False, 0.01)]
_COLUMNS = [_steps(_EDGES[:2], np.array([0.0, 0.25, 0.5])), _steps(_EDGES[:1], np.array([0.0, 0.75]))]
_COLUMNS.append(_steps(_EDGES[-1:], np.array([0.5, 0.0])))  # all are 0 at (0.05, 0.05, 0.9)


def _per_class(normalize):
    def plain(rows):
        made = np.column_stack([one(rows[:, k]) for k, (_, one) in enumerate(_COLUMNS)])
        total = made.sum(axis=1, keepdims=True)
        return np.where(total > 0, made / np.where(total > 0, total, 1), 1 / 3) if normalize else made

    formula = PerClass(tuple(VectorFormula(inside) for inside, _ in _COLUMNS), normalize)
    return Case(f"per class, {normalize}", formula, plain)


def _vector(name, inside, plain):
    return Case(name, VectorFormula(inside), plain)


def _matrix(name, made, from_logits=False):
    return Case(name, *made, from_logits)


FORMULAS = [
    *(_vector(f"{n} edges", *_steps(_EDGES[:n], _VALUES[: n + 1])) for n in (0, 1, 2, 3, 4, 7, 8)),
    _vector("lines", _LINES, lambda p: np.interp(p, *_LINES)),
    _vector("odds", Odds(3.0), lambda p: p / (p + 3 * (1 - p))),
    *(
        _line_case(a, b, logits)
        for a, b in ((0.0, 0.0), (0.75, 0.0), (0.0, 0.5), (0.75, 0.5))
        for logits in (False, True)
    ),
    _bent(False),
    _bent(True),
    _per_class(True),
    _per_class(False),
    _matrix("diagonal", _softmax(np.diag(_DIAGONAL), False, 0.01)),
    _matrix("diagonal with zeros", _softmax(np.diag(_DIAGONAL), False, 0.0)),
    _matrix("diagonal of logits", _softmax(np.diag(_DIAGONAL), True, 0.0), True),
    _matrix("matrix", _softmax(_MATRIX, False, 0.01)),
    _matrix("matrix of logits", _softmax(_MATRIX, True, 0.0), True),
    Case("constant", Softmax(np.zeros((3, 3)), np.zeros(3), True), lambda z: np.full(z.shape, 1 / 3), True),
    _matrix("beta", _softmax(_MATRIX, False, 0.01, _BETA, 0.5)),
    Case(
        "blend",
        Blend((0.5, 0.25), tuple(part for part, _ in _PARTS), 0.25 / 3),
        lambda p: 0.5 * _PARTS[0][1](p) + 0.25 * _PARTS[1][1](p) + 0.25 / 3,
    ),
    Case("half", Blend((0.5,), (_PARTS[0][0],), 0.0), lambda p: 0.5 * _PARTS[0][1](p)),
    Case("and more", Blend((1.0,), (_PARTS[0][0],), 0.125), lambda p: _PARTS[0][1](p) + 0.125),
]
BETA_OF_LOGITS = _matrix("beta of logits", _softmax(_MATRIX, True, 0.0, _BETA, 0.5), True)

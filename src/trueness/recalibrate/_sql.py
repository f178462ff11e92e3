"""Fitted maps as SQL expressions."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from trueness._input.arguments import checked_word
from trueness.errors import InputError
from trueness.recalibrate._formula import Blend, Formula, Lines, LogOdds, Odds, PerClass, Softmax, Steps, VectorFormula
from trueness.typing import Floats

Dialect: TypeAlias = Literal["duckdb", "sqlite", "postgresql", "spark", "bigquery"]

# exp() of larger numbers overflows, which is an error in some databases; of smaller ones it underflows.
_LARGEST_EXPONENT = "700e0"


class _Writer(NamedTuple):
    """How a dialect writes what the others write differently."""

    quote: str = '"'
    escape: str = '"'
    least: str = "LEAST"
    greatest: str = "GREATEST"
    suffix: str = ""
    """Makes a number one of double precision; without one, an exponent does."""
    cast: str = "{}"

    def name(self, column: str) -> str:
        """A quoted identifier."""
        text = column.replace("\\", "\\\\") if self.escape == "\\" else column
        return f"{self.quote}{text.replace(self.quote, self.escape + self.quote)}{self.quote}"

    def number(self, value: float) -> str:
        """A literal that denotes this double and no other."""
        text = repr(float(value))
        if self.suffix:
            return text + self.suffix
        # Without an exponent, some databases would read a decimal, and convert it with another rounding.
        return text if "e" in text else f"{text}e0"

    def clamp(self, text: str) -> str:
        """Numbers whose exponential is neither too large nor too small."""
        top = _LARGEST_EXPONENT.replace("e0", ".0" + self.suffix) if self.suffix else _LARGEST_EXPONENT
        return f"{self.least}({self.greatest}({text}, -{top}), {top})"


_WRITERS: dict[str, _Writer] = {
    "duckdb": _Writer(),
    "sqlite": _Writer(least="min", greatest="max"),
    "postgresql": _Writer(cast="CAST({} AS double precision)"),
    "spark": _Writer("`", "`", suffix="D"),
    "bigquery": _Writer("`", "\\"),
}


def sql_of(formula: Formula, columns: Sequence[str], dialect: Dialect) -> list[str]:
    """One expression for a formula of one score, else one for each class."""
    writer = _WRITERS[checked_word(dialect, "dialect", tuple(_WRITERS))]
    names = [writer.name(column) for column in columns]
    if isinstance(formula, VectorFormula):
        texts = [_vector(writer, formula, names[0])]
        valid = [_in_range(writer, names[0], formula.from_logits, 1e300)]
    elif isinstance(formula, PerClass):
        texts = _per_class(writer, formula, names)
        own = zip(formula.columns, names, strict=True)
        valid = [_in_range(writer, name, one.from_logits, 1e300) for one, name in own]
    else:
        blend = formula if isinstance(formula, Blend) else Blend((1.0,), (formula,), 0.0)
        texts = [_blend(writer, blend, names, k) for k in range(len(names))]
        part = blend.parts[0]
        valid = [_in_range(writer, name, part.from_logits, part.largest) for name in names]
    # False for NaN, unknown for NULL: both give NULL.
    return [writer.cast.format(f"CASE WHEN {' AND '.join(valid)} THEN {text} END") for text in texts]


def quoted_name(name: str, dialect: Dialect) -> str:
    """A name as the dialect quotes it."""
    return _WRITERS[dialect].name(name)


def check_columns(column: Any, calibrator: Any) -> list[str]:
    """The names of the score columns: those passed, else those of `fit`."""
    n = calibrator.n_classes_ or 1
    if column is None:
        column = calibrator.score_names_ or ("p" if calibrator.n_classes_ is None else ())
    names = list(column) if isinstance(column, Iterable) and not isinstance(column, str) else [column]
    if len(names) != n or not all(isinstance(name, str) and name for name in names):
        demand = "must name the column of the scores" if n == 1 else f"must name the {n} columns of the scores"
        raise InputError("column", demand, f"got {column!r}")
    return names


def _in_range(writer: _Writer, name: str, from_logits: bool, largest: float) -> str:
    low, high = (-largest, largest) if from_logits else (0.0, 1.0)
    return f"{name} >= {writer.number(low)} AND {name} <= {writer.number(high)}"


def _vector(writer: _Writer, formula: VectorFormula, name: str) -> str:
    inside = formula.inside
    number = writer.number
    if isinstance(inside, Steps):
        return _cases(writer, name, inside.edges, [number(value) for value in inside.values])
    if isinstance(inside, Lines):
        return _lines(writer, name, inside)
    if isinstance(inside, Odds):
        return f"{name} / ({name} + {number(inside.weight)} * ({number(1)} - {name}))"
    text = _expit(writer, _log_odds(writer, inside, name, formula.from_logits))
    if formula.ends is None:
        return text
    cut, low, high = formula.ends
    ends = f"WHEN {name} <= {number(cut)} THEN {number(low)} WHEN {number(1)} - {name} <= {number(cut)}"
    return f"CASE {ends} THEN {number(high)} ELSE {text} END"


def _cases(writer: _Writer, name: str, edges: Floats, texts: list[str]) -> str:
    """One of the texts: the first below the first edge, and so on; nested, so that few comparisons find it."""
    if len(set(texts)) == 1:
        return texts[0]
    middle = len(texts) // 2
    low = _cases(writer, name, edges, texts[:middle])
    high = _cases(writer, name, edges[middle:], texts[middle:])
    return f"CASE WHEN {name} < {writer.number(edges[middle - 1])} THEN {low} ELSE {high} END"


def _lines(writer: _Writer, name: str, lines: Lines) -> str:
    number = writer.number
    texts = [number(lines.y[0])]
    for x, width, y, rise in zip(lines.x, np.diff(lines.x), lines.y, np.diff(lines.y), strict=False):
        # Not a slope, which would overflow where points are closer than 1e-308.
        part = f" + ({name} - {number(x)}) / {number(width)} * {number(rise)}" if rise else ""
        texts.append(f"{number(y)}{part}")
    return _cases(writer, name, lines.x, [*texts, number(lines.y[-1])])


def _log_odds(writer: _Writer, formula: LogOdds, name: str, from_logits: bool) -> str:
    number, one = writer.number, writer.number(1)
    z = name if from_logits else f"LN({name} / ({one} - {name}))"
    texts = [_polynomial(writer, z, *piece) for piece in zip(*formula.pieces[1:], strict=True)]
    terms = [_cases(writer, name, formula.edges, texts)]
    if from_logits and (formula.a or formula.b):
        # log p = min(z, 0) − s and −log(1 − p) = max(z, 0) + s, with s = log(1 + exp(−|z|)).
        softplus = f"LN({one} + EXP({writer.clamp(f'-ABS({z})')}))"
        zero = number(0)
        if formula.a:
            terms.append(f"{number(formula.a)} * ({writer.least}({z}, {zero}) - {softplus})")
        if formula.b:
            terms.append(f"{number(formula.b)} * ({writer.greatest}({z}, {zero}) + {softplus})")
        return " + ".join(terms)
    if formula.a:
        terms.append(f"{number(formula.a)} * LN({name})")
    if formula.b:
        terms.append(f"{number(-formula.b)} * LN({one} - {name})")
    return " + ".join(terms)


def _polynomial(writer: _Writer, z: str, at: float, value: float, slope: float, bend: float) -> str:
    number = writer.number
    away = f"({z} - {number(at)})" if at else z
    if bend:
        return f"{number(value)} + {away} * ({number(slope)} + {number(bend)} * {away})"
    return f"{number(value)} + {number(slope)} * {away}" if slope else number(value)


def _expit(writer: _Writer, text: str) -> str:
    one = writer.number(1)
    return f"{one} / ({one} + EXP({writer.clamp(f'-({text})')}))"


def _per_class(writer: _Writer, formula: PerClass, names: list[str]) -> list[str]:
    texts = [_vector(writer, one, name) for one, name in zip(formula.columns, names, strict=True)]
    if not formula.normalize:
        return texts
    total = " + ".join(f"({text})" for text in texts)
    even = writer.number(1 / len(names))
    return [f"CASE WHEN {total} = {writer.number(0)} THEN {even} ELSE ({text}) / ({total}) END" for text in texts]


def _blend(writer: _Writer, formula: Blend, names: list[str], k: int) -> str:
    texts = [_softmax(writer, part, names, k) for part in formula.parts]
    if formula.weights == (1.0,) and not formula.constant:
        return texts[0]
    terms = [f"{writer.number(weight)} * ({text})" for weight, text in zip(formula.weights, texts, strict=True)]
    return " + ".join([writer.number(formula.constant), *terms])


def _beta(writer: _Writer, formula: Softmax, names: list[str], k: int) -> str:
    """Minus the logarithm of the probability that beta calibration of one class against the others gives it."""
    assert formula.beta is not None
    if formula.from_logits:
        demand = "beta calibration of single classes, a part of this map, is written in SQL for probabilities only"
        raise InputError("", demand, "it was fitted with from_logits=True", remedy="`to_onnx` can write it.")
    number = writer.number
    moved = [f"{writer.greatest}({name}, {number(formula.least)})" for name in names] if formula.least else names
    others = " + ".join(text for j, text in enumerate(moved) if j != k)
    total = " + ".join(moved)
    c, a, b = (number(value) for value in formula.beta[k])
    log_odds = f"{c} + {a} * LN({moved[k]} / ({total})) - {b} * LN(({others}) / ({total}))"
    return f"LN({number(1)} + EXP({writer.clamp(f'-({log_odds})')}))"


def _softmax(writer: _Writer, formula: Softmax, names: list[str], k: int) -> str:
    """The reciprocal of the sum over classes of the exponential of how much larger their logits are."""
    number, zero = writer.number, writer.number(0)
    keeps_zeros = not formula.from_logits and not formula.least
    logs = [_log(writer, formula, name) for name in names]
    terms = [number(1)]
    for j, name in enumerate(names):
        if j == k:
            continue
        factors, shift = formula.matrix[j] - formula.matrix[k], formula.shift[j] - formula.shift[k]
        if np.count_nonzero(factors) == 2 and factors[j] == -factors[k]:  # exact differences of large logits
            parts = [f"{number(factors[j])} * ({logs[j]} - {logs[k]})"]
        else:
            parts = [f"{number(factor)} * {log}" for factor, log in zip(factors, logs, strict=True) if factor]
        if formula.beta is not None:
            own, other = (_beta(writer, formula, names, i) for i in (k, j))
            parts.append(f"{number(formula.beta_weight)} * ({own} - {other})")
        text = f"EXP({writer.clamp(' + '.join([*parts, *([number(shift)] if shift or not parts else [])]))})"
        terms.append(f"CASE WHEN {name} = {zero} THEN {zero} ELSE {text} END" if keeps_zeros else text)
    text = f"{number(1)} / ({' + '.join(terms)})"
    return f"CASE WHEN {names[k]} = {zero} THEN {zero} ELSE {text} END" if keeps_zeros else text


def _log(writer: _Writer, formula: Softmax, name: str) -> str:
    if formula.from_logits:
        return name
    return f"LN({writer.greatest}({name}, {writer.number(formula.least)}))" if formula.least else f"LN({name})"

"""Fitted maps as SQL expressions."""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.special import expit

from trueness._input.arguments import checked_word
from trueness.errors import InputError, MissingLibraryError
from trueness.recalibrate import _formula as formulas
from trueness.recalibrate._saving import Fitted
from trueness.typing import Floats

Dialect: TypeAlias = Literal[
    "duckdb",
    "sqlite",
    "postgresql",
    "postgres",
    "spark",
    "bigquery",
    "snowflake",
    "redshift",
    "databricks",
    "trino",
    "clickhouse",
    "mysql",
    "tsql",
    "oracle",
]
TRANSLATED = (
    "snowflake",
    "redshift",
    "databricks",
    "trino",
    "clickhouse",
    "mysql",
    "tsql",
    "oracle",
)
"""Dialects that sqlglot writes; no test has a database to execute them."""
_NOT_EXECUTED = "/* translated by sqlglot, not executed by trueness: check some rows */"

# exp() of larger numbers overflows, which is an error in some databases; of smaller ones it
# underflows.
_LARGEST_EXPONENT = 700
_ROUNDING = 1e-9  # sums of rows of a matrix that are equal but for rounding


class _Writer(NamedTuple):
    """How a dialect writes what the others write differently."""

    quote: str = '"'
    escape: str = '"'
    least: str = "LEAST"
    greatest: str = "GREATEST"
    suffix: str = ""  # makes a number one of double precision; without one, an exponent does
    cast: str = "{}"
    read: str = "{}"  # the number in a column
    is_number: str = ""  # whether a column holds one, where the database does not know
    # Keeps the columns of an inner query from being written out, and computed, wherever they are
    # used.
    fence: str = ""

    def name(self, column: str) -> str:
        if "\0" in column:  # which ends a text in many databases
            raise InputError(
                "", "Columns and tables in SQL must have names without NUL", f"got {column!r}"
            )
        text = column.replace("\\", "\\\\") if self.escape == "\\" else column
        return f"{self.quote}{text.replace(self.quote, self.escape + self.quote)}{self.quote}"

    def number(self, value: float) -> str:
        """A literal that denotes this double and no other."""
        text = repr(float(value))
        if self.suffix:
            return text + self.suffix
        # Without an exponent, some databases would read a decimal, and convert it with another
        # rounding.
        if "e" in text:
            return text
        return f"{text}e0"

    def clamp(self, text: str) -> str:
        """Numbers whose exponential is neither too large nor too small."""
        top = self.number(_LARGEST_EXPONENT)
        return f"{self.least}({self.greatest}({text}, -{top}), {top})"


WRITERS: dict[str, _Writer] = {
    "duckdb": _Writer(),
    # A column of text would be compared as text; and text that is no number would be read as 0.
    "sqlite": _Writer(
        least="min",
        greatest="max",
        read="CAST({} AS REAL)",
        is_number="CAST({0} AS REAL) = {0} AND ",
    ),
    "postgresql": _Writer(cast="CAST({} AS double precision)", fence=" OFFSET 0"),
    "spark": _Writer("`", "`", suffix="D"),
    "bigquery": _Writer("`", "\\"),
}
WRITERS["postgres"] = WRITERS["postgresql"]


def translated(text: str, dialect: str) -> str:
    """DuckDB's SQL in another dialect, by sqlglot."""
    try:
        import sqlglot
    except ImportError:
        install = "`pip install 'trueness[sql]'`"
        raise MissingLibraryError(
            f"SQL for {dialect} needs sqlglot, which is not installed: {install}."
        ) from None
    (query,) = sqlglot.transpile(text, read="duckdb", write=dialect, identify=True)
    return f"{_NOT_EXECUTED} {query}"


def quoted(name: str, dialect: str) -> str:
    """The name of a column as a dialect quotes it."""
    if dialect in TRANSLATED:
        text = translated(WRITERS["duckdb"].name(name), dialect)
        return text.removeprefix(f"{_NOT_EXECUTED} ")
    return WRITERS[dialect].name(name)


def sql_of(formula: formulas.Map, columns: Sequence[str], dialect: Dialect) -> list[str]:
    """One expression for a formula of one score, else one for each class.

    Each is NULL where a score is missing or out of range. Some dialects are translated from
    DuckDB's.
    """
    if dialect in TRANSLATED:
        return [translated(text, dialect) for text in sql_of(formula, columns, "duckdb")]
    writer = WRITERS[checked_word(dialect, "dialect", (*WRITERS, *TRANSLATED))]
    columns = [writer.name(column) for column in columns]
    names = [writer.read.format(column) for column in columns]
    low, high = map(writer.number, formulas.domain(formula))
    # False for NaN, unknown for NULL: both give NULL.
    valid = "".join(map(writer.is_number.format, columns))
    valid += " AND ".join(f"{name} >= {low} AND {name} <= {high}" for name in names)
    if isinstance(formula, formulas.PerClass):
        texts = _per_class(writer, formula, names)
    elif isinstance(formula, formulas.Softmax):
        texts = [_softmax(writer, formula, names, k) for k in range(len(names))]
    elif isinstance(formula, formulas.Mixture):
        texts = [_mixture(writer, formula, names, k) for k in range(len(names))]
    else:
        texts = [_vector(writer, formula, names[0])]
    return [writer.cast.format(f"CASE WHEN {valid} THEN {text} END") for text in texts]


def sql_in_steps(
    formula: formulas.Map, columns: Sequence[str], dialect: Dialect
) -> tuple[dict[str, str], list[str]]:
    """Columns to compute first, by name, and the expressions of :func:`sql_of` in terms of them."""
    # A formula for each class stands in the sum of all of them too: in steps it is written and
    # computed once.
    if not (isinstance(formula, formulas.PerClass) and formula.normalize):
        return {}, sql_of(formula, columns, dialect)
    first = sql_of(formula._replace(normalize=False), columns, dialect)
    alone = [f"{column}_alone" for column in columns]
    writer = WRITERS[dialect]
    return dict(zip(alone, first, strict=True)), _shares(
        writer, [writer.name(name) for name in alone]
    )


def query_of(
    formula: formulas.Map, columns: Sequence[str], table: str | Sequence[str], dialect: Dialect
) -> str:
    """A query of the rows of a table with new columns, whose names end in _calibrated."""
    if dialect in TRANSLATED:
        return translated(query_of(formula, columns, table, "duckdb"), dialect)
    first, last = sql_in_steps(formula, columns, dialect)
    parts = [table] if isinstance(table, str) else list(table)
    if not parts or not all(isinstance(part, str) and part for part in parts):
        raise InputError(
            "table", "must be the name of a table, or its parts as a list", f"got {table!r}"
        )
    writer = WRITERS[dialect]
    source = ".".join(map(writer.name, parts))
    if first:
        inner = ", ".join(f"{text} AS {writer.name(name)}" for name, text in first.items())
        source = f"(SELECT *, {inner} FROM {source}{writer.fence}) AS scored"
    new = [writer.name(f"{column}_calibrated") for column in columns]
    selected = ", ".join(f"{text} AS {name}" for text, name in zip(last, new, strict=True))
    return f"SELECT *, {selected} FROM {source}"


def check_columns(
    column: str | Iterable[str] | None, calibrator: Fitted, argument: str = "column"
) -> list[str]:
    """The names of the score columns: those passed as `argument`, else those of `fit`."""
    n = calibrator.n_features_in_
    if column is None:
        column = calibrator.score_names_ or ("p" if calibrator.n_classes_ is None else ())
    names = (
        list(column) if isinstance(column, Iterable) and not isinstance(column, str) else [column]
    )
    if len(names) != n or not all(isinstance(name, str) and name for name in names):
        if n == 1:
            demand = "must name the column of the scores"
        else:
            demand = f"must name the {n} columns of the scores"
        raise InputError(argument, demand, f"got {column!r}")
    return names


def _vector(writer: _Writer, formula: formulas.Map, name: str) -> str:
    """The SQL of the map of the column `name`; a map that has no such form is an error.

    Where scores were moved by `eps`, the ends have the values of the scores 0 and 1.
    """
    number = writer.number
    if isinstance(formula, formulas.Steps):
        flat = formula.flat()
        return _cases(writer, name, flat.edges, [number(value) for value in flat.values])
    if isinstance(formula, formulas.Lines):
        return _lines(writer, name, formula)
    if isinstance(formula, formulas.Odds):
        return f"{name} / ({name} + {number(formula.weight)} * ({number(1)} - {name}))"
    if not isinstance(formula, formulas.LogOdds):
        formulas.refuse(formula)
    text = _expit(writer, _curve(writer, formula.curve, name, formula.from_logits))
    if formula.from_logits:
        return text
    cut, (low, high) = number(formula.eps), map(number, formula(np.array([0.0, 1.0])))
    return (
        f"CASE WHEN {name} <= {cut} THEN {low} "
        f"WHEN {number(1)} - {name} <= {cut} THEN {high} ELSE {text} END"
    )


def _cases(writer: _Writer, name: str, edges: Floats, texts: list[str]) -> str:
    """One of the texts: the first below the first edge, and so on.

    Nested, so that few comparisons find it.
    """
    if len(set(texts)) == 1:
        return texts[0]
    middle = len(texts) // 2
    low = _cases(writer, name, edges, texts[:middle])
    high = _cases(writer, name, edges[middle:], texts[middle:])
    return f"CASE WHEN {name} < {writer.number(edges[middle - 1])} THEN {low} ELSE {high} END"


def _lines(writer: _Writer, name: str, lines: formulas.Lines) -> str:
    """The SQL of straight lines between points, a case for each piece, level beyond the ends."""
    number = writer.number
    texts = [number(lines.y[0])]
    for x, width, y, rise in zip(
        lines.x, np.diff(lines.x), lines.y, np.diff(lines.y), strict=False
    ):
        # Not a slope, which would overflow where points are closer than 1e-308.
        part = f" + ({name} - {number(x)}) / {number(width)} * {number(rise)}" if rise else ""
        texts.append(f"{number(y)}{part}")
    return _cases(writer, name, lines.x, [*texts, number(lines.y[-1])])


def _curve(writer: _Writer, curve: formulas.Curve, name: str, from_logits: bool) -> str:
    """The SQL of the log-odds of a column of scores or logits by a piecewise quadratic curve.

    The terms a·log p and −b·log(1 − p) are added unless a and b are 0.
    """
    number = writer.number
    unit = writer.number(1)
    z = name if from_logits else f"LN({name} / ({unit} - {name}))"
    texts = [_polynomial(writer, z, *piece) for piece in zip(*curve[1:5], strict=True)]
    breaks = curve.breaks if from_logits else expit(curve.breaks)
    terms = [_cases(writer, name, breaks, texts)]
    log_p = f"LN({name})"
    log_q = f"LN({unit} - {name})"
    if from_logits:
        # log p = min(z, 0) − s and log(1 − p) = min(−z, 0) − s, with s = log(1 + exp(−|z|)).
        softplus = f"LN({unit} + EXP({writer.clamp(f'-ABS({z})')}))"
        zero = number(0)
        log_p, log_q = (f"({writer.least}({side}, {zero}) - {softplus})" for side in (z, f"-{z}"))
    if curve.a:
        terms += [f"{number(curve.a)} * {log_p}"]
    if curve.b:
        terms += [f"{number(-curve.b)} * {log_q}"]
    return " + ".join(terms)


def _polynomial(writer: _Writer, z: str, at: float, value: float, slope: float, bend: float) -> str:
    """The SQL of value + slope·(z − at) + bend·(z − at)²; terms that are 0 are left out."""
    number = writer.number
    away = f"({z} - {number(at)})" if at else z
    if bend:
        return f"{number(value)} + {away} * ({number(slope)} + {number(bend)} * {away})"
    if slope:
        return f"{number(value)} + {number(slope)} * {away}"
    return number(value)


def _expit(writer: _Writer, text: str) -> str:
    unit = writer.number(1)
    return f"{unit} / ({unit} + EXP({writer.clamp(f'-({text})')}))"


def _per_class(writer: _Writer, formula: formulas.PerClass, names: list[str]) -> list[str]:
    texts = [
        _vector(writer, curve, name) for curve, name in zip(formula.columns, names, strict=True)
    ]
    if formula.normalize:
        return _shares(writer, [f"({text})" for text in texts])
    return texts


def _shares(writer: _Writer, texts: list[str]) -> list[str]:
    """Each divided by the sum of all."""
    total = " + ".join(texts)
    even = writer.number(1 / len(texts))
    return [
        f"CASE WHEN {total} = {writer.number(0)} THEN {even} ELSE {text} / ({total}) END"
        for text in texts
    ]


def _mixture(writer: _Writer, formula: formulas.Mixture, names: list[str], k: int) -> str:
    texts = [_softmax(writer, part, names, k) for part in formula.parts]
    terms = [
        f"{writer.number(weight)} * ({text})"
        for weight, text in zip(formula.weights, texts, strict=True)
    ]
    return " + ".join([writer.number(formula.constant), *terms])


def _softmax(writer: _Writer, formula: formulas.Softmax, names: list[str], k: int) -> str:
    """The reciprocal of Σ exp(logit of the class − logit of this class) over classes."""
    number = writer.number
    zero = writer.number(0)
    logs = formula.logs
    linear = formulas.Linear() if formula.linear is None else formula.linear
    matrix, shift = linear.plain(len(names))
    if (
        logs.normalized
        and logs.from_logits
        and np.ptp(matrix.sum(axis=1)) > _ROUNDING * np.abs(matrix).max()
    ):
        formulas.refuse(formula, "it normalizes logits first; fit it on probabilities instead")
    matrix = matrix / formula.temperature
    shift = shift / formula.temperature
    keeps_zeros = not logs.from_logits and not logs.eps
    scores = names
    if logs.eps and not logs.from_logits:
        scores = [f"{writer.greatest}({name}, {number(logs.eps)})" for name in names]
    z = scores if logs.from_logits else [f"LN({score})" for score in scores]
    terms = [number(1)]
    for j, name in enumerate(names):
        if j == k:
            continue
        factors = matrix[j] - matrix[k]
        more = shift[j] - shift[k]
        # Exact differences of large logits.
        if np.count_nonzero(factors) == 2 and factors[j] == -factors[k]:
            parts = [f"{number(factors[j])} * ({z[j]} - {z[k]})"]
        else:
            parts = [
                f"{number(factor)} * {log}"
                for factor, log in zip(factors, z, strict=True)
                if factor
            ]
        if linear.beta is not None:
            own_term, other = (_beta(writer, formula, linear.beta[i], scores, i) for i in (k, j))
            parts.append(f"{number(linear.beta_weight)} * ({own_term} - {other})")
        if more or not parts:
            parts.append(number(more))
        text = f"EXP({writer.clamp(' + '.join(parts))})"
        if keeps_zeros:
            text = f"CASE WHEN {name} = {zero} THEN {zero} ELSE {text} END"
        terms.append(text)
    text = f"{number(1)} / ({' + '.join(terms)})"
    if keeps_zeros:
        return f"CASE WHEN {names[k]} = {zero} THEN {zero} ELSE {text} END"
    return text


def _beta(
    writer: _Writer, formula: formulas.Softmax, cab: Floats, scores: list[str], k: int
) -> str:
    """Minus the log-probability of a class by beta calibration against the others."""
    if formula.logs.from_logits:
        demand = (
            "beta calibration of single classes, a part of this map, is written in SQL for "
            "probabilities only"
        )
        raise InputError(
            "", demand, "it was fitted with from_logits=True", remedy="`to_onnx` can write it."
        )
    rest = " + ".join(text for j, text in enumerate(scores) if j != k)
    total = " + ".join(scores)
    c, a, b = map(writer.number, cab)
    log_odds = f"{c} + {a} * LN({scores[k]} / ({total})) - {b} * LN(({rest}) / ({total}))"
    return f"LN({writer.number(1)} + EXP({writer.clamp(f'-({log_odds})')}))"

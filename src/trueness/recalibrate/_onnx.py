"""Fitted maps as ONNX models."""

from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._input.arguments import checked_word
from trueness._tally.atomic import replace_file
from trueness._version import __version__
from trueness.errors import MissingLibraryError
from trueness.recalibrate._formula import Blend, Formula, Lines, LogOdds, Odds, PerClass, Softmax, Steps, VectorFormula
from trueness.typing import Floats

# Old enough for runtimes of the last years; the operators used have not changed since.
_OPSET, _IR_VERSION = 17, 8


def onnx_of(formula: Formula, n_classes: int | None, path: str | PathLike[str] | None, dtype: str) -> Any:
    """The model of a formula, written to `path` if there is one."""
    checked_word(dtype, "dtype", ("float64", "float32"))
    graph = _Graph()
    scores = graph.input(dtype)
    if isinstance(formula, VectorFormula):
        out = _vector(graph, formula, scores)
        valid = _in_range(graph, formula.from_logits, 1e300, scores)
    elif isinstance(formula, PerClass):
        out = _per_class(graph, formula, scores)
        valid = _all_of_row(graph, _in_range(graph, formula.columns[0].from_logits, 1e300, scores))
    else:
        blend = formula if isinstance(formula, Blend) else Blend((1.0,), (formula,), 0.0)
        out = _blend(graph, blend, scores)
        part = blend.parts[0]
        valid = _all_of_row(graph, _in_range(graph, part.from_logits, part.largest, scores))
    model = graph.model(graph.add("Where", valid, out, np.nan), n_classes, dtype)
    if path is not None:
        replace_file(Path(fspath(path)), lambda file: file.write(model.SerializeToString()))
    return model


class _Graph:
    """Nodes of a model; each method returns the name of a result."""

    def __init__(self) -> None:
        try:
            import onnx
        except ImportError:
            raise MissingLibraryError("`to_onnx` needs onnx: `pip install 'trueness[onnx]'`.") from None
        self._onnx: Any = onnx
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def input(self, dtype: str) -> str:
        """The scores in double precision."""
        return "scores" if dtype == "float64" else self.add("Cast", "scores", to=self._kind("float64"))

    def add(self, operator: str, *inputs: str | float | NDArray[Any], **attributes: Any) -> str:
        """The result of an operator; numbers and arrays become constants."""
        names = [one if isinstance(one, str) else self._constant(np.asarray(one)) for one in inputs]
        out = f"{operator.lower()}_{len(self._nodes)}"
        self._nodes.append(self._onnx.helper.make_node(operator, names, [out], **attributes))
        return out

    def model(self, out: str, n_classes: int | None, dtype: str) -> Any:
        """The model that returns this result."""
        helper = self._onnx.helper
        kind = self._kind(dtype)
        self._nodes.append(helper.make_node("Cast", [out], ["calibrated"], to=kind))
        shape = ["n"] if n_classes is None else ["n", n_classes]
        ends = [helper.make_tensor_value_info(name, kind, shape) for name in ("scores", "calibrated")]
        graph = helper.make_graph(self._nodes, "calibration", ends[:1], ends[1:], self._constants)
        options = {"ir_version": _IR_VERSION, "opset_imports": [helper.make_opsetid("", _OPSET)]}
        model = helper.make_model(graph, producer_name="trueness", producer_version=__version__, **options)
        self._onnx.checker.check_model(model)
        return model

    def _kind(self, dtype: str) -> int:
        return int(self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def _constant(self, values: NDArray[Any]) -> str:
        name = f"constant_{len(self._constants)}"
        kind = np.int64 if values.dtype.kind == "i" else np.float64
        self._constants.append(self._onnx.numpy_helper.from_array(values.astype(kind), name))
        return name


def _in_range(graph: _Graph, from_logits: bool, largest: float, scores: str) -> str:
    low, high = (-largest, largest) if from_logits else (0.0, 1.0)
    return graph.add("And", graph.add("GreaterOrEqual", scores, low), graph.add("LessOrEqual", scores, high))


def _all_of_row(graph: _Graph, valid: str) -> str:
    """Whether all entries of a row are valid, as a column."""
    as_number = graph.add("Where", valid, 1.0, 0.0)
    return graph.add("Greater", graph.add("ReduceMin", as_number, axes=[1], keepdims=1), 0.5)


def _vector(graph: _Graph, formula: VectorFormula, p: str) -> str:
    inside, add = formula.inside, graph.add
    if isinstance(inside, Steps):
        return add("Gather", inside.values, _piece(graph, inside.edges, p))
    if isinstance(inside, Lines):
        return _lines(graph, inside, p)
    if isinstance(inside, Odds):
        return add("Div", p, add("Add", p, add("Mul", inside.weight, add("Sub", 1.0, p))))
    out = _expit(graph, _log_odds(graph, inside, p, formula.from_logits))
    if formula.ends is None:
        return out
    cut, low, high = formula.ends
    out = add("Where", add("LessOrEqual", add("Sub", 1.0, p), cut), high, out)
    return add("Where", add("LessOrEqual", p, cut), low, out)


def _piece(graph: _Graph, edges: Floats, p: str) -> str:
    """How many of the edges are at most each score, by bisection."""
    add = graph.add
    index = add("Where", add("Less", p, -np.inf), 0, 0)  # zeros of the shape of the scores
    if not edges.size:
        return index
    step = 1 << (int(edges.size).bit_length() - 1)
    padded = np.concatenate([[-np.inf], edges, np.full(2 * step - edges.size, np.nan)])  # nothing reaches nan
    while step:
        further = add("Add", index, step)
        reached = add("GreaterOrEqual", p, add("Gather", padded, further))
        index = add("Where", reached, further, index)
        step //= 2
    return index


def _lines(graph: _Graph, lines: Lines, p: str) -> str:
    add, index = graph.add, _piece(graph, lines.x, p)
    rise = np.concatenate([[0.0], np.diff(lines.y), [0.0]])
    width = np.concatenate([[1.0], np.diff(lines.x), [1.0]])
    start, base = np.concatenate([[0.0], lines.x]), np.concatenate([lines.y[:1], lines.y])
    fraction = add("Div", add("Sub", p, add("Gather", start, index)), add("Gather", width, index))
    return add("Add", add("Gather", base, index), add("Mul", fraction, add("Gather", rise, index)))


def _log_odds(graph: _Graph, formula: LogOdds, p: str, from_logits: bool) -> str:
    add = graph.add
    rest = "" if from_logits else add("Sub", 1.0, p)
    z = p if from_logits else add("Log", add("Div", p, rest))
    at, value, slope, bend = (column[0] if column.size == 1 else column for column in formula.pieces[1:])
    if formula.edges.size:
        index = _piece(graph, formula.edges, p)
        at, value, slope, bend = (add("Gather", column, index) for column in (at, value, slope, bend))
    away = add("Sub", z, at)
    total = add("Add", value, add("Mul", away, add("Add", slope, add("Mul", bend, away))))
    if from_logits and (formula.a or formula.b):
        softplus = add("Log", add("Add", 1.0, add("Exp", add("Neg", add("Abs", z)))))
        total = add("Add", total, add("Mul", formula.a, add("Sub", add("Min", z, 0.0), softplus)))
        return add("Add", total, add("Mul", formula.b, add("Add", add("Max", z, 0.0), softplus)))
    if formula.a:
        total = add("Add", total, add("Mul", formula.a, add("Log", p)))
    if formula.b:
        total = add("Sub", total, add("Mul", formula.b, add("Log", rest)))
    return total


def _expit(graph: _Graph, z: str) -> str:
    # Not Sigmoid, which some runtimes approximate.
    return graph.add("Div", 1.0, graph.add("Add", 1.0, graph.add("Exp", graph.add("Neg", z))))


def _per_class(graph: _Graph, formula: PerClass, scores: str) -> str:
    add = graph.add
    columns = []
    for k, one in enumerate(formula.columns):
        column = add("Gather", scores, k, axis=1)
        columns.append(add("Unsqueeze", _vector(graph, one, column), np.array([1])))
    matrix = add("Concat", *columns, axis=1)
    if not formula.normalize:
        return matrix
    total = add("ReduceSum", matrix, np.array([1]), keepdims=1)
    return add("Where", add("Equal", total, 0.0), 1 / len(columns), add("Div", matrix, total))


def _blend(graph: _Graph, formula: Blend, scores: str) -> str:
    parts = [_softmax(graph, part, scores) for part in formula.parts]
    if formula.weights == (1.0,) and not formula.constant:
        return parts[0]
    total: str | float = formula.constant
    for weight, part in zip(formula.weights, parts, strict=True):
        total = graph.add("Add", graph.add("Mul", weight, part), total)
    assert isinstance(total, str)
    return total


def _softmax(graph: _Graph, formula: Softmax, scores: str) -> str:
    add = graph.add
    z = scores
    if not formula.from_logits:
        z = add("Log", add("Max", scores, formula.least) if formula.least else scores)
    diagonal = np.diag(formula.matrix)
    if (formula.matrix == np.diag(diagonal)).all():  # a product with zeros would make nan of −inf
        linear = add("Mul", z, diagonal)
    else:
        linear = add("MatMul", z, np.ascontiguousarray(formula.matrix.T))
    linear = add("Add", linear, formula.shift)
    if formula.beta is not None:
        share = add("Softmax", z, axis=1)
        others = add("MatMul", share, 1 - np.eye(diagonal.size))  # not 1 − share, which may round to 0
        c, a, b = formula.beta.T
        ends = add("Sub", add("Mul", a, add("Log", share)), add("Mul", b, add("Log", others)))
        log_odds = add("Add", c, ends)
        cost = add("Log", add("Add", 1.0, add("Exp", add("Neg", log_odds))))
        linear = add("Sub", linear, add("Mul", formula.beta_weight, cost))
    return add("Softmax", linear, axis=1)

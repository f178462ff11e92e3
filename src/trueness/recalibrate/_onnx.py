"""Fitted maps as ONNX models."""

from os import PathLike
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trueness._input.arguments import checked_word
from trueness._tally.atomic import as_path, replace_file
from trueness._version import __version__
from trueness.errors import MissingLibraryError
from trueness.recalibrate import _formula as formulas
from trueness.typing import Floats

Model: TypeAlias = Any
"""An ``onnx.ModelProto``; onnx need not be installed."""

# Old enough for runtimes of the last years; the operators used have not changed since.
_OPSET, _IR_VERSION = (
    17,
    8,
)


def onnx_of(
    formula: formulas.Map, n_classes: int | None, path: str | PathLike[str] | None, dtype: str
) -> Model:
    """The model of a formula, written to `path` if there is one."""
    checked_word(dtype, "dtype", ("float64", "float32"))
    graph, (low, high) = _Graph(), formulas.domain(formula)
    scores = (
        "scores" if dtype == "float64" else graph.add("Cast", "scores", to=graph.kind("float64"))
    )
    valid = graph.add(
        "And", graph.add("GreaterOrEqual", scores, low), graph.add("LessOrEqual", scores, high)
    )
    of_rows: Any = {
        formulas.PerClass: _per_class,
        formulas.Mixture: _mixture,
        formulas.Softmax: _softmax,
    }
    if type(formula) in of_rows:
        out = of_rows[type(formula)](graph, formula, scores)
        valid = graph.add("ReduceMin", graph.add("Where", valid, 1.0, 0.0), axes=[1], keepdims=1)
        valid = graph.add("Greater", valid, 0.5)  # whether all entries of a row are
    else:
        out = _vector(graph, formula, scores)
    model = graph.model(graph.add("Where", valid, out, np.nan), n_classes, dtype)
    if path is not None:
        replace_file(as_path(path), lambda file: file.write(model.SerializeToString()))
    return model


class _Graph:
    """Nodes of a model; each method returns the name of a result."""

    def __init__(self) -> None:
        """Start without nodes; an error says how to install onnx if it is absent."""
        try:
            import onnx
        except ImportError:
            raise MissingLibraryError(
                "`to_onnx` needs onnx: `pip install 'trueness[onnx]'`."
            ) from None
        self._onnx: Any = onnx
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def add(self, operator: str, *inputs: str | float | NDArray[Any], **attributes: object) -> str:
        """The result of an operator; numbers and arrays become constants."""
        names = [
            value if isinstance(value, str) else self._constant(np.asarray(value))
            for value in inputs
        ]
        out = f"{operator.lower()}_{len(self._nodes)}"
        self._nodes.append(self._onnx.helper.make_node(operator, names, [out], **attributes))
        return out

    def model(self, out: str, n_classes: int | None, dtype: str) -> Model:
        """The checked model of all nodes, whose output is the result `out` cast to `dtype`.

        `n_classes` is None for a vector of scores.
        """
        helper = self._onnx.helper
        kind = self.kind(dtype)
        self._nodes.append(helper.make_node("Cast", [out], ["calibrated"], to=kind))
        shape = ["n"] if n_classes is None else ["n", n_classes]
        ends = [
            helper.make_tensor_value_info(name, kind, shape) for name in ("scores", "calibrated")
        ]
        graph = helper.make_graph(self._nodes, "calibration", ends[:1], ends[1:], self._constants)
        options = {"ir_version": _IR_VERSION, "opset_imports": [helper.make_opsetid("", _OPSET)]}
        model = helper.make_model(
            graph, producer_name="trueness", producer_version=__version__, **options
        )
        self._onnx.checker.check_model(model)
        return model

    def kind(self, dtype: str) -> int:
        return int(self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def _constant(self, values: NDArray[Any]) -> str:
        name = f"constant_{len(self._constants)}"
        kind = np.int64 if values.dtype.kind == "i" else np.float64
        self._constants.append(self._onnx.numpy_helper.from_array(values.astype(kind), name))
        return name


def _vector(graph: _Graph, formula: formulas.Map, p: str) -> str:
    """Add the map of a vector of scores, whose name is `p`; return the name of the result.

    A map without such a form is an error. Where scores were moved by `eps`, the ends have the
    values of the scores 0 and 1.
    """
    add = graph.add
    if isinstance(formula, formulas.Steps):
        flat = formula.flat()
        return add("Gather", flat.values, _piece(graph, flat.edges, p))
    if isinstance(formula, formulas.Lines):
        return _lines(graph, formula, p)
    if isinstance(formula, formulas.Odds):
        return add("Div", p, add("Add", p, add("Mul", formula.weight, add("Sub", 1.0, p))))
    if not isinstance(formula, formulas.LogOdds):
        formulas.refuse(formula)
    out = _expit(graph, _curve(graph, formula.curve, p, formula.from_logits))
    if formula.from_logits:
        return out
    low, high = formula(np.array([0.0, 1.0]))
    out = add("Where", add("LessOrEqual", add("Sub", 1.0, p), formula.eps), high, out)
    return add("Where", add("LessOrEqual", p, formula.eps), low, out)


def _piece(graph: _Graph, edges: Floats, p: str) -> str:
    """How many of the edges are at most each score, by bisection."""
    add = graph.add
    index = add("Where", add("Less", p, -np.inf), 0, 0)  # zeros of the shape of the scores
    if not edges.size:
        return index
    step = 1 << (int(edges.size).bit_length() - 1)
    # Nothing reaches nan.
    padded = np.concatenate([[-np.inf], edges, np.full(2 * step - edges.size, np.nan)])
    while step:
        further = add("Add", index, step)
        reached = add("GreaterOrEqual", p, add("Gather", padded, further))
        index = add("Where", reached, further, index)
        step //= 2
    return index


def _lines(graph: _Graph, lines: formulas.Lines, p: str) -> str:
    """Add straight lines between points; return the name of the result.

    The height at the left end, plus a share of the rise.
    """
    add = graph.add
    index = _piece(graph, lines.x, p)
    rise = np.concatenate([[0.0], np.diff(lines.y), [0.0]])
    width = np.concatenate([[1.0], np.diff(lines.x), [1.0]])
    start = np.concatenate([[0.0], lines.x])
    base = np.concatenate([lines.y[:1], lines.y])
    away = add("Sub", p, add("Gather", start, index))
    fraction = add("Div", away, add("Gather", width, index))
    height = add("Gather", base, index)
    return add("Add", height, add("Mul", fraction, add("Gather", rise, index)))


def _curve(graph: _Graph, curve: formulas.Curve, p: str, from_logits: bool) -> str:
    """Add the log-odds by a piecewise quadratic curve of scores or logits; return the name.

    The terms a·log p and −b·log(1 − p) are added unless a and b are 0.
    """
    add = graph.add
    rest = "" if from_logits else add("Sub", 1.0, p)
    z = p if from_logits else add("Log", add("Div", p, rest))
    pieces: Any = [column[0] for column in curve[1:5]]
    if curve.breaks.size:
        index = _piece(graph, curve.breaks, z)
        pieces = [add("Gather", column, index) for column in curve[1:5]]
    starts, value, slope, bend = pieces
    away = add("Sub", z, starts)
    total = add("Add", value, add("Mul", away, add("Add", slope, add("Mul", bend, away))))
    if not (curve.a or curve.b):
        return total
    if from_logits:
        softplus = add("Log", add("Add", 1.0, add("Exp", add("Neg", add("Abs", z)))))
        log_p, log_q = (add("Sub", add("Min", side, 0.0), softplus) for side in (z, add("Neg", z)))
    else:
        log_p = add("Log", p)
        log_q = add("Log", rest)
    if curve.a:
        total = add("Add", total, add("Mul", curve.a, log_p))
    if curve.b:
        return add("Sub", total, add("Mul", curve.b, log_q))
    return total


def _expit(graph: _Graph, z: str) -> str:
    # Not Sigmoid, which some runtimes approximate.
    return graph.add("Div", 1.0, graph.add("Add", 1.0, graph.add("Exp", graph.add("Neg", z))))


def _per_class(graph: _Graph, formula: formulas.PerClass, scores: str) -> str:
    """Add the maps of all columns, side by side; return the name of the result.

    With `normalize` each row is divided by its sum, and a row of zeros becomes equal shares.
    """
    add = graph.add
    columns = []
    for k, curve in enumerate(formula.columns):
        column = add("Gather", scores, k, axis=1)
        columns.append(add("Unsqueeze", _vector(graph, curve, column), np.array([1])))
    matrix = add("Concat", *columns, axis=1)
    if not formula.normalize:
        return matrix
    total = add("ReduceSum", matrix, np.array([1]), keepdims=1)
    return add("Where", add("Equal", total, 0.0), 1 / len(columns), add("Div", matrix, total))


def _mixture(graph: _Graph, formula: formulas.Mixture, scores: str) -> str:
    total: Any = formula.constant
    for weight, part in zip(formula.weights, formula.parts, strict=True):
        total = graph.add("Add", graph.add("Mul", weight, _softmax(graph, part, scores)), total)
    return str(total)


def _softmax(graph: _Graph, formula: formulas.Softmax, scores: str) -> str:
    """Add the softmax of the logarithms of scores, or of logits; return the name of the result.

    The linear map comes first if there is one.
    """
    add = graph.add
    logs = formula.logs
    z = scores
    if not logs.from_logits:
        moved = add("Max", scores, logs.eps) if logs.eps else scores
        z = add("Log", moved)
    if logs.normalized:
        z = add("LogSoftmax", z, axis=1)
    total = z if formula.linear is None else _linear(graph, formula.linear, z)
    if formula.temperature != 1:
        total = add("Div", total, formula.temperature)
    return add("Softmax", total, axis=1)


def _linear(graph: _Graph, linear: formulas.Linear, z: str) -> str:
    """Add a linear map of the logits of each row; return the name of the result.

    The matrix, the shifts and the beta costs are each left out if they are None.
    """
    add = graph.add
    total = z
    if linear.centred:
        total = add("Sub", z, add("ReduceMean", z, axes=[1], keepdims=1))
    # A product with zeros would make nan of −inf.
    if linear.matrix is not None and linear.matrix.ndim == 1:
        total = add("Mul", total, linear.matrix)
    elif linear.matrix is not None:
        total = add("MatMul", total, np.ascontiguousarray(linear.matrix.T))
    if linear.shift is not None:
        total = add("Add", total, linear.shift)
    if linear.beta is None:
        return total
    share = add("Softmax", z, axis=1)
    # Not 1 − share, which may round to 0.
    rest = add("MatMul", share, 1 - np.eye(linear.beta.shape[0]))
    c, a, b = linear.beta.T
    ends = add("Sub", add("Mul", a, add("Log", share)), add("Mul", b, add("Log", rest)))
    cost = add("Log", add("Add", 1.0, add("Exp", add("Neg", add("Add", c, ends)))))
    return add("Sub", total, add("Mul", linear.beta_weight, cost))

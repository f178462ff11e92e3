"""The contract of every engine: rows, a question, and what the same rows give in memory."""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

import trueness as tn

__all__ = ["CASES", "GRID_EDGES", "Case", "ask", "check", "grid", "run", "run_grouped"]


class Case(NamedTuple):
    """Rows and a question. `error` is what the message must say, in place of an answer."""

    name: str
    table: pa.Table
    options: dict[str, Any]
    error: str | None = None


CASES: list[Case] = []


def case(name: str, columns: dict[str, Any], error: str | None = None, **options: Any) -> None:
    options = {"label": "y", "prob": "p"} | options
    CASES.append(Case(name, pa.table(columns), options, error))


def draws(n: int = 400, seed: int = 0, digits: int = 3) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    p = np.round(rng.beta(1, 2, n), digits)
    return {"y": (rng.random(n) < p).astype(np.int64), "p": p}


def around(edges: Any) -> dict[str, Any]:
    """Every edge and its two neighbours among the floats, each with either label."""
    edges = np.asarray(edges, dtype=np.float64)
    p = np.concatenate([edges, np.nextafter(edges, -1), np.nextafter(edges, 2)])
    p = np.repeat(p[(p >= 0) & (p <= 1)], 2)
    return {"y": np.tile([0, 1], p.size // 2).astype(np.int64), "p": p}


def matrix(n: int = 200, k: int = 3, seed: int = 1, digits: int = 2) -> dict[str, Any]:
    """Class probabilities with ties for the top."""
    rng = np.random.default_rng(seed)
    cut = np.sort(np.round(rng.random((n, k - 1)), digits), axis=1)
    rows = np.diff(np.column_stack([np.zeros(n), cut, np.ones(n)]), axis=1)
    return {"y": rng.integers(0, k, n), **{f"c{j}": rows[:, j] for j in range(k)}}


SCORES = ["c0", "c1", "c2"]

for n_bins in (1, 2, 3, 7, 10, 15, 16, 49, 100, 1000):
    case(f"every edge of {n_bins} bins", around(np.arange(n_bins + 1) / n_bins), bins=n_bins)
case(
    "every edge of 10 bins, float32",
    {k: v.astype(np.float32) if k == "p" else v for k, v in around(np.arange(11) / 10).items()},
)
case(
    "arbitrary edges",
    around([0, 0.05, 0.1, 1 / 3, 0.7, 0.999, 1]),
    bins=[0, 0.05, 0.1, 1 / 3, 0.7, 0.999, 1],
)
case(
    "many arbitrary edges",
    around(np.unique(np.r_[0, np.random.default_rng(3).random(90), 0.5, 1])),
    bins=tn.Edges(np.unique(np.r_[0, np.random.default_rng(3).random(90), 0.5, 1])),
)
case("edges that leave a part out", {"y": [0, 1], "p": [0.3, 0.6]}, bins=[0.25, 0.5, 0.75])
case(
    "a score below the edges",
    {"y": [0, 1], "p": [0.1, 0.6]},
    "must cover every score.*0.1",
    bins=[0.25, 0.5, 0.75],
)
case(
    "a score above the last edge",
    {"y": [0, 1], "p": [0.3, 0.8]},
    "must cover every score.*0.8",
    bins=[0.25, 0.5, 0.75],
)
case("a score on the last edge", {"y": [0, 1], "p": [0.3, 0.75]}, bins=[0.25, 0.5, 0.75])

case("ordinary rows", draws())
case("every distinct score", draws(), bins=None)
case("ties", {"y": [0, 1] * 50, "p": [0.25] * 60 + [0.5] * 40}, bins=4)
case("ties, distinct scores", {"y": [0, 1] * 50, "p": [0.25] * 60 + [0.5] * 40}, bins=tn.Distinct())
case("zero and minus zero", {"y": [0, 1, 1], "p": [0.0, -0.0, 1.0]}, bins=None)
case("zero and minus zero in bins", {"y": [0, 1, 1], "p": [0.0, -0.0, 1.0]})
case("tiny scores", {"y": [0, 1, 1, 0], "p": [5e-324, 1e-300, 2.0**-53, 2.0**-54]})
case("equal mass", draws(), bins=tn.EqualMass(7))
case(
    "equal mass of ties",
    {"y": [0, 1] * 50, "p": [0.25] * 60 + [0.5] * 10 + [1.0] * 30},
    bins=tn.EqualMass(10),
)
case(
    "equal mass of crowded scores",
    {"y": [0, 1] * 100, "p": np.arange(200) * 1e-9},
    bins=tn.EqualMass(9),
)
case("isotonic bins", draws(), bins=tn.Isotonic())
case("one row", {"y": [1], "p": [0.5]})
case("one row, distinct", {"y": [1], "p": [0.5]}, bins=None)
case("no rows", {"y": pa.array([], pa.int64()), "p": pa.array([], pa.float64())})
case(
    "no rows, distinct", {"y": pa.array([], pa.int64()), "p": pa.array([], pa.float64())}, bins=None
)
case(
    "no rows, equal mass",
    {"y": pa.array([], pa.int64()), "p": pa.array([], pa.float64())},
    "at least one row",
    bins=tn.EqualMass(3),
)
case("skewed: nearly all rows in one bin", {"y": [0] * 500 + [1], "p": [0.001] * 500 + [0.999]})

case("boolean labels", {"y": [False, True, True], "p": [0.1, 0.6, 0.9]})
case("unsigned labels", {"y": pa.array([0, 1, 1], pa.uint8()), "p": [0.1, 0.6, 0.9]})
case("float labels", {"y": [0.0, 1.0, 1.0], "p": [0.1, 0.6, 0.9]})
case("string labels", {"y": ["no", "yes", "yes"], "p": [0.1, 0.6, 0.9]}, pos_label="yes")
case("string labels named", {"y": ["no", "yes", "yes"], "p": [0.1, 0.6, 0.9]}, labels=["no", "yes"])
case("labels 1 and 2", {"y": [1, 2, 2], "p": [0.1, 0.6, 0.9]}, pos_label=2)
case("labels -1 and 1", {"y": [-1, 1, 1], "p": [0.1, 0.6, 0.9]}, labels=[-1, 1])
case("integer scores", {"y": [0, 1, 1], "p": [0, 1, 1]})
case(
    "a label that is neither",
    {"y": [0, 1, 2], "p": [0.1, 0.6, 0.9]},
    "`label` column 'y' must be 0 or 1; 1 of 3 labels is not",
)
case(
    "a label that is not named",
    {"y": ["no", "yes", "?"], "p": [0.1, 0.6, 0.9]},
    "named in `labels`.*1 of 3",
    labels=["no", "yes"],
)
case(
    "strings without a word",
    {"y": ["no", "yes"], "p": [0.1, 0.6]},
    "holds strings \\('no', 'yes'\\).*pos_label='yes'",
)
case(
    "three strings",
    {"y": ["no", "yes", "?"], "p": [0.1, 0.6, 0.9]},
    "must hold two values",
    pos_label="yes",
)

case(
    "a NULL score",
    {"y": [0, 1, 1], "p": [0.1, None, 0.9]},
    "`prob` column 'p' must not have missing values; 1 of 3 rows has one",
)
case("a NULL score, dropped", {"y": [0, 1, 1], "p": [0.1, None, 0.9]}, missing="drop")
case(
    "a nan score",
    {"y": [0, 1, 1], "p": [0.1, float("nan"), 0.9]},
    "must not have missing values; 1 of 3",
)
case("a nan score, dropped", {"y": [0, 1, 1], "p": [0.1, float("nan"), 0.9]}, missing="drop")
case(
    "NULL labels",
    {"y": [0, None, None], "p": [0.1, 0.5, 0.9]},
    "`label` column 'y' must not have missing values; 2 of 3 rows have",
)
case("NULL labels, dropped", {"y": [0, None, 1], "p": [0.1, 0.5, 0.9]}, missing="drop")
case("NULL booleans, dropped", {"y": [False, None, True], "p": [0.1, 0.5, 0.9]}, missing="drop")
case(
    "NULL strings, dropped",
    {"y": ["a", None, "b"], "p": [0.1, 0.5, 0.9]},
    missing="drop",
    labels=["a", "b"],
)
case(
    "nothing but NULL",
    {"y": [0, 1], "p": pa.array([None, None], pa.float64())},
    "all 2 have a missing value",
    missing="drop",
)
case(
    "scores above 1",
    {"y": [0, 1, 1], "p": [0.1, 1.2, 3.0]},
    "must lie in \\[0, 1\\]; 2 of 3 rows do not, the largest is 3",
)
case(
    "scores below 0",
    {"y": [0, 1, 1], "p": [0.1, -1.2, 0.5]},
    "1 of 3 rows does not, the smallest is -1.2.*logits",
)
case("scores of infinity", {"y": [0, 1], "p": [0.1, float("inf")]}, "the largest is inf")
case(
    "a score just above 1",
    {"y": [0, 1], "p": [0.1, np.nextafter(1, 2)]},
    "the largest is 1.0000000000000002",
)
case(
    "bad scores are not dropped",
    {"y": [0, 1, 1], "p": [None, 1.5, 0.5]},
    "must lie in",
    missing="drop",
)

rng = np.random.default_rng(5)
case("weights", {**draws(), "w": rng.random(400) * 10}, weight="w")
case("weights of every size", {**draws(), "w": 10.0 ** rng.uniform(-12, 12, 400)}, weight="w")
case("whole weights", {**draws(), "w": rng.integers(0, 5, 400)}, weight="w")
case("whole weights, distinct", {**draws(), "w": rng.integers(0, 5, 400)}, weight="w", bins=None)
case("weights, distinct", {**draws(), "w": rng.random(400)}, weight="w", bins=None)
case(
    "weights, arbitrary edges", {**draws(), "w": rng.random(400)}, weight="w", bins=[0, 0.2, 0.7, 1]
)
case(
    "whole weights, equal mass",
    {**draws(), "w": rng.integers(0, 5, 400)},
    weight="w",
    bins=tn.EqualMass(5),
)
case(
    "small scores weighed",
    {"y": [0, 1] * 20, "p": np.arange(40) * 1e-7, "w": np.linspace(0.1, 2, 40)},
    weight="w",
)
case(
    "a negative weight",
    {"y": [0, 1], "p": [0.1, 0.6], "w": [1.0, -1.0]},
    "`weight` column 'w' must be at least 0.*1 of 2",
    weight="w",
)
case(
    "a NULL weight",
    {"y": [0, 1], "p": [0.1, 0.6], "w": [1.0, None]},
    "`weight` column 'w' must not have missing",
    weight="w",
)
case(
    "a NULL weight, dropped",
    {"y": [0, 1, 1], "p": [0.1, 0.6, 0.7], "w": [1.5, None, 2.5]},
    weight="w",
    missing="drop",
)
case(
    "weights of 0",
    {"y": [0, 1], "p": [0.1, 0.6], "w": [0.0, 0.0]},
    "must have a weight above zero; all 2 are zero",
    weight="w",
)

groups = rng.choice(["a", "b", "c"], 400)
case("groups", {**draws(), "g": groups}, by="g")
case("groups, distinct scores", {**draws(), "g": groups}, by="g", bins=None)
case("groups, equal mass", {**draws(), "g": groups}, by="g", bins=tn.EqualMass(4))
case("groups, weights", {**draws(), "g": groups, "w": rng.random(400)}, by="g", weight="w")
case("groups by two columns", {**draws(), "g": groups, "h": rng.integers(0, 2, 400)}, by=["g", "h"])
case("groups by a list of one", {**draws(), "g": groups}, by=["g"])
case("a group of NULL", {"y": [0, 1, 1], "p": [0.1, 0.6, 0.7], "g": ["a", None, "a"]}, by="g")
case(
    "groups by date",
    {
        "y": [0, 1, 1],
        "p": [0.1, 0.6, 0.7],
        "g": pa.array(["mon", "tue", "mon"]).dictionary_encode(),
    },
    by="g",
)
case(
    "a group without a complete row",
    {"y": [0, 1, 1], "p": [0.1, None, 0.7], "g": ["a", "b", "a"]},
    by="g",
    missing="drop",
)
case("a group of one row among many", {**draws(), "g": ["x"] * 399 + ["y"]}, by="g")
case(
    "groups of no rows",
    {
        "y": pa.array([], pa.int64()),
        "p": pa.array([], pa.float64()),
        "g": pa.array([], pa.string()),
    },
    by="g",
)

case("classes", matrix(), prob=SCORES)
case("classes, top label's confidence", matrix(), prob=SCORES, kind="confidence")
case("classes, by predicted label", matrix(), prob=SCORES, kind="top-label")
case("classes, distinct scores", matrix(), prob=SCORES, bins=None)
case("classes, equal mass", matrix(), prob=SCORES, bins=tn.EqualMass(4), kind="confidence")
case("classes, weights", {**matrix(), "w": rng.random(200)}, prob=SCORES, weight="w")
case("classes, groups", {**matrix(), "g": groups[:200]}, prob=SCORES, by="g", kind="top-label")
case("two classes", matrix(k=2), prob=["c0", "c1"])
case(
    "classes in float32",
    {k: v.astype(np.float32) if k != "y" else v for k, v in matrix().items()},
    prob=SCORES,
)
case(
    "classes named by the columns", {**matrix(), "y": np.array(SCORES)[matrix()["y"]]}, prob=SCORES
)
case(
    "classes in alphabetical order",
    {**matrix(), "y": np.array(["x", "y", "z"])[matrix()["y"]]},
    prob=SCORES,
)
case(
    "classes as said",
    {**matrix(), "y": np.array([7, 5, 9])[matrix()["y"]]},
    prob=SCORES,
    labels=[7, 5, 9],
)
case(
    "rows that do not sum to one",
    {"y": [0, 1], "c0": [0.5, 0.5], "c1": [0.5, 0.4]},
    "must sum to 1 within 1e-06; 1 of 2 does not, the largest difference is 0.1",
    prob=["c0", "c1"],
)
case(
    "rows that nearly sum to one",
    {"y": [0, 1], "c0": [0.5, 0.5], "c1": [0.5, 0.4995]},
    prob=["c0", "c1"],
    sum_tolerance=1e-3,
)
case(
    "a class code too many",
    {"y": [0, 2], "c0": [0.5, 0.5], "c1": [0.5, 0.5]},
    "class codes 0 to 1.*1 of 2",
    prob=["c0", "c1"],
)
case(
    "a NULL among classes, dropped",
    {"y": [0, 1], "c0": [0.5, None], "c1": [0.5, 0.5]},
    prob=["c0", "c1"],
    missing="drop",
)

# The cells of a sketch: 128 for each octave from 2⁻³¹ to 1/2, and the same from 1 downwards.
half = np.concatenate(
    [[0.0], np.outer(2.0 ** np.arange(-31, -1), 1 + np.arange(128) / 128).ravel()]
)
grid = np.concatenate([half, [0.5], 1 - half[::-1]])
GRID_EDGES = "sketch: every edge of a cell, its neighbours and the middle"
case(GRID_EDGES, around(np.unique(np.r_[grid, (grid[1:] + grid[:-1]) / 2])), bins="sketch")


def sketched(name: str, columns: dict[str, Any], error: str | None = None, **options: Any) -> None:
    case(f"sketch: {name}", columns, error, bins="sketch", **options)


EXTREMES = [0.0, -0.0, 5e-324, 1e-310, 2.0**-54, 2.0**-32, 1 - 2.0**-32, 1 - 2.0**-53, 1.0]
NO_ROWS = {"y": pa.array([], pa.int64()), "p": pa.array([], pa.float64())}
sketched("ordinary rows", draws())
sketched("rows that all differ", draws(digits=16))
sketched("ties", {"y": [0, 1] * 50, "p": [0.25] * 60 + [0.3] * 40})
sketched("scores at both ends", {"y": [0, 1] * 9, "p": np.repeat(EXTREMES, 2)})
sketched(
    "float32", {k: v.astype(np.float32) if k == "p" else v for k, v in draws(digits=8).items()}
)
sketched("one row", {"y": [1], "p": [0.3]})
sketched("no rows", NO_ROWS)
sketched("nearly all rows in one cell", {"y": [0] * 500 + [1], "p": [0.001] * 500 + [0.999]})
sketched("string labels", {"y": ["no", "yes", "yes"], "p": [0.1, 0.6, 0.9]}, pos_label="yes")
sketched("labels named", {"y": [-1, 1, 1], "p": [0.1, 0.6, 0.9]}, labels=[-1, 1])
sketched(
    "a NULL score",
    {"y": [0, 1, 1], "p": [0.1, None, 0.9]},
    "must not have missing values; 1 of 3 rows has one",
)
sketched("a NULL score, dropped", {"y": [0, 1, 1], "p": [0.1, None, 0.9]}, missing="drop")
sketched(
    "a score above 1",
    {"y": [0, 1, 1], "p": [0.1, 1.2, 0.5]},
    "1 of 3 rows does not, the largest is 1.2",
)
sketched("weights", {**draws(), "w": rng.random(400) * 10}, weight="w")
sketched("weights of every size", {**draws(), "w": 10.0 ** rng.uniform(-12, 12, 400)}, weight="w")
sketched("whole weights", {**draws(), "w": rng.integers(0, 5, 400)}, weight="w")
sketched(
    "small scores weighed",
    {"y": [0, 1] * 20, "p": 2.0 ** -np.linspace(1, 30, 40), "w": np.linspace(0.1, 2, 40)},
    weight="w",
)
sketched("large whole weights", {**draws(), "w": np.full(400, 2.0**30)}, weight="w")
sketched(
    "weights of 0",
    {"y": [0, 1], "p": [0.3, 0.6], "w": [0.0, 0.0]},
    "must have a weight above zero",
    weight="w",
)
sketched("groups", {**draws(), "g": groups}, by="g")
sketched(
    "groups of weights",
    {**draws(), "g": groups, "w": np.where(groups == "a", 2, 1.5)},
    by="g",
    weight="w",
)
sketched("a group of NULL", {"y": [0, 1, 1], "p": [0.1, 0.6, 0.7], "g": ["a", None, "a"]}, by="g")
sketched(
    "a group without a complete row",
    {"y": [0, 1, 1], "p": [0.1, None, 0.7], "g": ["a", "b", "a"]},
    by="g",
    missing="drop",
)
sketched("groups of no rows", {**NO_ROWS, "g": pa.array([], pa.string())}, by="g")
sketched("classes", matrix(), prob=SCORES)
sketched("classes, top label's confidence", matrix(), prob=SCORES, kind="confidence")
sketched("classes, by predicted label", matrix(), prob=SCORES, kind="top-label")
sketched("classes, groups", {**matrix(), "g": groups[:200]}, prob=SCORES, by="g")
sketched(
    "classes, whole weights", {**matrix(), "w": rng.integers(0, 3, 200)}, prob=SCORES, weight="w"
)
sketched(
    "classes, weights",
    {**matrix(), "w": rng.random(200)},
    prob=SCORES,
    weight="w",
    kind="top-label",
)


USERS = {"number": np.arange(400) % 37 - 5, "text": np.array([f"ü {i % 41}" for i in range(400)])}
for form in (10, None, "sketch"):
    for user, names in USERS.items():
        case(
            f"clusters: {user}, bins {form}", {**draws(), "user": names}, bins=form, cluster="user"
        )
case("clusters: 256 buckets, text", {**draws(), "user": USERS["text"]}, cluster="user", buckets=256)
case(
    "clusters: 32 buckets, number", {**draws(), "user": USERS["number"]}, cluster="user", buckets=32
)
case(
    "clusters: weights",
    {**draws(), "user": USERS["text"], "w": np.arange(400) % 3},
    cluster="user",
    weight="w",
)
case(
    "clusters: by",
    {**draws(), "user": USERS["text"], "d": ["a", "b"] * 200},
    cluster="user",
    by="d",
)
case(
    "clusters: confidence",
    {**matrix(), "user": USERS["number"][:200]},
    prob=SCORES,
    kind="confidence",
    cluster="user",
    bins="sketch",
)
case(
    "clusters: NULL",
    {"y": [0, 1, 1], "p": [0.1, 0.6, 0.9], "user": ["a", None, "b"]},
    "`cluster` column 'user' must not have missing values; 1 of 3 rows has one",
    cluster="user",
)
case(
    "clusters: floats",
    {"y": [0, 1], "p": [0.1, 0.6], "user": [0.5, 1.5]},
    "`cluster` column 'user' must hold text or whole numbers",
    cluster="user",
)


def ask(source: Any, **options: Any) -> Any:
    """The sums of all rows or, with `by`, of each group; columns y and p unless others are named."""
    options = {"label": "y", "prob": "p"} | options
    if options.get("by") is None:
        options.pop("by", None)
        return tn.scan(source, **options)
    return tn.scan_groups(source, **options)


def run(one: Case, source: Any) -> None:
    """Ask the engine and compare."""
    if one.error:
        with pytest.raises(tn.InputError, match=one.error):
            ask(source, **one.options)
        return
    with warnings.catch_warnings():
        if one.options.get("missing") == "drop":
            warnings.simplefilter("ignore", tn.errors.DroppedRowsWarning)
        check(ask(source, **one.options), expected(one), weighted="weight" in one.options)


def run_grouped(one: Case, make: Callable[[pa.Table], Any]) -> None:
    """The same with all rows in one more group, whose name is a float: only a group-by answers that."""
    by = one.options.get("by", [])
    names = [by] if isinstance(by, str) else by
    table = one.table.append_column("half", pa.array(np.full(one.table.num_rows, 0.5)))
    options = {**one.options, "by": [*names, "half"]}
    if one.error:
        run(one._replace(options=options), make(table))
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tn.errors.DroppedRowsWarning)
        found = {key[:-1]: sums for key, sums in ask(make(table), **options).items()}
        wanted = (
            expected(one._replace(options={**one.options, "by": names}))
            if names
            else {(): expected(one)}
        )
    check(found, wanted, weighted="weight" in one.options)


def expected(one: Case) -> Any:
    """The same rows in memory."""
    options = dict(one.options)
    by = options.pop("by", None)
    if by is None:
        return _in_memory(one.table, options)
    names = [by] if isinstance(by, str) else by
    rows = list(zip(*(one.table[name].to_pylist() for name in names), strict=True))
    found = {}
    for key in dict.fromkeys(rows):
        mine = one.table.filter(pa.array([row == key for row in rows]))
        if options.get("missing") == "drop" and mine["p"].null_count == mine.num_rows:
            continue
        found[key[0] if isinstance(by, str) else key] = _in_memory(mine, options)
    return found


def _in_memory(table: pa.Table, options: dict[str, Any]) -> Any:
    rest = dict(options)
    y, prob = table[rest.pop("label")], rest.pop("prob")
    p = table[prob] if isinstance(prob, str) else table.select(prob)
    if "weight" in rest:
        rest["sample_weight"] = table[rest.pop("weight")]
    if "cluster" in rest:
        rest["cluster"] = table[rest.pop("cluster")]
    bins = rest.pop("bins", 10)
    if isinstance(bins, str):
        return tn.sketch(y, p, **rest)
    made: Callable[..., Any] = (
        tn.tally if bins is None or isinstance(bins, tn.Distinct) else tn.binned
    )
    return made(y, p, **rest) if made is tn.tally else made(y, p, bins=bins, **rest)


_NAMES = {
    tn.Tally: ["count", "weight", "events", "squares", "score", "event_squares"],
    tn.sources.Binned: [
        "count",
        "weight",
        "events",
        "squares",
        "edges",
        "sum_score",
        "sum_square",
        "sum_event_score",
        "whole",
    ],
    tn.sources.Sketch: [
        "cell",
        "count",
        "ends",
        "whole",
        "by_label",
        "scores_by_label",
        "squares_by_label",
        "squares",
    ],
}


def check(found: Any, wanted: Any, *, weighted: bool) -> None:
    """Equal to the last bit, in a sketch with whole weights, too; with other weights, to twelve digits."""
    if isinstance(wanted, dict):
        assert found.keys() == wanted.keys()
        for key, value in wanted.items():
            check(found[key], value, weighted=weighted)
        return
    if not weighted or (
        isinstance(wanted, tn.sources.Sketch) and all(part.whole for part in wanted.parts)
    ):
        assert found == wanted
        assert type(found) is type(wanted)
        if isinstance(wanted, tn.sources.Sketch):
            assert found.to_bytes() == wanted.to_bytes()
        return
    if isinstance(found, tn.sources.Sketch):
        assert tn.sources.Sketch.from_bytes(found.to_bytes()) == found
    assert (type(found), found.kind, found.classes, found.n) == (
        type(wanted),
        wanted.kind,
        wanted.classes,
        wanted.n,
    )
    for mine, theirs in zip(found.parts, wanted.parts, strict=True):
        for name in _NAMES[type(found)]:
            np.testing.assert_allclose(
                getattr(mine, name), getattr(theirs, name), rtol=1e-12, atol=0, err_msg=name
            )

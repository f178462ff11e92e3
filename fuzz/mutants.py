"""Mutation testing: change one operator, number or word of the library; its tests should notice.

    pip install -e '.[test]'
    python fuzz/mutants.py --sample 300 --workers 2    # 300 of all mutants of measure, infer, recalibrate and _tally
    python fuzz/mutants.py --sample 300 --workers 2    # again: goes on where it stopped
    python fuzz/mutants.py --table                     # only the table

First all fast tests run once, to learn which test executes which line and how long it takes; `.mutants` keeps the
answer, and only files and folders of tests that changed are run again. Then a sample of all mutants is drawn with a
seed. Each runs in a fork of a process that has imported NumPy, SciPy, scikit-learn and pytest, but not trueness, and
meets only the tests that execute the changed statement: those named like its file first, then its package's and the
pinned numbers, then the others, the quickest first, until they usually take `--seconds`. What is executed at import
meets all tests that execute a function of that file, and those that compare signatures (`tests/test_api.py`). Tests
that check the library in a process of their own do not count.

A mutant is killed if a test fails that passes without the change, or takes far longer than usual (a minute and 20
times). It has survived if all these tests pass. Results go to `mutants.jsonl`, a line each. The interval is Clopper and
Pearson's, 95 %. Left out are annotations, `raise` statements (words of messages), `TYPE_CHECKING` blocks, overloads,
`strict=` of `zip` (the lengths agree anyway) and `copy=False` (a copy gives the same numbers).
"""

import argparse
import ast
import hashlib
import importlib
import importlib.machinery
import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cache, partial
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import coverage
import pytest

ROOT = Path(__file__).parents[1]
KEPT = ROOT / ".mutants"
WARM = [
    "numpy",
    "scipy.stats",
    "scipy.optimize",
    "scipy.interpolate",
    "sklearn.base",
    "sklearn.isotonic",
    "hypothesis",
    "narwhals",
]
# Plain asserts: pytest would otherwise load files with doctests by itself, without the change.
OPTIONS = ["-q", "-n", "0", "--assert=plain", "-o", f"cache_dir={KEPT}/pytest"]
MEMORY = 12 << 30
SWAPS: dict[type[Any], type[Any]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult, ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or,
    ast.Or: ast.And,
}  # fmt: skip


class Mutant(NamedTuple):
    """A change: its file, the node's position in `ast.walk`, the kind, the line, and the lines of its statement."""

    file: str
    position: int
    kind: str
    line: int
    lines: tuple[int, ...]  # none if executed at import


def changes(node: ast.AST) -> Iterator[str]:
    """What can be changed at a node."""
    if isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign) and type(node.op) in SWAPS:
        if not (
            isinstance(node, ast.BinOp)
            and isinstance(node.left, ast.Constant)
            and isinstance(node.left.value, str)
        ):
            yield "operator"
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        yield "comparison"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield "negation"
    elif (
        isinstance(node, ast.Constant)
        and type(node.value) in (int, float, bool)
        and node.value + 1 != node.value
    ):
        yield "constant"


def mutate(node: Any, kind: str) -> None:
    """Change the node in place."""
    if kind == "operator":
        node.op = SWAPS[type(node.op)]()
    elif kind == "comparison":
        node.ops[0] = SWAPS[type(node.ops[0])]()
    elif kind == "negation":
        node.op = ast.UAdd() if isinstance(node.op, ast.USub) else ast.Not()
        if isinstance(node.op, ast.Not):
            node.operand = ast.UnaryOp(ast.Not(), node.operand)
    else:
        node.value = not node.value if isinstance(node.value, bool) else node.value + 1


def no_behaviour(node: ast.AST) -> list[ast.AST]:
    """The parts of a node whose changes no caller could notice, and `raise` statements."""
    if isinstance(node, ast.keyword) and ast.unparse(node) in (
        "strict=True",
        "strict=False",
        "copy=False",
    ):
        return [node]
    if isinstance(node, ast.Raise) or (
        isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ):
        return [node]
    if isinstance(node, ast.FunctionDef) and any(
        ast.unparse(one).endswith("overload") for one in node.decorator_list
    ):
        return [node]
    return [
        part for part in (getattr(node, "annotation", None), getattr(node, "returns", None)) if part
    ]


def statements(
    node: ast.AST, lines: tuple[int, ...] = (), called: bool = False
) -> Iterator[tuple[ast.AST, tuple[int, ...]]]:
    """Each node with the lines of its innermost statement (of a block: its head); none if executed at import."""
    if isinstance(node, ast.stmt):
        body = getattr(node, "body", None)
        last = body[0].lineno - 1 if body else node.end_lineno
        lines = tuple(range(node.lineno, max(node.lineno, last) + 1))
    yield node, lines if called else ()
    is_function = isinstance(node, ast.FunctionDef | ast.Lambda)
    inner = node.body if isinstance(node, ast.FunctionDef) else [getattr(node, "body", None)]
    for child in ast.iter_child_nodes(node):
        yield from statements(child, lines, called or (is_function and child in inner))


def changes_of(tree: ast.Module) -> Iterator[tuple[int, str, tuple[int, ...]]]:
    """Position, kind and lines of every change to a module."""
    nodes = list(ast.walk(tree))
    skipped = {id(one) for node in nodes for part in no_behaviour(node) for one in ast.walk(part)}
    lines = {id(node): where for node, where in statements(tree)}
    for position, node in enumerate(nodes):
        if id(node) not in skipped:
            yield from ((position, kind, lines[id(node)]) for kind in changes(node))


def mutants(packages: list[str]) -> list[Mutant]:
    """All changes to the files of these packages."""
    found = []
    for package in packages:
        for path in sorted((ROOT / "src/trueness" / package).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            nodes: list[Any] = list(ast.walk(tree))
            name = path.relative_to(ROOT / "src").as_posix()
            found += [
                Mutant(name, i, kind, nodes[i].lineno, lines) for i, kind, lines in changes_of(tree)
            ]
    return found


def apply(mutant: Mutant) -> tuple[ast.Module, str, str]:
    """The changed module, and the text of the node before and after."""
    tree = ast.parse((ROOT / "src" / mutant.file).read_text(encoding="utf-8"))
    node: Any = list(ast.walk(tree))[mutant.position]
    before = ast.unparse(node)
    mutate(node, mutant.kind)
    return ast.fix_missing_locations(tree), before, ast.unparse(node)


class Recorder:
    """pytest plugin: which test executes which line, and how long those take that pass."""

    def __init__(self, folder: Path, include: list[str]) -> None:
        self.folder = folder
        self.coverage = coverage.Coverage(str(folder / "lines"), include=include, config_file=False)
        self.coverage.set_option(
            "run:disable_warnings", ["no-data-collected"]
        )  # some tests only start processes
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()

    def pytest_sessionstart(self) -> None:
        self.coverage.start()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.coverage.switch_context(nodeid)
        self.seconds[nodeid] = -time.process_time()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(report.nodeid)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.seconds[nodeid] += time.process_time()

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        self.coverage.save()
        seconds = {test: spent for test, spent in self.seconds.items() if test not in self.failed}
        (self.folder / "seconds.json").write_text(json.dumps(seconds), encoding="utf-8")


class Chosen:
    """pytest plugin: run these tests in this order, each within a limit; the first that fails is written to a file."""

    def __init__(self, tests: tuple[str, ...], note: Path) -> None:
        self.order = {test: i for i, test in enumerate(tests)}
        self.note = note

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted(
            (one for one in items if one.nodeid in self.order),
            key=lambda one: self.order[one.nodeid],
        )

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.note.write_text(nodeid, encoding="utf-8")
        signal.alarm(int(60 + 20 * usual_seconds()[nodeid]))  # the signal ends this process


def in_a_fork(plugin: Any, options: list[str], mutant: Mutant | None = None) -> int:
    """Run pytest in a fork of this process, with a mutant; its exit code, or minus the signal that ended it."""
    if child := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 1
    try:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        if mutant:
            load(mutant)
        code = pytest.main([*OPTIONS, *options], plugins=[plugin])
    finally:
        os._exit(code)


def load(mutant: Mutant) -> None:
    """From now on, importing the mutant's file gives the changed module."""
    path, tree = str(ROOT / "src" / mutant.file), apply(mutant)[0]
    read = importlib.machinery.SourceFileLoader.get_code

    def get_code(self: Any, fullname: str) -> Any:
        return compile(tree, path, "exec") if self.path == path else read(self, fullname)

    importlib.machinery.SourceFileLoader.get_code = get_code  # type: ignore[method-assign]  # the mutant in its place


def run(tests: tuple[str, ...], mutant: Mutant | None = None) -> tuple[str, tuple[str, ...]]:
    """'survived', 'killed' or 'timeout', and the test that did it, or all if the library cannot even be imported."""
    functions = dict.fromkeys(test.partition("[")[0] for test in tests)
    with tempfile.TemporaryDirectory() as folder:
        note = Path(folder, "note")
        code = in_a_fork(Chosen(tests, note), ["-x", "-m", "", *functions], mutant)
        if code == 0:
            return "survived", ()
        return "timeout" if code == -signal.SIGALRM else "killed", (
            note.read_text(),
        ) if note.exists() else tests


@cache
def usual_seconds() -> dict[str, float]:
    """How long each test computes, in seconds."""
    files = sorted(KEPT.glob("*/seconds.json"))
    return {
        test: spent
        for file in files
        for test, spent in json.loads(file.read_text(encoding="utf-8")).items()
    }


@cache
def executed_by(file: str) -> dict[int, set[str]]:
    """The tests that execute each line of a file."""
    found: dict[int, set[str]] = {}
    for path in KEPT.glob("*/lines"):
        data = coverage.CoverageData(str(path))
        data.read()
        for line, tests in data.contexts_by_lineno(str(ROOT / "src" / file)).items():
            found.setdefault(line, set()).update(tests)
    return found


@cache
def pass_unchanged(tests: tuple[str, ...]) -> bool:
    """Whether these tests pass alone, without a change."""
    return run(tests)[0] == "survived"


def tests_of(mutant: Mutant, seconds: float) -> tuple[str, ...]:
    """The tests that a mutant meets, in order."""
    lines = mutant.lines
    if not lines:
        tree = ast.parse((ROOT / "src" / mutant.file).read_text(encoding="utf-8"))
        lines = tuple({line for _, where in statements(tree) for line in where})
    usual = usual_seconds()
    tests = {
        test for line in lines for test in executed_by(mutant.file).get(line, ()) if test in usual
    }
    if not mutant.lines:
        tests |= {test for test in usual if test.startswith("tests/test_api.py")}
    package, stem = Path(mutant.file).parent.name, Path(mutant.file).stem.strip("_")

    def place(test: str) -> tuple[int, float]:
        file = test.partition("::")[0]
        own = f"tests/{package}/", f"src/trueness/{package}/"
        named = Path(file).stem.strip("_") in (stem, f"test_{stem}", "test_api")
        rank = 0 if named else 1 if file.startswith((*own, "tests/test_stable_numbers.py")) else 2
        return rank, usual[test]

    ordered = sorted(tests, key=place)
    return tuple(
        ordered[: sum(total < seconds for total in accumulate(usual[test] for test in ordered))]
    )


def try_one(mutant: Mutant, seconds: float) -> dict[str, Any]:
    """Run the tests of a mutant: those of the first two seconds, then the rest, since collecting takes longest."""
    tests = tests_of(mutant, seconds)
    early = sum(total < 2 for total in accumulate(usual_seconds()[test] for test in tests))
    result, by, left = "survived", (), [tests[:early], tests[early:]]
    while left and result == "survived":
        if part := left.pop(0):
            result, by = run(part, mutant)
        if by and not pass_unchanged(by):
            left.insert(0, tuple(test for test in part if test not in by))
            result, by = "survived", ()
    _, before, after = apply(mutant)
    found = {
        "before": before,
        "after": after,
        "result": result,
        "test": by[:1],
        "tests": len(tests),
    }
    return {**mutant._asdict(), **found}


def digest(*places: Path) -> str:
    """A number that changes with any Python file or page at these places."""
    paths = [
        path
        for place in places
        for path in ([place] if place.is_file() else sorted(place.rglob("*.[pm][yd]")))
    ]
    return hashlib.sha256(
        repr([(str(path), path.read_bytes()) for path in paths]).encode()
    ).hexdigest()


def learn(place: Path, packages: list[str]) -> None:
    """Run the fast tests of a file or folder, unless that was done for these very tests and sources."""
    folder = KEPT / "-".join(place.relative_to(ROOT).parts)
    state = digest(ROOT / "src", *(ROOT / "tests").glob("*.py"), place) + " ".join(packages)
    if (folder / "state").exists() and (folder / "state").read_text() == state:
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    include = [f"{ROOT}/src/trueness/{package}/*" for package in packages]
    code = in_a_fork(Recorder(folder, include), [str(place)])
    print(
        f"{place.relative_to(ROOT)}: {'some tests fail without a change' if code == 1 else 'learned'}",
        flush=True,
    )
    (folder / "state").write_text(state)


def table(lines: list[dict[str, Any]]) -> str:
    """Killed and total by package, with the interval of the share."""
    from scipy.stats import binomtest

    rows = ["| package | killed | of | share | 95 % interval |", "|---|---:|---:|---:|---|"]
    packages = [Path(line["file"]).parent.name for line in lines]
    for package in [*sorted(set(packages)), "all"]:
        some = [line for line, own in zip(lines, packages, strict=True) if package in (own, "all")]
        killed = sum(line["result"] != "survived" for line in some)
        low, high = binomtest(killed, len(some)).proportion_ci(0.95)
        rows.append(
            f"| {package} | {killed} | {len(some)} | {killed / len(some):.0%} | {low:.0%} to {high:.0%} |"
        )
    return "\n".join(rows)


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sample", type=int, default=300, help="how many mutants (default 300)")
    parser.add_argument(
        "--packages", nargs="+", default=["measure", "infer", "recalibrate", "_tally"]
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--seconds", type=float, default=60, help="usual time of a mutant's tests (default 60)"
    )
    parser.add_argument("--workers", type=int, default=1, help="mutants at a time (default 1)")
    parser.add_argument("--out", type=Path, default=Path("mutants.jsonl"))
    parser.add_argument(
        "--table", action="store_true", help="print the table of the results so far"
    )
    options = parser.parse_args()
    text = options.out.read_text(encoding="utf-8") if options.out.exists() else ""
    lines = [json.loads(line) for line in text.splitlines()]
    if not options.table:
        os.chdir(ROOT)
        sys.path.insert(0, str(ROOT / "src"))  # this tree, wherever trueness is installed
        os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # a fork has one thread
        for name in WARM:
            importlib.import_module(name)
        every = mutants(options.packages)
        chosen = random.Random(options.seed).sample(every, min(options.sample, len(every)))
        done = {(line["file"], line["position"]) for line in lines}
        left = [mutant for mutant in chosen if mutant[:2] not in done]
        places = [
            ROOT / "src",
            *(
                path
                for path in (ROOT / "tests").iterdir()
                if path.is_dir() or path.stem[:5] == "test_"
            ),
        ]
        with multiprocessing.get_context("fork").Pool(options.workers) as pool:
            pool.map(partial(learn, packages=options.packages), places, chunksize=1)
            for line in pool.imap_unordered(partial(try_one, seconds=options.seconds), left):
                lines.append(line)
                with options.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")
                print("{result:9} {file}:{line}: {before}  →  {after}".format(**line), flush=True)
    if lines:
        print(table(lines))


if __name__ == "__main__":
    main()

"""Mutation testing: change one operator, number or word of the library; its tests should notice.

    python fuzz/mutants.py --sample 300 --packages measure infer recalibrate _tally
    python fuzz/mutants.py --sample 300 ...            # again: goes on where it stopped
    python fuzz/mutants.py --table                     # only the table

A sample of all mutants is drawn with a seed. Each is written into a copy of the library, and the tests of the changed
file's package are run: those named like the file first, then the rest. Results go to `mutants.jsonl`, a line each. A
mutant is killed if a test fails or the time is out. The interval is Clopper and Pearson's, 95 %.
"""

import argparse
import ast
import copy
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SWAPS: dict[type[Any], type[Any]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult, ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or,
    ast.Or: ast.And,
}  # fmt: skip


def changes(node: ast.AST) -> Iterator[str]:
    """What can be changed at a node."""
    if isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign) and type(node.op) in SWAPS:
        if not (
            isinstance(node, ast.BinOp) and isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)
        ):
            yield "operator"
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        yield "comparison"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield "negation"
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float, bool):
        yield "constant"


def mutate(node: Any, what: str) -> None:
    """Change the node in place."""
    if what == "operator":
        node.op = SWAPS[type(node.op)]()
    elif what == "comparison":
        node.ops[0] = SWAPS[type(node.ops[0])]()
    elif what == "negation":
        node.op = ast.UAdd() if isinstance(node.op, ast.USub) else ast.Not()
        if isinstance(node.op, ast.Not):
            node.operand = ast.UnaryOp(ast.Not(), node.operand)
    else:
        node.value = not node.value if isinstance(node.value, bool) else node.value + 1


def places(tree: ast.Module) -> list[tuple[int, str]]:
    """Position in the walk and kind of every change, outside of annotations and docstrings."""
    skipped: set[int] = set()
    for node in ast.walk(tree):
        for name in ("annotation", "returns"):
            part = getattr(node, name, None)
            if isinstance(part, ast.AST):
                skipped |= {id(one) for one in ast.walk(part)}
        if isinstance(node, ast.Raise):  # words of messages
            skipped |= {id(one) for one in ast.walk(node)}
    return [(i, what) for i, node in enumerate(ast.walk(tree)) if id(node) not in skipped for what in changes(node)]


def mutants(packages: list[str]) -> list[tuple[str, int, str, int]]:
    """File, position, kind and line of every mutant."""
    found = []
    for package in packages:
        for file in sorted((ROOT / "src/trueness" / package).glob("*.py")):
            tree = ast.parse(file.read_text(encoding="utf-8"))
            nodes = list(ast.walk(tree))
            name = file.relative_to(ROOT / "src").as_posix()
            found += [(name, i, what, getattr(nodes[i], "lineno", 0)) for i, what in places(tree)]
    return found


def run_tests(copy_of: Path, file: str, seconds: float) -> str:
    """'killed', 'timeout' or 'survived'."""
    package = ROOT / "tests" / Path(file).parent.name
    own = package / f"test_{Path(file).stem.strip('_')}.py"
    environment = {**os.environ, "PYTHONPATH": f"{copy_of}{os.pathsep}{ROOT / 'papers'}"}
    options = ["-q", "-x", "-n", "0", "-p", "no:cacheprovider", "-W", "ignore::SyntaxWarning"]
    for target in ([own] if own.exists() else []) + [package]:
        command = [sys.executable, "-m", "pytest", *options, str(target)]
        try:
            done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            return "timeout"
        if done.returncode:
            return "killed"
    return "survived"


def try_one(mutant: tuple[str, int, str, int], seconds: float) -> dict[str, Any]:
    """Write the mutant into a copy of the library and run its tests."""
    file, position, what, line = mutant
    source = (ROOT / "src" / file).read_text(encoding="utf-8")
    tree = ast.parse(source)
    node: Any = list(ast.walk(tree))[position]
    before = ast.unparse(copy.deepcopy(node))
    mutate(node, what)
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "src/trueness", Path(folder, "trueness"), ignore=shutil.ignore_patterns("__pycache__"))
        Path(folder, file).write_text(ast.unparse(ast.fix_missing_locations(tree)), encoding="utf-8")
        result = run_tests(Path(folder), file, seconds)
    return {
        "file": file,
        "position": position,
        "line": line,
        "before": before,
        "after": ast.unparse(node),
        "result": result,
    }


def table(lines: list[dict[str, Any]]) -> str:
    """Killed and total by package, with the interval of the share."""
    from scipy.stats import binomtest

    rows = ["| package | killed | of | share | 95 % interval |", "|---|---:|---:|---:|---|"]
    packages = [Path(line["file"]).parent.name for line in lines]
    for package in [*sorted(set(packages)), "all"]:
        some = [line for line, own in zip(lines, packages, strict=True) if package in (own, "all")]
        killed = sum(line["result"] != "survived" for line in some)
        low, high = binomtest(killed, len(some)).proportion_ci(0.95)
        rows.append(f"| {package} | {killed} | {len(some)} | {killed / len(some):.0%} | {low:.0%} to {high:.0%} |")
    return "\n".join(rows)


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=300, help="how many mutants (default 300)")
    parser.add_argument("--packages", nargs="+", default=["measure", "infer", "recalibrate", "_tally"])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=600, help="limit of one run of the tests (default 600)")
    parser.add_argument("--out", type=Path, default=Path("mutants.jsonl"))
    parser.add_argument("--table", action="store_true", help="print the table of the results so far")
    options = parser.parse_args()
    text = options.out.read_text(encoding="utf-8") if options.out.exists() else ""
    lines = [json.loads(line) for line in text.splitlines()]
    if not options.table:
        every = mutants(options.packages)
        chosen = random.Random(options.seed).sample(every, min(options.sample, len(every)))
        done = Counter((line["file"], line["position"]) for line in lines)
        left = [mutant for mutant in chosen if not done[mutant[:2]]]
        for package in sorted({Path(file).parent.name for file, *_ in left}):
            if run_tests(ROOT / "src", f"trueness/{package}/__init__.py", options.seconds) != "survived":
                sys.exit(f"the tests of {package} fail, or take too long, before anything is changed")
        for mutant in left:
            lines.append(try_one(mutant, options.seconds))
            with options.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(lines[-1]) + "\n")
            print("{result:9} {file}:{line}: {before}  →  {after}".format(**lines[-1]), flush=True)
    if lines:
        print(table(lines))


if __name__ == "__main__":
    main()

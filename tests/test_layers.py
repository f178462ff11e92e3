"""Which package may import which: the table of docs/design.md, compared with every import there is."""

import ast
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "trueness"

# Everyone may import these: words, errors, the bar of a long run.
FOUNDATION = {"errors", "typing", "_lazy", "_progress", "_version"}

MAY_IMPORT = {
    "_text": set(),
    "_input": set(),
    "_kernels": set(),
    "_numerics": {"_kernels"},
    "_tally": {"_input", "_numerics", "_kernels"},
    "results": {"_text"},
    "measure": {"_tally", "_input", "_numerics", "results"},
    "infer": {"_tally", "_input", "_numerics", "results", "measure"},
    "recalibrate": {"_tally", "_input", "_numerics", "results", "measure"},
    "simulate": {"_numerics", "results"},
    "sources": {"_tally", "_input"},
    "plot": {"results", "measure", "infer", "recalibrate", "_tally", "_input", "_text"},
    "torch": {"_tally", "measure"},
    "_report": {
        *("measure", "infer", "recalibrate", "simulate", "results", "plot"),
        *("_tally", "_input", "_numerics", "_text"),
    },
    "cli": {
        *("measure", "infer", "recalibrate", "simulate", "results", "plot", "_report"),
        *("_tally", "_input", "_numerics", "sources", "_text"),
    },
}
# Files that belong to no package: the front door, its key, and what is installed.
TOP = {"__init__", "__main__", "_lazy", "_progress", "_version", "errors", "typing"}

# NumPy may be imported anywhere; these only where they have a home.
LIBRARIES = {
    "scipy": {"_numerics", "infer", "recalibrate"},
    "sklearn": {"recalibrate"},
    "narwhals": {"_input", "results", "sources"},
    "matplotlib": {"plot"},
    "click": {"cli"},
    "trueness_papers": {"cli"},
    "rich": {"cli", "_text"},
    "compression": {"sources"},  # in Python itself from 3.14 on
    "backports": {"sources"},  # the same for earlier versions
    "jinja2": {"_report"},
    "markupsafe": {"_report"},
    "torch": {"torch"},
    "triton": {"torch"},
    # Readers of files.
    "polars": {"sources"},
    "duckdb": {"sources"},
    "ibis": {"sources"},
    "pyarrow": {"sources"},
}

FILES = sorted(SOURCE.rglob("*.py"))


def package_of(file: Path) -> str:
    parts = file.relative_to(SOURCE).parts
    return parts[0] if len(parts) > 1 else file.stem


def imports_of(file: Path) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative imports hide the layer"
            module = node.module or ""
            found += [f"trueness.{a.name}" for a in node.names] if module == "trueness" else [module]
    return found


def test_every_package_is_in_the_table():
    packages = {p.name for p in SOURCE.iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert packages == set(MAY_IMPORT)


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(SOURCE)))
def test_a_file_imports_only_what_its_layer_may(file):
    home = package_of(file)
    for module in imports_of(file):
        root, _, rest = module.partition(".")
        if root == "trueness":
            layer = rest.partition(".")[0]
            if home in TOP or layer in FOUNDATION | {home, ""}:
                continue
            assert layer in MAY_IMPORT[home], f"{home} imports {layer}"
        elif root not in sys.stdlib_module_names and root != "numpy":
            assert home in LIBRARIES.get(root, set()), f"{home} imports {root}"


def imports_by_function(node, inside=""):
    """Every import with the name of the function it stands in."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ImportFrom):
            whole = child.module == "trueness"
            yield from ((inside, f"trueness.{a.name}" if whole else child.module) for a in child.names)
        elif isinstance(child, ast.Import):
            yield from ((inside, alias.name) for alias in child.names)
        named = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
        yield from imports_by_function(child, child.name if named else inside)


@pytest.mark.parametrize("file", sorted((SOURCE / "plot").glob("*.py")), ids=lambda f: f.name)
def test_a_plot_computes_only_where_it_takes_data(file):
    for function, module in imports_by_function(ast.parse(file.read_text())):
        if module.split(".")[:2][-1] in ("measure", "infer", "recalibrate"):
            assert function.startswith("from_"), f"{module} is imported in {function or 'the module'}"


def test_no_folder_of_tests_hides_a_library():
    # Folders of tests are on the path: one called torch would be imported where torch is not installed.
    folders = {folder.name for folder in Path(__file__).parent.iterdir() if folder.is_dir()}
    assert not folders & {*LIBRARIES, *sys.stdlib_module_names}

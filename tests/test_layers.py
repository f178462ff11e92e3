"""Which package may import which: the table of docs/design.md, compared with every import there is."""

import ast
import re
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "trueness"
FILES = sorted(SOURCE.rglob("*.py"))
DRAWS_FROM = {"measure", "infer", "recalibrate", "_assess"}

# NumPy and Python's own modules may be imported anywhere; these only where they have a home.
LIBRARIES = {
    "scipy": {"_numerics", "infer", "recalibrate", "_assess"},
    "joblib": {"recalibrate", "_assess"},  # comes with scikit-learn
    "sklearn": {"recalibrate", "_assess", "scorers"},
    "narwhals": {"_input", "recalibrate", "sources", "results"},
    "matplotlib": {"plot"},
    "click": {"cli"},
    "rich": {"cli", "_text"},
    "filelock": {"cli"},
    "fsspec": {"_tally"},
    "sqlglot": {"recalibrate"},
    "jinja2": {"_report"},
    "markupsafe": {"_report"},
    "onnx": {"recalibrate"},
    "torch": {"torch"},
    "torchmetrics": {"torch"},
    "triton": {"torch"},
    "polars": {"sources"},
    "duckdb": {"sources"},
    "ibis": {"sources"},
    "pyarrow": {"sources"},
    "compression": {"sources"},  # in Python itself from 3.14 on
    "backports": {"sources"},  # the same for earlier versions
    "zstandard": {"sources"},  # in place of either
    "trueness_papers": {"cli"},
}


def layers():
    """The table of docs/design.md: what each package may import, besides the files of the foundation."""
    text = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| (`.+?) \| .+? \| (.+?) \|$",
        text.split("## Layers", 1)[1].split("\n## ", 1)[0],
        re.MULTILINE,
    )
    table, above = {}, set()
    for names, allowed in rows:
        packages = re.findall(r"`(\w+)`", names)
        found = set(above) if "all above" in allowed else set(re.findall(r"`(\w+)`", allowed))
        table |= dict.fromkeys(packages, found)
        above |= set(packages)
    return table


LAYERS = layers()
COMPUTING = {"_kernels", "_numerics", "measure", "infer", "recalibrate", "scorers", "simulate"}
FILES_OF_ONE = {name for name in LAYERS if (SOURCE / f"{name}.py").exists()}
FOUNDATION = {name for name in FILES_OF_ONE if not LAYERS[name]}  # everyone may import these


def package_of(file):
    parts = file.relative_to(SOURCE).parts
    return parts[0] if len(parts) > 1 else file.stem


def imports_of(node, function=""):
    """Every module that is imported, with the name of the function it is imported in."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):  # no statement lies below it
            continue
        if isinstance(child, ast.Import):
            yield from ((function, alias.name) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, "relative imports hide the layer"
            yield from ((function, f"{child.module}.{alias.name}") for alias in child.names)
        named = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
        yield from imports_of(child, child.name if named else function)


@cache
def imports_by_file():
    """Read when a test asks: every worker collects this file, few run it."""
    return {file: list(imports_of(ast.parse(file.read_text(encoding="utf-8")))) for file in FILES}


def test_every_package_is_in_the_table():
    packages = {p.name for p in SOURCE.iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert packages == set(LAYERS) - FILES_OF_ONE


def test_a_file_imports_only_what_its_layer_may():
    wrong = []
    for file, found in imports_by_file().items():
        home = package_of(file)
        for _, module in found:
            root, _, rest = module.partition(".")
            layer = rest.partition(".")[0]
            if root == "trueness":
                if home in ("__init__", "__main__", "_version") or layer in FOUNDATION | {home}:
                    continue
                # The command line, the report and pictures use the public names, as a user would.
                if layer not in LAYERS and home in ("cli", "_report", "plot"):
                    continue
                if layer not in LAYERS[home]:
                    wrong.append(f"{file.relative_to(SOURCE)} imports {module}")
            elif root not in sys.stdlib_module_names | {"numpy"} and home not in LIBRARIES.get(
                root, set()
            ):
                wrong.append(f"{file.relative_to(SOURCE)} imports {module}")
    assert wrong == []


def test_a_report_lays_out_and_computes_nothing():
    """Its numbers are asked of `_assess`; the catalogue is a list of words."""
    wrong = [
        f"{file.name}: {module}"
        for file, found in imports_by_file().items()
        if package_of(file) == "_report"
        for _, module in found
        if module.split(".")[1:2]
        and module.split(".")[1] in COMPUTING
        and not module.startswith("trueness.infer._catalogue.")
    ]
    assert wrong == []


def computes(name):
    """Whether a package, or a public name of `trueness`, computes."""
    return name in DRAWS_FROM or name not in LAYERS


def test_a_plot_computes_only_where_it_takes_data():
    wrong = [
        f"{file.name}, {function or 'at the top'}: {module}"
        for file, found in imports_by_file().items()
        if package_of(file) == "plot"
        for function, module in found
        if module.startswith("trueness.")
        and computes(module.split(".")[1])
        and not function.startswith("from_")
    ]
    assert wrong == []


def test_no_module_imports_itself_through_others():
    """Counts imports inside functions and under TYPE_CHECKING too; the lazy front door imports everything."""
    names = {
        ".".join(("trueness", *f.relative_to(SOURCE).with_suffix("").parts)).removesuffix(
            ".__init__"
        ): f
        for f in FILES
    }

    def home(module):
        while module and module not in names:
            module = module.rpartition(".")[0]
        return module

    graph = {
        name: {home(m) for _, m in imports_by_file()[file]} - {"", "trueness", name}
        for name, file in names.items()
    }
    graph["trueness"] = set()
    done = set()

    def visit(name, path):
        assert name not in path, " → ".join([*path[path.index(name) :], name])
        if name not in done:
            for other in sorted(graph[name]):
                visit(other, [*path, name])
            done.add(name)

    for name in sorted(graph):
        visit(name, [])


def test_no_folder_of_tests_hides_a_library():
    # Folders of tests are on the path: one called torch would be imported where torch is not installed.
    folders = {folder.name for folder in Path(__file__).parent.iterdir() if folder.is_dir()}
    assert not folders & {*LIBRARIES, *sys.stdlib_module_names}


def test_the_walks_of_the_design_page_name_files_that_exist():
    text = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    walks = text.split("## Five walks", 1)[1].split("\n## ", 1)[0]
    named = re.findall(r"`([\w/]+/\w+)`", walks)
    assert len(named) > 40
    assert [name for name in named if not (SOURCE / f"{name}.py").exists()] == []

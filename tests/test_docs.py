"""Pages name commands that exist, have readable tables, existing figures and examples that run; none is orphaned."""

import doctest
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from itertools import chain, takewhile
from pathlib import Path
from typing import get_args

import pytest
from local_cluster import why_not
from workflows import run_lines, stand_ins

import trueness
from trueness.results._remedies import AdviceKind

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [
    *sorted(page for page in DOCS.rglob("*.md") if not {"_build", "generated"} & set(page.parts)),
    ROOT / "benchmarks" / "README.md",
]
NEEDED = {"docs/reference/torch.md": "torch"}  # a library that the test extra does not bring
APART = {
    "Spark": "pyspark",
    "Dask": "dask",
    "Ibis": "ibis",
}  # sections of large-tables.md that need one, too
START = DOCS / "start.md"
TORCH = ROOT / "src" / "trueness" / "torch" / "__init__.py"
EXAMPLES = [page for page in PAGES if ">>> " in page.read_text(encoding="utf-8") and page != START]


def name(page):
    return page.relative_to(ROOT).as_posix()


def commands(page):
    return re.findall(
        r"^ {4}python benchmarks/run.py *([^#\n]*)", page.read_text(encoding="utf-8"), re.MULTILINE
    )


@pytest.fixture(scope="session")
def benchmarks():
    """The options of each benchmark, by name."""
    command = [sys.executable, "benchmarks/run.py", "--list"]
    lines = subprocess.run(
        command, cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.splitlines()
    return {
        line.split()[0]: set(re.findall(r"--[a-z-]+", line.partition("  ")[2])) for line in lines
    }


def test_install_lines_name_a_clone_or_its_address():
    """No index has trueness: `pip install 'trueness[cli]'` fails."""
    others = ["README.md", "CONTRIBUTING.md", "action.yml", "skills/trueness/SKILL.md"]
    for file in (*PAGES, *DOCS.rglob("*.yml"), *(ROOT / other for other in others)):
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"(install|default:) ['\"]?trueness(\[\w+\])?['\"`\n]", text), file


def test_the_page_on_assessments_names_every_kind_of_advice():
    table = (DOCS / "reference" / "assessment.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| `([a-z-]+)` \|", table, re.MULTILINE)
    assert sorted(named) == sorted(["kind", *get_args(AdviceKind)])


def test_pages_have_commands_and_examples():
    assert sum(len(commands(page)) for page in PAGES) > 5
    assert len(EXAMPLES) > 1


@pytest.mark.slow
def test_every_command_names_benchmarks_and_options_that_exist(benchmarks):
    for command in chain.from_iterable(map(commands, PAGES)):
        names = list(takewhile(lambda word: not word.startswith("--"), shlex.split(command)))
        assert set(names) <= set(benchmarks), command
        known = {"--list", "--quick", "--out", "--json", "--strict"}.union(
            *(benchmarks[name] for name in names)
        )
        assert set(re.findall(r"--[a-z-]+", command)) <= known, command


def test_every_row_of_a_table_has_as_many_cells_as_its_head():
    for page in PAGES:
        for table in re.findall(r"(?:^\|.*\n)+", page.read_text(encoding="utf-8"), re.MULTILINE):
            assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1, (
                f"{name(page)}: {table.splitlines()[0]}"
            )


def test_a_page_with_code_cells_is_executed():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if "```{code-cell}" in text:
            assert text.startswith("---\nfile_format: mystnb\n"), (
                f"{name(page)}: begin with `file_format: mystnb`"
            )
            assert ">>> " not in text, (
                f"{name(page)}: code in cells is executed; `>>>` is for pages that pytest runs"
            )


def test_examples_are_code_and_not_quotations():
    for page in PAGES:
        prose = re.sub(
            r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
        )
        assert not re.search("^>>>", prose, re.MULTILINE), (
            f"{name(page)}: put examples between ```python and ```"
        )


def test_every_page_is_in_a_table_of_contents():
    pages = {
        page.relative_to(DOCS).with_suffix("").as_posix() for page in PAGES if DOCS in page.parents
    }
    listed = {"index"}
    for page in pages:
        text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
        for toctree in re.findall(r"^```\{toctree\}\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            folder = Path(page).parent
            entries = [
                (folder / line).as_posix() for line in toctree.split() if not line.startswith(":")
            ]
            listed |= {
                found for found in pages - {page} for entry in entries if fnmatch(found, entry)
            }
    assert pages == listed


PACKAGES = sorted(
    found.stem
    for found in (ROOT / "src" / "trueness").iterdir()
    if not re.match(r"[_.]|cli$|py\.typed", found.name)
)


def documented_names():
    """Every name that a page of the reference documents, with its package."""
    for page in (DOCS / "reference").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        for block in re.findall(r"^```\{eval-rst\}\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            for home in re.findall(r"currentmodule:: (\S+)", block):
                yield from (
                    f"{home}.{name}"
                    for name in re.findall(r"^(?:   |\.\. .*:: )(\w+)$", block, re.MULTILINE)
                )


@pytest.mark.parametrize("package", PACKAGES)
def test_the_reference_has_every_public_name_of_a_package(package):
    if package == "torch":  # slow to load, and all of it is its own
        stub = TORCH.with_suffix(".pyi").read_text(encoding="utf-8")
        names, above = set(re.findall(r"import (\w+) as", stub)) - {"CalibrationErrorMetric"}, set()
    else:
        module = importlib.import_module(f"trueness.{package}")
        names = module.__all__
        if package == "scorers":  # those of measures have their names
            names = [name for name in names if name not in trueness.measure.__all__]
        # What the first level has too is documented there.
        above = {name for name in names if getattr(trueness, name, None) is getattr(module, name)}
    missing = {f"trueness.{'' if name in above else f'{package}.'}{name}" for name in names} - set(
        documented_names()
    )
    assert not missing, f"add to a page of docs/reference: {sorted(missing)}"


def test_the_reference_has_every_everyday_name():
    everyday = set(trueness.__all__) - {"__version__", *PACKAGES}
    missing = {f"trueness.{name}" for name in everyday} - set(documented_names())
    assert not missing, f"add to a page of docs/reference: {sorted(missing)}"


def test_a_document_leads_to_its_call_in_one_step():
    assert "docs/howto/as-published.md" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "howto/as-published.md" in START.read_text(encoding="utf-8")
    table = (DOCS / "howto" / "as-published.md").read_text(encoding="utf-8").partition("\n## ")[0]
    for call in ("`tn.ece(y, p)`", "tn.ece_interval(", "`tn.tce(y, p)`", "tn.HistogramBinning("):
        assert call in table
    shown = trueness.ece_interval.__doc__.partition("Examples\n")[2]
    assert "Algorithm 1" in shown
    assert 'k=k, bins=m * K, level=0.9, method="analytic", squared=True' in shown
    other = (DOCS / "howto" / "from-other-libraries.md").read_text(encoding="utf-8")
    assert "| `ece(p, y)` | `tn.ece(y, p)`" in other
    assert all(f"\n{value}\n" in other for value in ("0.15", "0.2264214"))


def test_every_file_of_code_that_a_page_names_is_there():
    for page in PAGES:
        for file in re.findall(
            r"`((?:src|tests)/[\w/]+(?:\.py|/))`", page.read_text(encoding="utf-8")
        ):
            assert (ROOT / file).exists(), f"{name(page)}: {file}"


def test_every_figure_is_there():
    for page in PAGES:
        for file in re.findall(r"!\[[^\]]*\]\(([^)]*)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / file).is_file(), f"{name(page)}: {file}"


def headings(page):
    """The anchors of a page."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize(
    "page", [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name
)
def test_every_link_leads_to_a_page_and_its_heading(page):
    text = re.sub(
        r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    for path, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", text):
        target = (page.parent / path) if path else page
        if re.match(r"\w+:", path) or "generated" in target.parts:
            continue
        assert target.exists(), path
        if anchor and target.suffix == ".md":
            assert anchor in headings(target), f"{path}#{anchor}"


def test_the_benchmark_page_counts_the_promises_that_the_results_keep():
    results = (ROOT / "benchmarks" / "results.md").read_text(encoding="utf-8")
    bars = results[results.index("## Bars") : results.index("## How to read")]
    kept, broken = bars.count("| pass |"), bars.count("| **FAIL** |")
    page = (DOCS / "evidence" / "benchmarks.md").read_text(encoding="utf-8")
    assert f"- {kept} of {kept + broken} promises below are kept." in page


def section(title):
    return rf"^### {title}\n(?:(?!^###? ).*\n)*"


def assert_examples_hold(text, title):
    """Run the examples of a text one after the other; a whole page of output may stand below them."""
    test = doctest.DocTestParser().get_doctest(text, {}, title, title, 0)
    found = doctest.DocTestRunner().run(test, clear_globs=False)
    assert found.attempted
    assert not found.failed
    outputs = re.findall(
        r"^`print\((\w+)\)` shows\n\n```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL
    )
    assert len(outputs) == text.count(")` shows\n")
    for variable, shown in outputs:
        assert f"{test.globs[variable]}\n" == shown


@pytest.mark.parametrize("page", EXAMPLES, ids=name)
def test_every_example_gives_what_is_printed(page, request):
    if name(page) in NEEDED:
        pytest.importorskip(NEEDED[name(page)], reason=f"{NEEDED[name(page)]} is not installed")
    text = page.read_text(encoding="utf-8")
    if 'os.environ["TRUENESS_DATA"]' in text:
        request.getfixturevalue("data_folder")  # skips where there are no real data
    assert_examples_hold(
        re.sub(section(f"(?:{'|'.join(APART)})"), "", text, flags=re.MULTILINE), name(page)
    )


@pytest.mark.cluster
@pytest.mark.filterwarnings("ignore")  # of engines about each other
@pytest.mark.parametrize("title", APART)
def test_every_example_of_an_engine_gives_what_is_printed(title):
    pytest.importorskip(APART[title], reason=f"{APART[title]} is not installed")
    if title == "Spark" and why_not():
        pytest.skip(why_not())
    text = (DOCS / "howto" / "large-tables.md").read_text(encoding="utf-8")
    (own,) = re.findall(section(title), text, re.MULTILINE)
    begin = text[: text.index("An engine adds")]
    assert_examples_hold(begin + own, title)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_start_page_works_word_by_word(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = START.read_text(encoding="utf-8")
    assert_examples_hold(text, "start")
    steps = re.findall(
        r"^```sh\n(trueness .*?)^```.*?^```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL
    )
    assert len(steps) == 2
    for command, shown in steps:
        words = [sys.executable, "-m", *shlex.split(command)]
        found = subprocess.run(
            words, check=True, capture_output=True, encoding="utf-8", cwd=tmp_path
        )
        assert found.stdout == shown
    assert (tmp_path / "report.html").stat().st_size > 10_000


GALLERY = DOCS / "gallery"


def test_the_gallery_draws_every_display():
    page = (GALLERY / "index.md").read_text(encoding="utf-8")
    displays = {
        name
        for name in importlib.import_module("trueness.plot").__all__
        if name.endswith("Display")
    }
    assert {name for name in displays if f"\n{name}.from_" in page} == displays


def test_every_picture_of_the_gallery_has_a_small_one():
    page = (GALLERY / "index.md").read_text(encoding="utf-8")
    assert page.count("\nthumbnail: ") == page.count("\n    alt: ")


def test_the_pictures_of_the_report_are_small():
    assert (
        sum(picture.stat().st_size for picture in (DOCS / "_static").glob("report-*.png")) < 200_000
    )


@pytest.mark.slow
def test_every_awkward_case_can_be_drawn_by_every_display(tmp_path):
    spec = importlib.util.spec_from_file_location("gallery_make", GALLERY / "make.py")
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    make.draw_every(tmp_path, only="ten rows")
    assert len(list(tmp_path.rglob("*.png"))) == 2 * len(make.DISPLAYS)
    importlib.import_module("matplotlib.pyplot").close("all")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of scikit-learn
def test_the_page_about_credit_prints_what_it_shows(capsys):
    if not (Path(os.environ.get("TRUENESS_DATA", "")) / "credit_default.csv.gz").is_file():
        pytest.skip("TRUENESS_DATA names no folder with credit_default.csv.gz")
    text = (DOCS / "howto" / "find-the-corner.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    for code in re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        exec(code, names)  # the page itself
    shown = "".join(re.findall(r"^```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    assert capsys.readouterr().out == shown


@pytest.mark.slow
def test_the_github_action_of_the_page_on_gates_runs_in_a_shell(tmp_path):
    """Every `run:` line in order; pip is a stand-in that installs nothing."""
    page = DOCS / "howto"
    lines = run_lines((page / "calibration-gate.yml").read_text(encoding="utf-8"))
    assert [line.split()[0] for line in lines] == ["pip", "python", "trueness", "trueness"]
    stand_ins(tmp_path / "bin", pip='echo "$@" > installed')
    shutil.copy(page / "score_candidate.py", tmp_path)
    path = {"PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    for line in lines:
        done = subprocess.run(
            ["bash", "-e", "-c", line],
            cwd=tmp_path,
            env=os.environ | path,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    installed = "install trueness[cli] @ git+https://github.com/trueness/trueness\n"
    assert (tmp_path / "installed").read_text() == installed
    assert (tmp_path / "report.html").stat().st_size > 10_000
    # The same gate stops a candidate that is regularised ten times as much.
    script = tmp_path / "score_candidate.py"
    script.write_text(script.read_text().replace("C=1)", "C=0.1)"))
    codes = [
        subprocess.run(["bash", "-e", "-c", line], cwd=tmp_path, env=os.environ | path).returncode
        for line in lines
    ]
    assert codes == [0, 0, 3, 0]

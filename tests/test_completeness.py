"""The completeness tables: every call and test they name exists, and every verdict is of a known kind."""

import functools
import re
from pathlib import Path

import trueness

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "evidence" / "completeness"
COLUMNS = ["item", "what it says", "call", "test", "verdict"]
VERDICTS = {"exact", "agrees", "differs", "cannot be had", "not run here", "text"}
WITH_A_REASON = {"differs", "cannot be had", "not run here"}
MAY_LACK_A_TEST = {"text", "cannot be had", "not run here"}
PAGES = sorted(path for path in FOLDER.glob("*.md") if path.name != "index.md")


def cells(line):
    """The cells of a row; a bar after a backslash belongs to its cell."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def lines_of(page):
    """(place, cells) of every row of every table with the five columns."""
    inside = False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if not line.startswith("|"):
            inside = False
        elif cells(line) == COLUMNS:
            inside = True
        elif inside and not set(line) <= set("|-: "):
            yield f"{page.name}:{number}", cells(line)


def kind(verdict):
    match = re.match(r"\*\*(.+?)\*\*", verdict)
    return match.group(1) if match else None


def quoted(cell):
    return re.findall(r"`([^`]+)`", cell)


@functools.cache
def experiments():
    """The names that `python -m trueness_papers --list` knows: with results, or with data that are not here."""
    quoted_names = re.findall(
        r'"(matsubara-[\w-]+)"', source("papers/trueness_papers/matsubara/uci.py")
    )
    return {*quoted_names, *(path.stem for path in (ROOT / "papers" / "results").glob("*.json"))}


def call_exists(call):
    name = call.removeprefix("python -m trueness_papers ")
    parts = re.sub(r"\(.*", "", name).split(".")
    if parts[0] not in ("tn", "trueness"):
        return name in experiments()
    found = trueness
    for part in parts[1:]:
        found = getattr(found, part, None)
        if found is None or part.startswith("_"):
            return False
    return True


@functools.cache
def source(path):
    file = ROOT / path
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def test_exists(test):
    path, *names = test.split("::")
    text = source(path)
    return bool(names) and all(
        re.search(rf"^\s*(def|class) {re.escape(name.split('[')[0])}\b", text, re.M)
        for name in names
    )


test_exists.__test__ = False  # a question about tests, not a test


def reads_stored_results(test):
    """Whether a test looks at the results in the repository, instead of computing them."""
    path, *names = test.split("::")
    bodies = re.split(r"^(?:@.*\n)*(?=def )", source(path), flags=re.M)
    mine = [body for body in bodies if any(body.startswith(f"def {name}(") for name in names)]
    return any(re.search(r"^def .*[(, ]stored[,)]|read_records", body) for body in mine)


def faults(row):
    if len(row) != len(COLUMNS):
        return [f"{len(row)} cells"]
    item, says, call, test, verdict = row
    given = kind(verdict)
    if given not in VERDICTS:
        return [f"verdict {verdict!r}"]
    found = [f"no {name}" for name, cell in (("item", item), ("statement", says)) if not cell]
    if given in WITH_A_REASON and "because" not in verdict:
        found.append(f"{given} without 'because'")
    if given not in MAY_LACK_A_TEST and not quoted(test):
        found.append("a test is needed")
    found += [f"no such call: {name}" for name in quoted(call) if not call_exists(name)]
    if any(map(reads_stored_results, quoted(test))) and "stored" not in verdict:
        found.append("a test reads stored results, and the verdict does not say so")
    return found + [f"no such test: {name}" for name in quoted(test) if not test_exists(name)]


def test_every_line_names_a_call_and_a_test_that_exist():
    assert {page.stem for page in PAGES} == {"ece-help-page", "sun", "gupta", "matsubara"}
    for page in PAGES:
        rows = list(lines_of(page))
        assert rows, f"{page.name} has no table with the columns {COLUMNS}"
        wrong = [f"{place}: {fault}" for place, row in rows for fault in faults(row)]
        assert not wrong, "\n".join(wrong)


def test_a_line_that_is_wrong_is_found():
    here = "`tests/test_completeness.py::faults`"
    for *row, fault in (
        ("`tn.ece`", "`tests/test_completeness.py::nothing`", "**exact**", "no such test"),
        ("`tn.no_such_name`", here, "**exact**", "no such call"),
        ("`tn.ece`", here, "**fine**", "verdict"),
        ("`tn.ece`", here, "**differs**", "because"),
        ("–", "–", "**agrees**", "needed"),
        (
            "`tn.ece`",
            "`papers/tests/sun/test_experiments.py::test_figure_8_and_the_claims_of_appendix_c1_on_the_stored_results`",
            "**agrees** with the text",
            "stored results",
        ),
    ):
        assert fault in " ".join(faults(["a", "b", *row]))

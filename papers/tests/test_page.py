"""The page of stored results."""

import re
from pathlib import Path

import pytest

from trueness.errors import InputError
from trueness_papers import EXPERIMENTS
from trueness_papers.page import read_records, read_timings, results_page, timings_page

RESULTS = Path(__file__).parents[1] / "results"


def test_the_stored_page_is_that_of_the_stored_results():
    assert (RESULTS / "README.md").read_text(encoding="utf-8") == results_page(RESULTS)


def test_the_stored_times_are_those_of_the_stored_results():
    assert (RESULTS / "timings.md").read_text(encoding="utf-8") == timings_page(RESULTS)
    assert set(read_timings(RESULTS)) == set(read_records(RESULTS))


def test_every_figure_of_the_stored_page_exists():
    for name in re.findall(r"!\[[^\]]*\]\(([^)]*)\)", results_page(RESULTS)):
        assert (RESULTS / name).is_file(), name


def test_every_row_of_a_table_has_as_many_cells_as_its_head():
    for table in re.findall(r"(?:^\|.*\n)+", results_page(RESULTS), re.MULTILINE):
        assert len({line.replace("\\|", "").count("|") for line in table.splitlines()}) == 1, (
            table.splitlines()[0]
        )


def test_every_stored_result_belongs_to_an_experiment():
    found = {path.stem for path in RESULTS.glob("*.json")} - {"timings"}
    assert found == set(read_records(RESULTS)) <= set(EXPERIMENTS)


def test_a_file_that_is_not_a_result_is_named(tmp_path):
    (tmp_path / "gupta-example-1.json").write_text("{}")
    with pytest.raises(InputError, match=r"gupta-example-1\.json' was not written by this package"):
        results_page(tmp_path)


def test_every_difference_has_its_reason():
    for record in read_records(RESULTS).values():
        for table in record.tables:
            for row in table.rows:
                verdicts = [
                    row.agrees(table.within, column, source)
                    for column in ("ours", "text", "code")
                    for source in ("published", "authors")
                ]
                # In a compact table the reason stands in the first line of a setting.
                siblings = [other for other in table.rows if other.labels[0] == row.labels[0]]
                reasons = table.note or record.remarks or any(other.note for other in siblings)
                assert False not in verdicts or reasons, (record.name, table.title, row.labels)

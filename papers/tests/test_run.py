"""Pieces are kept, an interrupted run goes on, and files are whole or not there."""

import dataclasses
import json
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from trueness.errors import InputError
from trueness_papers import (
    Estimate,
    Experiment,
    Outcome,
    Picture,
    Piece,
    Record,
    Row,
    Table,
    Timing,
    run_experiment,
)
from trueness_papers.experiment import GUPTA
from trueness_papers.page import section

CALLS = []


def square(x):
    CALLS.append(x)
    if x == FAILS[0]:
        raise KeyboardInterrupt
    return x * x


FAILS = [None]


def pieces(size, seed):
    return [Piece(f"{x}", square, {"x": x + seed}) for x in range(3 if size == "quick" else 5)]


def assemble(results, size):
    rows = tuple(
        Row((key,), value, published=value, note="a | b") for key, value in results.items()
    )
    return Outcome(
        (Table("Squares", "Table 0", ("x",), rows, digits=1),), remarks=("That is all.",)
    )


EXPERIMENT = Experiment("gupta-squares", GUPTA, "Table 0", "squares", pieces, assemble, minutes=0.1)


@pytest.fixture
def _interruptible():
    """Python's own handler, also where the tests were started in the background, which ignores Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def _calls():
    CALLS.clear()
    FAILS[0] = None


def test_an_interrupted_run_goes_on_where_it_was(tmp_path):
    FAILS[0] = 2
    with pytest.raises(KeyboardInterrupt):
        run_experiment(EXPERIMENT, tmp_path, progress=False)
    assert not (tmp_path / "gupta-squares.json").exists()
    FAILS[0] = None
    record = run_experiment(EXPERIMENT, tmp_path, progress=False)
    assert CALLS == [0, 1, 2, 2, 3, 4]
    assert [row.ours for row in record.tables[0].rows] == [0, 1, 4, 9, 16]


@pytest.mark.usefixtures("_interruptible")
def test_ctrl_c_while_a_piece_is_saved_waits_until_no_lock_is_held(tmp_path, monkeypatch):
    seen, done = [], []

    @contextmanager
    def pool(jobs):
        with ThreadPoolExecutor(jobs) as threads:
            try:
                yield threads
            except BaseException as error:
                seen.append(type(error))
                raise

    def press(finished, total):
        done.append(finished)
        if finished == 1:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("trueness_papers.run._pool", pool)
    with pytest.raises(KeyboardInterrupt):
        run_experiment(EXPERIMENT, tmp_path, jobs=2, progress=press)
    assert seen in (
        [KeyboardInterrupt],
        [],
    )  # raised where results are awaited, not where the signal arrived
    assert len(list(tmp_path.glob("pieces/*/*/*.json"))) == max(done)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_half_written_piece_is_done_again(tmp_path):
    run_experiment(EXPERIMENT, tmp_path, progress=False)
    piece = tmp_path / "pieces" / "gupta-squares" / "full-0" / "3.json"
    piece.write_text(piece.read_text()[:10])
    run_experiment(EXPERIMENT, tmp_path, progress=False)
    assert CALLS == [0, 1, 2, 3, 4, 3]


def test_a_piece_of_another_version_is_done_again(tmp_path, monkeypatch):
    run_experiment(EXPERIMENT, tmp_path, size="quick", progress=False)
    monkeypatch.setattr("trueness_papers.run.__version__", "0.0.1")
    run_experiment(EXPERIMENT, tmp_path, size="quick", progress=False)
    assert CALLS == [0, 1, 2, 0, 1, 2]


def test_figures_are_forgotten_when_they_are_written(tmp_path):
    plt = pytest.importorskip("matplotlib.pyplot", reason="figures need matplotlib")
    picture = Picture("one", "A figure.", plt.figure)
    drawing = dataclasses.replace(
        EXPERIMENT, assemble=lambda results, size: Outcome((), (picture,))
    )
    before = plt.get_fignums()
    run_experiment(drawing, tmp_path, progress=False)
    assert (tmp_path / "gupta-squares-one.png").is_file()
    assert plt.get_fignums() == before


def test_other_seeds_and_sizes_are_other_work(tmp_path):
    run_experiment(EXPERIMENT, tmp_path, size="quick", progress=False)
    run_experiment(EXPERIMENT, tmp_path, size="quick", seed=1, progress=False)
    run_experiment(EXPERIMENT, tmp_path, size="quick", fresh=True, progress=False)
    assert CALLS == [0, 1, 2, 1, 2, 3, 0, 1, 2]


def test_a_record_reads_back(tmp_path):
    record = run_experiment(EXPERIMENT, tmp_path, progress=False)
    assert Record.from_dict(json.loads((tmp_path / "gupta-squares.json").read_text())) == record


def test_two_runs_give_the_same_bytes_and_times_are_in_a_file_of_their_own(tmp_path):
    times = Table("Seconds", "", ("x",), (Row(("a",), 1.0),))
    timed = dataclasses.replace(
        EXPERIMENT,
        assemble=lambda results, size: dataclasses.replace(
            assemble(results, size), timings=(times,)
        ),
    )
    for folder in ("one", "two"):
        run_experiment(timed, tmp_path / folder, progress=False, pictures=False)
    for name in ("gupta-squares.json", "gupta-squares.md"):
        text = (tmp_path / "one" / name).read_text()
        assert text == (tmp_path / "two" / name).read_text()
        assert "econds" not in text
    (timing,) = map(Timing.from_dict, json.loads((tmp_path / "one" / "timings.json").read_text()))
    assert timing.tables == (times,)
    assert timing.seconds >= 0


def test_the_section_has_published_ours_and_the_difference(tmp_path):
    run_experiment(EXPERIMENT, tmp_path, progress=False)
    text = (tmp_path / "gupta-squares.md").read_text()
    assert "| x | published | ours | difference | note |" in text
    assert "| 3 | 9.0 | 9.0 | +0.0 | a \\| b |" in text
    assert "5 of 5 numbers agree with the published ones." in text
    assert "- That is all." in text


def test_a_reference_that_is_not_in_print_is_not_called_published():
    table = Table(
        "T", "20,000 runs", ("x",), (Row(("a",), 1.0, published=1.0),), against="reference"
    )
    record = Record("gupta-squares", "full", 0, "0", (table,), (), ())
    text = section(EXPERIMENT, record)
    assert "**T** (reference: 20,000 runs)" in text
    assert "| x | reference | ours | difference |" in text
    assert "1 of 1 numbers agree with the reference ones." in text
    assert (record.agreement, record.reference_agreement) == ((0, 0), (1, 1))
    assert Record.from_dict(json.loads(json.dumps(record.to_dict()))) == record


def test_progress_counts_pieces(tmp_path):
    seen = []
    run_experiment(EXPERIMENT, tmp_path, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(i, 5) for i in range(6)]


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(InputError, match=r"`out` must be a folder; got"):
        run_experiment(EXPERIMENT, tmp_path / "out", progress=False)


def test_simulated_numbers_agree_within_their_limits():
    row = Row(("x",), 0.5, published=0.56, low=0.4, high=0.55)
    assert row.agrees(0.0) is False
    assert row.agrees(0.011) is True
    assert Row(("x",), 0.5).agrees(0.0) is None


WIDE = Table(
    "Two measures",
    "Table 0",
    ("n", "measure"),
    (
        Row(("10", "a"), 1.0, published=1.0),
        Row(("10", "b"), 2.0, published=2.5, note="a slip"),
        Row(("20", "a"), 3.0, low=2.0, high=4.0),
        Row(("20", "b"), 4.0, printed="≈ 4"),
    ),
    digits=1,
    across="measure",
)


def test_labels_become_columns_and_the_published_number_stands_where_it_differs():
    assert WIDE.to_markdown().splitlines() == [
        "| n | a | b | note |",
        "|---|---:|---:|---|",
        "| 10 | 1.0 | 2.0 [2.5] | a slip |",
        "| 20 | 3.0 (2.0 – 4.0) | 4.0 [≈ 4] |  |",
    ]
    assert WIDE.agreement == (1, 2)


def test_a_wide_table_says_what_brackets_mean():
    assert (
        WIDE.agreement_text()
        == "1 of 2 numbers agree with the published ones; the others are in brackets."
    )


def test_a_wide_table_reads_back():
    assert Table.from_dict(json.loads(json.dumps(WIDE.to_dict()))) == WIDE


def test_a_table_without_published_numbers_claims_none():
    table = Table("Ours alone", "", ("x",), (Row(("a",), 1.0, printed="≈ 1"),), digits=1)
    assert table.to_markdown().splitlines()[0] == "| x | published | ours |"
    assert table.agreement_text() == ""


FIVE = Table(
    "Five sources",
    "Table 0",
    ("n", "measure"),
    (
        Row(
            ("10", "a"),
            published=1.0,
            printed="1.0",
            authors=1.0123,
            text=1.5,
            code=1.0123,
            improved=0.9,
        ),
        Row(("10", "b"), published=2.0, authors=2.5, text=2.5, code=2.5, note="a slip"),
        Row(("20", "a"), authors=3.0, code=Estimate(3.1, 2.9, 3.3)),
        Row(("20", "b"), published=4.0, note="no data"),
    ),
    within=0.0001,
)


def test_every_source_has_its_column_and_what_differs_is_bold():
    assert FIVE.to_markdown().splitlines() == [
        "| n | measure | published | authors' code | ours by the text | ours by the code | ours improved | note |",
        "|---|---|---:|---:|---:|---:|---:|---|",
        "| 10 | a | 1.0 | 1.0123 | **1.5000** | 1.0123 | 0.9000 |  |",
        "| 10 | b | 2.0000 | 2.5000 | **2.5000** | **2.5000** | – | a slip |",
        "| 20 | a | – | 3.0000 | – | 3.1000 (2.9000 – 3.3000) | – |  |",
        "| 20 | b | 4.0000 | – | – | – | – | no data |",
    ]


def test_sources_with_equal_numbers_share_a_line():
    assert dataclasses.replace(FIVE, across="measure").to_markdown().splitlines() == [
        "| n | source | a | b | note |",
        "|---|---|---:|---:|---|",
        "| 10 | published | 1.0 | 2.0000 | a slip |",
        "| 10 | authors' code | 1.0123 | 2.5000 |  |",
        "| 10 | ours by the text | **1.5000** | **2.5000** |  |",
        "| 10 | ours by the code | 1.0123 | **2.5000** |  |",
        "| 10 | ours improved | 0.9000 |  |  |",
        "| 20 | published |  | 4.0000 | no data |",
        "| 20 | authors' code | 3.0000 |  |  |",
        "| 20 | ours by the code | 3.1000 (2.9000 – 3.3000) |  |  |",
    ]
    alike = (Row(("a",), published=1.0, authors=1.0, text=1.0, code=1.0),)
    line = Table("One", "", ("m",), alike, across="m", digits=1).to_markdown().splitlines()[-1]
    assert line == "| published = authors' code = ours by the text = ours by the code | 1.0 |"


def test_each_of_our_columns_is_compared_with_each_source():
    assert FIVE.agreement == FIVE.agreement_with("published", "code") == (1, 2)
    assert FIVE.agreement_with("published", "text") == (0, 2)
    assert FIVE.agreement_with("authors") == (3, 3)
    assert FIVE.agreement_text() == (
        "Agreement of the published numbers: 0 of 2 with ours by the text, 1 of 2 with ours by the code. "
        "Agreement of the numbers of the authors' code: 1 of 2 with ours by the text, 3 of 3 with ours by the code."
    )


def test_the_printed_digits_tell_what_is_rounding():
    assert Row(("x",), 7.2833, published=7.28, printed="7.28 %").agrees(0.0) is True
    assert Row(("x",), 7.2833, published=7.29, printed="7.29").agrees(0.0) is False
    assert Row(("x",), 7.2833, published=7.28, printed="about 7.28").agrees(0.0) is False


def test_five_sources_read_back():
    assert Table.from_dict(json.loads(json.dumps(FIVE.to_dict()))) == FIVE

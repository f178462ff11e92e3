"""Names from outside bring no control character, markup or formula to a terminal, a page or a spreadsheet."""

import csv
import io

import numpy as np
import pytest
from command_line import call, fails  # noqa: F401  # fixtures

import trueness as tn
from trueness import plot

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")

NAME = "=cmd|' /C'!A0\x1b[2J\x1b]0;t\x07\u202e\x9b31m\x7f<script>alert(1)</script>\r\nx"
RNG = np.random.default_rng(0)
P = RNG.random(60)
Y = (RNG.random(60) < P).astype(int)
Q = P**2
GROUP = np.where(RNG.random(60) < 0.5, NAME, "b")
CLASSES = [NAME, "b", "c"]
MATRIX = RNG.dirichlet([1, 1, 1], 60)
CLASS = np.array(CLASSES, dtype=object)[RNG.integers(0, 3, 60)]


def assert_harmless(text):
    unseen = {c for c in text if not c.isprintable() and c != "\n"}
    assert not unseen, f"{unseen} in {text[:300]!r}"


def assert_harmless_page(html):
    # No line ends between a number and its percent sign.
    assert_harmless(html.replace("\xa0%", " %"))
    assert "<script>alert" not in html


RESULTS = {
    "compare": lambda: tn.compare(Y, {NAME: P, "b": Q}),
    "difference": lambda: tn.compare(Y, {NAME: P, "b": Q}).pairs[0],
    "segments": lambda: tn.segments(Y, P, by={NAME: GROUP}, seed=0),
    "slices": lambda: tn.worst_slices(
        Y, P, columns={NAME: GROUP}, min_rows=1, resamples=19, seed=0
    ),
    "grades": lambda: tn.grade_table(Y, P, grades=GROUP),
    "series": lambda: tn.calibration_series({NAME: tn.tally(Y, P), "b": tn.tally(1 - Y, P)}),
    "report": lambda: tn.report(Y, {NAME: P, "b": Q}, title=NAME, intervals=False),
    "report of classes": lambda: tn.report(CLASS, MATRIX, labels=CLASSES, intervals=False),
    "accumulator": lambda: tn.Accumulator(by=NAME),
    "calibrator": lambda: tn.TemperatureScaling().fit(MATRIX, CLASS),
    "tally": lambda: tn.tally(CLASS, MATRIX, labels=CLASSES),
    "reliability": lambda: plot.ReliabilityDisplay.from_predictions(
        Y, {NAME: P, "b": Q}, numbers=False
    ),
}


SLOW = {name: [pytest.mark.slow] if name.startswith("report") else [] for name in RESULTS}


@pytest.mark.parametrize(
    "result", [pytest.param(name, marks=marks) for name, marks in SLOW.items()]
)
def test_a_result_with_a_hostile_name_is_harmless_text_and_html(result):
    made = RESULTS[result]()
    for text in (str(made), repr(made) if result != "compare" else ""):
        assert_harmless(text)
    for name in ("to_text", "to_markdown", "to_json", "to_csv"):
        if hasattr(made, name):
            assert_harmless(getattr(made, name)())
    for name in ("_repr_html_", "page"):
        if hasattr(made, name):
            assert_harmless_page(getattr(made, name)())


def test_a_message_with_a_hostile_name_is_harmless():
    for wrong in (
        lambda: tn.compare(Y, {NAME: P + 1, "b": Q}),
        lambda: tn.compare(Y, {NAME: P, "b": Q})["c", NAME],
        lambda: tn.ece(CLASS, MATRIX, labels=["b", "c", "d"]),
        lambda: tn.ece(Y, P, norm=NAME),
        lambda: tn.report(Y, {NAME: P + 1}),
        lambda: tn.Tally.from_dict({"what": NAME}),
        lambda: tn.Tally.from_dict({**tn.tally(Y, P).to_dict(), "kind": NAME}),
    ):
        with pytest.raises(tn.InputError) as caught:
            wrong()
        assert_harmless(str(caught.value))


@pytest.fixture
def table(tmp_path):
    """A file whose columns have hostile names."""
    with (tmp_path / "x.csv").open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["y", NAME, "=b", NAME + "g"])
        lines.writerows(zip(Y, P, Q, GROUP, strict=True))
    return "x.csv"


COMMANDS = {
    "measure": ["measure", "--no-intervals", "--by", NAME + "g"],
    "test": ["test"],
    "compare": ["compare", "--no-intervals"],
    "gate": ["gate", "--max-ece", "0.5"],
    "plot": ["plot"],
    "grades": ["grades", "--bins", "4"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_prints_hostile_names_harmlessly(call, table, command):  # noqa: F811  # the fixture
    models = ["--prob", NAME] + (["--prob", "=b"] if command != "grades" else [])
    first, *rest = COMMANDS[command]
    result = call(first, table, "--label", "y", *models, *rest)
    assert result.exit_code in (0, 1), result.output
    assert_harmless(result.stdout)
    assert_harmless(result.stderr)
    assert "cmd|" in result.stdout or command == "grades"


def test_csv_is_no_formula(call, table):  # noqa: F811  # the fixture
    for command in ("measure", "compare"):
        result = call(
            command, table, "--label", "y", "--prob", NAME, "--prob", "=b", "--format", "csv"
        )
        assert result.exit_code == 0, result.output
        cells = [cell for line in csv.reader(io.StringIO(result.stdout)) for cell in line]
        assert any("cmd|" in cell for cell in cells)
        assert not [cell for cell in cells if cell.startswith(("=", "@", "+"))]

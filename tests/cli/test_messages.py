"""Words of the library in words of the command line."""

import warnings

import pytest

from trueness.cli._messages import CommandError, reword_messages, wording
from trueness.errors import InputError, OneClassWarning, Place


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("`pos_label='yes'`", "`--pos-label 'yes'`"),
        ("`labels=[1, 2]` says so", "`--labels 1,2` says so"),
        ("`labels=['a', 'b', …]` says so", "`--labels` says so"),
        ("`sum_tolerance=2e-03` allows it", "`--sum-tolerance 2e-03` allows it"),
        ("`labels=` names", "`--labels` names"),
        ("`sum_tolerance=` widens", "`--sum-tolerance` widens"),
        ("`clip_tolerance=2e-06` allows it", "`--clip-tolerance 2e-06` allows it"),
        ("say `from_logits=True` if", "say `--from-logits` if"),
        ('`missing="drop"` leaves', "`--missing drop` leaves"),
        ("for `method='hosmer_lemeshow'`", "for `--method hosmer-lemeshow`"),
        ("`np.clip(p, 0, 1)` and `n_jobs=2`", "`np.clip(p, 0, 1)` and `n_jobs=2`"),
    ],
)
def test_arguments_become_options(given, expected):
    assert wording().spell(given) == expected


def test_arguments_become_columns():
    words = wording({"y_true": "column 'a'", "y_prob": "column 'b'"})
    assert words.spell("`y_true` and `y_prob`") == "column 'a' and column 'b'"


def test_arguments_become_parameters_that_can_be_set():
    words = wording(options={"scheme": "--set scheme"})
    assert words.spell("`scheme='randomized'` breaks ties") == "`--set scheme=randomized` breaks ties"


def test_an_error_names_file_column_and_row():
    words = wording({"y_prob": "column 'row 2'"}, lambda place: f"row {place.row + 7}")
    with pytest.raises(CommandError) as caught, reword_messages(words, "x.csv"):
        raise InputError("y_prob", "must lie in [0, 1]", "the first is 1.2", place=Place(2))
    message = "x.csv: Column 'row 2' must lie in [0, 1]; the first is 1.2 at row 9. Rows count from 0."
    assert str(caught.value) == message


def test_warnings_of_the_library_are_collected_once_and_others_passed_on():
    with warnings.catch_warnings(record=True, action="always") as others, reword_messages(wording()) as messages:
        for _ in range(2):
            warnings.warn("all labels are 0: `pos_label=1`", OneClassWarning, stacklevel=2)
        warnings.warn("another", DeprecationWarning, stacklevel=2)
    assert [str(other.message) for other in others] == ["another"]
    assert messages == ["All labels are 0: `--pos-label 1`"]


def test_a_row_is_placed_by_the_line_of_a_text_file(fails, tmp_path):
    (tmp_path / "x.csv").write_text('y,text,p\n\n0,"two\nlines",0.5\n1,a,7\n')
    assert "the first is 7 at line 5." in fails("test", "x.csv", "--label", "y", "--prob", "p")
    rows = "y,p\n0,0.5\n1,7\n"
    message = fails("test", "-", stdin=rows)  # its copy is gone when the test fails
    assert message.startswith("standard input: Column 'p' must lie in [0, 1]; 1 of 2 values does not")
    assert message.endswith(" Rows count from 0.")
    (tmp_path / "x.jsonl").write_text('{"y": 0, "p": 0.5}\n\n{"y": 1, "p": 7}\n')
    assert "the first is 7 at line 3." in fails("test", "x.jsonl")

"""Words of the library in words of the command line: files, columns, lines and options."""

import warnings

import pytest

import trueness as tn
from trueness.errors import warn


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ("y,p\nyes,0.3\nno,0.4\n", [], "Say which of them the scores predict: `--pos-label 'yes'`."),
        ("y,p\n1,0.3\n2,0.4\n", [], "1 of 2 labels is not, the first is 2 at row 1. Say which value is the event: "
         "`--pos-label 2`."),
        ("y,p\n1,1.0000001\n0,0.4\n", [], "excess is 1e-07; `--clip-tolerance 2e-07` allows it."),
        ("y,p\n1,3\n0,-2\n1,0.6\n", [], "These look like logits: say `--from-logits` if they are."),
        ("y,p\n1,\n0,0.4\n", [], "1 of 2 is nan, the first at row 0. `--missing drop` leaves such rows out."),
        ("y,a,b\n0,0.3,0.702\n1,0.5,0.5\n", ["--prob-columns", "a,b"], "`--sum-tolerance 3e-03` allows it."),
        ("y,a,b\nu,0.3,0.7\nv,0.5,0.5\n", ["--prob-columns", "a,b"], "Labels of column 'y' are not the names of the "
         "score columns ('a', 'b'); `--labels` must name the classes in the order of the columns."),
        ("y,p\n1,0.3\n0,0.4\n", ["--method", "hosmer-lemeshow", "--k", "2"], "`--method hosmer-lemeshow`."),
        ('y,text,p\n\n0,"two\nlines",0.5\n1,a,7\n', ["--prob", "p"], "x.csv: Column 'p' must lie in [0, 1]; 1 of 2 "
         "values does not, the first is 7 at row 1."),
    ],
)  # fmt: skip
def test_arguments_become_options_and_places_rows_of_the_file(
    fails, tmp_path, rows, options, message
):
    (tmp_path / "x.csv").write_text(rows)
    assert message.lower() in fails("test", "x.csv", "--label", "y", *options).lower()


def test_rows_count_from_0(fails, tmp_path):
    message = fails("test", "-", stdin="y,p\n0,0.5\n1,7\n")  # its copy is gone when the test fails
    assert message.startswith(
        "standard input: Column 'p' must lie in [0, 1]; 1 of 2 values does not"
    )
    assert message.endswith(" Rows count from 0.")
    (tmp_path / "x.jsonl").write_text('{"y": 0, "p": 0.5}\n\n{"y": 1, "p": 7}\n')
    assert "the first is 7 at row 1." in fails("test", "x.jsonl")


def test_swapped_columns_are_called_by_their_options(fails):
    rows = "a,b\n" + "".join(f"{i / 60},{i % 2}\n" for i in range(50))
    assert fails("measure", "-", "--label", "a", "--prob", "b", stdin=rows).endswith(
        "Column 'a' looks like scores and column 'b' like labels: the arguments seem swapped. "
        "Swap `--label` and `--prob`."
    )


def test_warnings_of_the_library_are_printed_once_and_others_passed_on(call, monkeypatch):
    whole = tn.calibration_test

    def noisy(*arguments, **options):
        for _ in range(2):
            warn("all labels are 0: `pos_label=1`", tn.TruenessWarning)
        warnings.warn("another", DeprecationWarning, stacklevel=2)
        return whole(*arguments, **options)

    monkeypatch.setattr("trueness.calibration_test", noisy)
    with pytest.warns(DeprecationWarning, match="another"):
        result = call("test", "-", "--method", "spiegelhalter", stdin="y,p\n0,0.5\n1,0.7\n")
    assert result.stderr.splitlines()[1:] == ["warning: p: All labels are 0: `--pos-label 1`"]

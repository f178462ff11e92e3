"""Words of the library in words of the command line."""

import pytest

from trueness.cli._messages import in_options, visible


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("`pos_label='yes'`", "`--pos-label 'yes'`"),
        ("`labels=[1, 2]` says so", "`--labels 1,2` says so"),
        ("`labels=['a', 'b', …]` says so", "`--labels` says so"),
        ("`sum_tolerance=2e-03` allows it", "`--sum-tolerance 2e-03` allows it"),
        ("`EqualMass` bins must be", "`--bins` must be"),
        ("`labels=` names", "`--labels` names"),
        ("`sum_tolerance=` widens", "`--sum-tolerance` widens"),
        ("`clip_tolerance=2e-06` allows it", "`--clip-tolerance 2e-06` allows it"),
        ("say `from_logits=True` if", "Say `--from-logits` if"),
        ('`missing="drop"` leaves', "`--missing drop` leaves"),
        ("the first at row 3.", "The first at row 3. Rows count from 0."),
    ],
)
def test_arguments_become_options(given, expected):
    assert in_options(given) == expected


def test_arguments_become_columns():
    assert (
        in_options("`y_true` and `y_prob`", {"y_true": "column 'a'", "y_prob": "column 'b'"})
        == "Column 'a' and column 'b'"
    )


@pytest.mark.parametrize("text", ["plain", "π [bold] 宽", "with space"])
def test_what_can_be_seen_is_left_alone(text):
    assert visible(text) == text


@pytest.mark.parametrize("text", ["\x1b", "\n", "\x00", "\x7f", "\u202e", "\udcff", "\u2028"])
def test_what_cannot_be_seen_is_spelled_out(text):
    assert visible(text).isascii()
    assert visible(text).isprintable()

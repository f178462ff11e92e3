"""Help spells out the arguments that describe rows."""

import inspect
import re

import pytest

import trueness as tn

PUBLIC = [
    name
    for name in tn.__all__
    if inspect.isroutine(getattr(tn, name)) or inspect.isclass(getattr(tn, name))
]


def test_no_help_refers_to_ece_for_its_arguments():
    members = {name: getattr(tn, name) for name in PUBLIC}
    members |= {
        f"{name}.{one}": getattr(value, one)
        for name, value in members.items()
        for one in vars(value)
        if one[0] != "_"
    }
    referring = [
        name
        for name, value in members.items()
        if re.search(r"As for :func:`(trueness\.)?ece`", value.__doc__ or "")
    ]
    assert referring == []


@pytest.mark.parametrize(
    "function", [tn.ece, tn.ace, tn.tally, tn.ece_interval, tn.report, tn.reliability_curve]
)
def test_every_argument_of_the_signature_is_documented_once(function):
    documented = re.findall(
        r"^    ([\w, *]+?)(?: :.*)?\n        \S",
        inspect.cleandoc(function.__doc__).replace("\n", "\n    "),
        re.M,
    )
    names = [name.strip("* ") for entry in documented for name in entry.split(",")]
    for name in inspect.signature(function).parameters:
        assert names.count(name) == 1, name


def test_the_default_view_of_a_matrix_is_that_of_the_function():
    assert "default 'confidence'" in tn.ece_interval.__doc__
    assert "default 'classwise'" in tn.ece.__doc__


def test_what_a_function_adds_stands_behind_the_option_it_is_about():
    text = " ".join(tn.curve_band.__doc__.split())
    assert "a weight of 0 leaves the row out. With 'monotone', `sample_weight` must be" in text

"""Help spells out the arguments that describe rows."""

import inspect
import itertools
import re
from functools import partial

import pytest

import trueness as tn
from trueness._tally.rows_or_sums import row_options

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
    assert "By default 'confidence'." in tn.ece_interval.__doc__
    assert "By default 'classwise'." in tn.ece.__doc__


def test_what_a_function_adds_stands_behind_the_option_it_is_about():
    text = " ".join(tn.curve_band.__doc__.split())
    assert "a weight of 0 leaves the row out. With 'monotone', `sample_weight` must be" in text


def test_the_options_of_rows_are_in_the_source_with_the_same_words_everywhere():
    """What an editor, `help` and a type checker show is what is written; none is made at import."""
    names = list(inspect.signature(row_options).parameters)
    functions = [
        function
        for room in (tn, tn.measure, tn.infer)
        for function in map(partial(getattr, room), room.__all__)
        if inspect.isfunction(inspect.unwrap(function))
        and "row_options" in inspect.unwrap(function).__code__.co_names
    ]
    assert len(functions) > 30
    entries = {name: entry_of(tn.ece, name) for name in names}
    for function in functions:
        parameters = inspect.signature(function).parameters
        assert [name for name in parameters if name in names] == names
        assert not hasattr(inspect.unwrap(function), "__signature__")
        for name in names:
            shared = entries[name].partition(" By default ")[0]
            assert entry_of(function, name).startswith(shared), (function, name)


def entry_of(function, name):
    """What the docstring of a function says about an argument, in one line."""
    lines = inspect.cleandoc(function.__doc__).split("\n")
    start = next(i for i, line in enumerate(lines) if line.startswith(f"{name} : "))
    rest = itertools.takewhile(lambda line: line.startswith("    "), lines[start + 1 :])
    return " ".join(line.strip() for line in rest)

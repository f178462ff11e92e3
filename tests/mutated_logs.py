"""Logs in which one value is another, and what is wrong with how they are refused."""

import json
import warnings

from eval_logs import write_lines

import trueness as tn

ODD = [
    None,
    True,
    0,
    -1,
    4,
    1.5,
    10**400,
    -(10**400),
    float("nan"),
    float("inf"),
    "",
    "x",
    "nan",
    "9" * 400,
    "\ud800",
]
ODD += [
    [],
    [4],
    [[4]],
    [None],
    {},
    {"a": 1},
    [{"name": "x"}],
    {"value": 10**400},
    [["0.5", "True"]],
]


def places(value, path=()):
    """The paths of all values within a value."""
    inside = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, one in inside:
        yield (*path, key)
        yield from places(one, (*path, key))


def replaced(content, path, value):
    """A copy of the content with another value at one path."""
    copy = json.loads(json.dumps(content))
    *outer, last = path
    within = copy
    for key in outer:
        within = within[key]
    within[last] = value
    return copy


def write(path, content):
    if path.suffix == ".jsonl":
        return write_lines(path, content)
    path.write_text(json.dumps(content))
    return path


def fault_of(path, options):
    """What is wrong with how a log is refused; empty if it is read, or refused by the name of the file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            str(tn.sources.eval_log(path, **options))
    except tn.TruenessError as error:
        return "" if path.name in str(error) else f"the file is not named: {error}"
    except Exception as error:  # anything but a refusal is the fault looked for
        return f"{type(error).__name__}: {error}"
    return ""

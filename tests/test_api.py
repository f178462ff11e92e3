"""The public names and their signatures are those of `public_api.json`; `python tests/test_api.py` writes it anew."""

import ast
import importlib
import inspect
import itertools
import json
import pydoc
import re
import sys
import textwrap
from pathlib import Path

import pytest
from command_line import call  # noqa: F401  # a fixture

STORED = Path(__file__).with_name("public_api.json")
MODULES = [
    "",
    "errors",
    "events",
    "infer",
    "measure",
    "recalibrate",
    "results",
    "scorers",
    "simulate",
    "sources",
    "typing",
]
OPTIONAL = {"plot": "matplotlib", "torch": "torch"}
WHAT_TO_DO = (
    "If you added a name or an optional argument, run `python tests/test_api.py` and commit tests/public_api.json. "
    "If you removed, renamed or reordered something, keep the old form for two minor releases with a warning "
    "(CONTRIBUTING.md, section Deprecation), unless it has never been released."
)


def signature(value: object) -> str:
    """Names, kinds and defaults of the arguments; annotations may change freely."""
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return ""
    shown = inspect.Signature(
        [one.replace(annotation=inspect.Parameter.empty) for one in parameters]
    )
    return re.sub(r" at 0x[0-9a-f]+|<(?:function|class) '?([\w.]+)'?>", r"\1", str(shown))


def members(name: str, value: object) -> dict[str, str]:
    """The signature of a function, or of a class and of its public methods; other attributes have none."""
    found = {name: signature(value)}
    if not inspect.isclass(value) or issubclass(value, BaseException):
        return found
    own = [base for base in value.__mro__ if base.__module__.startswith("trueness")]
    attributes = {one for base in own for one in vars(base)} | set(
        getattr(value, "__dataclass_fields__", ())
    )
    for attribute in attributes:
        if attribute.startswith("_") or attribute.endswith(
            "_request"
        ):  # the latter are scikit-learn's
            continue
        member = getattr(value, attribute, None)
        found[f"{name}.{attribute}"] = signature(member) if inspect.isroutine(member) else ""
    return found


def public_api(name: str) -> dict[str, str]:
    """Everything public of a module; what `trueness` itself exports is described there."""
    module, top = (
        importlib.import_module(f"trueness.{name}".rstrip(".")),
        importlib.import_module("trueness"),
    )
    found = {}
    for name in module.__all__:
        value = getattr(module, name)
        if module is not top and name in top.__all__ and value is getattr(top, name):
            found[name] = f" is trueness.{name}"
        elif not inspect.ismodule(value):
            found |= members(name, value)
    return dict(sorted(found.items()))


@pytest.mark.parametrize(
    "modules", [MODULES, *([one] for one in OPTIONAL)], ids=["always", *OPTIONAL]
)
def test_the_public_names_and_signatures_are_those_that_are_stored(modules):
    for name in modules:
        if name in OPTIONAL:
            pytest.importorskip(OPTIONAL[name], reason=f"{OPTIONAL[name]} is not installed")
        stored, now = json.loads(STORED.read_text(encoding="utf-8"))[name], public_api(name)
        changes = [f"gone: {one}{stored[one]}" for one in stored if one not in now]
        changes += [f"new: {one}{now[one]}" for one in now if one not in stored]
        changes += [
            f"was: {one}{old}\n now: {one}{now[one]}"
            for one, old in stored.items()
            if now.get(one, old) != old
        ]
        assert not changes, "\n".join([f"trueness.{name} has changed.", *changes, WHAT_TO_DO])


def test_levels_are_95_percent_and_guarantees_have_alpha_10_percent_unless_asked_otherwise():
    tn, plot = importlib.import_module("trueness"), importlib.import_module("trueness.plot")
    displays = (plot.IntervalDisplay, plot.ReliabilityDisplay, plot.CumulativeDisplay)
    functions = [getattr(tn, name) for name in tn.__all__] + [
        display.from_predictions for display in displays
    ]
    functions += [tn.HistogramBinning.guarantee]
    defaults = {
        (argument, function.__qualname__): parameter.default
        for function in functions
        if callable(function) and not inspect.isclass(function)
        for argument, parameter in inspect.signature(function).parameters.items()
        if argument in ("level", "alpha")
        and parameter.default is not parameter.empty  # the caller must choose
        and function not in (tn.tce, tn.gce)  # the paper's alpha of a test
    }
    assert len(defaults) > 15
    assert {
        one for one in defaults.items() if one[1] != {"level": 0.95, "alpha": 0.1}[one[0][0]]
    } == set()


@pytest.mark.parametrize("command", ["compare", "gate", "measure", "report"])
def test_every_command_has_level_95_percent_by_default(call, command):  # noqa: F811  # the fixture
    (default,) = re.findall(
        r"--level FLOAT RANGE (?:.|\n)*?\[default:\s+([\d.]+);",
        call(command, "--help", "--all").stdout,
    )
    assert default == "0.95"


def test_the_package_has_at_most_110_names_and_records_and_warnings_live_in_rooms():
    top, results, errors = (
        importlib.import_module(f"trueness{room}") for room in ("", ".results", ".errors")
    )
    assert len(dir(top)) <= 110
    assert set(dir(top)) & set(results.__all__) == set()
    assert set(dir(top)) & set(errors.__all__) == {"InputError", "TruenessError", "TruenessWarning"}


TOOLS = [
    "assess",
    "bin_table",
    "binned",
    "calibration_series",
    "gate",
    "load_calibrator",
    "preset",
]
TOOLS += ["report", "scan", "scan_groups", "show_versions", "sketch", "tally", "verdict"]


def test_every_function_names_its_source():
    """Those that measure or infer; the others read, store and show."""
    top = importlib.import_module("trueness")
    functions = {name: getattr(top, name) for name in top.__all__}
    without = [
        name
        for name, value in functions.items()
        if inspect.isfunction(value)
        and name not in TOOLS
        and "    References\n" not in (value.__doc__ or "")
    ]
    assert not without


# ---- types and help

ALLOWED_ANY = {
    "an object of JSON, or options by name": ["dict[str, Any]", "Mapping[str, Any]"],
    "the columns, or the rows, of a table": ["dict[str, list[Any]]", "list[dict[str, Any]]"],
    "an array of any type": ["dict[str, NDArray[Any]]", "NDArray[Any]"],
    "labels, which may be of any type": ["tuple[Any, ...]", "Sequence[Any]", "tuple[Any, 'Curve']"],
    "keys of any type: mappings are invariant in them": ["Mapping[Any, Sums]", "Mapping[Any, Any]"],
    "a function of arrays": ["Callable[[Any, Any], Any]"],
}
"""Where `Any` may stand in a public signature, and why."""


def functions(name, value):
    """The function, or those of the public methods of a class, as they were written."""
    written = {name: value}
    if inspect.isclass(value):
        bases = [base for base in value.__mro__ if base.__module__.startswith("trueness")]
        methods = {key: method for base in reversed(bases) for key, method in vars(base).items()}
        written = {
            f"{name}.{key}": getattr(method, "__func__", getattr(method, "fget", method))
            for key, method in methods.items()
            if not key.startswith("_") or key in ("__init__", "__call__")
        }
    for key, function in written.items():
        function = inspect.unwrap(function) if callable(function) else function
        has_source = (
            getattr(function, "__code__", None) and "<" not in function.__code__.co_filename
        )
        if inspect.isfunction(function) and has_source and function.__name__ != "<lambda>":
            yield key, function


def annotations(function):
    """The annotations of a function as they stand in its source, by parameter and `return`."""
    node = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    arguments = node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every += filter(None, [arguments.vararg, arguments.kwarg])
    found = {argument.arg: argument.annotation for argument in every}
    found["return"] = node.returns
    return {name: ast.unparse(annotation) for name, annotation in found.items() if annotation}


@pytest.mark.parametrize(
    "modules", [MODULES, *([one] for one in OPTIONAL)], ids=["always", *OPTIONAL]
)
def test_public_signatures_say_what_they_take(modules):
    vague = []
    for room in modules:
        if room in OPTIONAL:
            pytest.importorskip(OPTIONAL[room], reason=f"{OPTIONAL[room]} is not installed")
        module = importlib.import_module(f"trueness.{room}".rstrip("."))
        for name in module.__all__:
            for key, function in functions(name, getattr(module, name)):
                for argument, text in annotations(function).items():
                    for form in itertools.chain.from_iterable(ALLOWED_ANY.values()):
                        text = text.replace(form, "")
                    if re.search(r"\bAny\b", text):
                        vague.append(f"{key}: {argument}: {text}")
    assert not vague


EXPLAINED = "ace assess auc brier calibration_slope calibration_test compare corp ece ece_interval estimate gate"
EXPLAINED += " log_loss noise_floor report scan segments squared_ece verdict worst_slices"


@pytest.mark.parametrize("name", EXPLAINED.split())
def test_help_the_signature_and_the_documentation_agree(name):
    function = getattr(importlib.import_module("trueness"), name)
    parameters = inspect.signature(function).parameters
    shown = re.sub("\x08.", "", pydoc.render_doc(function))
    opening = shown[shown.index(f"{name}(") :].partition("\n    ")[0]
    assert opening.replace("'", '"') == f"{name}{inspect.signature(function)}".replace("'", '"')
    section = inspect.getdoc(function).partition("Parameters\n----------\n")[2]
    section = section.partition("\n\nReturns\n")[0]
    described = re.findall(r"^(\*{0,2}\w[\w, ]*)(?: :.*)?$", section, re.M)
    described = [one.strip(" *") for names in described for one in names.split(",")]
    assert sorted(described) == sorted(parameters)
    pages = (STORED.parents[1] / "docs" / "reference").glob("*.md")
    assert any(re.search(rf"^\s*(trueness\.)?{name}$", page.read_text(), re.M) for page in pages)


if __name__ == "__main__":
    sys.path.insert(0, str(STORED.parents[1] / "src"))
    everything = {name: public_api(name) for name in [*MODULES, *OPTIONAL]}
    STORED.write_text(json.dumps(everything, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

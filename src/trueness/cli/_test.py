"""``trueness test``."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import click

import trueness as tn
import trueness.cli._options as opt
from trueness._text.numbers import p_value, with_rules_in_words
from trueness._text.strings import grouped
from trueness._text.table import Column, Table
from trueness.cli._command import command
from trueness.cli._printing import Output, Target, group_columns, model_column, wording
from trueness.cli._reading import ask_each, read_rows
from trueness.sources._data_set import DataSet
from trueness.sources._request import Request

_CLASSICAL = ("spiegelhalter", "cox", "hosmer-lemeshow")
_TEXTBOOK = (*_CLASSICAL, "ks", "kuiper")
_METHODS = (
    *("omnibus", "exact", "analytic", "t-cal", "adaptive-t-cal", "ks", "kuiper"),
    *(*_CLASSICAL, "quantiles"),
)
# Which methods take which option; with several methods, an option goes to those that take it.
_TAKE = {
    "bins": {"exact", "analytic", "t-cal", "hosmer-lemeshow"},
    "resamples": set(_METHODS) - {"analytic"},
    "fitted": {"hosmer-lemeshow"},
    "k": {"omnibus"},
    "rounded_to": {"omnibus"},
}
_METHOD = f"The test: {', '.join(_METHODS)}. Repeatable.  [default: omnibus]"
_WITHIN = "Test for calibration within this margin; a small p-value is then evidence for it."
# From this p-value of the lower tail on, a note asks whether the scores were fitted on the rows.
_TOO_GOOD = 0.001


@command("test")
@opt.data(label="own", events=True)
@opt.cluster
@opt.choice("--method", _METHODS, _METHOD, "methods", metavar="METHOD", multiple=True)
@opt.bins(None, "Bins of exact, analytic, t-cal, hosmer-lemeshow and the criterion ece", blind=True)
@opt.count("--resamples", "Number of label vectors drawn from the scores.")
@opt.number("--equivalent-within", _WITHIN, kind=opt.Between(0, 1, min_open=True), metavar="X")
@opt.choice(
    "--criterion",
    "l2 oe band ece",
    "What --equivalent-within judges: the typical error, O/E (1 - X to 1 + X), the monotone band "
    "or the ECE.  [default: l2]",
)
@opt.choice("--kind", opt.LABEL_KINDS, "What to test for several classes.  [default: confidence]")
@opt.count("--k", "For omnibus and several classes: test the N largest scores of each row.")
@click.option(
    "--fitted", is_flag=True, help="For hosmer-lemeshow: the scores were fitted on these rows."
)
@opt.level(0.95, "Labels are drawn until the decision at this level is settled.", minimum=0.5)
@opt.rounded_to("For omnibus: the scores were rounded to multiples of this")
@opt.seed()
@opt.output()
def test(request: Request, target: Target, **values: object) -> None:
    """Test whether scores are calibrated.

    A small p-value is evidence against calibration; a large one is no evidence for it.
    --equivalent-within asks the reverse: a small p-value is evidence that the error is below a
    margin. Several models, or groups of --by, are tested separately, and p-values are also adjusted
    for their number by Holm's method. With scores for several classes, the test is whether the
    largest score is the probability that its class is right; --kind classwise tests every class,
    and two columns are a binary problem whose score is the second. --kind multilabel tests several
    labels of a row, each with a column of labels and one of scores.

    \b
      trueness test --demo
      trueness test rows.csv --label churned --prob model --by region
      trueness test rows.csv --label churned --prob model --equivalent-within 0.05
      trueness test answers.jsonl --label correct --prob p --cluster question
      trueness test x.csv --kind multilabel --label 'y_*' --prob-columns 'p_*'

    Exit code 0: tested, whatever the result (to fail a build, use `trueness gate`). 2: the options
    or the data are wrong.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    options: dict[str, Any] = values
    typed = {name: options[name] or None for name in _TAKE}
    typed["bins"] = opt.bin_rule(options["bins"])
    methods = tuple(dict.fromkeys(options["methods"]))
    if not methods and not options["equivalent_within"]:
        methods = ("omnibus",)
    equivalence = _equivalence(options, typed, methods)
    kind = options.pop("kind")
    settings = {}
    for method in methods:
        settings[method] = _settings(method, methods, typed, options["level"])
        if method in _TAKE["resamples"] or request.cluster is not None:
            settings[method]["seed"] = options["seed"]
        if kind not in (None, "multilabel"):
            settings[method]["kind"] = kind
    rows = read_rows(replace(request, multilabel=kind == "multilabel"))
    results = list(_results(rows, settings, equivalence))
    _adjust(results)
    target.deliver(_output(rows, results, top=_is_top(rows, kind, options["k"])))


def _settings(
    method: str, methods: Sequence[str], typed: dict[str, Any], level: float
) -> dict[str, Any]:
    """The options of a method, but for the seed."""
    settings = {"level": level}
    for name, takers in _TAKE.items():
        # An option that no method takes is passed on, for the library to refuse.
        is_taken = method in takers or takers.isdisjoint(methods)
        if is_taken and typed[name] is not None:
            settings[name] = typed[name]
    return settings


def _is_top(rows: DataSet, kind: str | None, k: int | None) -> bool:
    """Whether the largest of several scores is tested."""
    if kind not in (None, "confidence") or k not in (None, 1) or not rows.is_matrix():
        return False
    # Two columns are a binary problem, unless an option says otherwise.
    is_chosen = kind is not None or k is not None
    first, *_ = rows.scores.values()
    return is_chosen or first.shape[1] > 2


def _equivalence(
    options: dict[str, Any], typed: dict[str, Any], methods: Sequence[str]
) -> dict[str, Any]:
    """The options of the equivalence test, none if it is not requested.

    Refuses those that no test takes.
    """
    within = options["equivalent_within"]
    criterion = options["criterion"]
    kind = options["kind"]
    if within is None:
        if criterion is not None:
            raise click.UsageError("--criterion needs --equivalent-within.")
        return {}
    criterion = criterion or "l2"
    for name, value in typed.items():
        taken = not _TAKE[name].isdisjoint(methods) or (name == "bins" and criterion == "ece")
        if value is not None and not taken:
            option = f"--{name.replace('_', '-')}"
            raise click.UsageError(
                f"{option} is not an option of the equivalence test ({criterion}); leave it out."
            )
    if kind not in (None, "confidence", "multilabel"):
        raise click.UsageError(
            f"--equivalent-within judges the largest scores; --kind {kind} does not go with it."
        )
    bins = {"bins": typed["bins"]} if criterion == "ece" and typed["bins"] is not None else {}
    return {"within": within, "criterion": criterion, "seed": options["seed"], **bins}


def _results(
    rows: DataSet, settings: dict[str, dict[str, Any]], equivalence: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """The results of all tests as dictionaries: by part of the rows, then by test.

    A part is one model in one group. `settings` maps each method to its options; `equivalence`
    holds the options of the equivalence test, which is left out if there are none.
    """
    tests: list[tuple[Any, dict[str, Any]]] = []
    for method, options in settings.items():
        tests.append((tn.calibration_test, {"method": method, **options}))
    if equivalence:
        tests.append((tn.equivalence_test, equivalence))

    def ask(part: DataSet) -> list[Any]:
        return [part.ask(test, cluster=part.cluster, **options) for test, options in tests]

    for part, results in ask_each(rows, "Testing", ask):
        for result in results:
            entry = {**part.group.entry(), "model": part.model.name, **result.to_dict()}
            if result.method == "omnibus":  # which has several statistics, and none to show
                entry["statistic"] = None
            yield entry


def _adjust(results: list[dict[str, Any]]) -> None:
    """Holm's adjustment over models and groups, for each method separately.

    None for a single test.
    """
    import numpy as np

    from trueness._numerics.holm import holm

    for entries in grouped((entry["method"], entry) for entry in results).values():
        adjusted = holm(np.array([entry["pvalue"] for entry in entries]))
        for entry, value in zip(entries, adjusted.tolist(), strict=True):
            entry["adjusted_pvalue"] = value if len(entries) > 1 else None


def _output(rows: DataSet, results: Sequence[dict[str, Any]], *, top: bool) -> Output:
    """The table of test results for the terminal, and all results as data.

    `results` has one entry per method, group and model. `top` says that, for several classes, the
    largest score was tested. The column of the strongest evidence is shown only if some result has
    it; otherwise it is part of the data alone. Notes below the table describe the rows, say what
    each method assumes, list doubts about single results, and explain adjusted p-values if there
    are any.
    """
    named = any(entry["strongest"] for entry in results)
    groups = group_columns(rows.request.by)
    columns = [
        *groups,
        model_column((entry["model"] for entry in results), groups),
        Column("method", "method"),
        Column("n", "rows", "count"),
        Column("statistic", "statistic", "fraction"),
        Column("pvalue", "p", "p"),
        Column("adjusted_pvalue", "adjusted p", "p"),
        Column("strongest", "strongest evidence", forms="all" if named else "data", optional=True),
    ]
    notes = [rows.sentence]
    for entries in grouped((entry["method"], entry) for entry in results).values():
        notes.append(_method_in_words(entries))
    for entry in results:
        where = ", ".join(str(entry[key]) for key in ("model", "group") if key in entry)
        notes += [f"{where}: {doubt}" for doubt in _doubts(entry)]
    if top:
        notes.append(
            "For several classes: the largest score as the probability that its class is right."
        )
    if any(entry["adjusted_pvalue"] is not None for entry in results):
        notes.append("Adjusted p-values allow for the number of models and groups (Holm).")
    return Output(
        Table(columns, results, notes),
        {"data": rows.entry, "tests": list(results)},
    )


def _method_in_words(entries: Sequence[dict[str, Any]]) -> str:
    """What a method assumes, and what a small p-value is evidence for."""
    first = entries[0]
    name = first["method"]
    if name in _TEXTBOOK and first["smallest_pvalue"] > 0:
        name = f"{name}, p simulated"
    words = wording().spell(with_rules_in_words(first["assumptions"]))
    if first["within"] is not None:
        margin = f"{first['within']:g}"
        words = f"a small p-value is evidence for calibration within {margin}. {words}"
    if any(entry["assumptions"] != first["assumptions"] for entry in entries):
        words = f"{words} (The first test; JSON has the choices for the others.)"
    return f"{name}: {words}"


def _doubts(entry: dict[str, Any]) -> Iterator[str]:
    """Why a p-value should be read with care."""
    if entry["is_open"]:
        interval = f"p = {entry['pvalue']:.3f} ± {entry['pvalue_error']:.3f}"
        yield f"{interval}; other draws may decide otherwise."
    tail = entry["too_good"]
    if tail is not None and tail <= _TOO_GOOD and entry["within"] is None:
        yield (
            "the labels agree with the scores better than chance allows "
            f"({p_value(tail)}, lower tail). Were the scores fitted on these rows, or are rows "
            "repeated?"
        )

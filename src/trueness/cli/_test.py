"""``trueness test``."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import click

import trueness as tn
import trueness.cli._options as opt
from trueness._text.numbers import p_value
from trueness._text.strings import grouped
from trueness._text.table import Column, Table
from trueness.cli._columns import Request, group_columns, model_column
from trueness.cli._dataset import Arguments, Rows, read_rows
from trueness.cli._printing import Output, Target, wording

_CLASSICAL = ("spiegelhalter", "cox", "hosmer-lemeshow")
_TEXTBOOK = (*_CLASSICAL, "ks", "kuiper")
_METHODS = (
    "omnibus",
    "exact",
    "analytic",
    "t-cal",
    "adaptive-t-cal",
    "ks",
    "kuiper",
    *_CLASSICAL,
    "quantiles",
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


@opt.command("test")
@opt.data(label="own", events=True)
@opt.cluster
@opt.choice("--method", _METHODS, _METHOD, "methods", metavar="METHOD", multiple=True)
@opt.bins(None, "Bins of exact, analytic, t-cal, hosmer-lemeshow and the criterion ece", blind=True)
@opt.count("--resamples", "Number of label vectors drawn from the scores.")
@opt.number("--equivalent-within", _WITHIN, kind=opt.Between(0, 1, min_open=True), metavar="X")
@opt.choice(
    "--criterion",
    "l2 oe band ece",
    "What --equivalent-within judges: the typical error, O/E (1 - X to 1 + X), the monotone band or the ECE.  [default: l2]",
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
def test(**options: Any) -> None:
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
    target = Target.pop_from(options)
    typed = {name: options[name] or None for name in _TAKE} | {
        "bins": opt.bin_rule(options["bins"])
    }
    methods = tuple(dict.fromkeys(options["methods"])) or (
        () if options["equivalent_within"] else ("omnibus",)
    )
    equivalence = _equivalence(options, typed, methods)
    kind = options.pop("kind")
    settings = dict[str, dict[str, Any]]()
    for method in methods:
        # An option that no method takes is passed on, for the library to refuse.
        taken = {
            name for name, takers in _TAKE.items() if method in takers or takers.isdisjoint(methods)
        }
        own = settings[method] = {
            name: typed[name] for name in typed if name in taken and typed[name] is not None
        }
        own["level"] = options["level"]
        if kind not in (None, "multilabel"):
            own["kind"] = kind
        if method in _TAKE["resamples"] or options["cluster"] is not None:
            own["seed"] = options["seed"]
    rows = read_rows(replace(Request.pop_from(options), multilabel=kind == "multilabel"))
    results = list(_results(rows, settings, equivalence))
    _adjust(results)
    top = (
        kind in (None, "confidence")
        and options["k"] in (None, 1)
        and rows.is_matrix(rows.choice.models[0])
    )
    if kind is None and options["k"] is None:
        top = top and rows.arguments(rows.choice.models[0]).y_prob.shape[1] > 2
    target.deliver(_output(rows, results, top=top))


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
    rows: Rows, settings: dict[str, dict[str, Any]], equivalence: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    tests: list[tuple[Any, dict[str, Any]]]
    tests = [(tn.calibration_test, {"method": method, **own}) for method, own in settings.items()]
    if equivalence:
        tests.append((tn.equivalence_test, equivalence))

    def ask(one: Arguments, part: Rows) -> list[Any]:
        return [
            test(one.y_true, one.y_prob, cluster=part.cluster, **own, **one.rows)
            for test, own in tests
        ]

    for group, model, found in rows.each("Testing", ask):
        for result in found:
            # The omnibus test has several statistics, and no single one to show.
            one_number = {"statistic": None} if result.method == "omnibus" else {}
            yield {**group.entry(), "model": model.name, **result.to_dict(), **one_number}


def _adjust(results: list[dict[str, Any]]) -> None:
    """Holm's adjustment over models and groups, for each method separately.

    None for a single test.
    """
    import numpy as np

    from trueness._numerics.holm import holm

    for alike in grouped((entry["method"], entry) for entry in results).values():
        adjusted = holm(np.array([entry["pvalue"] for entry in alike]))
        for entry, value in zip(alike, adjusted.tolist(), strict=True):
            entry["adjusted_pvalue"] = value if len(alike) > 1 else None


def _where(entry: dict[str, Any]) -> str:
    """The model and the group of a result."""
    return ", ".join(str(entry[key]) for key in ("model", "group") if key in entry)


def _output(rows: Rows, results: Sequence[dict[str, Any]], *, top: bool) -> Output:
    named = any(entry["strongest"] for entry in results)
    groups = group_columns(rows.choice.by)
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
    notes = [f"{rows.choice.in_words(rows.source)}."]
    for method, alike in grouped((entry["method"], entry) for entry in results).items():
        first = alike[0]["assumptions"]
        margin = alike[0]["within"]
        same = all(entry["assumptions"] == first for entry in alike)
        more = "" if same else " (The first test; JSON has the choices for the others.)"
        if margin is None:
            evidence = ""
        else:
            evidence = f"a small p-value is evidence for calibration within {margin:g}. "
        is_simulated = method in _TEXTBOOK and alike[0]["smallest_pvalue"] > 0
        name = f"{method}, p simulated" if is_simulated else method
        notes.append(f"{name}: {evidence}{wording().spell(first)}{more}")
    for entry in results:
        if entry["is_open"]:
            shown = f"p = {entry['pvalue']:.3f} ± {entry['pvalue_error']:.3f}"
            notes.append(f"{_where(entry)}: {shown}; other draws may decide otherwise.")
        tail = entry["too_good"]
        if tail is not None and tail <= _TOO_GOOD and entry["within"] is None:
            better = f"the labels agree with the scores better than chance allows ({p_value(tail)}, lower tail)"
            notes.append(
                f"{_where(entry)}: {better}. Were the scores fitted on these rows, or are rows repeated?"
            )
    if top:
        notes.append(
            "For several classes: the largest score as the probability that its class is right."
        )
    if any(entry["adjusted_pvalue"] is not None for entry in results):
        notes.append("Adjusted p-values allow for the number of models and groups (Holm).")
    return Output(
        Table(columns, results, notes),
        {"data": rows.choice.about(rows.source), "tests": list(results)},
    )

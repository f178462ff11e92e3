"""``trueness test``."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from trueness.cli._messages import collect_warnings, errors_as_messages, warning
from trueness.cli._options import (
    bins_option,
    check_input,
    cluster_option,
    data_options,
    output_options,
    seed_option,
)
from trueness.cli._writing import check_writable, deliver, form_of

if TYPE_CHECKING:
    from trueness.cli._rows import Rows
    from trueness.cli._sheet import Sheet

__all__ = ["command"]

_METHODS = (
    *("exact", "analytic", "t-cal", "adaptive-t-cal", "ks", "kuiper"),
    *("spiegelhalter", "cox", "hosmer-lemeshow"),
)
# Which method takes which option; where several methods are asked for, an option goes to those that take it.
_TAKE = {
    "bins": {"exact", "analytic", "t-cal", "hosmer-lemeshow"},
    "resamples": set(_METHODS) - {"analytic"},
    "fitted": {"hosmer-lemeshow"},
}
_DRAW = {"exact", "t-cal", "adaptive-t-cal"}


@click.command("test", no_args_is_help=True)
@data_options(several=True)
@cluster_option
@click.option(
    "--method",
    "methods",
    type=click.Choice(_METHODS),
    multiple=True,
    help="The test; repeatable.  [default: exact]",
)
@bins_option(None, "Bins of exact, analytic, t-cal and hosmer-lemeshow", blind=True)
@click.option("--resamples", type=click.IntRange(min=1), metavar="N", help="How often labels are redrawn from scores.")
@click.option("--fitted", is_flag=True, help="For hosmer-lemeshow: the scores were fitted on these rows.")
@seed_option()
@output_options
@click.pass_context
def command(context: click.Context, /, files: tuple[str, ...], demo: bool, debug: bool, **options: Any) -> None:
    """Test whether scores are calibrated.

    A small p-value speaks against it, a large one not for it. Several models, or groups of --by, are tested apart, and
    p-values are also adjusted for their number by Holm's method. Of scores for several classes the largest is tested
    against whether its class came.

    \b
      trueness test --demo
      trueness test predictions.csv --label churned --prob model_a --by region
      trueness test answers.jsonl --label correct --prob confidence --cluster question --method kuiper

    Exit code 0: tested, whatever came out; `trueness gate` is what fails. 2: the options or the data are wrong.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    check_input(context, files, demo)
    with errors_as_messages(debug):
        _test(files, **options)


def _test(
    files: tuple[str, ...], *, form: str | None, output: str | None, methods: tuple[str, ...], **asked: Any
) -> None:
    from trueness.cli._bins import bin_rule
    from trueness.cli._reading import Request, read_rows

    check_writable(output, *files)
    form = form_of(form, output)
    given = {
        "bins": None if asked["bins"] is None else bin_rule(asked["bins"]),
        "resamples": asked["resamples"],
        "fitted": asked["fitted"] or None,
    }
    methods = tuple(dict.fromkeys(methods)) or ("exact",)
    settings = {method: _settings(method, methods, given) for method in methods}
    for method, own in settings.items():
        if method in _DRAW or "resamples" in own or asked["cluster"] is not None:
            own["seed"] = asked["seed"]
    rows = read_rows(Request.taken_from({"files": files, **asked}))
    for line in rows.said_dropped:
        warning(f"{line}")
    found = list(_findings(rows, settings))
    _adjust(found)
    deliver(_sheet(rows, found), form, output)


def _settings(method: str, methods: Sequence[str], given: dict[str, Any]) -> dict[str, Any]:
    """The options of one method. One that no method takes is passed on, for the library to refuse."""
    return {
        name: value
        for name, value in given.items()
        if value is not None and (method in _TAKE[name] or _TAKE[name].isdisjoint(methods))
    }


def _findings(rows: "Rows", settings: dict[str, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    import trueness as tn
    from trueness.cli._groups import group_entry

    for group, part in rows.groups():
        for model in rows.choice.models:
            for method, own in settings.items():
                with part.about(model, group=group), collect_warnings() as warned:
                    given = part.arguments(model)
                    test: Any = tn.calibration_test
                    found = test(given.y_true, given.y_prob, method=method, cluster=part.cluster, **own, **given.rows)
                for message in warned:
                    warning(f"{', '.join(filter(None, [model.name, str(group)]))}: {message}")
                yield {**group_entry(group), "model": model.name, **found.to_dict()}


def _adjust(found: list[dict[str, Any]]) -> None:
    """Holm's adjustment over models and groups, for each method apart; nothing where a method was used once."""
    import numpy as np

    from trueness.infer._compare import holm

    for method in dict.fromkeys(entry["method"] for entry in found):
        alike = [entry for entry in found if entry["method"] == method]
        adjusted = holm(np.array([entry["pvalue"] for entry in alike]))
        for entry, value in zip(alike, adjusted.tolist(), strict=True):
            entry["adjusted_pvalue"] = value if len(alike) > 1 else None


def _sheet(rows: "Rows", found: Sequence[dict[str, Any]]) -> "Sheet":
    from trueness.cli._groups import group_columns
    from trueness.cli._sheet import Column, Sheet, stamped

    columns = [
        *group_columns(rows.choice.by),
        Column("model", "model", "name"),
        Column("method", "method", "text"),
        Column("n", "rows", "count"),
        Column("statistic", "statistic", "fraction"),
        Column("pvalue", "p", "pvalue"),
        Column("adjusted_pvalue", "adjusted p", "pvalue"),
    ]
    notes = [f"Data: {rows.source}, labels {rows.choice.label!r}."]
    for method in dict.fromkeys(entry["method"] for entry in found):
        first, *others = (entry["assumptions"] for entry in found if entry["method"] == method)
        more = "" if {first}.issuperset(others) else " (The first test; JSON has what was chosen for the others.)"
        notes.append(f"{method}: {first}{more}")
    if rows.is_matrix(rows.choice.models[0]):
        notes.append("Of several classes: the largest score, and whether its class came.")
    if any(entry["adjusted_pvalue"] is not None for entry in found):
        notes.append("Adjusted p-values allow for the number of models and groups (Holm).")
    data = stamped(data=_data(rows), tests=list(found))
    return Sheet(columns, found, data, notes)


def _data(rows: "Rows") -> dict[str, Any]:
    choice = rows.choice
    return {
        "source": rows.source,
        "label": choice.label,
        "weight": choice.weight,
        "cluster": choice.cluster,
        "by": list(choice.by),
    }

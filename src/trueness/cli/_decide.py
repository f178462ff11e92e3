"""``trueness decide``: from probabilities to actions."""

from typing import Any

import click

import trueness as tn
import trueness.cli._options as opt
from trueness._text.numbers import level_percent
from trueness._text.table import Column, Table
from trueness.cli._command import command
from trueness.cli._printing import VALUE_AND_LIMITS, Output, Target, model_if
from trueness.cli._reading import ask_each, read_rows
from trueness.sources._data_set import DataSet
from trueness.sources._request import Request

_COSTS = (
    ("cost", "at the threshold of the costs"),
    ("recalibrated_cost", "after recalibration, held out"),
    ("best_cost", "at the best threshold, held out"),
    ("always", "always acting"),
    ("never", "never acting"),
)
_ABOVE_0 = click.FloatRange(0, 1, min_open=True)


@command("decide")
@opt.data(by=False)
@opt.cluster
@opt.number("--cost-fp", "Cost of acting on a row without the event.", metavar="X")
@opt.number("--cost-fn", "Cost of not acting on a row with the event.", metavar="X")
@opt.number(
    "--accept-accuracy",
    "Share that must be right among accepted rows: certify a threshold.",
    kind=_ABOVE_0,
)
@opt.level(0.95, "Confidence level of all limits and certificates.")
@opt.seed()
@opt.output()
def decide(
    request: Request,
    target: Target,
    *,
    cost_fp: float | None,
    cost_fn: float | None,
    accept_accuracy: float | None,
    level: float,
    seed: int,
) -> None:
    """From probabilities to the action they justify.

    With costs: the threshold that they imply, what decisions by it cost, and what miscalibration
    costs there. With --accept-accuracy: the lowest score from which on that share of the rows has
    the event (or the answer is right), certified. Always: how much no increasing map of the scores
    could save.

    \b
      trueness decide x.csv --label default --prob p --cost-fp 1 --cost-fn 5
      trueness decide x.csv --label correct --prob p --accept-accuracy 0.95

    Exit code 0: answered, whatever the answer. 2: the options or the data are wrong.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    if (cost_fp is None) is not (cost_fn is None):
        raise click.UsageError("Give both costs: --cost-fp and --cost-fn.")
    rows = read_rows(request)

    def answer(part: DataSet) -> dict[str, Any]:
        """The answers about one model, by question: costs and an accuracy are optional."""
        common = {"level": level, "cluster": part.cluster}
        answers: dict[str, Any] = {"certificate": part.ask(tn.decision_certificate, **common)}
        if cost_fp is not None:
            answers["decision"] = part.ask(
                tn.decide, cost_fp=cost_fp, cost_fn=cost_fn, seed=seed, **common
            )
        if accept_accuracy is not None:
            answers["accept"] = part.ask(tn.accept_threshold, accuracy=accept_accuracy, **common)
        return answers

    models = {part.model.name: answers for part, answers in ask_each(rows, "Deciding", answer)}
    target.deliver(_decision_output(rows, models))


def _decision_output(rows: DataSet, models: dict[str, dict[str, Any]]) -> Output:
    """What `decide` prints, and its data.

    `models` maps the name of each model to its answers, by question: "certificate", and where they
    were asked for "decision" and "accept". With costs, the table has the mean costs of the
    decision, and the notes say how to act. Without, it has the certificate: the most that an
    increasing map of the scores can save, at any threshold.
    """
    several = len(models) > 1
    has_costs = "decision" in next(iter(models.values()))
    lines = []
    notes = []
    for name, answers in models.items():
        head = f"{name}: " if several else ""
        if has_costs:
            decision = answers["decision"]
            for key, words in _COSTS:
                lines.append({"model": name, "what": words, **getattr(decision, key).to_dict()})
            act, *rest = str(decision).splitlines()
            notes += [head + act, *rest[1:]]
        else:
            kappa = answers["certificate"]
            what = "most that an increasing map saves (κ)"
            lines.append({"model": name, "what": what, **kappa.to_dict()})
            notes.append(
                f"{head}No increasing map lowers t·FP/n + (1 − t)·FN/n by more than "
                f"{kappa.high:.4f} at any threshold t ({level_percent(kappa.level)} confidence)."
            )
        if "accept" in answers:
            notes.append(f"{head}{answers['accept']}")
    columns = [
        model_if(several),
        Column("what", "mean cost per row" if has_costs else "quantity"),
        *VALUE_AND_LIMITS,
    ]
    entries = []
    for name, answers in models.items():
        records = {key: answer.to_dict() for key, answer in answers.items()}
        entries.append({"model": name, **records})
    table = Table(columns, lines, [rows.sentence, *notes])
    return Output(table, {"data": rows.entry, "models": entries})

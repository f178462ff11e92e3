"""``trueness decide``."""

from typing import Any

import click

import trueness as tn
import trueness.cli._options as opt
from trueness._text.table import Column, Table
from trueness.cli._columns import Request
from trueness.cli._dataset import Arguments, Rows, read_rows
from trueness.cli._writing import Output, Target

_COSTS = (
    ("cost", "at the threshold of the costs"),
    ("recalibrated_cost", "after recalibration, held out"),
    ("best_cost", "at the best threshold, held out"),
    ("always", "always acting"),
    ("never", "never acting"),
)
_SHARE = click.FloatRange(0, 1, min_open=True)


@opt.command("decide")
@opt.data(by=False)
@opt.cluster
@opt.number("--cost-fp", "Cost of acting on a row without the event.", metavar="X")
@opt.number("--cost-fn", "Cost of not acting on a row with the event.", metavar="X")
@opt.number("--accept-accuracy", "Share that must be right among accepted rows: certify a threshold.", kind=_SHARE)
@opt.level(0.95, "Confidence level of all limits and certificates.")
@opt.seed()
@opt.output()
def command(**options: Any) -> None:
    """From probabilities to the action they justify.

    With costs: the threshold that they imply, what decisions by it cost, and what miscalibration costs there. With
    --accept-accuracy: the lowest score from which on that share of the rows has the event (or the answer is right),
    certified. Always: how much no increasing map of the scores could save.

    \b
      trueness decide x.csv --label default --prob p --cost-fp 1 --cost-fn 5
      trueness decide x.csv --label correct --prob p --accept-accuracy 0.95

    Exit code 0: answered, whatever the answer. 2: the options or the data are wrong.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    opt.check_input()
    if (options["cost_fp"] is None) is not (options["cost_fn"] is None):
        raise click.UsageError("Give both costs: --cost-fp and --cost-fn.")
    target = Target.pop_from(options)
    costs = {name: options[name] for name in ("cost_fp", "cost_fn", "seed")}
    goal, level = options["accept_accuracy"], options["level"]
    rows = read_rows(Request.pop_from(options))

    def answers(one: Arguments, part: Rows) -> dict[str, Any]:
        common: Any = {"level": level, "cluster": part.cluster, **one.rows}
        found: dict[str, Any] = {"certificate": tn.decision_certificate(one.y_true, one.y_prob, **common)}
        if costs["cost_fp"] is not None:
            found["decision"] = tn.decide(one.y_true, one.y_prob, **costs, **common)
        if goal is not None:
            found["accept"] = tn.accept_threshold(one.y_true, one.y_prob, accuracy=goal, **common)
        return found

    target.deliver(_output(rows, {model.name: found for _, model, found in rows.each("Deciding", answers)}))


def _output(rows: Rows, models: dict[str, dict[str, Any]]) -> Output:
    several = len(models) > 1
    lines, notes = [], []
    for name, found in models.items():
        head = f"{name}: " if several else ""
        if "decision" in found:
            decision = found["decision"]
            lines += [{"model": name, "what": words, **getattr(decision, key).to_dict()} for key, words in _COSTS]
            act, *rest = str(decision).splitlines()
            notes += [head + act, *rest[1:]]
        else:
            kappa = found["certificate"]
            lines.append({"model": name, "what": "most that an increasing map saves (κ)", **kappa.to_dict()})
            cost = f"{head}No increasing map lowers t·FP/n + (1 − t)·FN/n by more than {kappa.high:.4f}"
            notes.append(f"{cost} at any threshold t ({100 * kappa.level:g} % confidence).")
        if "accept" in found:
            notes.append(f"{head}{found['accept']}")
    columns = [
        Column("model", "model", "name", "all" if several else "data"),
        Column("what", "mean cost per row" if "decision" in next(iter(models.values())) else "quantity"),
        *(Column(key, key, "number") for key in ("value", "low", "high")),
    ]
    data = [{"model": name, **{key: one.to_dict() for key, one in found.items()}} for name, found in models.items()]
    table = Table(columns, lines, [f"{rows.choice.in_words(rows.source)}.", *notes])
    return Output(table, {"data": rows.choice.about(rows.source), "models": data})

"""What sums say by each measure: a value, the limits of that of the rows, or why there is none."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from trueness.cli._messages import reworded, warning, wording
from trueness.errors import InputError

if TYPE_CHECKING:
    from trueness._tally.accumulator import Accumulator
    from trueness._tally.rules import BinRule

__all__ = ["Line", "as_data", "lines_of", "shown_group"]

Line = dict[str, Any]


class _Asked(NamedTuple):
    """One line of the output: its key, its name, what to call, and what the limits are of."""

    key: str
    name: str
    value: Callable[[Any], float]
    limits: Any = None
    options: dict[str, Any] = {}  # noqa: RUF012  # never changed


def _questions(rule: "BinRule", kind: str, blocks: bool) -> list[_Asked]:
    import trueness as tn

    mass = rule if isinstance(rule, tn.EqualMass) else tn.EqualMass(rule.asked or 10)

    def plain(key: str, name: str, of: Callable[..., float], **options: Any) -> _Asked:
        return _Asked(key, name, lambda sums: of(sums, **options), of, options)

    def walk(method: Any) -> Callable[[Any], float]:
        return lambda sums: tn.calibration_test(sums, method=method).statistic

    found = [
        plain("ece", "ECE", tn.ece, bins=rule),
        plain("ece_l2", "ECE, l2", tn.ece, bins=rule, norm="l2"),
        plain("mce", "MCE", tn.mce, bins=rule),
        plain("ace", "ACE", tn.ace, bins=mass),
        *([plain("tce", "TCE, %", tn.tce)] if blocks else []),
        plain("tce_equal_mass", f"TCE, %, {mass.n} bins", tn.tce, bins=mass),
        plain("smooth_ece", "smooth ECE", tn.smooth_ece),
        plain("brier", "Brier score", tn.brier),
        _Asked("brier_miscalibration", "miscalibration", lambda s: tn.corp(s).miscalibration, "miscalibration"),
        _Asked("brier_discrimination", "discrimination", lambda s: tn.corp(s).discrimination, "discrimination"),
        plain("log_loss", "log loss", tn.log_loss),
    ]
    if kind in ("binary", "confidence"):
        found += [
            plain("squared_ece", "squared ECE of these bins", tn.squared_ece, bins=rule),
            _Asked("ks", "KS distance", walk("ks"), "ks"),
            _Asked("kuiper", "Kuiper distance", walk("kuiper"), "kuiper"),
        ]
    if kind == "binary":
        found += [
            plain("slope", "slope", tn.calibration_slope),
            plain("intercept", "intercept", tn.calibration_intercept),
            plain("observed_expected", "observed/expected", tn.observed_expected),
        ]
    return found


def lines_of(found: "Accumulator", rule: "BinRule", where: str = "", *, blocks: bool = False) -> list[Line]:
    """All measures of all rows, then of each group; `where` is said with warnings.

    `blocks` asks for TCE in isotonic blocks too, of all rows alone: its limits take a second.
    """
    if found.n == 0:
        return [_how_many(0) | {"group": None}]
    lines = _lines(found.total, rule, None, where, blocks)
    for group in _ordered(found.groups) if found.by is not None else ():
        lines += _lines(found.groups[group], rule, group, where, blocks=False)
    return lines


def as_data(lines: Iterable[Line]) -> list[Line]:
    """The lines as JSON has them."""
    return [{key: line.get(key) for key in ("group", "key", "value", "low", "high", "note")} for line in lines]


def shown_group(group: Any) -> Any:
    """The group in a table, where an empty cell stands for all of them."""
    return "''" if group == "" else group


def _ordered(groups: Iterable[Any]) -> list[Any]:
    """By value, also where numbers are kept as text."""
    try:
        return sorted(groups, key=float)
    except (TypeError, ValueError):
        return list(groups)


def _lines(sums: Any, rule: "BinRule", group: Any, where: str, blocks: bool) -> list[Line]:

    with reworded(wording()) as warned:
        asked = _questions(rule, sums.kind, blocks)
        lines = [_how_many(sums.n), _prevalence(sums), *(_answer(one, sums) for one in asked)]
    about = "".join(f"{part}: " for part in (where, "" if group is None else str(group)) if part)
    for message in warned:
        warning(f"{about}{message}")
    return [line | {"group": group} for line in lines if line]


def _how_many(n: int) -> Line:
    return {"key": "n", "name": "rows", "value": n, "shown": f"{n:,}"}


def _prevalence(sums: Any) -> Line:
    if sums.kind != "binary":
        return {}
    total = sums.parts[0].totals
    share = float(total.events / total.weight)
    exactly = {"value": share, "low": share, "high": share, "shown": f"{share:.6g}", "note": "exact"}
    return {"key": "prevalence", "name": "prevalence"} | exactly


def _answer(asked: _Asked, sums: Any) -> Line:
    """Value and limits, or why there is none."""
    import trueness as tn

    line: Line = {"key": asked.key, "name": asked.name}
    try:
        value = asked.value(sums)
    except InputError as reason:
        return line | {"shown": "-", "note": _first_sentence(reason)}
    line |= {"value": value, "low": value, "high": value, "shown": f"{value:.6g}", "note": "exact"}
    if not isinstance(sums, tn.Sketch):
        return line
    found = tn.bounded(asked.limits, sums, **asked.options)
    if found.note:
        return line | {"low": None, "high": None, "note": found.note}
    line |= {"value": found.value, "low": found.low, "high": found.high, "shown": f"{found.value:.6g}"}
    if found.error > 1e-9 * max(1, abs(found.value)):
        line |= {"note": "", "limits": f"{found.low:.6g} to {found.high:.6g}"}
    return line


def _first_sentence(reason: Exception) -> str:
    return str(reason).partition(". ")[0].rstrip(".") + "."

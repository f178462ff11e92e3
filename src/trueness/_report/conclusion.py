"""Verdicts as the page says them: of one model, and of several together."""

from collections.abc import Sequence

from trueness._report.records import Conclusion, Model
from trueness._text.strings import quoted
from trueness.results import Verdict
from trueness.results._verdict import Code

_MOST_NAMES = 6
# One model, several models; the worst first.
_CLAUSES: dict[Code, tuple[str, str]] = {
    "miscalibrated": ("is miscalibrated", "are miscalibrated"),
    "too-good": ("is too good to be true", "are too good to be true"),
    "undetermined": ("could not be tested", "could not be tested"),
    "too-few-rows": ("has too few rows to tell", "have too few rows to tell"),
    "slightly-miscalibrated": ("is slightly miscalibrated", "are slightly miscalibrated"),
    "no-evidence": ("shows no miscalibration", "show no miscalibration"),
}


def conclusion(verdict: Verdict, name: str = "") -> Conclusion:
    """The verdict in words, which begin with the name of the model if there are several."""
    headline, certainty = verdict.headline, verdict.certainty
    opening = f"{quoted(name)}: {headline[0].lower()}{headline[1:]}" if name else headline
    return Conclusion(verdict.code, headline, certainty, f"{opening} {certainty}".rstrip())


def overall_conclusion(models: Sequence[Model]) -> Conclusion:
    """The conclusion at the top: that of the only model, or the worst code, with one clause per kind of verdict."""
    if len(models) == 1:
        return models[0].verdict
    by_code: dict[Code, list[str]] = {}
    for model in models:
        by_code.setdefault(model.verdict.code, []).append(quoted(model.name))
    codes = [code for code in _CLAUSES if code in by_code]
    clauses = [f"{_joined(by_code[code])} {_CLAUSES[code][len(by_code[code]) > 1]}" for code in codes]
    text = f"{'; '.join(clauses)}."
    return Conclusion(codes[0], text, "", text)


def _joined(names: list[str]) -> str:
    shown = names[:_MOST_NAMES] + ([f"{len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES else [])
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"

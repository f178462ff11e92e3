"""User strings made safe to print, and the library's messages in the words of the command line."""

import re
from collections.abc import Mapping

__all__ = ["in_options", "visible"]

_ARGUMENTS = (
    *("pos_label", "labels", "missing", "sum_tolerance", "clip_tolerance", "from_logits", "bins", "level", "kind"),
    *("method", "measure", "resamples", "fitted", "alpha", "epsilon", "scheme", "bound", "split"),
)
_ARGUMENT = re.compile(rf"`({'|'.join(_ARGUMENTS)})(?:=([^`]*))?`")
_RULES = (
    ("`EqualMass` bins", "`--bins`"),
    ("`Distinct()`", "`--bins distinct`"),
    ("the arguments seem swapped. Labels come first.", "`--label` and `--prob` seem swapped."),
    ("`weight_type='importance'` takes", "`--method influence`, of squared-ece, brier and log-loss, takes"),
)


def visible(text: str) -> str:
    r"""Control characters, and others that cannot be seen, as text.

    Examples
    --------
    >>> print(visible("\x1b[31mred"))
    \x1b[31mred
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def in_options(message: str, arguments: Mapping[str, str] | None = None) -> str:
    """A message about arguments as one about options and what the arguments stand for.

    Examples
    --------
    >>> in_options('`y_prob` must not have missing values. `missing="drop"` leaves such rows out.',
    ...            {"y_prob": "column 'p'"})
    "Column 'p' must not have missing values. `--missing drop` leaves such rows out."
    """
    message = _ARGUMENT.sub(_option, message)
    message = re.sub(r"\bmethod='([\w-]+)'", r"`--method \1`", message)
    for rule, words in _RULES:
        message = message.replace(rule, words)
    for argument, words in (arguments or {}).items():
        message = message.replace(f"`{argument}`", words)
    message = message[:1].upper() + message[1:]
    return f"{message} Rows count from 0." if re.search(r"\brow \d", message) else message


def _option(argument: re.Match[str]) -> str:
    name, value = argument[1].replace("_", "-"), argument[2] or ""
    if name == "labels":
        value = ",".join(part.strip(" '\"") for part in value.strip("[]").split(",")) if "…" not in value else ""
    elif name in ("missing", "from-logits", "kind", "method", "measure", "scheme", "bound", "fitted"):
        value = value.strip("'\"").replace("True", "").replace("_", "-")
    return f"`--{name} {value}".rstrip() + "`"

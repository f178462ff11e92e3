"""``--bins``: a bin rule as one types it, and as one says it."""

import re
from collections.abc import Callable

import trueness as tn
from trueness._tally.rules import BinRule, as_rule
from trueness.cli._messages import in_options
from trueness.errors import InputError

__all__ = ["bin_rule", "in_words"]

_FEW = 12  # edges that are named one by one


def bin_rule(text: str) -> BinRule:
    """Read ``--bins``: a number, ``mass:10``, edges with commas between, or the name of a rule.

    Examples
    --------
    >>> bin_rule("mass:15")
    EqualMass(n=15)
    """
    word = text.strip().lower()
    named: dict[str, Callable[[], BinRule]] = {
        "isotonic": tn.Isotonic,
        "block-isotonic": tn.BlockIsotonic,
        "block": tn.BlockIsotonic,
        "distinct": tn.Distinct,
    }
    if word in named:
        return named[word]()
    try:
        if found := re.fullmatch(r"(?:(width|mass):)?(0*[1-9]\d*)", word, re.ASCII):
            return tn.EqualMass(int(found[2])) if found[1] == "mass" else as_rule(int(found[2]))
        if re.fullmatch(r"[-+.\deE]+(,[-+.\deE]+)+", word, re.ASCII):
            return tn.Edges([float(edge) for edge in word.split(",")])
    except InputError as reason:
        raise InputError(in_options(str(reason))) from reason
    except ValueError:  # 1e or +-, which the pattern lets through
        pass
    raise InputError(
        "`--bins` must be a number of bins of equal width (10), of equal mass (mass:10), edges (0,0.1,0.5,1), "
        f"isotonic, block-isotonic or distinct; got {text!r}."
    )


def in_words(rule: BinRule) -> str:
    """A bin rule as one would say it."""
    match rule:
        case tn.EqualWidth(n):
            return f"{n:,} of equal width"
        case tn.EqualMass(n):
            return f"{n:,} of equal mass"
        case tn.Edges():
            edges = ", ".join(f"{edge:g}" for edge in rule.edges)
            return f"{rule.asked:,} between {f'the edges {edges}' if rule.asked <= _FEW else 'given edges'}"
        case tn.Isotonic():
            return "isotonic"
        case tn.BlockIsotonic():
            return "isotonic blocks of 5 to 20 % of the rows"
        case _:
            return "one per distinct score"

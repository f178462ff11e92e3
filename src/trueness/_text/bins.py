"""Names of bins and of bin rules."""

import re
from typing import Any

_FEW_EDGES = 12  # named one by one


def bin_name(low: float, high: float, *, last: bool) -> str:
    """A bin by its edges, with enough digits to tell them from each other and from 1.

    Examples
    --------
    >>> bin_name(0.0, 0.1, last=False), bin_name(0.99991, 0.99993, last=False), bin_name(0.99996, 1.0, last=True)
    ('[0, 0.1)', '[0.99991, 0.99993)', '[0.99996, 1]')
    """
    for digits in range(4, 18):
        texts = f"{low:.{digits}g}", f"{high:.{digits}g}"
        distinct = texts[0] != texts[1] or low == high
        if distinct and all(text != "1" or edge == 1 for text, edge in zip(texts, (low, high), strict=True)):
            break
    return f"[{texts[0]}, {texts[1]}{']' if last else ')'}"


def rule_in_words(rule: Any) -> str:
    """A bin rule, or its ``repr``, in words.

    Examples
    --------
    >>> import trueness as tn
    >>> rule_in_words("EqualWidth(n=1500)"), rule_in_words("EqualMass(n=1)"), rule_in_words(tn.Isotonic())
    ('1,500 bins of equal width', '1 bin of equal mass', 'isotonic bins')
    >>> rule_in_words(tn.Edges([0, 0.25, 1])), rule_in_words(tn.Edges([i / 20 for i in range(21)]))
    ('2 bins between the edges 0, 0.25, 1', '20 bins between given edges')
    """
    name, _, rest = (rule if isinstance(rule, str) else repr(rule)).partition("(")
    if name in ("EqualWidth", "EqualMass"):
        n = int(rest.removeprefix("n=").removesuffix(")"))
        return f"{n:,} bin{'' if n == 1 else 's'} of equal {name.removeprefix('Equal').lower()}"
    if name == "Edges":
        return _edges_in_words(rule)
    words = {
        "Isotonic": "isotonic bins",
        "BlockIsotonic": "isotonic blocks (PAVA-BC)",
        "Distinct": "one bin per distinct score",
    }
    return words.get(name, name)


def _edges_in_words(rule: Any) -> str:
    edges = list(map(float, re.findall(r"[\d.]+(?:e-?\d+)?", rule))) if isinstance(rule, str) else list(rule.edges)
    n = len(edges) - 1
    which = f"the edges {', '.join(f'{edge:g}' for edge in edges)}" if n <= _FEW_EDGES else "given edges"
    return f"{n:,} bin{'' if n == 1 else 's'} between {which}"

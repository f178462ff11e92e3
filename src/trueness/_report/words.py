"""Numbers and names as the report writes them, in every form."""

import math

__all__ = ["counted", "number", "p_value", "percent", "quoted", "shortened", "signed", "visible"]

_LONG = 60
_NOTHING = 1e-12  # what is left when equal numbers are subtracted


def number(value: float | None, digits: int = 4) -> str:
    """A number with so many decimals, or with enough of them to show two digits of a small one.

    Examples
    --------
    >>> number(0.04919), number(0.0000123), number(0.0), number(float("nan"))
    ('0.0492', '0.000012', '0.0000', '–')
    """
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if _NOTHING < abs(value) < 10.0 ** (1 - digits):
        digits = min(12, 1 - math.floor(math.log10(abs(value))))
    return f"{0.0 if abs(value) <= _NOTHING else value:.{digits}f}".replace("-", "−")


def signed(value: float, digits: int = 4) -> str:
    """A number with its sign."""
    text = number(value, digits)
    return f"+{text}" if value > 0 else text


def percent(value: float, digits: int = 1) -> str:
    """A fraction as a percentage; whole ones without decimals, small ones with enough of them.

    Examples
    --------
    >>> percent(0.95), percent(0.2038), percent(0.00112)
    ('95 %', '20.4 %', '0.11 %')
    """
    if math.isnan(value):
        return "–"
    hundred = round(100 * value, 9)
    if hundred == round(hundred):
        return f"{hundred:.0f} %"
    if 0 < abs(hundred) < 1:
        digits = 1 - math.floor(math.log10(abs(hundred)))
    return f"{hundred:.{digits}f} %"


def p_value(p: float | None) -> str:
    """A p-value; never shown as 0."""
    if p is None or math.isnan(p):
        return "–"
    if p < 1e-4:
        return "p < 0.0001"
    return f"p = {p:.2f}" if p >= 0.095 else f"p = {p:.2g}"


def counted(n: int, noun: str) -> str:
    """A number of things.

    Examples
    --------
    >>> counted(1, "row"), counted(10_000, "row")
    ('1 row', '10,000 rows')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def visible(text: str) -> str:
    r"""Control characters, and others that cannot be seen, as text.

    Examples
    --------
    >>> print(visible("a\x1b[31m‮b"))
    a\x1b[31m\u202eb
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def shortened(text: str, most: int = _LONG) -> str:
    """A long name, cut."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def quoted(name: str) -> str:
    """A name inside a sentence."""
    return f"“{shortened(visible(name))}”"

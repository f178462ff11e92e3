"""Numbers, percentages, intervals, ticks and bins as text."""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from trueness._level import level_percent as level_percent

MISSING = "–"
TOO_SMALL = "too small to be estimated"
"""Shown in place of a typical error of zero, since no model is exactly calibrated."""
_ROUNDING = 1e-12  # left over when equal numbers are subtracted
_MOST_DECIMALS = 12
_MOST_COMMON_DECIMALS = 6
_LARGEST_COUNT = 1e12
_ALL_DIGITS = 1e9  # from here on three digits and an exponent: nobody reads more


def number(value: float | None, decimals: int = 4) -> str:
    """A number with `decimals` decimals, or as many as show two digits of a small one.

    >>> number(0.04919), number(0.0000123), number(0.00009999), number(-1234.5, 1)
    ('0.0492', '0.000012', '0.00010', '−1,234.5')
    >>> number(-1e-17), number(0.0006), number(0.001)
    ('0.0000', '0.00060', '0.0010')
    >>> number(None), number(math.nan), number(math.inf), number(-math.inf)
    ('–', '–', '∞', '−∞')
    >>> number(123_456_789.0), number(-1.0827e168)
    ('123,456,789.0000', '−1.08e+168')
    """
    if value is None or math.isnan(value):
        return MISSING
    if math.isinf(value):
        if value > 0:
            return "∞"
        return "−∞"
    if abs(value) <= _ROUNDING:
        value = 0.0
    elif (size := float(f"{abs(value):.1e}")) < 10.0 ** (1 - decimals):
        decimals = min(_MOST_DECIMALS, 1 - math.floor(math.log10(size)))
    return in_digits(value, decimals)


def in_digits(value: float, decimals: int) -> str:
    """A finite number with these decimals, or with three digits and an exponent if it is huge."""
    if abs(value) >= _ALL_DIGITS:
        return f"{value:.2e}".replace("-", "−")
    return f"{value:z,.{decimals}f}".replace("-", "−")


def signed(value: float | None, decimals: int = 4) -> str:
    """A number with its sign, also when it is positive.

    >>> [signed(value, 2) for value in (0.1, -0.1, 0.0, None)]
    ['+0.10', '−0.10', '0.00', '–']
    """
    text = number(value, decimals)
    if value is not None and value > 0:
        return f"+{text}"
    return text


def signed_with_limits(
    value: float, low: float, high: float, decimals: int = 4
) -> tuple[str, str, str]:
    """A difference and its limits, with two digits of the distance between these, or more.

    >>> signed_with_limits(0.000104, 0.0000039, 0.00021), signed_with_limits(-0.015, -4.1, 4.3, 1)
    (('+0.00010', '0.00000', '+0.00021'), ('0.0', '−4.1', '+4.3'))
    >>> signed_with_limits(0.1, -math.inf, math.inf, 2)
    ('+0.10', '−∞', '+∞')
    """
    width = high - low
    if math.isfinite(width) and width > 0:
        decimals = min(_MOST_DECIMALS, max(decimals, 1 - math.floor(math.log10(width))))
    return (
        _rounded(value, decimals),
        _rounded(low, decimals),
        _rounded(high, decimals),
    )


def _rounded(value: float, decimals: int) -> str:
    """A signed number with all its decimals; zero has no sign."""
    if not math.isfinite(value):
        return signed(value)
    sign = "+" if round(value, decimals) > 0 else ""
    return f"{sign}{in_digits(value, decimals)}"


def small_share(value: float) -> str:
    """A fraction as a percentage, of which less than a hundredth of a percent does not matter.

    >>> small_share(0.27), small_share(0.0000012), small_share(0.0)
    ('27 %', '< 0.01 %', '0 %')
    """
    if 0 < value < 1e-4:
        return "< 0.01 %"
    return percent(value)


def ratio(value: float | None) -> str:
    """A ratio such as observed/expected: two decimals, more if it is small, fewer if large.

    >>> ratio(1.0349), ratio(0.0123), ratio(23.456), ratio(float("inf")), ratio(float("nan"))
    ('1.03', '0.012', '23.5', '∞', '–')
    """
    if value is None or not abs(value) >= 10:
        return number(value, 2)
    if abs(value) < 1000:
        return number(value, 1)
    return number(value, 0)


def span(low: float, high: float, form: Callable[[float], str] = number) -> str:
    """A range in words: ``0.0100 to 0.0400``."""
    return f"{form(low)} to {form(high)}"


def short_number(value: float) -> str:
    """Three or four digits, for pictures; whole numbers from 100 on.

    >>> [short_number(value) for value in (1282.3, 0.21234, 0.0123, 0.00001234, 0.0)]
    ['1,282', '0.212', '0.0123', '1.2e-05', '0']
    """
    if math.isnan(value):
        return MISSING
    if abs(value) <= _ROUNDING:
        return "0"
    if abs(value) < 0.00095:
        return f"{value:.2g}"
    if abs(value) < 0.0995:
        return f"{value:.4f}"
    if abs(value) >= _ALL_DIGITS:
        return f"{value:.3g}"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3f}"


def common_decimals(values: Sequence[float]) -> int:
    """Decimals for numbers that are compared: four, or up to six to show digits of the smallest.

    >>> [common_decimals(values) for values in ([0.5], [0.5, 0.00123], [1e-9], [math.nan])]
    [4, 5, 6, 4]
    """
    sizes = [abs(v) for v in values if math.isfinite(v) and v != 0]
    if not sizes:
        return 4
    three_digits = 2 - math.floor(math.log10(min(sizes)))
    return min(max(4, three_digits), _MOST_COMMON_DECIMALS)


def percent(value: float, decimals: int = 1) -> str:
    """A fraction as a percentage.

    Whole ones without decimals, those near 0 with two digits, those near 1 with one of the
    distance.

    >>> percent(1 - 0.05), percent(0.2038), percent(0.00112), percent(0.99996), percent(math.nan)
    ('95 %', '20.4 %', '0.11 %', '99.996 %', '–')
    """
    if math.isnan(value):
        return MISSING
    hundred = round(100 * value, 9)
    if abs(hundred) >= _ALL_DIGITS:
        return f"{in_digits(hundred, 0)} %"
    if hundred == round(hundred):
        return f"{hundred:.0f} %"
    if abs(hundred) < 1:
        decimals = 1 - math.floor(math.log10(abs(hundred)))
    elif abs(100 - hundred) < 1:
        decimals = -math.floor(math.log10(abs(100 - hundred)))
    return f"{hundred:.{decimals}f} %"


def percents(*values: float) -> tuple[str, ...]:
    """Fractions as percentages without their sign, all with the decimals that tell them apart.

    >>> percents(0.651, 0.41, 0.352), percents(0.0012, 0.0031), percents(0.9991, 1.0)
    (('65', '41', '35'), ('0.12', '0.31'), ('99.910', '100.000'))
    """
    percentages = [100 * v for v in values if math.isfinite(v)] or [0.0]
    # The largest distance from 0 or 100, and that of the values from each other.
    distance = max(min(v, 100 - v) for v in percentages)
    spread = max(percentages) - min(percentages)
    size = min(v for v in (distance, spread, 10.0) if v > 0)
    decimals = max(0, min(_MOST_COMMON_DECIMALS, 1 - math.floor(math.log10(size))))
    return _with_decimals(values, decimals)


def _with_decimals(fractions: Iterable[float], decimals: int) -> tuple[str, ...]:
    """Fractions as percentages, with a minus sign that is not a hyphen."""
    return tuple(_percentage(fraction, decimals) for fraction in fractions)


def _percentage(fraction: float, decimals: int) -> str:
    """A fraction as a percentage without its sign."""
    if math.isnan(fraction):
        return MISSING
    if _ALL_DIGITS <= abs(100 * fraction) < math.inf:
        return in_digits(100 * fraction, decimals)
    return f"{100 * fraction:z.{decimals}f}".replace("-", "−")


def shares(*values: float) -> tuple[str, ...]:
    """Fractions as percentages without their sign, all with two digits of the largest.

    >>> shares(0.0284, 0.019, 0.0371), shares(0.00042, -0.00011, 0.0009), shares(0.18, 0.1, 0.26)
    (('2.8', '1.9', '3.7'), ('0.042', '−0.011', '0.090'), ('18', '10', '26'))
    """
    largest = max((100 * abs(v) for v in values if math.isfinite(v)), default=0.0)
    size = math.floor(math.log10(largest)) if largest > _ROUNDING else 0
    decimals = max(0, min(_MOST_COMMON_DECIMALS, 1 - size))
    return _with_decimals(values, decimals)


def points(*values: float) -> tuple[str, ...]:
    """Differences of probabilities in percentage points, with decimals that suit the largest.

    >>> points(0.0492), points(0.043, 0.0561), points(0.0, 0.00052)
    (('4.9',), ('4.3', '5.6'), ('0.000', '0.052'))
    """
    largest = max((100 * abs(v) for v in values if math.isfinite(v)), default=0.0)
    decimals = 1
    if _ROUNDING < largest < 0.95:
        decimals = min(_MOST_COMMON_DECIMALS, 1 - math.floor(math.log10(largest)))
    return _with_decimals(values, decimals)


def percentage(value: float | None) -> str:
    """A number that is a percentage already, such as the TCE."""
    if value is None or math.isnan(value):
        return MISSING
    return f"{in_digits(value, 1)} %"


def p_value(p: float | None, *, named: bool = True) -> str:
    """A p-value with two digits, never shown as 0; `named` puts ``p =`` in front.

    >>> p_value(0.5), p_value(0.01234), p_value(0.0), p_value(1e-9, named=False), p_value(None)
    ('p = 0.50', 'p = 0.012', 'p < 0.0001', '< 0.0001', '–')
    """
    if p is None or math.isnan(p):
        return MISSING
    if p < 1e-4:
        if named:
            return "p < 0.0001"
        return "< 0.0001"
    digits = f"{p:.2f}" if p >= 0.095 else f"{p:.2g}"
    if named:
        return f"p = {digits}"
    return digits


def total(value: float) -> str:
    """A sum of weights: whole numbers in full, others with six digits or as whole numbers.

    >>> total(1_000_000.0), total(1234.56789), total(5_935_360.4), total(3.2e15)
    ('1,000,000', '1,234.57', '5,935,360', '3.20e+15')
    """
    if abs(value) >= _LARGEST_COUNT:
        return in_digits(value, 0)
    if float(value).is_integer() or abs(value) >= 1e6:
        return f"{value:,.0f}"
    return f"{value:,.6g}"


def count(n: int, noun: str) -> str:
    """A number of things.

    >>> count(1, "row"), count(10_000, "row")
    ('1 row', '10,000 rows')
    """
    if n == 1:
        return f"1 {noun}"
    return f"{n:,} {noun}s"


def clusters_in_words(n: int, in_buckets: bool) -> str:
    """A number of clusters, or of the buckets of clusters that sums keep.

    >>> clusters_in_words(300, False), clusters_in_words(64, True)
    ('300 clusters', '64 buckets of clusters')
    """
    if in_buckets:
        return f"{count(n, 'bucket')} of clusters"
    return count(n, "cluster")


class ConfidenceSet(Protocol):
    """The ends of a confidence set, as :class:`trueness.results.Interval` has them."""

    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...
    @property
    def low_closed(self) -> bool: ...
    @property
    def is_interval(self) -> bool: ...


def confidence_set(interval: ConfidenceSet | None, form: Callable[[float], str] = number) -> str:
    """The confidence set of an `Interval`, or None, in brackets.

    >>> from trueness.results import Interval
    >>> print(confidence_set(Interval(0.03, 0.01, 0.04, 0.95, "score", 100, True, True)))
    {0} ∪ [0.0100, 0.0400]
    >>> print(confidence_set(Interval(0.03, 0.01, 0.04, 0.95, "score", 100, False, False)))
    (0.0100, 0.0400]
    >>> print(confidence_set(Interval(0.03, 0.0, 0.0, 0.95, "score", 100, True, True)))
    {0}
    """
    if interval is None:
        return MISSING
    if interval.high == 0:
        return "{0}"
    bracket = "[" if interval.low_closed else "("
    part = f"{bracket}{form(interval.low)}, {form(interval.high)}]"
    if interval.is_interval:
        return part
    return f"{{0}} ∪ {part}"


# Below this length a window is not worth its digits; from this length on, all of [0, 1] is shown.
_SHORTEST = 1e-9
_LONGEST = 0.5
# Nearer to 0 or 1 labels have an exponent.
_TINY = 0.95e-7
# Steps between ticks, by the first digits of the length of the axis.
_STEPS = {1: 5, 1.5: 5, 2: 4, 3: 6, 4: 4, 5: 5, 6: 6, 8: 4}


def zoomed_ends(smallest: float, largest: float) -> tuple[float, float]:
    """The ends of an axis from 0 or up to 1 that shows all from `smallest` to `largest`.

    0 and 1 if that is half or more.

    >>> zoomed_ends(0.001, 0.017), zoomed_ends(0.93, 1.0), zoomed_ends(0.1, 0.9)
    ((0.0, 0.02), (0.92, 1.0), (0.0, 1.0))
    """
    if _SHORTEST < largest < _LONGEST:
        return 0.0, round_up(largest)
    if _SHORTEST < 1 - smallest < _LONGEST:
        return 1 - round_up(1 - smallest), 1.0
    return 0.0, 1.0


def round_up(value: float) -> float:
    """The next of 1, 1.5, 2, 3, 4, 5, 6, 8, 10 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(max(value, 1e-12)))
    for digits in _STEPS:
        if digits * power >= 0.999999 * value:
            return round(digits * power, 14)
    return round(10 * power, 14)


def linear_ticks(low: float, high: float) -> list[float]:
    """Four to six equal steps between ends of :func:`zoomed_ends`.

    >>> linear_ticks(0.0, 0.02)
    [0.0, 0.005, 0.01, 0.015, 0.02]
    """
    length = high - low
    n = _STEPS[float(f"{length:.2e}".partition("e")[0])]
    return [round(low + length * i / n, 14) for i in range(n + 1)]


def percent_tick(value: float) -> str:
    """A tick in percent, with all its digits unless these are very many.

    >>> percent_tick(0.00001), percent_tick(0.999), percent_tick(1e-9), percent_tick(1 - 1e-9)
    ('0.001 %', '99.9 %', '1e-07 %', '100−1e-07 %')
    """
    if 0 < value < _TINY:
        return f"{100 * value:.0e} %"
    if 0 < 1 - value < _TINY:
        return f"100−{100 * (1 - value):.0e} %"
    hundred = f"{100 * value:.10f}"
    return f"{hundred.rstrip('0').rstrip('.')} %"


_FEW_EDGES = 12  # named one by one


def bin_name(low: float, high: float, *, last: bool) -> str:
    """A bin by its edges, with enough digits to tell them from each other and from 1.

    >>> bin_name(0.0, 0.1, last=False), bin_name(0.99991, 0.99993, last=False)
    ('[0, 0.1)', '[0.99991, 0.99993)')
    >>> bin_name(0.99996, 1.0, last=True)
    '[0.99996, 1]'
    """
    for digits in range(4, 18):
        left = f"{low:.{digits}g}"
        right = f"{high:.{digits}g}"
        is_distinct = left != right or low == high
        seems_one = (left == "1" and low != 1) or (right == "1" and high != 1)
        if is_distinct and not seems_one:
            break
    return f"[{left}, {right}]" if last else f"[{left}, {right})"


_RULE = re.compile(
    r"\b(?:(?:EqualWidth|EqualMass|MassAndWidth|Distinct|Isotonic|BlockIsotonic)\([^()]*\)"
    r"|Edges\((?:[^()]|\([^()]*\))*\))(?:: [\d,]+ bins?\b)?"
)
"""The ``repr`` of a bin rule, and how many bins it makes."""


def rule_in_words(rule: object) -> str:
    """A bin rule, or its ``repr``, in words.

    >>> import trueness as tn
    >>> rule_in_words("EqualWidth(n=1500)"), rule_in_words("EqualMass(n=1)")
    ('1,500 bins of equal width', '1 bin of equal mass')
    >>> rule_in_words(tn.Isotonic())
    'isotonic bins'
    >>> rule_in_words(tn.Edges([0, 0.25, 1])), rule_in_words(tn.Edges([i / 20 for i in range(21)]))
    ('2 bins between the edges 0, 0.25, 1', '20 bins between given edges')
    """
    name, _, rest = (rule if isinstance(rule, str) else repr(rule)).partition("(")
    if name in ("EqualWidth", "EqualMass"):
        n = int(rest.removeprefix("n=").removesuffix(")"))
        return f"{count(n, 'bin')} of equal {name.removeprefix('Equal').lower()}"
    if name == "MassAndWidth":
        mass, width = re.findall(r"\d+", rest)
        return f"{int(mass):,} bins of equal mass, cut at {int(width):,} of equal width"
    if name == "Edges":
        if isinstance(rule, str) and "..." in rule:  # NumPy's short form of many
            return "bins between given edges"
        if isinstance(rule, str):
            edges = list(map(float, re.findall(r"[\d.]+(?:e-?\d+)?", rest)))
        else:
            edges = list(getattr(rule, "edges", ()))
        n_bins = len(edges) - 1
        if n_bins > _FEW_EDGES:
            return f"{count(n_bins, 'bin')} between given edges"
        listed = ", ".join(f"{edge:g}" for edge in edges)
        return f"{count(n_bins, 'bin')} between the edges {listed}"
    words = {
        "Isotonic": "isotonic bins",
        "BlockIsotonic": "isotonic blocks (PAVA-BC)",
        "Distinct": "one bin per distinct score",
    }
    return words.get(name, name)


def rules_in_words(rules: str) -> str:
    """Several bin rules, as their ``repr`` joined by commas, in words.

    >>> rules_in_words("MassAndWidth(mass=10, width=10), Distinct()")
    '10 bins of equal mass, cut at 10 of equal width; one bin per distinct score'
    """
    return "; ".join(map(rule_in_words, re.split(r"(?<=\)), ", rules)))


def with_rules_in_words(sentence: str) -> str:
    """A sentence that names bin rules by their ``repr``, with these in words.

    >>> with_rules_in_words("Bins: EqualMass(n=10). Groups: Edges(edges=array([0., 0.3, 1.])), 2.")
    'Bins: 10 bins of equal mass. Groups: 2 bins between the edges 0, 0.3, 1, 2.'
    """
    return _RULE.sub(lambda rule: cells_in_words(rule[0]), sentence)


def cells_in_words(bins: str) -> str:
    """The cells of an interval: a rule as its ``repr``, and how many of its bins have rows.

    >>> cells_in_words("MassAndWidth(mass=25, width=25): 44 bins with rows")
    '25 bins of equal mass, cut at 25 of equal width: 44 bins with rows'
    >>> cells_in_words("EqualWidth(n=15): 15 bins")
    '15 bins of equal width'
    """
    rule, *filled = bins.split(": ")
    words = rule_in_words(rule)
    more = [] if filled and words.startswith(f"{filled[0]} ") else filled
    return ": ".join([words, *more])


def changed(first: float, second: float) -> str:
    """From one number to another, with enough decimals to show the difference."""
    for decimals in range(4, 10):
        before = f"{first:.{decimals}f}"
        after = f"{second:.{decimals}f}"
        if before != after:
            break
    return f"{before} to {after}"

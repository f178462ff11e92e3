"""A list of cases: inputs, expected values, and the values of other conventions, as JSON."""

import struct
from decimal import Decimal
from fractions import Fraction

TOLERANCE = 1e-9
NAN, INF = float("nan"), float("inf")

# Rows that many cases use.
Y, P = [0, 1, 0, 1, 1, 0, 1, 1], [0.05, 0.15, 0.22, 0.45, 0.55, 0.62, 0.85, 0.97]
Y3 = [0, 2, 1, 1, 0, 2]
P3 = [
    [0.71, 0.19, 0.1],
    [0.15, 0.3, 0.55],
    [0.25, 0.45, 0.3],
    [0.62, 0.33, 0.05],
    [0.82, 0.1, 0.08],
    [0.1, 0.65, 0.25],
]


def number(x):
    """The decimal that is written, exactly."""
    return Fraction(str(x))


def single(x):
    """The float32 nearest to x, exactly."""
    return Fraction(struct.unpack("f", struct.pack("f", x))[0])


def plain(value):
    if isinstance(value, Decimal):
        return "inf" if value == Decimal("inf") else float(value)
    return float(value)


def encode(values):
    """JSON has no nan and no infinity: these are strings."""
    if isinstance(values, list):
        return [encode(value) for value in values]
    if isinstance(values, float) and (values != values or values in (INF, -INF)):
        return {"nan": "nan", "inf": "inf", "-inf": "-inf"}[str(values)]
    return values


class Suite:
    """The cases of one file."""

    def __init__(self):
        self.cases = []

    def add(
        self,
        id,
        measure,
        y,
        p,
        expect,
        why,
        *,
        others=(),
        tolerance=TOLERANCE,
        convention=None,
        **fields,
    ):
        entry = {"id": id, "measure": measure, "y_true": encode(y), "y_prob": encode(p)}
        for name, value in fields.items():
            if value is not None:
                entry[name] = encode(value)
        entry["convention"] = convention or {}
        entry["expect"] = expect
        if others:
            entry["others"] = others
        entry["tolerance"] = tolerance
        entry["why"] = why
        self.cases.append(entry)

    def value(self, id, measure, y, p, value, why, *, others=(), **fields):
        """A case with a number; `others`: (name, value, is it a defect)."""
        kept = []
        for name, other, defect in others:
            if close(other, value):
                continue
            same = next((entry for number, entry in kept if close(number, other)), None)
            if same is None:
                kept.append((other, {"value": listed(other), "names": [], "defects": []}))
                same = kept[-1][1]
            same["defects" if defect else "names"].append(name)
        expect = {"value": listed(value)}
        if not isinstance(value, Decimal):
            expect["exact"] = [str(v) for v in value] if isinstance(value, list) else str(value)
        self.add(id, measure, y, p, expect, why, others=[entry for _, entry in kept], **fields)

    def refused(self, id, measure, y, p, why, **fields):
        self.add(id, measure, y, p, {"error": True}, why, **fields)

    def undefined(self, id, measure, y, p, why, **fields):
        self.add(id, measure, y, p, {"undefined": True}, why, **fields)


def listed(value):
    return [plain(v) for v in value] if isinstance(value, list) else plain(value)


def close(a, b):
    if isinstance(a, list):
        return all(close(x, y) for x, y in zip(a, b, strict=True))
    a, b = float(a), float(b)
    return a == b or abs(a - b) <= 1e-6

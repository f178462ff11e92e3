"""The reliability diagram of a table of bins as inline SVG."""

from collections.abc import Iterable, Mapping, Sequence

__all__ = ["STYLE", "diagram"]

_LEFT, _TOP, _SIZE = 56, 12, 340
_WIDE, _HIGH = _LEFT + _SIZE + 14, _TOP + _SIZE + 44

STYLE = """svg{max-width:30rem;display:block;margin:1rem 0;font:12px system-ui,sans-serif}svg text{fill:#57606a}
.grid{stroke:#d8dee4}.diagonal{stroke:#8b949e;stroke-dasharray:5 4}.line{fill:none;stroke:#0b7bc1;stroke-width:2}
.bar{stroke:#0b7bc1;opacity:.6}.dot{fill:#0b7bc1}
@media(prefers-color-scheme:dark){.grid{stroke:#30363d}svg text{fill:#9198a1}.line,.bar{stroke:#58a6ff}
.dot{fill:#58a6ff}}"""


def diagram(table: Mapping[str, Sequence[float]]) -> str:
    """Event rates with their intervals against mean scores; bins without rows are blank."""
    filled = [i for i, n in enumerate(table["n"]) if n > 0]
    reach = max((table[name][i] for i in filled for name in ("score", "high")), default=1.0)
    top = 1.0 if reach > 0.5 else max(reach * 1.1, 1e-12)
    parts = [*_frame(top), *_points(table, filled, top)]
    return (
        f'<svg viewBox="0 0 {_WIDE} {_HIGH}" role="img" aria-label="Event rate against mean score of each bin">'
        f"{''.join(parts)}</svg>"
    )


def _at(x: float, y: float, top: float) -> tuple[str, str]:
    return f"{_LEFT + _SIZE * x / top:.1f}", f"{_TOP + _SIZE * (1 - y / top):.1f}"


def _frame(top: float) -> Iterable[str]:
    for i in range(6):
        v = top * i / 5
        x, y = _at(v, v, top)
        yield f'<line class="grid" x1="{_LEFT}" x2="{_LEFT + _SIZE}" y1="{y}" y2="{y}"/>'
        yield f'<line class="grid" x1="{x}" x2="{x}" y1="{_TOP}" y2="{_TOP + _SIZE}"/>'
        yield f'<text x="{_LEFT - 6}" y="{y}" dy="4" text-anchor="end">{v:.3g}</text>'
        yield f'<text x="{x}" y="{_TOP + _SIZE + 16}" text-anchor="middle">{v:.3g}</text>'
    yield f'<line class="diagonal" x1="{_LEFT}" y1="{_TOP + _SIZE}" x2="{_LEFT + _SIZE}" y2="{_TOP}"/>'
    middle = _TOP + _SIZE // 2
    yield f'<text x="{_LEFT + _SIZE // 2}" y="{_HIGH - 8}" text-anchor="middle">mean score</text>'
    yield f'<text x="14" y="{middle}" text-anchor="middle" transform="rotate(-90 14 {middle})">event rate</text>'


def _points(table: Mapping[str, Sequence[float]], filled: Sequence[int], top: float) -> Iterable[str]:
    places = [_at(table["score"][i], table["rate"][i], top) for i in filled]
    yield f'<polyline class="line" points="{" ".join(",".join(place) for place in places)}"/>'
    for i, (x, y) in zip(filled, places, strict=True):
        _, low = _at(0, table["low"][i], top)
        _, high = _at(0, table["high"][i], top)
        n = table["n"][i]
        told = f"{n:,} {'row' if n == 1 else 'rows'}: score {table['score'][i]:.4f}, rate {table['rate'][i]:.4f}"
        yield f'<line class="bar" x1="{x}" x2="{x}" y1="{low}" y2="{high}"/>'
        yield f'<circle class="dot" cx="{x}" cy="{y}" r="4"><title>{told}</title></circle>'

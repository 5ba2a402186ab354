"""The time of a step by the length of its session, drawn as an SVG picture with two log scales."""

from collections.abc import Iterable, Mapping, Sequence
from math import ceil, floor, log10
from pathlib import Path

_WIDTH, _HEIGHT = 820, 420
_LEFT, _TOP, _PLOT_WIDTH, _PLOT_HEIGHT = 70, 20, 470, 340
_COLOURS = ("#2563eb", "#d97706", "#059669", "#7c3aed", "#dc2626", "#0891b2")
_OPENING = (
    f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
    'font-family="sans-serif" font-size="12">'
)

Curves = Mapping[str, Sequence[tuple[int, float]]]
"""For each curve, by its name, steps of the session and milliseconds."""


def draw_curves(curves: Curves, file: Path) -> None:
    """Write the picture."""
    sizes = [size for points in curves.values() for size, _ in points]
    values = [value for points in curves.values() for _, value in points]
    across = floor(log10(min(sizes))), log10(max(sizes))
    up = floor(log10(min(values))), max(ceil(log10(max(values))), floor(log10(min(values))) + 1)

    def place(size: float, value: float) -> tuple[float, float]:
        x = (log10(size) - across[0]) / (across[1] - across[0])
        y = (log10(value) - up[0]) / (up[1] - up[0])
        return _LEFT + x * _PLOT_WIDTH, _TOP + (1 - y) * _PLOT_HEIGHT

    lines = [_OPENING, f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>']
    for power in range(up[0], up[1] + 1):
        _, y = place(10 ** across[0], 10.0**power)
        end = _LEFT + _PLOT_WIDTH
        lines.append(f'<path d="M{_LEFT} {y:.1f}H{end}" stroke="#ddd"/>')
        lines.append(_text(f"{10.0**power:g} ms", _LEFT - 8, y + 4, "end"))
    for size in sorted({*sizes}):
        x, _ = place(size, 10.0 ** up[0])
        lines.append(_text(f"{size:,}", x, _TOP + _PLOT_HEIGHT + 18, "middle"))
    lines.append(_text("steps", _LEFT + _PLOT_WIDTH / 2, _HEIGHT - 12, "middle"))
    for number, (name, points) in enumerate(curves.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        path = _path(place(size, value) for size, value in points)
        lines.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        y = _TOP + 14 + 20 * number
        lines.append(_text(name, _LEFT + _PLOT_WIDTH + 20, y, "start", colour))
    file.write_text("\n".join([*lines, "</svg>"]) + "\n")


def _path(points: Iterable[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _text(words: str, x: float, y: float, anchor: str, colour: str = "#333") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{words}</text>'

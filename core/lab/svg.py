"""Small plots as SVG text: axes with units and numbers, curves, bars. Pure text.

Colours are CSS variables of the page that the drawing stands in, so that it follows
light and dark; curves differ in dash and marks too, so that no colour is needed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

WIDTH, HEIGHT = 640, 260
LEFT, RIGHT, TOP, BOTTOM = 58, 14, 14, 44
MOST_POINTS = 600


@dataclass(frozen=True, slots=True)
class Curve:
    """One line.

    Attributes:
        name: for the key.
        color: name of a CSS variable without its dashes.
        points: (x, y) in the axes' units.
        dash: an SVG dash pattern; empty for a solid line.
    """

    name: str
    color: str
    points: Sequence[tuple[float, float]]
    dash: str = ""


@dataclass(frozen=True, slots=True)
class Plot:
    """What is drawn.

    Attributes:
        title: what it shows; screen readers get it, too.
        across: the horizontal axis with its unit.
        up: the vertical axis with its unit.
        curves: lines over the bars, if any.
        bars: heights at 1, 2, 3 and so on; None for no bar.
        bar_color: name of a CSS variable without its dashes.
        empty: the words where there is nothing to draw.
        top: the least that the vertical axis reaches.
    """

    title: str
    across: str
    up: str
    curves: tuple[Curve, ...] = ()
    bars: tuple[float | None, ...] = ()
    bar_color: str = "accepted"
    empty: str = "nothing to show"
    top: float = 0.0
    labels: tuple[str, ...] = field(default=())


def draw(plot: Plot) -> str:
    """Return the drawing as one ``<svg>`` element."""
    points = [p for curve in plot.curves for p in curve.points]
    heights = [height for height in plot.bars if height is not None]
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{_safe(plot)}">'
    ]
    if points or heights:
        area = _area(plot, points, heights)
        parts += [*_axes(plot, area), *_bars(plot, area)]
        parts += [_line(curve, area) for curve in plot.curves]
    else:
        parts.append(_text(WIDTH / 2, HEIGHT / 2, plot.empty, "middle"))
    return "".join([*parts, "</svg>"])


@dataclass(frozen=True, slots=True)
class _Area:
    """From the axes' units to the drawing's."""

    low: float
    high: float
    top: float

    def x(self, value: float) -> float:
        share = (value - self.low) / ((self.high - self.low) or 1.0)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        return HEIGHT - BOTTOM - value / self.top * (HEIGHT - TOP - BOTTOM)


def _area(plot: Plot, points: list[tuple[float, float]], heights: list[float]) -> _Area:
    top = max([plot.top, *heights, *(y for _, y in points)]) or 1.0
    if plot.bars:
        return _Area(0.4, len(plot.bars) + 0.6, 1.12 * top)
    return _Area(0.0, max(x for x, _ in points), 1.08 * top)


def _axes(plot: Plot, area: _Area) -> list[str]:
    floor, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    parts = []
    for tick in ticks(area.top):
        y = area.y(tick)
        parts.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{right}"/>')
        parts.append(_text(LEFT - 8, y + 4, f"{tick:g}", "end"))
    across = range(1, len(plot.bars) + 1) if plot.bars else ticks(area.high)
    for tick in across:
        parts.append(_text(area.x(tick), floor + 16, f"{tick:g}", "middle"))
    parts.append(_text((LEFT + right) / 2, HEIGHT - 8, plot.across, "middle"))
    turned = f"rotate(-90 14 {(TOP + floor) / 2:.0f})"
    middle = (TOP + floor) / 2
    parts.append(_text(14, middle, plot.up, "middle", f' transform="{turned}"'))
    return parts


def ticks(top: float) -> list[float]:
    """Return a handful of round numbers from 0 up to ``top``."""
    rough = top / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(s * power for s in (1, 2, 2.5, 5, 10) if s * power >= rough)
    return [round(i * step, 10) for i in range(int(top / step) + 1)]


def _bars(plot: Plot, area: _Area) -> list[str]:
    parts, half = [], 0.36
    for place, height in enumerate(plot.bars, start=1):
        if height is None:
            continue
        left, right, y = area.x(place - half), area.x(place + half), area.y(height)
        parts.append(
            f'<rect x="{left:.1f}" y="{y:.1f}" width="{right - left:.1f}" '
            f'height="{HEIGHT - BOTTOM - y:.1f}" fill="var(--{plot.bar_color})"/>'
        )
        label = plot.labels[place - 1] if plot.labels else f"{height:g}"
        parts.append(_text((left + right) / 2, y - 4, label, "middle"))
    return parts


def _line(curve: Curve, area: _Area) -> str:
    step = max(1, len(curve.points) // MOST_POINTS)
    kept = [*curve.points[::step], *curve.points[-1:]]
    path = " ".join(f"{area.x(x):.1f},{area.y(y):.1f}" for x, y in kept)
    dash = f' stroke-dasharray="{curve.dash}"' if curve.dash else ""
    return (
        f'<polyline fill="none" stroke="var(--{curve.color})" stroke-width="1.6"'
        f'{dash} points="{path}"/>'
    )


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>'
        f"{escape(text)}</text>"
    )


def _safe(plot: Plot) -> str:
    return escape(f"{plot.title}: {plot.up} over {plot.across}")

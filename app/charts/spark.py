"""A course at a look: a small line without axes, drawn here, for a card is shown before charts."""

from base64 import b64encode
from collections.abc import Sequence
from html import escape

from app import format
from app.palette import THEMES

WIDTH, HEIGHT, MARGIN = 144, 48, 2


def image(values: Sequence[float], theme: str, title: str) -> str:
    """The line through values at equal distances, as an HTML image that says its ends."""
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in _places(values))
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">'
        f'<polyline points="{points}" fill="none" stroke="{THEMES[theme].ink2}" stroke-width="1.6"'
        ' stroke-linejoin="round"/></svg>'
    )
    said = f"{title}: from {format.percent(values[0])} to {format.percent(values[-1])} left"
    data = b64encode(svg.encode()).decode()
    return f'<img alt="{escape(said)}" src="data:image/svg+xml;base64,{data}">'


def _places(values: Sequence[float]) -> list[tuple[float, float]]:
    """Pixels: the least value at the foot, the largest at the top, all alike in the middle."""
    least, span = min(values), max(values) - min(values)
    across, up = WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN
    return [
        (
            MARGIN + across * place / max(1, len(values) - 1),
            HEIGHT - MARGIN - up * ((value - least) / span if span else 0.5),
        )
        for place, value in enumerate(values)
    ]

"""Colours, shapes and the Vega configuration of the charts, for light and dark.

Colours: Okabe and Ito, "Color Universal Design" (2008), without yellow and black, which vanish on a light or
a dark page; the dark variants are the same hues, lighter. A shape goes with each colour, so that no reading
depends on colour alone.
"""

from dataclasses import dataclass
from typing import Any

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down")
MOST_COLOURED = 24
QUIET, STANDS_OUT = "#8d97a3", "#d55e00"  # beyond that, on either page


@dataclass(frozen=True)
class Theme:
    """Colours of one appearance of the page."""

    ink: str
    muted: str
    grid: str
    paper: str
    neutral: str
    band: str
    palette: tuple[str, ...]


LIGHT = Theme(
    ink="#1a1d21",
    muted="#5c6570",
    grid="#e4e7eb",
    paper="#ffffff",
    neutral="#98a1ac",
    band="#cdd4dc",
    palette=("#0072b2", "#d55e00", "#009e73", "#b8528f", "#c98500", "#3f9fd8"),
)
DARK = Theme(
    ink="#e8eaed",
    muted="#9aa4b0",
    grid="#2b3138",
    paper="#15181c",
    neutral="#6d7783",
    band="#3b444e",
    palette=("#4aa3df", "#f0803c", "#2fc296", "#dd8fbd", "#e9b03f", "#9ad4f7"),
)


def vega_config(theme: Theme) -> dict[str, Any]:
    """Return the Vega-Lite `config` of a theme: quiet axes, no frame, the palette in a fixed order."""
    return {
        "font": FONT,
        "background": None,
        "view": {"stroke": None},
        "axis": {
            "labelColor": theme.muted,
            "titleColor": theme.muted,
            "gridColor": theme.grid,
            "domainColor": theme.grid,
            "tickColor": theme.grid,
            "labelFontSize": 11,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "titlePadding": 10,
            "labelPadding": 6,
            "ticks": False,
            "domain": False,
        },
        "legend": {
            "labelColor": theme.ink,
            "titleColor": theme.muted,
            "labelFontSize": 11,
            "labelLimit": 320,
        },
        "title": {"color": theme.ink, "subtitleColor": theme.muted, "anchor": "start", "fontSize": 15},
        "range": {"category": list(theme.palette), "symbol": list(SHAPES)},
        "style": {
            "band": {"color": theme.band},
            "ring": {"color": theme.ink},
            "note": {"color": theme.muted},
            "load": {"color": theme.muted, "fontSize": 10},
        },
    }

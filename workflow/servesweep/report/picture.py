"""The Pareto chart as a picture for papers and slides: SVG text and PNG bytes."""

from collections.abc import Sequence

import altair as alt
import vl_convert

from servesweep.report.charts import Charts, Spec
from servesweep.report.records import Record
from servesweep.report.theme import LIGHT, vega_config

WIDTH, HEIGHT = 760, 460
PIXELS_PER_UNIT = 2
TITLE = "Throughput per GPU against speed per user"
SUBTITLE = "One line a configuration, one mark a load level. The grey band is the Pareto frontier."


def vega_lite_version() -> str:
    """Return the Vega-Lite version, such as "6.1", that Altair writes and that must draw it."""
    major, minor, *_ = alt.SCHEMA_VERSION.lstrip("v").split(".")
    return f"{major}.{minor}"


def pareto_picture(charts: Charts, frontier: Sequence[Record]) -> tuple[str, bytes]:
    """Return the Pareto chart as (SVG, PNG) on white; without a valid point it says so in words."""
    spec = _with_data(charts, frontier) if charts.records else _nothing()
    spec["config"] = {**vega_config(LIGHT), "background": LIGHT.paper, "padding": 16, "font": "sans-serif"}
    svg: str = vl_convert.vegalite_to_svg(spec, vl_version=vega_lite_version())
    png: bytes = vl_convert.svg_to_png(svg, scale=PIXELS_PER_UNIT)
    return svg, png


def _with_data(charts: Charts, frontier: Sequence[Record]) -> Spec:
    legend = alt.Legend(title=None, orient="bottom", direction="vertical", columns=2, symbolSize=80)
    spec = charts.pareto(legend)
    title = {"text": TITLE, "subtitle": SUBTITLE, "offset": 16}
    return spec | {
        "width": WIDTH,
        "height": HEIGHT,
        "title": title,
        "datasets": {"points": list(charts.records), "frontier": list(frontier)},
    }


def _nothing() -> Spec:
    text = {"type": "text", "text": "no valid points", "fontSize": 16, "style": "note"}
    return {"data": {"values": [{}]}, "mark": text, "width": WIDTH, "height": HEIGHT}

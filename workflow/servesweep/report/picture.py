"""The charts as pictures for papers and slides: SVG text and PNG bytes."""

from collections.abc import Sequence

import altair as alt
import vl_convert

from servesweep.report.charts import Charts, Spec
from servesweep.report.records import Record, frontier_records
from servesweep.report.theme import LIGHT, vega_config

WIDTH, HEIGHT = 760, 460
PIXELS_PER_UNIT = 2
TITLE = "Throughput per GPU against speed per user"
SUBTITLE = "One line a configuration, one mark a load level. The grey band is the Pareto frontier."
LATENCY = "Latency over load"
LATENCY_SUBTITLE = "p50 solid, p99 dashed. One line a configuration."
THROUGHPUT = "Output throughput over load"


def vega_lite_version() -> str:
    """Return the Vega-Lite version, such as "6.1", that Altair writes and that must draw it."""
    major, minor, *_ = alt.SCHEMA_VERSION.lstrip("v").split(".")
    return f"{major}.{minor}"


def pictures(charts: Charts) -> dict[str, bytes]:
    """Return pareto, latency and throughput, each as .svg and .png, on white.

    Without a valid point they say so in words.
    """
    edge = frontier_records(charts.records)
    drawn: dict[str, Spec] = {"pareto": _nothing(), "latency": _nothing(), "throughput": _nothing()}
    if charts.records:
        drawn = {
            "pareto": _titled(charts.pareto(legend=_legend()), TITLE, SUBTITLE, HEIGHT),
            "latency": _side_by_side(charts),
            "throughput": _titled(charts.throughput(_legend()), THROUGHPUT, "", HEIGHT),
        }
    files: dict[str, bytes] = {}
    for name, spec in drawn.items():
        svg, png = _rendered(spec, charts.records, edge)
        files |= {f"{name}.svg": svg.encode(), f"{name}.png": png}
    return files


def _rendered(spec: Spec, points: Sequence[Record], frontier: Sequence[Record]) -> tuple[str, bytes]:
    whole = spec | {
        "datasets": {"points": list(points), "frontier": list(frontier)},
        "config": {**vega_config(LIGHT), "background": LIGHT.paper, "padding": 16, "font": "sans-serif"},
    }
    svg: str = vl_convert.vegalite_to_svg(whole, vl_version=vega_lite_version())
    png: bytes = vl_convert.svg_to_png(svg, scale=PIXELS_PER_UNIT)
    return svg, png


def _legend() -> alt.Legend:
    return alt.Legend(title=None, orient="bottom", direction="vertical", columns=2, symbolSize=80)


def _titled(spec: Spec, title: str, subtitle: str, height: int, width: int = WIDTH) -> Spec:
    heading = {"text": title, "offset": 16} | ({"subtitle": subtitle} if subtitle else {})
    return spec | {"width": width, "height": height, "title": heading}


def _side_by_side(charts: Charts) -> Spec:
    """TTFT and ITL beside each other, with one legend."""
    parts = [charts.latency("ttft", "TTFT", _legend()), charts.latency("itl", "ITL", _legend())]
    sized = [part | {"width": (WIDTH - 80) // 2, "height": HEIGHT - 120} for part in parts]
    heading = {"text": LATENCY, "subtitle": LATENCY_SUBTITLE, "offset": 16}
    return {"hconcat": sized, "spacing": 40, "title": heading}


def _nothing() -> Spec:
    text = {"type": "text", "text": "no valid points", "fontSize": 16, "style": "note"}
    return {"data": {"values": [{}]}, "mark": text, "width": WIDTH, "height": HEIGHT}

"""The report as one HTML page that asks the network for nothing."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import vl_convert
from jinja2 import Environment, PackageLoader, StrictUndefined

from servesweep.report.charts import Charts, Spec
from servesweep.report.details import configuration_detail, failure_rows, invalid_rows
from servesweep.report.glance import glance
from servesweep.report.measures import PAGE, Measure, fixed
from servesweep.report.picture import vega_lite_version
from servesweep.report.records import Record
from servesweep.report.sweep import Point, Sweep
from servesweep.report.theme import DARK, LIGHT, SHAPES, vega_config

OPEN_DETAILS = 3
MOST_SVG_POINTS = 400


def render_page(sweep: Sweep, charts: Charts, frontier: Sequence[Record], out: Path) -> str:
    """Return the HTML of a sweep; links to evidence are relative to the directory `out`."""
    environment = Environment(
        loader=PackageLoader("servesweep.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    has_charts = bool(charts.records)
    workloads = {record["workload"] for record in charts.records}
    return environment.get_template("page.html.j2").render(
        glance=glance(sweep),
        bundle=_vega() if has_charts else "",
        drawn=_drawn(charts, frontier) if has_charts else None,
        legend=_legend(charts) if charts.coloured else [],
        many=not charts.coloured,
        workloads=sorted(str(name) for name in workloads),
        themes={"light": LIGHT, "dark": DARK},
        table=_table(sweep),
        failures=failure_rows(sweep, out),
        invalid=invalid_rows(sweep, out),
        configurations=[configuration_detail(c, out) for c in sweep.configurations],
        open_details=len(sweep.configurations) <= OPEN_DETAILS,
        axis=charts.axis,
    )


def _vega() -> str:
    """The drawing libraries as one script; `snippet` is left to its default, putting them on the window."""
    arguments: dict[str, Any] = {"vl_version": vega_lite_version()}  # its type stub asks for `snippet` too
    return str(vl_convert.javascript_bundle(**arguments))


def _drawn(charts: Charts, frontier: Sequence[Record]) -> dict[str, Any]:
    """The data of the page's script: specifications, themes, records (as head and rows: half the size)."""
    specs: dict[str, Spec] = {
        "pareto": charts.pareto(),
        "ttft": charts.latency("ttft", "TTFT"),
        "itl": charts.latency("itl", "ITL"),
        "throughput": charts.throughput(),
    }
    keys = list(charts.records[0])
    return {
        "specs": specs,
        "keys": keys,
        "rows": [[record[key] for key in keys] for record in charts.records],
        "frontier": list(frontier),
        "configs": {"light": vega_config(LIGHT), "dark": vega_config(DARK)},
        "renderer": "svg" if len(charts.records) <= MOST_SVG_POINTS else "canvas",
    }


def _legend(charts: Charts) -> list[dict[str, Any]]:
    """One entry a configuration that is drawn: its colour's number and its shape, as Vega cycles them."""
    drawn = {record["configuration"] for record in charts.records}
    return [
        {"id": name, "colour": index % len(LIGHT.palette), "shape": SHAPES[index % len(SHAPES)]}
        for index, name in enumerate(charts.configurations)
        if name in drawn
    ]


def _table(sweep: Sweep) -> dict[str, Any]:
    """Head and rows of the table of all points, the numbers as text."""
    points = sweep.points
    shown = [m for m in PAGE if any(point.metric(m.key) is not None for point in points)]
    rated = any(str(point.request_rate or "inf") != "inf" for point in points)
    loads = ["ISL", "OSL", "conc.", *(["req/s asked"] if rated else [])]
    groups: list[list[Any]] = []
    for measure in shown:
        if groups and groups[-1][0] == measure.group:
            groups[-1][1] += 1
        else:
            groups.append([measure.group, 1])
    return {
        "loads": loads,
        "groups": groups,
        "measures": shown,
        "starts": [i for i, m in enumerate(shown) if i == 0 or shown[i - 1].group != m.group],
        "rows": [_row(point, shown, rated) for point in points],
    }


def _row(point: Point, shown: Sequence[Measure], rated: bool) -> dict[str, Any]:
    loads = [point.isl, point.osl, point.concurrency, *([point.request_rate] if rated else [])]
    return {
        "configuration": point.configuration,
        "point": point.id,
        "status": point.status,
        "reason": point.reason,
        "loads": ["" if load is None else load for load in loads],
        "numbers": [fixed(point.metric(m.key), m.decimals) for m in shown],
    }

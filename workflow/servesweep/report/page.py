"""The report as one HTML page that asks the network for nothing."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from servesweep.report.charts import Charts, Spec
from servesweep.report.details import configuration_detail, failure_rows, invalid_rows
from servesweep.report.drawing_script import drawing_script
from servesweep.report.glance import glance
from servesweep.report.measures import PAGE
from servesweep.report.prices import Prices
from servesweep.report.records import Record
from servesweep.report.sweep import Sweep
from servesweep.report.theme import DARK, LIGHT, SHAPES, vega_config
from servesweep.report.views import shown_views

OPEN_DETAILS = 3
MOST_SVG_POINTS = 400
MOST_CHOICES = 60
# Columns that a reader may want to see one value of.
FACETS = {
    "status": "status",
    "slo": "SLO",
    "workload": "workload",
    "engine": "engine",
    "frontend": "frontend",
    "gpu": "GPU",
    "precision": "precision",
    "deployment": "deployment",
}


def render_page(
    sweep: Sweep, records: Sequence[Record], charts: Charts, out: Path, prices: Prices | None = None
) -> str:
    """Return the HTML of a sweep; links to evidence are relative to the directory `out`.

    `records` are those of every point, in the sweep's order; `charts` those of the valid ones.
    """
    environment = Environment(
        loader=PackageLoader("servesweep.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    drawn = bool(charts.records)
    columns = _columns(records)
    return environment.get_template("page.html.j2").render(
        glance=glance(sweep, records, prices),
        bundle=drawing_script() if drawn else "",
        data=_data(records, charts, columns) | (_drawings(charts) if drawn else {}),
        drawn=drawn,
        views=shown_views(charts.records),
        legend=_legend(charts) if charts.coloured else [],
        many=not charts.coloured,
        workloads=sorted({str(record["workload"]) for record in charts.records}),
        facets=_facets(records),
        themes={"light": LIGHT, "dark": DARK},
        columns=columns,
        groups=_groups(columns),
        failures=failure_rows(sweep, out),
        invalid=invalid_rows(sweep, out),
        configurations=[configuration_detail(c, out) for c in sweep.configurations],
        open_details=len(sweep.configurations) <= OPEN_DETAILS,
        axis=charts.axis,
    )


def _data(records: Sequence[Record], charts: Charts, columns: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What the page's script works with: every point (as head and rows: half the size) and the columns."""
    keys = list(records[0]) if records else []
    return {
        "keys": keys,
        "rows": [[record[key] for key in keys] for record in records],
        "columns": [[column["key"], column["decimals"]] for column in columns],
    }


def _drawings(charts: Charts) -> dict[str, Any]:
    """The charts: specifications, appearances, and what the Pareto chart can show."""
    views = shown_views(charts.records)
    specs: dict[str, Spec] = {
        **{f"pareto-{view.key}": charts.pareto(view) for view in views},
        "ttft": charts.latency("ttft", "TTFT"),
        "itl": charts.latency("itl", "ITL"),
        "throughput": charts.throughput(),
    }
    return {
        "specs": specs,
        "views": [
            {"key": view.key, "x": view.x, "y": view.y, "xLess": view.x_less, "yLess": view.y_less}
            for view in views
        ],
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


def _columns(records: Sequence[Record]) -> list[dict[str, Any]]:
    """The columns of the table of points; measures that no point has are left out."""
    words = [("configuration", "configuration"), ("point", "point"), ("status", "status")]
    if any(record["slo"] for record in records):
        words.append(("slo", "SLO"))
    loads = [("isl", "ISL"), ("osl", "OSL"), ("concurrency", "conc."), ("request_rate", "req/s asked")]
    known = {key for record in records for key, value in record.items() if value is not None}
    columns: list[dict[str, Any]] = [
        *({"key": key, "heading": heading, "group": "", "decimals": None} for key, heading in words),
        *(
            {"key": key, "heading": heading, "group": "Load", "decimals": -1}
            for key, heading in loads
            if key in known or key == "concurrency"
        ),
        *(
            {"key": m.key, "heading": m.heading, "group": m.group, "decimals": m.decimals}
            for m in PAGE
            if m.key in known
        ),
    ]
    for before, column in pairwise([{"group": ""}, *columns]):
        column["edge"] = before["group"] != column["group"]
    return columns


def _groups(columns: Sequence[dict[str, Any]]) -> list[list[Any]]:
    """Headings over the columns and how many columns each spans."""
    groups: list[list[Any]] = []
    for column in columns:
        if groups and groups[-1][0] == column["group"]:
            groups[-1][1] += 1
        else:
            groups.append([column["group"], 1])
    return groups


def _facets(records: Sequence[Record]) -> list[dict[str, Any]]:
    """The choices that are worth a menu: more than one value, and not too many."""
    facets = []
    for key, label in FACETS.items():
        values = list(dict.fromkeys(str(record[key]) for record in records if record[key]))
        if 1 < len(values) <= MOST_CHOICES:
            facets.append({"key": key, "label": label, "choices": values})
    return facets

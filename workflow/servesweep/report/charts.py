"""The charts as Vega-Lite specifications over the named data sets `points` and `frontier`."""

from collections.abc import Sequence
from math import ceil, floor, log10
from typing import Any

import altair as alt

from servesweep.report.records import Axis, Record
from servesweep.report.theme import MOST_COLOURED, QUIET, STANDS_OUT
from servesweep.report.views import PER_GPU, View, X, Y

Spec = dict[str, Any]

POINTS, FRONTIER = "points", "frontier"
LOG_FROM = 30.0
MOST_TICKS = 12
WIDE_DECADES = 3
HEIGHT_PARETO, HEIGHT_LOAD = 420, 250
MOST_LABELLED = 60
FACTS = (
    ("configuration:N", "configuration", ""),
    ("point:N", "point", ""),
    ("deployment:N", "deployment", ""),
    ("workload:N", "workload", ""),
    ("load:Q", "load", ",.4~f"),
    ("output_throughput_tok_s:Q", "output tok/s", ",.1f"),
    (f"{Y}:Q", "tok/s/GPU", ",.1f"),
    (f"{X}:Q", "tok/s/user", ",.1f"),
    ("p50_ttft_ms:Q", "TTFT p50 ms", ",.1f"),
    ("p99_ttft_ms:Q", "TTFT p99 ms", ",.1f"),
    ("p50_itl_ms:Q", "ITL p50 ms", ",.2f"),
    ("p99_itl_ms:Q", "ITL p99 ms", ",.2f"),
    ("p50_e2el_ms:Q", "E2E p50 ms", ",.0f"),
)
COST = ("cost_usd_per_million_output_tokens:Q", "$/M output tokens", ",.2f")


class Charts:
    """Builds the charts of one set of records, so that all of them share colours, axis and hover."""

    def __init__(self, records: Sequence[Record], configurations: Sequence[str], axis: Axis) -> None:
        self.records = records
        self.configurations = list(configurations)
        self.axis = axis
        self.coloured = len(configurations) <= MOST_COLOURED
        self._scale = alt.Scale(domain=list(configurations))
        self._hover = alt.selection_point(
            name="hover", fields=["configuration"], on="pointerover", clear="pointerout", empty=False
        )

    def pareto(self, view: View = PER_GPU, legend: alt.Legend | None = None) -> Spec:
        """One measure over another: a line a configuration, the frontier as a band under them."""
        x = alt.X(**self._quantity(view.x, view.x_title, zero=True))
        y = alt.Y(**self._quantity(view.y, view.y_title, zero=True))
        points = alt.Chart(alt.NamedData(POINTS)).transform_filter(_known(view.x, view.y))
        edge = alt.Chart(alt.NamedData(FRONTIER)).encode(x=x, y=y)
        band = edge.mark_line(strokeWidth=11, strokeCap="round", strokeJoin="round", style="band").encode(
            detail="workload:N", order=alt.Order(f"{view.x}:Q")
        )
        means = points.transform_aggregate(
            [_mean(view.x), _mean(view.y), _mean("load")], groupby=["configuration", "workload", "rank"]
        )
        line = means.mark_line(strokeWidth=1.8).encode(
            x=x, y=y, detail="workload:N", order=alt.Order("rank:Q")
        )
        dots = points.mark_point(filled=True, size=62 if self.coloured else 24, opacity=1)
        dots = dots.encode(x=x, y=y, tooltip=self._facts())
        rings = edge.mark_point(filled=False, size=170, strokeWidth=1.4, style="ring", tooltip=None)
        loads = means.transform_filter(_known("load")).mark_text(dx=11, dy=-9, align="left", style="load")
        loads = loads.encode(x=x, y=y, text=alt.Text("load:Q", format=",.4~f"), detail="configuration:N")
        lines = self._painted(line, legend=legend)
        under = [band, lines] if self.coloured else [lines, band]  # many lines would hide the band
        over = [loads] if self.coloured and len(self.records) <= MOST_LABELLED else []
        parts = [*under, *over, rings, self._painted(dots, shape=True, legend=legend)]
        return self._finished(parts, HEIGHT_PARETO)

    def latency(self, name: str, title: str, legend: alt.Legend | None = None) -> Spec:
        """p50 (solid) and p99 (dashed) of a latency, such as `ttft`, over the load."""
        keys = [f"p50_{name}_ms", f"p99_{name}_ms"]
        return self._over_load(keys, f"{title} (ms)", legend)

    def throughput(self, legend: alt.Legend | None = None) -> Spec:
        """Output tokens a second of the whole deployment over the load."""
        return self._over_load(["output_throughput_tok_s"], "output tok/s", legend)

    def _over_load(self, keys: list[str], title: str, legend: alt.Legend | None) -> Spec:
        values = [v for record in self.records for key in keys if isinstance(v := record[key], float)]
        log = bool(values) and min(values) > 0 and max(values) > LOG_FROM * min(values)
        y = self._quantity("value", title, zero=not log, decades=_decades(values) if log else ())
        base = alt.Chart(alt.NamedData(POINTS)).transform_fold([*keys], as_=["statistic", "value"])
        base = base.transform_filter(_known("load", "value"))
        dashes = alt.Scale(domain=keys, range=[[1, 0], [4, 3]])
        dash = alt.StrokeDash("statistic:N", scale=dashes, legend=None)
        line = base.transform_aggregate(
            [_mean("value")], groupby=["configuration", "workload", "load", "statistic"]
        ).mark_line(strokeWidth=1.6)
        line = line.encode(x=self._load(), y=alt.Y(**y), strokeDash=dash, detail="workload:N")
        dots = base.mark_point(filled=True, size=38 if self.coloured else 16, opacity=1)
        dots = dots.encode(x=self._load(), y=alt.Y(**y), tooltip=self._facts(), detail="statistic:N")
        painted = [self._painted(line, legend=legend), self._painted(dots, shape=True, legend=legend)]
        return self._finished(painted, HEIGHT_LOAD)

    def _load(self) -> alt.X:
        loads = sorted({v for record in self.records if isinstance(v := record["load"], float)})
        title = "concurrency (requests in flight)" if self.axis == "concurrency" else "request rate (req/s)"
        ticks = loads if len(loads) <= MOST_TICKS else alt.Undefined
        scale = alt.Scale(zero=False, padding=12)
        if len(loads) > 1 and loads[0] > 0 and loads[-1] >= 4 * loads[0]:
            scale = alt.Scale(type="log", base=2, nice=False, padding=12)
        axis = alt.Axis(format=",.4~f", grid=False, labelOverlap=True, values=ticks)
        return alt.X("load:Q", title=title, scale=scale, axis=axis)

    def _quantity(
        self, field: str, title: str, *, zero: bool, decades: Sequence[float] = ()
    ) -> dict[str, Any]:
        scale = alt.Scale(zero=zero, nice=True)
        if decades:
            scale = alt.Scale(type="log", domain=[decades[0], decades[-1]], nice=False)
        axis = alt.Axis(format=",.2~f", tickCount=6, values=decades if decades else alt.Undefined)
        return {"shorthand": f"{field}:Q", "title": title, "scale": scale, "axis": axis}

    def _painted(
        self, chart: alt.Chart, *, shape: bool = False, legend: alt.Legend | None = None
    ) -> alt.Chart:
        """Colour by configuration; with too many of them only the one under the pointer stands out."""
        if self.coloured:
            colour = alt.Color("configuration:N", scale=self._scale, legend=legend)
            shaped = alt.Shape("configuration:N", scale=self._scale, legend=legend)
            return chart.encode(color=colour, shape=shaped) if shape else chart.encode(color=colour)
        pointed = alt.condition(self._hover, alt.value(STANDS_OUT), alt.value(QUIET))
        width = alt.condition(self._hover, alt.value(3), alt.value(1))
        return chart.encode(detail=["configuration:N", "workload:N"], color=pointed, strokeWidth=width)

    def _facts(self) -> list[alt.Tooltip]:
        titles = {"load": self.axis}
        priced = any(record.get(COST[0].removesuffix(":Q")) is not None for record in self.records)
        return [
            alt.Tooltip(field, title=titles.get(title, title), format=form or alt.Undefined)
            for field, title, form in (*FACTS, *([COST] if priced else []))
        ]

    def _finished(self, parts: list[alt.Chart], height: int) -> Spec:
        if not self.coloured:
            parts[-1] = parts[-1].add_params(self._hover)
        # The tests look at what is drawn; to check it against the schema takes longer than to draw it.
        spec: Spec = alt.layer(*parts).properties(width="container", height=height).to_dict(validate=False)
        spec.pop("config", None)  # the page and the picture bring their own
        spec.pop("$schema", None)  # and both name the version that draws it
        return spec


def _decades(values: Sequence[float]) -> list[float]:
    """Round numbers 1, 2, 5, 10, … (1, 10, 100, … over a wide span) from below to above positive values."""
    low, high = floor(log10(min(values))), ceil(log10(max(values)))
    steps = (1, 2, 5) if high - low <= WIDE_DECADES else (1,)
    marks = [step * 10.0**power for power in range(low, high + 1) for step in steps]
    first = max(mark for mark in marks if mark <= min(values))
    last = min(mark for mark in marks if mark >= max(values))
    return [mark for mark in marks if first <= mark <= last]


def _mean(field: str) -> alt.AggregatedFieldDef:
    return alt.AggregatedFieldDef(op="mean", field=field, **{"as": field})


def _known(*fields: str) -> str:
    return " && ".join(f"isValid(datum.{field})" for field in fields)

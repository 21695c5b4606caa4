"""What moved, as a picture and as a page that needs no network and no script.

Drawn by Vega-Altair and vl-convert, as the report is.
"""

from __future__ import annotations

from html import escape
from typing import Any

import altair as alt
import vl_convert

from servesweep.compare.judge import Change, Comparison
from servesweep.compare.samples import lower_is_better
from servesweep.compare.text import HEADINGS, cells, counts, shown

MOST_ROWS = 60
COLOURS = {
    "regression": "#d55e00",
    "improvement": "#009e73",
    "within noise": "#b58900",
    "within tolerance": "#98a1ac",
}
STYLE = """\
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
table { border-collapse: collapse; font-size: 13px; width: 100%; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid #8884; white-space: nowrap; }
.scroll { overflow-x: auto; }
.picture { background: #fff; overflow-x: auto; }
.regression td:last-child { color: #d55e00; font-weight: 600; }
.improvement td:last-child { color: #009e73; font-weight: 600; }
"""


def picture(comparison: Comparison) -> str:
    """SVG: how much worse or better each number became, with its noise; the largest of what moved."""
    changes = shown(comparison)[:MOST_ROWS] or shown(comparison, everything=True)[:MOST_ROWS]
    spec = _chart(changes).to_dict() if changes else _nothing()
    spec["config"] = {"font": "sans-serif", "background": "#ffffff", "view": {"stroke": None}}
    version = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
    svg: str = vl_convert.vegalite_to_svg(spec, vl_version=version)
    return svg


def page(comparison: Comparison, baseline: str, new: str, svg: str) -> str:
    """The whole page: counts, picture, the table of every change, the points that were not compared."""
    rows = "".join(_row(change) for change in shown(comparison, everything=True))
    head = "".join(f"<th>{escape(heading)}</th>" for heading in HEADINGS)
    unmatched = "".join(
        f"<li>{escape(f'{one.level.configuration} {one.level.point}: {one.fate}: {one.reason}')}</li>"
        for one in comparison.unmatched
    )
    notes = "".join(f"<li>{escape(note)}</li>" for note in comparison.notes)
    verdict = "regression" if comparison.of("regression") or comparison.lost else "no regression"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Comparison: {verdict}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body>'
        f"<h1>Comparison: {verdict}</h1><p>{escape(new)} against the baseline {escape(baseline)}</p>"
        f'<p>{escape(counts(comparison))}</p><div class="picture">{svg}</div><ul>{unmatched}{notes}</ul>'
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
        "</body></html>\n"
    )


def _row(change: Change) -> str:
    body = "".join(f"<td>{escape(cell)}</td>" for cell in cells(change))
    return f'<tr class="{change.verdict.replace(" ", "-")}">{body}</tr>'


def _record(change: Change) -> dict[str, Any]:
    sign = -1 if lower_is_better(change.metric) else 1
    better, noise = sign * change.change, change.noise or 0.0
    name = f"{change.level.configuration}  {change.level.point}  {change.metric}"
    return {
        "number": name,
        "better": better,
        "low": better - noise,
        "high": better + noise,
        "verdict": change.verdict,
        "least": -change.tolerance,
        "most": change.tolerance,
    }


def _chart(changes: list[Change]) -> Any:
    """A row a number: the band is its tolerance, the whisker the 95 % interval of its change."""
    data = alt.InlineData(values=[_record(change) for change in changes])
    y = alt.Y("number:N", sort=None, title=None, axis=alt.Axis(labelLimit=520, ticks=False, domain=False))
    axis = alt.Axis(format="+%", grid=False)
    colour = alt.Color(
        "verdict:N",
        scale=alt.Scale(domain=list(COLOURS), range=list(COLOURS.values())),
        legend=alt.Legend(title=None, orient="top"),
    )
    base, scale = alt.Chart(data).encode(y=y), alt.Scale(padding=14)
    x = alt.X("least:Q", title="worse  ←  change against the baseline  →  better", axis=axis, scale=scale)
    band = base.mark_bar(color="#cdd4dc", opacity=0.6, height=14).encode(x=x, x2="most:Q")
    whisker = base.mark_rule(strokeWidth=1.5).encode(x=alt.X("low:Q", axis=axis), x2="high:Q", color=colour)
    dot = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=alt.X("better:Q", axis=axis), color=colour
    )
    return alt.layer(band, whisker, dot).properties(width=460, height=alt.Step(18))


def _nothing() -> dict[str, Any]:
    text = {"type": "text", "text": "nothing to compare"}
    return {"data": {"values": [{}]}, "mark": text, "width": 460, "height": 60}

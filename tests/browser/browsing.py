"""A page opened in a real Chromium, and everything it said or asked for meanwhile."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SIZES = {"desktop": (1280, 900), "phone": (390, 844)}
CHARTS = ("chart-pareto", "chart-ttft", "chart-itl", "chart-throughput")
QUIET = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--host-resolver-rules=MAP * ~NOTFOUND",
]


# Vega keeps each mark's data at its element.
MARKS = (
    "[...document.querySelectorAll('#%s path')].map(path => path.__data__)"
    ".filter(item => item?.mark?.marktype === 'symbol' && item.tooltip)"
)
PATIENCE_MS = 120_000  # a busy machine may take long over what a person waits a second for


@dataclass
class Opened:
    """One open page; `page` is Playwright's."""

    page: Any
    devtools: Any
    console: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def rows(self) -> list[list[str]]:
        """Cells of the rows of the table of points that are in the document."""
        script = (
            "[...document.querySelectorAll('.points tbody tr:not(.space)')]"
            ".map(row => [...row.cells].map(cell => cell.textContent))"
        )
        return self.page.evaluate(script)

    def column(self, heading: str, nth: int = 0) -> list[str]:
        """Cells below a heading; `nth` where several groups have the same."""
        headings = self.page.locator(".points th[data-column]").all_inner_texts()
        place = [i for i, text in enumerate(headings) if text.strip() == heading][nth]
        return [row[place] for row in self.rows()]

    def sort(self, heading: str, nth: int = 0) -> None:
        """Press a heading."""
        self.page.locator(".points th button").get_by_text(heading, exact=True).nth(nth).click()

    def told(self) -> str:
        """What the bar says of how many points are left."""
        return self.page.locator(".bar output").inner_text()

    def until_told(self, text: str) -> None:
        """Wait until the bar says this."""
        self.page.locator(".bar output").get_by_text(text, exact=True).wait_for()

    def until_drawn(self, marks: int, chart: str = "chart-pareto") -> None:
        """Wait until a chart has so many marks that a reader can point at."""
        self.page.wait_for_function(f"{MARKS % chart}.length === {marks}")

    def work_s(self) -> float:
        """CPU seconds of the page's own work on its main thread so far: scripts, styles, layout."""
        told = self.devtools.send("Performance.getMetrics")["metrics"]
        kinds = ("ScriptDuration", "LayoutDuration", "RecalcStyleDuration", "V8CompileDuration")
        return sum(metric["value"] for metric in told if metric["name"] in kinds)

    def paint_after(self, script: str) -> float:
        """Milliseconds from before a script until the page is painted after it."""
        return self.page.evaluate(
            f"() => new Promise(done => {{ const began = performance.now(); {script};"
            " requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - began))); })"
        )

    def marks(self, chart: str = "chart-pareto") -> set[tuple[str, str]]:
        """Configuration and point of every mark of a chart that a reader can point at."""
        script = f"{MARKS % chart}.map(item => [item.datum.configuration, item.datum.point])"
        return {(configuration, point) for configuration, point in self.page.evaluate(script)}

    def ringed(self) -> list[tuple[str, float]]:
        """Configuration and rank of the marks that the Pareto chart puts on the frontier, from the left."""
        script = (
            "[...document.querySelectorAll('#chart-pareto path')].map(path => path.__data__)"
            ".filter(item => item?.mark?.marktype === 'symbol' && item.size === 170)"
            ".map(item => [item.x, item.datum.configuration, item.datum.rank])"
        )
        return [(configuration, rank) for _, configuration, rank in sorted(self.page.evaluate(script))]

    def walk_through(self) -> None:
        """Scroll to the end and back, so that everything that waits to be seen is drawn."""
        height = self.page.evaluate("document.documentElement.scrollHeight")
        for place in range(0, height, 600):
            self.page.evaluate(f"window.scrollTo(0, {place})")
            self.page.wait_for_timeout(30)
        for chart in CHARTS if self.page.locator("#chart-pareto").count() else ():
            self.page.wait_for_selector(f"#{chart} :is(svg, canvas).marks")
        self.page.evaluate("window.scrollTo(0, 0)")


def open_page(browser: Any, path: Path, size: str = "desktop", scheme: str = "light") -> Opened:
    """Open a file and wait until what is in sight is drawn."""
    width, height = SIZES[size]
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    page.set_default_timeout(PATIENCE_MS)
    opened = Opened(page, page.context.new_cdp_session(page))
    opened.devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.on("console", lambda message: opened.console.append(message.text))
    page.on("pageerror", lambda error: opened.console.append(str(error)))
    page.on("request", lambda request: opened.requests.append(request.url))
    page.goto(path.as_uri())
    if page.locator("#chart-pareto").count():
        page.wait_for_selector("html[data-drawn]")
    return opened

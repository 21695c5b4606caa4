"""The page in a real browser, without a network: the charts are drawn and the table works."""

import os
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from servesweep.report import write_report

QUIET = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--enable-logging=stderr", "--host-resolver-rules=MAP * ~NOTFOUND"),
    *("--virtual-time-budget=10000", "--hide-scrollbars"),
]
CHARTS = ("chart-pareto", "chart-ttft", "chart-itl", "chart-throughput")
DRAWN = re.compile(r'id="(chart-\w+)"[^>]*>(?:(?!id="chart-).)*?<(svg|canvas)\b', re.DOTALL)


@pytest.fixture
def chromium() -> str:
    """Path of a real Chromium."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        missing = "missing real component: chromium"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    return found


def opened(chromium: str, page: Path, *flags: str, then: str = "") -> tuple[str, list[str]]:
    """Open a page, run a script once its charts are drawn; returns (document, console lines)."""
    if then:
        waiting = (
            "new MutationObserver((_, seen) => { seen.disconnect(); "
            f"{then} }}).observe(document.documentElement, {{attributeFilter: ['data-drawn']}});"
        )
        text = page.read_text().replace("</main>", f"</main><script>{waiting}</script>")
        page = page.with_name("with-script.html")
        page.write_text(text)
    profile = page.parent / ".profile"
    ended = subprocess.run(
        [chromium, *QUIET, f"--user-data-dir={profile}", *flags, "--dump-dom", page.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return ended.stdout, [line for line in ended.stderr.splitlines() if "CONSOLE" in line]


class Rows(HTMLParser):
    """The cells of the visible rows of the table of points."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self._cell = self._visible = False
        body = document[document.index('<table class="points">') :]
        self.feed(body[body.index("<tbody>") : body.index("</tbody>")])

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self._visible = "hidden" not in dict(attrs)
            if self._visible:
                self.rows.append([])
        elif tag == "td" and self._visible:
            self._cell = True
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        if tag == "td":
            self._cell = False

    def handle_data(self, data):
        if self._cell:
            self.rows[-1][-1] += data


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_chart_is_drawn_and_the_console_stays_silent(chromium, sweep, theme):
    page = write_report(sweep).page
    document, console = opened(
        chromium, page, f"--blink-settings=preferredColorScheme={'0' if theme == 'dark' else '1'}"
    )
    assert console == []
    assert f'data-drawn="{theme}"' in document
    assert dict(DRAWN.findall(document)) == dict.fromkeys(CHARTS, "svg")


def test_the_pareto_chart_has_a_mark_for_each_valid_point_and_a_line_for_each_configuration(chromium, sweep):
    document, _ = opened(chromium, write_report(sweep).page)
    chart = document[document.index('id="chart-pareto"') : document.index('id="chart-ttft"')]
    marks = re.findall(r"configuration: (\S+?); point: (\w+);", chart)
    assert len(marks) == len(set(marks)) == 7
    assert ("h100-disagg-1p1d-fp8", "c256") not in marks, "the invalid point"
    assert chart.count('aria-roledescription="line mark"') == 1 + 3, "the frontier and three configurations"


def test_hiding_a_configuration_takes_its_marks_out_of_every_chart(chromium, sweep):
    press = "document.querySelector('.legend button').click();"
    document, console = opened(chromium, write_report(sweep).page, then=press)
    assert console == []
    charts = document[document.index('id="chart-pareto"') : document.index('<table class="points">')]
    assert "configuration: h100-agg-tp8-fp8;" not in charts
    assert "configuration: h100-disagg-1p1d-fp8;" in charts


def test_a_click_on_a_header_sorts_by_number_and_leaves_empty_cells_last(chromium, sweep):
    click = "document.querySelector('.points th[data-column=\"7\"] button').click();"
    document, console = opened(chromium, write_report(sweep).page, then=click)
    assert console == []
    assert [row[7] for row in Rows(document).rows] == [
        *("7,178.9", "2,903.8", "2,693.6", "2,511.8", "503.8", "427.4", "371.1", "", "")
    ]


def test_the_filter_keeps_rows_that_hold_every_word(chromium, sweep):
    fill = (
        "const box = document.getElementById('filter'); box.value = 'DISAGG c32';"
        "box.dispatchEvent(new Event('input'));"
    )
    document, _ = opened(chromium, write_report(sweep).page, then=fill)
    assert [row[1] for row in Rows(document).rows] == ["c32", "c32"]
    assert "2 of 9 points" in document


def test_a_phone_scrolls_the_table_and_never_the_page(chromium, sweep):
    frame = sweep / "phone.html"
    write_report(sweep)
    frame.write_text(
        '<iframe src="report.html" style="width:390px;height:844px;border:0"></iframe><script>'
        "onload = () => setTimeout(() => { const page = frames[0].document.documentElement;"
        "document.title = page.scrollWidth + ' ' + page.clientWidth; }, 3000);</script>"
    )
    document, _ = opened(chromium, frame, "--allow-file-access-from-files")
    [(content, window)] = re.findall(r"<title>(\d+) (\d+)</title>", document)
    assert int(content) <= int(window) == 390


def test_a_sweep_without_a_valid_point_opens_without_an_error(chromium, tmp_path):
    document, console = opened(chromium, write_report(tmp_path, ["a"]).page)
    assert console == []
    assert [row[:3] for row in Rows(document).rows] == [["a", "", "not run"]]

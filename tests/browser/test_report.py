"""The page in a real browser, without a network: it is drawn, filtered, sorted, on a desk and on a phone."""

import os
from pathlib import Path

import pytest
from tests.browser.browsing import CHARTS, open_page
from tests.browser.written_sweep import LOADS

from servesweep.report.records import frontier_records, valid_records
from servesweep.report.sweep import load_sweep
from servesweep.report.write import write_report

AGG, DISAGG = "h100-agg-tp8-fp8", "h100-disagg-1p1d-fp8"


LONG = pytest.mark.long


@pytest.mark.parametrize(
    ("size", "scheme"),
    [
        ("desktop", "light"),
        ("phone", "dark"),
        pytest.param("desktop", "dark", marks=LONG),
        pytest.param("phone", "light", marks=LONG),
    ],
)
def test_everything_is_drawn_the_console_is_silent_and_nothing_is_asked_for(
    browser, sweep, screenshots, size, scheme
):
    page = write_report(sweep).page
    opened = open_page(browser, page, size, scheme)
    opened.walk_through()
    opened.page.screenshot(path=screenshots / f"{size}-{scheme}.png", full_page=True)
    assert opened.console == []
    assert opened.requests == [page.as_uri()]
    assert opened.page.locator("html").get_attribute("data-drawn") == scheme
    for chart in CHARTS:
        assert opened.page.locator(f"#{chart} svg.marks").count() == 1
    widths = opened.page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert widths[0] <= widths[1], "the table scrolls, and never the page"


def test_the_pareto_chart_has_a_mark_for_each_valid_point_and_rings_the_frontier(browser, sweep):
    opened = open_page(browser, write_report(sweep).page)
    marks = opened.marks()
    assert len(marks) == 7
    assert (DISAGG, "c256") not in marks, "the invalid point"
    edge = frontier_records(valid_records(load_sweep(sweep)))
    assert opened.ringed() == [(point["configuration"], point["rank"]) for point in edge]


def test_hovering_a_mark_tells_the_point(browser, sweep):
    opened = open_page(browser, write_report(sweep).page)
    place = opened.page.evaluate(
        "(() => { const mark = [...document.querySelectorAll('#chart-pareto path')].find(path =>"
        " path.__data__?.tooltip?.point === 'c256'); const box = mark.getBoundingClientRect();"
        " return [box.x + box.width / 2, box.y + box.height / 2]; })()"
    )
    opened.page.mouse.move(*place)
    told = opened.page.locator("#vg-tooltip-element")
    told.wait_for(state="visible")
    for fact in (AGG, "c256", "4 agg · 32 GPUs", "224.3", "3.10"):
        assert fact in told.inner_text()


def test_the_other_views_show_the_cost_and_the_latency(browser, sweep):
    opened = open_page(browser, write_report(sweep).page)
    titles = []
    for label in ("total tok/s/GPU", "E2E latency", "cost"):
        opened.page.get_by_role("button", name=label, exact=True).click()
        title = {"total tok/s/GPU": "input and", "E2E latency": "median", "cost": "$ per"}[label]
        opened.page.locator("#chart-pareto .role-axis-title text").get_by_text(title).wait_for()
        texts = opened.page.locator("#chart-pareto .role-axis-title text").all_text_contents()
        titles.append(tuple(sorted(texts)))
    assert titles == [
        ("input and output tok/s/GPU", "output tok/s/user"),
        ("median end-to-end latency (ms)", "output tok/s/GPU"),
        ("$ per million output tokens", "output tok/s/user"),
    ]
    assert opened.page.locator("p.hint:visible").first.inner_text().startswith("$ per million output tokens")
    assert opened.console == []


def test_hiding_a_configuration_takes_its_marks_out_of_every_chart(browser, sweep):
    opened = open_page(browser, write_report(sweep).page)
    opened.walk_through()
    opened.page.locator(f'.legend button[data-id="{AGG}"]').click()
    for chart, marks in zip(CHARTS, (4, 8, 8, 4), strict=True):  # p50 and p99 are two marks
        opened.until_drawn(marks, chart)
        assert {configuration for configuration, _ in opened.marks(chart)} >= {DISAGG}
        assert AGG not in {configuration for configuration, _ in opened.marks(chart)}
    assert opened.console == []


def test_words_and_choices_filter_charts_table_failures_and_configurations(browser, sweep):
    opened = open_page(browser, write_report(sweep).page)
    opened.page.locator("#filter").fill("DISAGG c32")
    opened.until_told("2 of 9 points")
    assert opened.column("point") == ["c32", "c32"]
    opened.until_drawn(2)
    assert {point for _, point in opened.marks()} == {"c32"}
    opened.page.locator('select[data-facet="deployment"]').select_option("1 prefill + 1 decode · 16 GPUs")
    opened.until_drawn(1)
    assert opened.column("configuration") == [DISAGG]
    assert opened.page.locator("details.configuration:visible").count() == 1
    assert (
        opened.page.locator(".plain tr[data-configuration]:visible").all_inner_texts()[0].startswith(DISAGG)
    )
    assert opened.ringed() == [(DISAGG, 1.0)], "the frontier of what is shown"
    opened.page.get_by_role("button", name="Show all").click()
    assert opened.told() == "9 points"
    opened.page.locator('select[data-facet="status"]').select_option("failed")
    assert opened.column("status") == ["failed"]


def test_a_heading_sorts_by_number_both_ways_then_as_it_was_and_empty_cells_stay_last(browser, sweep):
    opened = open_page(browser, write_report(sweep).page)
    down = ["7,178.9", "2,903.8", "2,693.6", "2,511.8", "503.8", "427.4", "371.1"]
    opened.sort("out tok/s")
    assert opened.column("out tok/s") == [*down, "", ""]
    opened.sort("out tok/s")
    assert opened.column("out tok/s") == [*reversed(down), "", ""]
    opened.sort("out tok/s")
    assert opened.column("point") == [f"c{n}" for n in LOADS] * 3
    opened.sort("point")
    assert opened.column("point") == ["c4"] * 3 + ["c32"] * 3 + ["c256"] * 3, "c32 before c256"


def test_the_appearance_can_be_chosen(browser, sweep):
    opened = open_page(browser, write_report(sweep).page)
    paper = "getComputedStyle(document.body).backgroundColor"
    seen = []
    for _ in range(3):
        opened.page.locator("#theme").click()
        seen.append((opened.page.locator("#theme").inner_text(), opened.page.evaluate(paper)))
    light, dark = "rgb(255, 255, 255)", "rgb(21, 24, 28)"
    assert seen == [("light", light), ("dark", dark), ("auto", light)]
    opened.page.wait_for_selector('html[data-drawn="light"]')


def test_failures_tell_their_cause_and_link_to_the_log_and_nodes_show_their_gpus(browser, sweep):
    opened = open_page(browser, write_report(sweep).page)
    cause = opened.page.locator("td.cause").first
    assert cause.inner_text().startswith("decode_0 ended while point c256 was measured")
    cause.locator("summary").click()
    assert "alert('a log line is text')" in cause.locator("pre").inner_text()
    with opened.page.expect_navigation():
        cause.locator("a").click()
    assert opened.page.content().count("torch.OutOfMemoryError") == 1
    opened = open_page(browser, write_report(sweep).page)
    nodes = opened.page.locator(f'details[data-configuration="{DISAGG}"] .node')
    assert [node.split() for node in nodes.all_inner_texts()] == [
        ["n0", *["P0"] * 8, "head,", "frontend"],
        ["n1", *["D0"] * 8],
    ]


def test_a_sweep_without_a_valid_point_opens_without_an_error(browser, tmp_path):
    opened = open_page(browser, write_report(tmp_path, ["a"]).page)
    assert opened.console == []
    assert [row[:3] for row in opened.rows()] == [["a", "", "not run"]]


@pytest.mark.parametrize("size", ["desktop", pytest.param("phone", marks=LONG)])
def test_two_thousand_points_load_and_sort_in_less_than_two_seconds(
    browser, large_sweep: Path, screenshots, size
):
    opened = open_page(browser, large_sweep, size)
    speed = opened.page.locator('.points th[data-column="9"]')
    assert speed.inner_text().strip() == "tok/s/user"
    sorting = opened.paint_after("document.querySelector('.points th[data-column=\"9\"] button').click()")
    wall = (opened.page.evaluate("drawnAt") + sorting) / 1000
    cores, load = os.cpu_count() or 1, os.getloadavg()[0]
    told = f"wall {wall:.2f} s at a load of {load:.1f} on {cores} cores, main thread {opened.work_s():.2f} s"
    (screenshots / f"{size}-2000-points.txt").write_text(told + "\n")
    # Wall time tells of this page only where the machine has a core for it.
    assert opened.work_s() < 2, told
    assert wall < 2 or load > cores, told
    assert opened.told() == "2,000 points"
    speeds = [float(cell.replace(",", "")) for cell in opened.column("tok/s/user")]
    assert 10 < len(speeds) < 200, "rows out of sight are not in the document"
    assert speeds == sorted(speeds, reverse=True)
    opened.page.screenshot(path=screenshots / f"{size}-2000-points.png")
    opened.page.locator(".scroll").evaluate("box => box.scrollTo(0, box.scrollHeight)")
    opened.page.wait_for_function("document.querySelector('.points tbody tr:last-child:not(.space)')")
    least = [float(cell.replace(",", "")) for cell in opened.column("tok/s/user")]
    assert max(least) < min(speeds), "the last rows have come"
    opened.page.locator("#filter").fill("policy-3 c7")
    opened.until_told("20 of 2,000 points")
    assert len(opened.rows()) == 20
    assert opened.console == []

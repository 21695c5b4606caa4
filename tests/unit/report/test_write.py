"""The four files that a report consists of, and the page's promise to need no network."""

import re
from html.parser import HTMLParser

import pytest

from servesweep.report.views import X, Y
from servesweep.report.write import write_report

METRICS = {X: 90.0, Y: 20.0, "output_throughput_tok_s": 320.0, "p50_ttft_ms": 12.0, "p99_ttft_ms": 30.0}
PICTURES = [f"{name}.{form}" for name in ("latency", "pareto", "throughput") for form in ("png", "svg")]
FILES = sorted([*PICTURES, "report.html", "summary.csv", "summary.parquet"])


class Markup(HTMLParser):
    """Collects what a browser would follow or fetch, the text it shows and the scripts it runs."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.tags: list[str] = []
        self.text: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        names = {"src", "href", "srcset", "action", "data", "poster", "background"}
        self.addresses += [value or "" for name, value in attrs if name in names]

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture
def page(tree):
    tree.plan("a", {"c1": 1, "c2": 2})
    tree.result("a", "c1", METRICS)
    tree.invalid("a", "c2", "3 of 80 requests failed")
    tree.plan("b", {"c1": 1})
    tree.put("b/logs/decode 0.err", "killed")
    failure = {"schema": 1, "digest": "D-b", "stage": "workers", "message": "decode_0 <b>ended</b>"}
    tail = ["\x1b[31mred\x1b[0m", "</script><script>alert(1)</script>", "see https://example.com/help"]
    tree.put("b/failure.json", failure | {"log": "logs/decode 0.err", "exit_code": 137, "tail": tail})
    return write_report(tree.root).page.read_text()


def test_all_files_are_written_and_nothing_else_is_left(tree):
    tree.plan("a", {"c1": 1})
    tree.result("a", "c1", METRICS)
    summary = write_report(tree.root, ["a", "b"])
    assert sorted(path.name for path in tree.root.iterdir() if path.is_file()) == FILES
    for name in PICTURES:
        content = (tree.root / name).read_bytes()
        assert content.startswith(b"\x89PNG" if name.endswith("png") else b"<svg")
    assert (summary.configurations, summary.points, summary.valid, summary.not_run) == (2, 2, 1, 1)


def test_a_roll_up_that_cannot_be_written_hides_nothing_of_the_others(tree):
    for name in "ab":
        tree.plan(name, {"c1": 1})
        tree.result(name, "c1", METRICS)
    blocked = tree.root / "a/benchmark-rollup.json"
    blocked.mkdir()
    summary = write_report(tree.root)
    assert summary.unwritten == (f"{blocked} is not written: Is a directory",)
    assert (tree.root / "b/benchmark-rollup.json").is_file()
    assert summary.csv.read_text().count("valid") == 2


def test_the_same_files_give_the_same_report(tree):
    tree.plan("a", {"c1": 1})
    tree.result("a", "c1", METRICS)
    first = write_report(tree.root)
    before = {name: (tree.root / name).read_bytes() for name in FILES}
    assert write_report(tree.root) == first
    assert before == {name: (tree.root / name).read_bytes() for name in FILES}


def test_the_page_refers_to_nothing_outside_of_its_directory(page):
    addresses = Markup(page).addresses
    assert sorted(set(addresses)) == [
        "a/benchmark-rollup.csv",
        "a/plan.json",
        "a/points/c2/invalid.json",
        "b/failure.json",
        "b/logs",
        "b/logs/decode%200.err",
        "b/plan.json",
        "data:,",
        "summary.csv",
        "summary.parquet",
    ]
    assert not re.search(r"@import|url\(", page[page.index("<style>") : page.index("</style>")])
    assert "default-src 'none'" in page, "the browser itself refuses every fetch"


def test_what_we_write_names_no_address_but_what_a_log_says(page):
    ours = re.sub(r"<script>.*?</script>", "", page, count=1, flags=re.DOTALL)  # without the drawing library
    assert set(re.findall(r"https?://[^\s\"'<]+", ours)) == {"https://example.com/help"}


def test_evidence_is_text_and_never_markup(page):
    markup = Markup(page)
    assert markup.tags.count("script") == 3
    assert "decode_0 <b>ended</b>" in markup.text
    assert any("red\n</script><script>alert(1)</script>" in text for text in markup.text)
    assert "\x1b" not in page


def test_links_lead_only_to_files_of_the_configuration_that_exist(tree):
    tree.put("secret.txt", "")
    for number, log in enumerate(("../secret.txt", "/etc/passwd", "javascript:alert(1)", "logs/gone.err")):
        tree.plan(f"a{number}", {"c1": 1})
        tree.put(f"a{number}/failure.json", {"schema": 1, "message": "m", "stage": "s", "log": log})
    addresses = set(Markup(write_report(tree.root).page.read_text()).addresses)
    assert addresses == {"data:,", "summary.csv", "summary.parquet"} | {
        f"a{n}/{file}.json" for n in range(4) for file in ("plan", "failure")
    }


def test_links_are_relative_to_where_the_page_is(tree):
    tree.plan("a", {"c1": 1})
    summary = write_report(tree.root, out=tree.root / "reports" / "today")
    assert summary.page == tree.root / "reports" / "today" / "report.html"
    assert "../../a/plan.json" in Markup(summary.page.read_text()).addresses


@pytest.mark.parametrize("only", [None, ["a"], []])
def test_without_a_valid_point_the_page_says_so_and_holds_no_chart(tree, only):
    tree.put("a/failure.json", {"schema": 1, "message": "no node came up", "stage": "services"})
    summary = write_report(tree.root, only)
    page = summary.page.read_text()
    assert "No point is valid, so there is nothing to draw." in page
    assert "vegaEmbed=" not in page
    assert ("no node came up" in page) is bool(only)
    assert all("no valid points" in (tree.root / name).read_text() for name in PICTURES[1::2])


def test_broken_files_are_named_on_the_page(tree):
    tree.plan("a", {"c1": 1})
    tree.put("a/points/c1/result.json", "{")
    tree.put("a/failure.json", "\x00")
    tree.put("a/run.json", "[]")
    page = write_report(tree.root).page.read_text()
    assert "result.json is not JSON" in page


def test_two_thousand_points_make_a_page_of_reasonable_size(tree):
    loads = {f"c{n}": n for n in range(1, 21)}
    for number in range(100):
        tree.plan(f"configuration-{number:03d}", loads)
        for name, n in loads.items():
            metrics = {key: value * (1 + n / 7) + number for key, value in METRICS.items()}
            tree.result(f"configuration-{number:03d}", name, metrics)
    summary = write_report(tree.root)
    assert summary.valid == 2000
    assert summary.page.stat().st_size < 3_000_000
    assert len(summary.csv.read_text().splitlines()) == 2001

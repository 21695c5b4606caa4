"""A browser, and pages for it."""

import importlib.util
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.browser.browsing import QUIET
from tests.browser.written_sweep import SHAPES, write_configuration
from tests.conftest import require

from servesweep.report.write import write_report


# Not for the session: a browser with pages in it costs what later tests need.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A real Chromium: Debian's, driven by Playwright."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    for component, there in (
        ("chromium", found),
        ("playwright", importlib.util.find_spec("playwright")),
    ):
        require(component, there is not None, "make test, and Debian's package chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, args=QUIET)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def screenshots(request: pytest.FixtureRequest) -> Path:
    """Where pictures of the pages are kept: .pytest_cache/d/report-screenshots."""
    return Path(request.config.cache.mkdir("report-screenshots"))


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    """The results directory of the sweep."""
    for number, name in enumerate(SHAPES):
        write_configuration(tmp_path / name, number)
    return tmp_path


@pytest.fixture(scope="session")
def large_sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of 100 configurations with 20 points each; it notes when it was drawn."""
    root = tmp_path_factory.mktemp("large")
    for number in range(100):
        write_configuration(root / f"h100-{number:02}-policy-{number % 5}", number % 2, range(1, 41, 2), 4)
    page = write_report(root).page
    noting = (
        "<script>let drawnAt = null; new MutationObserver(() => { drawnAt ??= performance.now(); })"
        ".observe(document.documentElement, {attributeFilter: ['data-drawn']});</script>"
    )
    page.write_text(page.read_text().replace("<body>", f"<body>{noting}", 1))
    return page

"""The page of faults and the tests that write it tell of the same faults."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

from tests.faults import PAGE, Row, lines, names, told, write_page

TESTS = Path(__file__).resolve().parents[2]


def texts(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def recording() -> set[str]:
    """Every text of the tests that record faults."""
    files = [path for path in TESTS.glob("*/test_*.py") if "fault_row" in path.read_text()]
    return {text for path in files for text in texts(path)}


def test_at_least_thirty_faults_are_told_and_each_has_a_test_that_records_it() -> None:
    assert len(names(PAGE)) >= 30
    # The other direction is the recorder's: it refuses a fault that the page does not have.
    assert [fault for fault in names(PAGE) if fault not in recording()] == []


def test_the_page_is_written_from_the_recorded_rows(tmp_path: Path) -> None:
    page = tmp_path / "faults.md"
    first = Row("a worker is killed", "kill -9", "it is | told", "logs", 0.25)
    assert write_page([first, Row("a disk is full", "dd", "one sentence", "points")], page) == 2
    assert write_page([Row("a worker is killed", "kill -9", "told", "logs", 1.04)], page) == 2
    assert lines(page) == {
        "a disk is full": "| a disk is full | dd | one sentence | points | - |\n",
        "a worker is killed": "| a worker is killed | kill -9 | told | logs | 1.0 s |\n",
    }


def test_what_differs_from_run_to_run_is_left_out() -> None:
    message = (
        "worker agg_0 on ssnode3 of job 71: /scratch/x/results/a/run.json: http://10.78.0.1:6100 is shut"
    )
    assert told(message) == "`worker agg_0 on <node> of job <id>: results/a/run.json: <url> is shut`"
    assert json.loads(json.dumps(told("job 7"))) == "`job <id>`"

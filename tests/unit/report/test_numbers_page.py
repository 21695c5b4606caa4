"""docs/numbers.md names every column of the tables, with the meaning that Parquet carries too."""

import re
from pathlib import Path

from servesweep.loadgen.request_log import SCHEMA
from servesweep.report.columns import COLUMNS

PAGE = Path(__file__).parents[3] / "docs" / "numbers.md"


def test_every_column_stands_on_the_page_in_its_order():
    section = PAGE.read_text().split("## Columns\n")[1].split("\n## ")[0]
    told = re.findall(r"^\| `(\w+)` \| (.+) \|$", section, flags=re.MULTILINE)
    assert told == [(column.name, column.meaning) for column in COLUMNS]


def test_every_column_of_the_requests_stands_on_the_page():
    section = PAGE.read_text().split("## Columns of requests.parquet")[1].split("\n## ")[0]
    told = re.findall(r"^\| `(\w+)` \| (.+) \|$", section, flags=re.MULTILINE)
    assert told == [(field.name, field.metadata[b"is"].decode()) for field in SCHEMA]

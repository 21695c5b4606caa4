"""docs/numbers.md names every column, with the meaning that Parquet carries too."""

import re
from pathlib import Path

from servesweep.report.columns import COLUMNS

PAGE = Path(__file__).parents[3] / "docs" / "numbers.md"


def test_every_column_stands_on_the_page_in_its_order():
    section = PAGE.read_text().split("## Columns")[1].split("\n## ")[0]
    told = re.findall(r"^\| `(\w+)` \| (.+) \|$", section, flags=re.MULTILINE)
    assert told == [(column.name, column.meaning) for column in COLUMNS]

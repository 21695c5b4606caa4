"""The table of faults in docs/faults.md: each row is recorded by the test that injects the fault.

`pytest --faults rows.jsonl` appends a JSON object a row; `python tests/faults.py rows.jsonl docs/faults.md`
writes the page from them. Of a fault that was recorded several times the last row counts, and a row of the
page that was not recorded stays as it is.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs/faults.md"
HEAD = """# Faults, and what becomes of a sweep

Each row is a test, and their run has written this page (`make faults`). "Noticed" is the time from the fault
to the moment at which it was told (`failure.json`, or the end of the command), on two cores that are the
whole test cluster; "-" where nothing had to be noticed. What runs when a fault comes is ended, on every node.

In no row is anything lost that was measured: results of finished points, logs of every attempt and the
lockfile so far stay, and the next `snakemake` does only what is missing.

## Kinds of cluster

- **Without accounting** nothing has to be set: states come from `squeue`. A job that Slurm has forgotten
  between two looks (a short `MinJobAge`) counts as ended, and its record says whether it was finished.
- **`SLURM_CONF`**, where a site has several clusters, reaches the jobs, although the executor strips it.
- **Requeue**: the profile submits with `--no-requeue`, so that a lost node or a preemption is told. Without
  `slurm-no-requeue` a job that Slurm puts back goes on where it was, under its number, and the same
  `snakemake` waits for it.
- **Preemption** without requeue ends the job; the other configurations go on, and the next `snakemake`
  submits it again.
- **Lost nodes** may come back with a run that knows nothing of its end: it sees in `allocation.json` that it
  was replaced, ends, and touches nothing.
- **Tracking by cgroup**: there Slurm kills the supervisor of a job that is cancelled together with its batch
  script, before it can say a word. What was measured stays, and the login node tells what Slurm says.
- **Slow file systems**: `latency-wait` of `profiles/default` is the time that Snakemake waits for a record,
  60 s that of the lockfile for the results.

## Faults

| fault | injected by | outcome | kept | noticed |
|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Row:
    """One fault; `noticed` is in seconds."""

    fault: str
    injected: str
    outcome: str
    kept: str
    noticed: float | None = None

    def line(self) -> str:
        """The row of the page."""
        seconds = "-" if self.noticed is None else f"{self.noticed:.1f} s"
        cells = (self.fault, self.injected, self.outcome, self.kept, seconds)
        return "| " + " | ".join(cell.replace("|", "/").replace("\n", " ") for cell in cells) + " |\n"


def told(text: str) -> str:
    """A message without what differs from run to run."""
    text = re.sub(r"\b(ss(?:node|other))\d+\b", "<node>", text)
    text = re.sub(r"\bjob \d+\b", "job <id>", text)
    text = re.sub(r"\bprocess \d+\b", "process <pid>", text)
    text = re.sub(r"(?<![\w.])/\S+/(?=results/)", "", text)
    text = re.sub(r"http://\S+", "<url>", text)
    return f"`{text}`"


def recorder(path: Path | None) -> Callable[..., None]:
    """What a test calls with a row's columns; it fails where the page does not know the fault."""

    def record(fault: str, *, injected: str, outcome: str, kept: str, noticed: float | None = None) -> None:
        row = Row(fault, injected, outcome, kept, noticed)
        if path is None:
            assert fault in names(PAGE), f"docs/faults.md does not have '{fault}': run `make faults`"
            return
        with path.open("a") as rows:
            rows.write(json.dumps(asdict(row)) + "\n")

    return record


def lines(page: Path) -> dict[str, str]:
    """Fault to its row of the page, in order."""
    rows = [line for line in page.read_text().splitlines(keepends=True) if line.startswith("| ")]
    return {row.split(" | ")[0].removeprefix("| "): row for row in rows[1:]}


def names(page: Path) -> list[str]:
    """The faults that a page tells of, in its order."""
    return list(lines(page)) if page.exists() else []


def write_page(rows: Iterable[Row], page: Path) -> int:
    """Write the page; returns the number of its faults."""
    known = lines(page) if page.exists() else {}
    known |= {row.fault: row.line() for row in rows}
    page.write_text(HEAD + "".join(known[fault] for fault in sorted(known, key=str.lower)))
    return len(known)


if __name__ == "__main__":
    recorded = [Row(**json.loads(line)) for line in Path(sys.argv[1]).read_text().splitlines()]
    print(f"{sys.argv[2]}: {write_page(recorded, Path(sys.argv[2]))} faults, {len(recorded)} recorded")

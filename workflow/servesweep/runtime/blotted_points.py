"""The files of a point without what must not be read in them, as soon as it is over."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

from servesweep.evidence.files import RunFiles
from servesweep.evidence.points import read_json
from servesweep.plan.plan import Plan
from servesweep.runtime.blot import Blot
from servesweep.runtime.blotted_files import blot_file

POLL_SECONDS = 0.5
# Which table of requests lies beside which record.
TABLES = {"result.json": "requests.parquet", "invalid.json": "invalid.requests.parquet"}


async def blot_points(blot: Blot, files: RunFiles, plan: Plan) -> None:
    """Blot out each point that is over, as its record tells; at once over where no value is to be."""
    distinct = blot.distinct()
    known: dict[Path, tuple[int, int]] = {}
    while distinct.values:
        for point in plan.points:
            for name, table in TABLES.items():
                record = files.point(point.id) / name
                if (now := _version(record)) and known.get(record) != now:
                    await _blot_point(record, record.with_name(table), distinct)
                    known[record] = _version(record) or now
        await asyncio.sleep(POLL_SECONDS)


def _version(record: Path) -> tuple[int, int] | None:
    try:
        status = record.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


async def _blot_point(record: Path, table: Path, blot: Blot) -> None:
    # The end of the run looks at every file once more, and tells what cannot be blotted out.
    with contextlib.suppress(OSError):
        for path in sorted(record.parent.glob("*.json")):
            blot_file(path, blot)
        # A server's words stand in it for a request that failed alone, and a large one takes a while.
        if (read_json(record).get("requests") or {}).get("failed") and table.exists():
            await asyncio.to_thread(blot_file, table, blot)

"""A run ends by itself when another one has taken its place."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from servesweep.evidence.files import RunFiles
from servesweep.runtime import fence
from servesweep.runtime.allocation import Allocation, find_allocation


@pytest.fixture
def mine(monkeypatch: pytest.MonkeyPatch) -> Allocation:
    monkeypatch.setattr(fence, "POLL_SECONDS", 0.01)
    return find_allocation("local", ["n0"]).model_copy(update={"launcher": "slurm", "job_id": "7"})


def told(files: RunFiles, mine: Allocation, others: list[str], seconds: float = 30.0) -> str | None:
    """What is told after the file has held each of the texts for a while; None where nothing is."""

    async def work() -> Any:
        task = asyncio.create_task(fence.until_replaced(files, mine))
        for text in others:
            files.allocation.write_text(text)
            await asyncio.sleep(0.1)
        done, _ = await asyncio.wait([task], timeout=seconds)
        return task.result() if done else task.cancel() and None

    return asyncio.run(work())  # type: ignore[no-any-return]


def test_its_own_file_and_half_a_file_end_nobody(tmp_path: Path, mine: Allocation) -> None:
    assert told(RunFiles(tmp_path), mine, [mine.model_dump_json(), '{"job_id"', ""], seconds=0.2) is None


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"job_id": "9", "supervisor_host": "gpu2"}, "job 9 on gpu2 runs this configuration now"),
        # Put back into the queue, a job keeps its number.
        ({"started_at": "later", "supervisor_host": "gpu3"}, "job 7 on gpu3 runs this configuration now"),
    ],
)
def test_the_file_of_another_run_does(
    tmp_path: Path, mine: Allocation, change: dict[str, Any], sentence: str
) -> None:
    other = mine.model_copy(update=change).model_dump_json()
    assert told(RunFiles(tmp_path), mine, [mine.model_dump_json(), other]) == sentence

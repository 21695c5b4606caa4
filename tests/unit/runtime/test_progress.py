"""What a run says while its models load, and while its points are measured."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from servesweep.evidence.files import RunFiles
from servesweep.runtime import progress
from servesweep.runtime.progress import tell_progress, tell_valid

STEPS = [SimpleNamespace(name=f"prefill_{n}", kind="worker", probe=True) for n in range(6)]
OTHERS = [
    SimpleNamespace(name="prefill_0_r1", kind="worker", probe=None),
    SimpleNamespace(name="frontend_0", kind="frontend", probe=True),
]
PLAN = cast(Any, SimpleNamespace(steps=[*STEPS, *OTHERS], points=[SimpleNamespace(id="c1", digest="d")]))


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in {"GATE_SECONDS": 0.001, "PATIENCE_SECONDS": 0.001, "POINT_SECONDS": 0.001}.items():
        monkeypatch.setattr(progress, name, seconds)


def told(files: RunFiles, enough: int = 1) -> list[str]:
    """The first lines that are said of a deployment that has been started."""
    write(files.deployed, None)
    lines: list[str] = []

    async def listen() -> None:
        heard = asyncio.Event()

        def say(line: str) -> None:
            lines.append(line)
            if len(lines) >= enough:
                heard.set()

        telling = asyncio.create_task(tell_progress(files, PLAN, set(), lambda: say("open"), say))
        await asyncio.wait_for(heard.wait(), 60)
        telling.cancel()

    asyncio.run(listen())
    return lines


def write(path: Path, data: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data))


@pytest.mark.parametrize(
    ("ready", "sentence"),
    [
        ([], "0 of 6 workers are ready, missing prefill_0, prefill_1, prefill_2, prefill_3 and 2 more"),
        (range(1, 6), "5 of 6 workers are ready, missing prefill_0"),
        (range(6), "every worker is ready, and the public API does not serve the model yet"),
    ],
)
def test_a_closed_gate_is_told_with_whom_it_waits_for(tmp_path: Path, ready: Any, sentence: str) -> None:
    files = RunFiles(tmp_path)
    write(files.logs / "workers.json", {"ready": [f"prefill_{n}" for n in ready]})
    assert told(files)[0].partition(" s: ")[2] == sentence


def test_points_are_told_from_what_their_client_writes(tmp_path: Path) -> None:
    files = RunFiles(tmp_path)
    write(files.health, {"open": True})
    write(
        files.point("c1") / "progress.json", {"phase": "measure", "done": 3, "asked": 8, "output_tok_s": 12.4}
    )
    assert told(files, 2) == ["open", "c1 measure: 3/8 requests, 12 output tok/s"]


def test_each_point_is_told_once_and_those_of_an_earlier_attempt_never(tmp_path: Path) -> None:
    files, lines = RunFiles(tmp_path), list[str]()
    plan = cast(Any, SimpleNamespace(points=[SimpleNamespace(id=f"c{n}", digest="d") for n in (1, 2, 4)]))
    for point in ("c1", "c2"):
        write(files.result(point), {"valid": True, "digest": "d"})
    told = {"c1"}
    for _ in range(2):
        tell_valid(files, plan, told, lines.append)
    assert lines == ["c2 is valid"]

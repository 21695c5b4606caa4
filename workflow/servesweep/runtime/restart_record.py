"""Writes `logs/worker_restarts.json` as restarts happen."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from servesweep.evidence.files import write_atomically
from servesweep.evidence.restarts import RESTARTS
from servesweep.recipe.restart import RestartSection

Outcome = Literal["scheduled", "relaunched", "ready", "not_ready", "exhausted", "launch_failed", "stopped"]


@dataclass
class Event:
    """An exit of a worker, and what became of it."""

    worker: str
    mode: str | None
    index: int
    node: str
    attempt: int
    exit_code: int
    exited_at: str
    outcome: Outcome
    backoff_seconds: float | None = None
    relaunched_at: str | None = None
    ready_at: str | None = None
    ready_seconds: float | None = None
    crash_log: str | None = None
    engine: int = 0


@dataclass
class RestartRecord:
    """All events of a run, and how far each worker has used its restarts up."""

    logs: Path
    policies: Mapping[str, RestartSection]
    """Worker to its policy."""
    events: list[Event] = field(default_factory=list)
    spent: set[str] = field(default_factory=set)
    began_at: str = field(default_factory=lambda: now())

    def count(self, worker: str) -> int:
        """How often a worker has been started again."""
        return sum(event.worker == worker and event.relaunched_at is not None for event in self.events)

    def data(self) -> dict[str, Any]:
        """What the file says."""
        endpoints = {
            worker: {
                "policy": policy.policy,
                "restarts": self.count(worker),
                "max_restarts": policy.max_restarts,
                "exhausted": worker in self.spent,
            }
            for worker, policy in self.policies.items()
        }
        return {
            "schema": 1,
            "began_at": self.began_at,
            "total_restarts": sum(self.count(worker) for worker in self.policies),
            "endpoints": endpoints,
            "events": [asdict(event) for event in self.events],
        }

    def write(self) -> None:
        """Write the file; nobody's run fails because a disk is too full for it."""
        with contextlib.suppress(OSError):
            write_atomically(self.logs / RESTARTS, json.dumps(self.data(), indent=1) + "\n")


def now() -> str:
    """UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")

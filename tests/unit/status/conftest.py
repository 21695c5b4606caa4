"""A results directory that a sweep in the middle of its work has left."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from servesweep.status.look import Looker
from servesweep.status.view import ConfigurationView

DISAGGREGATED = [("prefill", 4), ("decode", 4)]


@dataclass
class Directory:
    """`results/`, and one look at it after another."""

    results: Path
    looker: Looker

    def write(self, path: str, data: object) -> None:
        """A JSON file, or text as it is."""
        target = self.results / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(data if isinstance(data, str) else json.dumps(data))

    def plan(self, name: str, nodes: int = 1, points: int = 5, roles: Any = DISAGGREGATED) -> None:
        """plan.json with a digest, workers `prefill_0`… and points `c1`…"""
        steps = [
            {"name": f"{mode}_{i}", "kind": "worker", "mode": mode, "index": i, "probe": {"port": 1}}
            for mode, count in roles
            for i in range(count)
        ]
        self.write(
            f"{name}/plan.json",
            {
                "digest": f"d-{name}",
                "launcher": "slurm",
                "topology": {"total_nodes": nodes, "gpus_per_node": 8},
                "points": [{"id": f"c{i}", "digest": f"p{i}"} for i in range(1, points + 1)],
                "steps": [{"name": "etcd", "kind": "service"}, *steps],
            },
        )

    def started(self, name: str, job: str | None = "17", launcher: str = "slurm") -> None:
        """allocation.json."""
        at = "2026-01-01T10:00:00+00:00"
        self.write(f"{name}/allocation.json", {"launcher": launcher, "job_id": job, "started_at": at})

    def view(self, name: str) -> ConfigurationView:
        """The configuration as it is now."""
        return self.looker.configuration(name)


@pytest.fixture
def directory(tmp_path: Path) -> Directory:
    """An empty results directory, whose jobs Slurm is not asked about."""
    results = tmp_path / "results"
    results.mkdir()
    return Directory(results, Looker(results))


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
    """Put a shell script before everything else on PATH, to print what a recorded Slurm printed."""
    place = tmp_path / "bin"
    place.mkdir()
    monkeypatch.setenv("PATH", str(place), prepend=":")

    def make(name: str, script: str) -> Path:
        path = place / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    return make

"""Real sweeps on this machine: quick recipes, a look at what is running, and at what was kept."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

PATIENCE_S = 120.0
QUICK = {
    "schema": 2,
    "name": "quick",
    "model": {"path": "tiny", "precision": "fp16"},
    "engine": "simulator",
    "resources": {"gpus_per_node": 2},
    "roles": {"agg": {"nodes": 1, "workers": 1, "gpus": 1, "args": {"ttft-ms": 3, "itl-ms": 1}}},
    "frontend": {"type": "direct"},
    "health_check": {"max_attempts": 600, "interval_seconds": 0.1},
    "benchmark": {
        "type": "sa-bench",
        "isl": 8,
        "osl": 4,
        "concurrencies": "1x2",
        "num_prompts_mult": 2,
        "num_warmup_mult": 0,
    },
}


@dataclass
class Quick:
    """One configuration, `quick`, of one simulator and two points, in a project of its own."""

    project: Any

    def recipe(self, args: dict[str, Any] | None = None, **sections: dict[str, Any]) -> None:
        """Write the recipe; `args` are the simulator's, a section's keys are put over the quick ones."""
        data: dict[str, Any] = json.loads(json.dumps(QUICK))
        data["roles"]["agg"]["args"] |= args or {}
        for name, section in sections.items():
            data[name] = section if "type" in section else {**data.get(name, {}), **section}
        # JSON is YAML.
        self.project.write("config/recipes/quick.yaml", json.dumps(data, indent=1))

    def validate(self) -> None:
        words = ["config/recipes", "--cluster", "config/local.yaml", "--results", "results"]
        done = self.project.servesweep("validate", *words)
        assert done.returncode == 0, done.stdout

    def run(self) -> subprocess.CompletedProcess[str]:
        """Validate and run without the outer workflow."""
        self.validate()
        return self.project.servesweep("run", "results/quick", "--launcher", "local")  # type: ignore[no-any-return]

    def start(self) -> subprocess.Popen[str]:
        """The same in the background, in a session of its own."""
        self.validate()
        words = ["-m", "servesweep", "run", "results/quick", "--launcher", "local"]
        return subprocess.Popen(
            [sys.executable, *words],
            cwd=self.project.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def snakemake(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.project.snakemake(*words, "--config", "recipes=config/recipes")  # type: ignore[no-any-return]

    def json(self, name: str) -> dict[str, Any]:
        return self.project.json(f"quick/{name}")  # type: ignore[no-any-return]

    def exists(self, name: str) -> bool:
        return bool(self.project.exists(f"quick/{name}"))

    def kept(self, pattern: str) -> dict[str, tuple[bytes, int]]:
        """Content and time of the files that match, to see later that nobody touched them."""
        root = self.project.root / "results"
        return {name: _fingerprint(root / name) for name in self.project.files(f"quick/{pattern}")}


@pytest.fixture
def quick(project: Any) -> Iterator[Quick]:
    """A project with the quick recipe; at the end nothing of it may be running."""
    made = Quick(project)
    made.recipe()
    yield made
    left = processes_of(project.root)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left, f"left behind: {left}"


@pytest.fixture(scope="session")
def processes() -> Callable[..., dict[int, str]]:
    """Command lines by process id of everything that runs for a project, or of those with a word in them."""
    return processes_of


@pytest.fixture(scope="session")
def eventually() -> Callable[[Callable[[], Any]], Any]:
    """Wait until a condition holds and return what it gave."""
    return wait_for


def wait_for(condition: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.02)
    raise AssertionError("it did not happen")


def processes_of(root: Path, word: str = "") -> dict[int, str]:
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            command = os.fsdecode((entry / "cmdline").read_bytes()).replace("\0", " ")
            environment = os.fsdecode((entry / "environ").read_bytes())
            current = (entry / "cwd").readlink()
        except OSError:
            continue
        ours = str(root) in command or str(root) in environment or current.is_relative_to(root)
        if command and ours and word in command:
            found[int(entry.name)] = command
    return found


def _fingerprint(path: Path) -> tuple[bytes, int]:
    return path.read_bytes(), path.stat().st_mtime_ns


@pytest.fixture(scope="session")
def require() -> Callable[[str, bool, str], None]:
    """Skip by name where a real component is missing; in CI that is a failure."""
    from tests.conftest import require as check

    return check

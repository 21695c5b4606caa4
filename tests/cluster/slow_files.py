"""A file system that shows files late: the login node sees the results seconds after the nodes do."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.cluster.conftest import Sweep
from tests.conftest import SNAKEMAKE

# Longer than Snakemake would wait by itself.
RECORD_SECONDS = 7.0
# The record is seen before what it tells of: nothing orders the files of a parallel file system.
RESULTS_SECONDS = 11.0
WAITING = "Waiting at most"


@dataclass
class SlowFiles:
    """`snakemake` with a view of results/ of its own, to which a thread brings the nodes' files late.

    What the nodes write is held back until Snakemake waits for it, however late it has noticed the job's end.
    """

    sweep: Sweep
    waiting_since: float | None = None
    _known: dict[Path, int] = field(default_factory=dict)

    def start(self) -> subprocess.Popen[str]:
        root = self.sweep.project.root
        (root / "results").mkdir(exist_ok=True)
        (root / "seen").mkdir()
        words = ["unshare", "--mount", "sh", "-c", 'mount --bind seen results && exec "$@"', "sh"]
        process = subprocess.Popen(
            [*words, str(SNAKEMAKE), *self.sweep.words()],
            cwd=root,
            env=dict(os.environ),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.sweep.started.append(process)
        threading.Thread(target=self._bring, args=(process,), daemon=True).start()
        return process

    def _bring(self, process: subprocess.Popen[str]) -> None:
        root = self.sweep.project.root
        while process.poll() is None:
            self._copy(root / "seen", root / "results", lambda path: True)
            self._copy(root / "results", root / "seen", self._is_seen)
            time.sleep(0.2)

    def _is_seen(self, path: Path) -> bool:
        if self.waiting_since is None:
            logs = self.sweep.project.root.glob(".snakemake/log/*.log")
            if not any(WAITING in log.read_text(errors="replace") for log in logs):
                return False
            self.waiting_since = time.monotonic()
        late = RECORD_SECONDS if path.name == "run.json" else RESULTS_SECONDS
        return time.monotonic() > self.waiting_since + late

    def _copy(self, source: Path, target: Path, wanted: Callable[[Path], bool]) -> None:
        for path in sorted(source.rglob("*")):
            name = path.relative_to(source)
            try:
                changed = path.stat().st_mtime_ns
                if path.name.startswith(".") or not path.is_file() or self._known.get(name) == changed:
                    continue
                if not wanted(name):
                    continue
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                on_its_way = (target / name).with_name(f".{name.name}.late")
                shutil.copy2(path, on_its_way)
                on_its_way.replace(target / name)
                self._known[name] = changed
            except FileNotFoundError:
                continue  # gone in the meantime

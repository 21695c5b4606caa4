"""Names of the files of a configuration, and the one way in which they are written."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class RunFiles:
    """The files below `results/<configuration>`."""

    root: Path

    @property
    def plan(self) -> Path:
        """What is to be run; symbolic."""
        return self.root / "plan.json"

    @property
    def recipe(self) -> Path:
        """The recipe file as it was when the plan was made: what the lockfile holds."""
        return self.root / "recipe.yaml"

    @property
    def sources(self) -> Path:
        """Where the plan's secrets are read again, if not in its recipe alone."""
        return self.root / "sources.json"

    @property
    def deployment(self) -> Path:
        """The plan with real addresses, written when the allocation is known."""
        return self.root / "deployment.json"

    @property
    def allocation(self) -> Path:
        """Where it runs, and which process supervises it."""
        return self.root / "allocation.json"

    @property
    def clients(self) -> Path:
        """The command of the client of each point that was open when the latest attempt began."""
        return self.root / "clients.json"

    @property
    def deployed(self) -> Path:
        """There as soon as everything that the gate waits for has been started, in this attempt."""
        return self.logs / "deployed"

    @property
    def health(self) -> Path:
        """Verdict of the health gate."""
        return self.root / "health.json"

    @property
    def unhealthy(self) -> Path:
        """Why the health gate did not open."""
        return self.root / "unhealthy.json"

    @property
    def failure(self) -> Path:
        """What failed first."""
        return self.root / "failure.json"

    @property
    def run(self) -> Path:
        """The record of a finished run; its existence makes the configuration complete."""
        return self.root / "run.json"

    @property
    def logs(self) -> Path:
        """Directory of every process's log."""
        return self.root / "logs"

    def point(self, point: str) -> Path:
        """Directory of a point."""
        return self.root / "points" / point

    def result(self, point: str) -> Path:
        """Result of a valid point."""
        return self.point(point) / "result.json"

    def invalid(self, point: str) -> Path:
        """Result of a point that does not count."""
        return self.point(point) / "invalid.json"


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file so that a reader sees the old content or the new one, never a part.

    Raises:
        OSError: where the disk refuses; the old file is then untouched.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        if isinstance(error, OSError) and error.filename is None:
            # A full disk is noticed by its file's descriptor, which does not know its name.
            error.filename = str(path)
        raise


def keep_plan(
    files: RunFiles, plan_text: str, recipe: str, sources: Mapping[str, str | None] | None = None
) -> None:
    """Write the plan, and beside it its recipe: the file may change while the job waits.

    No secret of the recipe is written. `sources` tell where the run finds them.
    """
    # Every process of a run knows the names of its files, and none of them reads a recipe.
    from servesweep.recipe.hidden_text import hidden_text

    with contextlib.suppress(OSError, UnicodeDecodeError):
        write_atomically(files.recipe, hidden_text(Path(recipe).read_text(encoding="utf-8-sig")))
    files.sources.unlink(missing_ok=True)
    if sources is not None:
        write_atomically(files.sources, json.dumps(sources, indent=1) + "\n")
    write_atomically(files.plan, plan_text)


def sentence(error: OSError) -> str:
    """What the operating system refused, and where."""
    what = error.strerror or str(error)
    # A rename names its temporary file first.
    where = error.filename2 or error.filename
    free = f" ({_free(where)} bytes free)" if error.errno == errno.ENOSPC else ""
    return f"{where}: {what}{free}" if where else f"{what}{free}"


def _free(where: object) -> int:
    """Free bytes of the disk that a file would lie on."""
    # A link is on one disk, and its target may be on another.
    folder = Path(os.path.realpath(str(where or "."))).parent
    return shutil.disk_usage(folder if folder.is_dir() else ".").free

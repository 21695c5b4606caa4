"""`python -m servesweep.runtime.staging SOURCE TARGET`: a model's directory on this node's own disk.

Other jobs may want the same copy at the same time: one makes it, the others wait for it.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path


def manifest(directory: Path) -> dict[str, int]:
    """Name below the directory to size in bytes, of every file; links count as what they lead to."""
    files = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.stat().st_size for path in files}


def stage(source: Path, target: Path, say: Callable[[str], None]) -> None:
    """Make `target` a copy of `source`, unless it is one: the same names with the same sizes.

    What is incomplete never has the target's name, so a copy that was interrupted is made anew.

    Raises:
        OSError: where a file cannot be read or written.
        ValueError: where there is nothing to copy, no room for it, or the copy is not the same.
    """
    wanted = manifest(source)
    size = sum(wanted.values())
    if not wanted:
        raise ValueError(f"{source} holds no file on this node")
    target.parent.mkdir(parents=True, exist_ok=True)
    with (target.parent / f".{target.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if target.is_dir() and manifest(target) == wanted:
            say(f"{target} is there already: {len(wanted)} files, {size} bytes")
            return
        part = target.parent / f".{target.name}.part"
        for old in (part, target):
            shutil.rmtree(old, ignore_errors=True)
        free = shutil.disk_usage(target.parent).free
        if free < size:
            raise ValueError(f"{target.parent} has {free} bytes free, and the model has {size}")
        shutil.copytree(source, part)
        if (found := manifest(part)) != wanted:
            different = sorted(name for name, _ in wanted.items() ^ found.items())
            raise ValueError(f"the copy of {different[0]} differs from {source}")
        part.rename(target)
        (target.parent / f".{target.name}.manifest.json").write_text(json.dumps(wanted, indent=1) + "\n")
        say(f"copied {len(wanted)} files, {size} bytes, to {target}")


def main(source: str, target: str) -> int:
    """Stage and tell it; 1 with one sentence where that fails."""
    try:
        stage(Path(source), Path(target), lambda line: print(line, flush=True))
    except (OSError, ValueError, shutil.Error) as error:
        told = (
            error if not isinstance(error, OSError) else f"{error.filename}: {os.strerror(error.errno or 0)}"
        )
        print(f"{source} could not be copied: {told}", flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

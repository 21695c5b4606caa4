"""The files of a configuration without what must not be read in them: processes print what they get."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from servesweep.evidence.files import RunFiles, write_atomically
from servesweep.evidence.lockfile import LOCKFILE
from servesweep.runtime.blot import Blot
from servesweep.runtime.blotted_tables import NoTableError, blotted_table
from servesweep.runtime.excerpt import CUT

CHUNK = 1 << 20
# These are logs, also where a process has put a zero byte into them.
LOG_ENDINGS = frozenset({".log", ".out", ".err", ".txt"})
JSON_ENDINGS = frozenset({".json", ".jsonl"})
JSON_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')


def blot_files(blot: Blot, files: RunFiles) -> list[Path]:
    """Blot out the values in all that a run has written; returns what holds one still, being no text.

    Logs are for people: there nothing is kept that might be a secret.
    """
    left: list[Path] = []
    distinct = blot.distinct()
    for path in _written(files) if blot.values else ():
        inside = path.relative_to(files.root)
        log = inside.parts[0].startswith("logs") or path.suffix in LOG_ENDINGS
        try:
            if not blot_file(path, blot if log else distinct):
                left.append(path)
        except OSError:
            left.append(path)
    return left


def _written(files: RunFiles) -> Iterator[Path]:
    """Every file of a run but the plan's, which have no secret, and the lockfile, which is made of them."""
    planned = {files.plan, files.recipe, files.sources, files.root / LOCKFILE}
    for folder, _, names in os.walk(files.root):
        for path in map(Path(folder).joinpath, sorted(names)):
            if path not in planned and path.is_file() and not path.is_symlink():
                yield path


def blot_file(path: Path, blot: Blot) -> bool:
    """Blot a file out in the way that its kind needs; False where there is none.

    Raises:
        OSError: where the disk refuses; the file is then untouched.
    """
    if not blot.values:
        return True
    if path.suffix == ".parquet":
        return _table(path, blot)
    if not _holds(path, _hints(path, blot)):
        return True
    content = path.read_bytes()
    new = blotted_json(content, blot) if path.suffix in JSON_ENDINGS else blot.in_bytes(content)
    if new == content:
        return True
    if path.suffix in LOG_ENDINGS:
        # In the same file: a log that somebody follows stays the one that is followed.
        _keep_time(path, lambda: path.write_bytes(new))
        return True
    if b"\0" in content:
        return False
    _keep_time(path, lambda: write_atomically(path, new))
    return True


def _table(path: Path, blot: Blot) -> bool:
    try:
        new = blotted_table(path, blot)
    except NoTableError:
        # Half a table, of a process that was killed, may hold anything.
        return not _holds(path, blot.hints)
    if new is not None:
        _keep_time(path, lambda: write_atomically(path, new))
    return True


def _hints(path: Path, blot: Blot) -> list[bytes]:
    """What a file has in it that must be looked at."""
    wanted = [*blot.hints, CUT.encode()]
    # Any letter of a value may be written as a number in JSON, and any of its texts may have been cut.
    return [*wanted, *blot.beginnings, b"\\"] if path.suffix in JSON_ENDINGS else wanted


def _holds(path: Path, wanted: Sequence[bytes]) -> bool:
    overlap = max(map(len, wanted)) - 1
    rest = b""
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            rest += chunk
            if any(value in rest for value in wanted):
                return True
            rest = rest[-overlap:]
    return False


def blotted_json(content: bytes, blot: Blot) -> bytes:
    """JSON stays JSON, and its numbers as they are written: only what its strings say is changed."""
    text = content.decode("utf-8", "surrogateescape")
    new = JSON_STRING.sub(lambda match: _string(match[0], blot), text).encode("utf-8", "surrogateescape")
    # A file that was cut off, or is no JSON by any other mistake, is a text like any other.
    return new if _is_json(text) else blot.in_bytes(new)


def _string(written: str, blot: Blot) -> str:
    try:
        text = str(json.loads(written))
    except ValueError:
        return written
    new = blot(text)
    return written if new == text else json.dumps(new)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except RecursionError:
        return False
    except ValueError:
        lines = text.splitlines()
        return len(lines) > 1 and all(map(_is_json, filter(None, map(str.strip, lines))))
    return True


def _keep_time(path: Path, write: Callable[[], object]) -> None:
    """No file is newer, to Snakemake, for having lost a word."""
    status = path.stat()
    write()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

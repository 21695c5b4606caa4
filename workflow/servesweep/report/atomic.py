"""The one way in which files of the report, and those that a user names, are written."""

import contextlib
import os
import stat
import sys
import tempfile
from pathlib import Path


def write_output(output: Path | None, content: bytes) -> None:
    """Write to the file that a user named; to standard output where that is none, or `-`."""
    if output is None or str(output) == "-":
        sys.stdout.buffer.write(content)
    else:
        replace_file(output, content)


def replace_file(path: Path, content: bytes) -> None:
    """Write beside the file and rename, so that nobody ever sees half of it.

    A link stays, and its target is replaced. A pipe or a device is written into: it must not become a file.

    Raises:
        OSError: where the disk refuses, with the name that was asked for; an old file is then untouched.
    """
    try:
        there = _status(path)
        if there is not None and os.path.samestat(there, os.fstat(1)):
            # What else is printed goes there too, and would be lost with the old file.
            sys.stdout.buffer.write(content)
        elif there is not None and not stat.S_ISREG(there.st_mode):
            path.write_bytes(content)
        else:
            _replace(Path(os.path.realpath(path)), content)
    except OSError as error:
        # A full disk is noticed by a descriptor, which has no name, and a rename names its temporary file.
        error.filename, error.filename2 = str(path), None
        raise


def _status(path: Path) -> os.stat_result | None:
    with contextlib.suppress(FileNotFoundError):
        return path.stat()
    return None


def _replace(path: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        temporary.chmod(0o644)  # mkstemp gives 0600, and a report is for the whole group
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise

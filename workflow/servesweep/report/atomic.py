"""The one way in which files of the report are written."""

import os
import tempfile
from pathlib import Path


def replace_file(path: Path, content: bytes) -> None:
    """Write beside the file and rename, so that nobody ever sees half of it."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        temporary.chmod(0o644)  # mkstemp gives 0600, and a report is for the whole group
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise

"""A point's client takes the place of the command that measures it, at once.

Between two points the nodes wait, and to load what makes a command takes longer than to start the client
itself. So the run makes the command of every client ready before the first point is measured.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from servesweep.evidence.files import RunFiles, write_atomically
from servesweep.runtime.environment import base_environment


def keep_clients(files: RunFiles, words: Mapping[str, Sequence[str]], project: Path) -> None:
    """Write the command of each point's client down; the words must hold no secret."""
    write_atomically(files.clients, json.dumps({"project": str(project), "words": words}, indent=1) + "\n")


def kept_client(files: RunFiles, point: str) -> tuple[list[str], Path] | None:
    """The words of the client and the project that it works in; None where none is ready."""
    try:
        kept = json.loads(files.clients.read_bytes())
        return list(kept["words"][point]), Path(kept["project"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def become_client(words: list[str], project: Path) -> None:
    """Replace this process by the client, so that a signal reaches the client itself.

    The client works in the project: from there the relative paths of a recipe count.
    """
    os.chdir(project)
    os.execvpe(words[0], words, base_environment())

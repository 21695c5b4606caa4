"""Options of srun by which pyxis starts a step in a container: https://github.com/NVIDIA/pyxis."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def container_words(image: str, mounts: Mapping[str, str], project: Path) -> list[str]:
    """The options for an image, with `mounts` from host path to path in the container.

    Variables of host paths are those of the job; relative ones count from the project. The image's own
    entrypoint is not run, and the user's home is not mounted: neither is part of the recipe.
    """
    words = [f"--container-image={_image(image, project)}"]
    if mounts:
        pairs = [f"{_host(path, project)}:{target}" for path, target in mounts.items()]
        words.append(f"--container-mounts={','.join(pairs)}")
    return [*words, "--no-container-entrypoint", "--no-container-mount-home"]


def _host(path: str, project: Path) -> str:
    return str(project / Path(os.path.expandvars(path)).expanduser())


def _image(image: str, project: Path) -> str:
    """A file by its whole path; a name in a registry as it is."""
    expanded = os.path.expandvars(image)
    return str(project / expanded) if expanded.startswith(("./", "../")) else expanded

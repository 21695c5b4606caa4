"""The environment that every process of a run is started with."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def base_environment() -> dict[str, str]:
    """This process's environment, with this installation's programs found first."""
    env = {**os.environ, "PYTHONUNBUFFERED": "1"}
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env.get('PATH', '')}"
    # A Snakemake inside the allocation must not find the profile of the one outside of it.
    env.pop("SNAKEMAKE_PROFILE", None)
    return env

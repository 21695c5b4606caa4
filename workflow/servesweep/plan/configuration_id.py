"""The name of a configuration, which is its directory and its wildcard."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path, PurePath

from servesweep.recipe.naming import safe_name

MAX_ID = 120
CONFIGURATION_ID = r"[A-Za-z0-9][A-Za-z0-9._+-]*"


def configuration_id(recipe_file: str, root: Path, suffix: str | None) -> str:
    """A name from the recipe's path and the variant: no other recipe changes it.

    `config/recipes/h100/agg.yaml` with the variant `tp2` below the root `config/recipes` is `h100.agg_tp2`.
    The file's part has no `_` of its own, so that `agg_tp2.yaml`, which is `agg-tp2`, is never taken for it.
    """
    text = _file_part(recipe_file, root) + (f"_{suffix}" if suffix else "")
    return safe_name(text, MAX_ID).lstrip("._+-") or "recipe"


# A file may have thousands of variants, and Snakemake asks for each of them many times.
@lru_cache(maxsize=1024)
def _file_part(recipe_file: str, root: Path) -> str:
    # pathlib would take longer than all the rest.
    text = recipe_file if recipe_file.startswith(f"{root}/") else str(PurePath(recipe_file))
    *folders, name = text.removeprefix(f"{root}/").split("/")
    parts = [*folders, name.rpartition(".")[0] or name]
    said = ".".join(part for part in parts if part not in ("..", ".", ""))
    return safe_name(said, MAX_ID).replace("_", "-")

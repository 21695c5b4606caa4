"""A configuration: one resolved variant, its id and its digests."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Any

from servesweep.recipe.cluster import Cluster
from servesweep.recipe.recipe import Recipe
from servesweep.recipe.variants import Variant

RESULT_SCHEMA = 1
MAX_ID = 120
PATIENCE = ("cluster", "default_time_limit", "default_account", "default_health_check")
# Keys of the cluster file that decide nothing about a configuration.
ASIDE = ("preflight", "output_dir", "srtctl_root", "cloud", "reporting", "telemetry", "git_http_version")
CONFIGURATION_ID = r"[A-Za-z0-9][A-Za-z0-9._+-]*"
# One for all digests: json.dumps would make another each time.
CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=str)


@dataclass(frozen=True)
class Configuration:
    """What is planned, run and tabulated as one."""

    id: str
    recipe_file: str
    variant: Variant
    recipe: Recipe
    cluster: Cluster
    digest: str
    deployment_digest: str


def configuration_id(recipe_file: str, root: Path, suffix: str | None) -> str:
    """A name from the recipe's path and the variant: no other recipe changes it.

    `config/recipes/h100/agg.yaml` with the variant `tp2` below the root `config/recipes` is `h100.agg_tp2`.
    The file's part has no `_` of its own, so that `agg_tp2.yaml`, which is `agg-tp2`, is never taken for it.
    """
    text = _file_part(recipe_file, root) + (f"_{suffix}" if suffix else "")
    slug = re.sub(r"[^A-Za-z0-9._+-]+", "-", text).lstrip("._+-") or "recipe"
    if len(slug) > MAX_ID:
        slug = f"{slug[: MAX_ID - 9]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    return slug


# A file may have thousands of variants, and Snakemake asks for each of them many times.
@lru_cache(maxsize=1024)
def _file_part(recipe_file: str, root: Path) -> str:
    path = PurePath(recipe_file)
    inside = path.relative_to(root) if path.is_relative_to(root) else path
    parts = [part for part in inside.with_suffix("").parts if part not in ("..", ".", "/")]
    return ".".join(parts).replace("_", "-")


def digest(*parts: Any) -> str:
    """Sixteen hexadecimal digits that change when any value does, and with no order of keys."""
    return digest_of(*map(canonical, parts))


def canonical(part: Any) -> str:
    """The text by which a part enters a digest."""
    return CANONICAL.encode(part)


def digest_of(*texts: str) -> str:
    """`digest` of parts whose canonical texts are known."""
    return hashlib.sha256(f"[{','.join(texts)}]".encode()).hexdigest()[:16]


def digests(
    recipe: Recipe, cluster: Cluster, facts: Mapping[str, Any], files: dict[str, str]
) -> tuple[str, str]:
    """Identities of a configuration, and of its deployment.

    `facts` are those of `facts_of(cluster)`.

    Returns:
        what it resolves to, and the version of its results; what is measured, which is the same without the
        load, the patience and the labels.
    """
    data, site = _data(recipe), _site(recipe, cluster, facts)
    kept = {key: value for key, value in data.items() if key not in ("benchmark", "health_check", "name")}
    kept["slurm"] = {key: value for key, value in kept.get("slurm", {}).items() if key != "time_limit"}
    lasting = {key: value for key, value in site.items() if key not in PATIENCE}
    return digest(data, site, files, RESULT_SCHEMA), digest(kept, lasting, files, RESULT_SCHEMA)


def facts_of(cluster: Cluster) -> dict[str, Any]:
    """The cluster file's facts that may decide something about a configuration; the same for all of them."""
    return {key: value for key, value in _data(cluster).items() if key not in ASIDE}


def _site(recipe: Recipe, cluster: Cluster, facts: Mapping[str, Any]) -> dict[str, Any]:
    """The cluster file's facts, of its aliases the recipe's own alone: another one changes nothing."""
    path = recipe.model.path
    images = {name: image for name, image in cluster.containers.items() if name in images_of(recipe)}
    return {**facts, "model_paths": cluster.model_paths.get(path, path), "containers": images}


def images_of(recipe: Recipe) -> list[str]:
    """The images, or their aliases, that a recipe names."""
    roles = [role.container for _, role in recipe.roles.items()] if recipe.roles else []
    frontend = [recipe.frontend.container_image, recipe.frontend.nginx_container] if recipe.frontend else []
    stores = [engine.options.get("mooncake_kv_store") for engine in (recipe.engine,) if engine]
    stored = [store.get("container") for store in stores if isinstance(store, dict)]
    named = [recipe.model.container, *roles, *frontend, *stored, *(s.container for s in recipe.services)]
    return list(dict.fromkeys(name for name in named if name))


def _data(model: Recipe | Cluster) -> dict[str, Any]:
    """What is said, without what is as it is anyway: a key that a new version adds changes no identity."""
    return model.model_dump(mode="json", by_alias=True, exclude_defaults=True)

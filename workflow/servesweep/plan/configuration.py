"""A configuration: one resolved variant, its id and its digests."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
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
    path = PurePath(recipe_file)
    inside = path.relative_to(root) if path.is_relative_to(root) else path
    parts = [part for part in inside.with_suffix("").parts if part not in ("..", ".", "/")]
    text = ".".join(parts).replace("_", "-") + (f"_{suffix}" if suffix else "")
    slug = re.sub(r"[^A-Za-z0-9._+-]+", "-", text).lstrip("._+-") or "recipe"
    if len(slug) > MAX_ID:
        slug = f"{slug[: MAX_ID - 9]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    return slug


def digest(*parts: Any) -> str:
    """Sixteen hexadecimal digits that change when any value does, and with no order of keys."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def digests(recipe: Recipe, cluster: Cluster, files: dict[str, str]) -> tuple[str, str]:
    """Identities of a configuration, and of its deployment.

    Returns:
        what it resolves to, and the version of its results; what is measured, which is the same without the
        load, the patience and the labels.
    """
    data, site = _data(recipe), _site(recipe, cluster)
    kept = {key: value for key, value in data.items() if key not in ("benchmark", "health_check", "name")}
    kept["slurm"] = {key: value for key, value in kept.get("slurm", {}).items() if key != "time_limit"}
    facts = {key: value for key, value in site.items() if key not in PATIENCE}
    return digest(data, site, files, RESULT_SCHEMA), digest(kept, facts, files, RESULT_SCHEMA)


def _site(recipe: Recipe, cluster: Cluster) -> dict[str, Any]:
    """The cluster file's facts, of its aliases the recipe's own alone: another one changes nothing."""
    path = recipe.model.path
    facts = {key: value for key, value in _data(cluster).items() if key not in ASIDE}
    images = {name: image for name, image in cluster.containers.items() if name in images_of(recipe)}
    return {**facts, "model_paths": cluster.model_paths.get(path, path), "containers": images}


def images_of(recipe: Recipe) -> list[str]:
    """The images, or their aliases, that a recipe names."""
    roles = [role.container for _, role in recipe.roles.items()] if recipe.roles else []
    frontend = [recipe.frontend.container_image, recipe.frontend.nginx_container] if recipe.frontend else []
    named = [recipe.model.container, *roles, *frontend, *(s.container for s in recipe.services)]
    return list(dict.fromkeys(name for name in named if name))


def _data(model: Recipe | Cluster) -> dict[str, Any]:
    """What is said, without what is as it is anyway: a key that a new version adds changes no identity."""
    return model.model_dump(mode="json", by_alias=True, exclude_defaults=True)

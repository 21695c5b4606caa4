"""A configuration: one resolved variant, its id and its digests."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from servesweep.recipe.cluster import Cluster
from servesweep.recipe.recipe import Recipe
from servesweep.recipe.variants import Variant

RESULT_SCHEMA = 1
# Keys of a recipe that say what is done with a deployment.
OF_THE_LOAD = ("benchmark", "health_check", "name")
ALIASES = ("model_paths", "containers")
PATIENCE = ("cluster", "default_time_limit", "default_account", "default_health_check")
# Keys of the cluster file that decide nothing about a configuration.
ASIDE = (
    *("preflight", "output_dir", "srtctl_root", "cloud", "reporting", "telemetry", "git_http_version"),
    "gpu_hour_price",
)
# One for all digests: json.dumps would make another each time.
CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=str)


# Canonical texts: what may decide something about what is measured, and what is patience.
SiteFacts = tuple[str, str]


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


def canonical(part: Any) -> str:
    """The text by which a part enters a digest: the same for any order of keys."""
    return CANONICAL.encode(part)


def digest_of(*texts: str) -> str:
    """Sixteen hexadecimal digits for the canonical texts of some parts."""
    return hashlib.sha256(f"[{','.join(texts)}]".encode()).hexdigest()[:16]


def digests(recipe: Recipe, cluster: Cluster, facts: SiteFacts, files: dict[str, str]) -> tuple[str, str]:
    """Identities of a configuration, and of its deployment.

    `facts` are those of `facts_of(cluster)`.

    Returns:
        what it resolves to, and the version of its results; what is measured, which is the same without the
        load, the patience and the labels.
    """
    data = _data(recipe)
    aside: dict[str, Any] = {key: data.pop(key, None) for key in OF_THE_LOAD}
    if "slurm" in data:
        aside["time_limit"] = data["slurm"].pop("time_limit", None)
        if not data["slurm"]:
            del data["slurm"]
    lasting, patience = facts
    # The inside of a list is its parts, as `digest_of` puts them together.
    rest = canonical([_named(recipe, cluster), files, RESULT_SCHEMA])[1:-1]
    deployment = digest_of(canonical(data), lasting, rest)
    return digest_of(canonical(deployment), canonical(aside), patience), deployment


def facts_of(cluster: Cluster) -> SiteFacts:
    """The cluster file's part in digests; the same for all configurations."""
    said = {key: value for key, value in _data(cluster).items() if key not in (*ASIDE, *ALIASES)}
    patience = {key: said.pop(key) for key in PATIENCE if key in said}
    return canonical(said), canonical(patience)


def _named(recipe: Recipe, cluster: Cluster) -> dict[str, Any]:
    """Of the cluster file's aliases the recipe's own alone: another one changes nothing."""
    path = recipe.model.path
    images = {name: image for name, image in cluster.containers.items() if name in images_of(recipe)}
    return {"model": cluster.model_paths.get(path, path), "containers": images}


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

"""A plan with its secrets, which it does not hold: read again from the recipe, or of the environment."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from servesweep.plan.cluster_file import read_cluster
from servesweep.plan.plan import Plan
from servesweep.plan.resolving import recipe_of
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.problems import RecipeError
from servesweep.recipe.secret_names import may_hold_secrets
from servesweep.recipe.secrets import Secret, revealed, secrets_in

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class Open:
    """A plan for a process to act on, never to be written, and the values that nobody may read."""

    plan: Plan
    values: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def with_secrets(plan: Plan, recipe: str, cluster: str | None, environment: Mapping[str, str]) -> Open:
    """The plan's recipe and cluster file with their secrets; its steps are to be rendered again.

    `recipe` and `cluster` are the files in which the values stand, if they are written out at all; a file
    that is gone or cannot be read any more tells nothing, and the environment is asked.
    """
    if not has_secrets(plan):
        return Open(plan)
    site = _quietly(lambda: read_cluster(cluster, secrets=True)) if cluster else None
    own = _quietly(lambda: recipe_of(recipe, plan, site or plan.cluster))
    parts = [
        _revealed(plan.resolved, own, environment),
        _revealed(plan.cluster, site, environment),
    ]
    missing = [secret for _, _, lacking in parts for secret in lacking]
    return Open(
        replace(plan, resolved=parts[0][0], cluster=parts[1][0]),
        tuple(dict.fromkeys(value for _, values, _ in parts for value in values)),
        tuple(dict.fromkeys(map(_sentence, missing))),
    )


def has_secrets(plan: Plan) -> bool:
    """Whether the recipe or the cluster file of a plan has a secret in it."""
    return bool(_places(plan.resolved) or cluster_has_secrets(plan.cluster))


def cluster_has_secrets(cluster: Cluster) -> bool:
    """Whether a cluster file has a secret in it."""
    return _site_has(cluster.model_dump_json(by_alias=True, exclude_defaults=True))


def missing_secrets(plan: Plan, recipe: str, cluster: str | None = None) -> tuple[str, ...]:
    """A sentence for each secret that would have no value in this environment."""
    return with_secrets(plan, recipe, cluster, os.environ).missing


# All plans of a sweep have one cluster file.
@lru_cache(maxsize=8)
def _site_has(text: str) -> bool:
    return may_hold_secrets(text) and bool(secrets_in(json.loads(text)))


def _places(model: BaseModel) -> list[Secret]:
    text = model.model_dump_json(by_alias=True, exclude_defaults=True)
    return secrets_in(json.loads(text)) if may_hold_secrets(text) else []


def _revealed(
    planned: M, current: M | None, environment: Mapping[str, str]
) -> tuple[M, tuple[str, ...], tuple[Secret, ...]]:
    found = revealed(_data(planned), None if current is None else _data(current), environment)
    # From JSON: strict models take its lists for their tuples.
    return type(planned).model_validate_json(json.dumps(found.data)), found.values, found.missing


def _data(model: BaseModel) -> Any:
    return json.loads(model.model_dump_json(by_alias=True, exclude_defaults=True))


def _quietly(read: Any) -> Any:
    try:
        return read()
    except RecipeError:
        return None


def _sentence(secret: Secret) -> str:
    where = ".".join(map(str, secret.path))
    return (
        f"{where}: its value is a secret, which no file holds: set the variable {secret.reference}, "
        "or write the value into the recipe that is run"
    )


def sources(plan: Plan, recipe: str, cluster: str | None) -> dict[str, str | None] | None:
    """Where the run finds the secrets again, for its directory; None where the plan says it by itself."""
    if Path(recipe) == Path(plan.recipe) and not cluster_has_secrets(plan.cluster):
        return None
    return {"recipe": recipe, "cluster": cluster}

"""A lockfile read as the recipe that it is: the one configuration that it tells of, under its own name."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from servesweep.plan.configuration import canonical
from servesweep.plan.plan import Plan
from servesweep.recipe.problems import Problem, RecipeError
from servesweep.recipe.selecting import select
from servesweep.recipe.source import Document
from servesweep.recipe.variants import Variant, expand

LOCKFILE = "recipe.lock.yaml"
AGAIN = ".again"
OTHER = "not the plan of the lockfile (cluster file, version or a file that it names differ): its digest was"
REMEDY = "take out its `lock:` section to use it as a recipe of its own"


@dataclass(frozen=True)
class Locked:
    """Which configuration of which recipe a lockfile is of, and what was set from the command line."""

    configuration: str
    recipe: str
    variant: str | None
    settings: tuple[str, ...]
    digest: str

    def variants(self, document: Document) -> list[Variant]:
        """The locked variant of the file's, which may be a base that overrides stand beside.

        Raises:
            RecipeError: where the file has no such variant.
        """
        everything = expand(document)
        if len(everything) == 1 and everything[0].origin is None:
            # The resolved recipe, which stands in a lockfile where the recipe itself was gone.
            return [replace(everything[0], suffix=self.variant)]
        found = [one for one in everything if one.suffix == self.variant]
        return found or [one for one in select(document, "base") if one.suffix == self.variant]

    def noted(self, plan: Plan) -> Plan:
        """The plan, which says so where it is not the locked one, and no value was set to make it so."""
        if plan.digest == self.digest or plan.settings != self.settings:
            return plan
        return replace(plan, notes=(*plan.notes, f"{OTHER} {self.digest}, and this one has {plan.digest}"))


def locked(document: Document) -> Locked | None:
    """What the lock of a file says; None for a recipe, and for the lockfile of another program.

    Raises:
        RecipeError: where the file was changed after it was written.
    """
    lock = document.data.get("lock")
    if not isinstance(lock, dict) or "servesweep_version" not in lock:
        return None
    if (sentence := tampered(document.data)) is not None:
        raise RecipeError([Problem(document.path, document.line(("lock",)), "lock", sentence)])
    return Locked(
        configuration=str(lock["configuration"]),
        recipe=str(lock["recipe"]),
        variant=lock["variant"],
        settings=tuple(lock["settings"]),
        digest=str(lock["digest"]),
    )


def tampered(data: Mapping[str, Any]) -> str | None:
    """One sentence where a lockfile is not as it was written; None where it is."""
    lock = data["lock"]
    if lock.get("integrity") != integrity(lock):
        return f"the lock was changed after it was written: its integrity digest does not fit; {REMEDY}"
    if lock.get("recipe_digest") != recipe_digest(data):
        return f"the recipe was changed after its lock was written: its digest does not fit; {REMEDY}"
    return None


def integrity(lock: Mapping[str, Any]) -> str:
    """SHA-256 over the section without its own integrity, in block style with sorted keys."""
    rest = {key: value for key, value in lock.items() if key != "integrity"}
    return hashlib.sha256(yaml.safe_dump(rest, sort_keys=True, default_flow_style=False).encode()).hexdigest()


def recipe_digest(data: Mapping[str, Any]) -> str:
    """SHA-256 over what a recipe says: neither comments nor the order of its keys nor a lock count."""
    rest = {key: value for key, value in data.items() if key != "lock"}
    return hashlib.sha256(canonical(rest).encode()).hexdigest()


def in_place(lock: Locked, path: str, results: Path | None) -> Locked:
    """The same under a name of its own, where the file is what a run of `results` has written.

    That run's directory keeps what it has, and the repetition gets one beside it.
    """
    if results is None or Path(path).absolute() != (results / lock.configuration / LOCKFILE).absolute():
        return lock
    return replace(lock, configuration=f"{lock.configuration}{AGAIN}")

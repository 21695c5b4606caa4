"""A lockfile read as the recipe that it is: the one configuration that it tells of, under its own name."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from servesweep.plan.configuration import canonical
from servesweep.plan.configuration_id import CONFIGURATION_ID, MAX_ID
from servesweep.plan.plan import Plan
from servesweep.recipe.explaining import explain
from servesweep.recipe.naming import safe_name
from servesweep.recipe.problems import RecipeError, nearest, shown
from servesweep.recipe.selecting import select
from servesweep.recipe.source import Document
from servesweep.recipe.variants import Variant, expand

LOCKFILE = "recipe.lock.yaml"
AGAIN = ".again"
SHOWN = 4
OTHER = "not the plan of the lockfile (cluster file, version or a file that it names differ): its digest was"
REMEDY = "take out its `lock:` section to use it as a recipe of its own"
INCOMPLETE = "the lock is incomplete: run the recipe itself, or take out the `lock:` section"
# srt-slurm's lock begins as this one does, and has none of the keys that follow here.
BOTH = {"version", "generated_at"}
OWN = {"servesweep_version", "configuration", "settings", "digest", "recipe_digest"}


def _is_id(name: str) -> str:
    if len(name) <= MAX_ID and re.fullmatch(CONFIGURATION_ID, name):
        return name
    form = f"letters, digits and . _ + -, the first a letter or a digit, {MAX_ID} at most"
    raise ValueError(f"no name of a configuration, which is that of a directory ({form}), got {shown(name)}")


class _Lock(BaseModel):
    """What is read of a `lock:` section: what is planned, and what a repetition is held against."""

    model_config = ConfigDict(strict=True, defer_build=True)

    servesweep_version: str
    generated_at: str
    configuration: Annotated[str, AfterValidator(_is_id)]
    recipe: str
    variant: str | None
    settings: list[str]
    digest: str
    slurm: dict[str, Any] | None = None
    resolved: dict[str, Any] | None = None
    fingerprints: dict[str, dict[str, Any]] | None = None
    results: dict[str, dict[str, Any]] | None = None


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
        if isinstance(document.data.get("base"), dict):
            everything += select(document, "base")
        if found := [one for one in everything if one.suffix == self.variant]:
            return found[:1]
        raise RecipeError([document.problem(("lock", "variant"), _no_variant(self.variant, everything))])

    def noted(self, plan: Plan) -> Plan:
        """The plan, which says so where it is not the locked one, and no value was set to make it so."""
        if plan.digest == self.digest or plan.settings != self.settings:
            return plan
        return replace(plan, notes=(*plan.notes, f"{OTHER} {self.digest}, and this one has {plan.digest}"))


def _no_variant(variant: str | None, everything: list[Variant]) -> str:
    known = [one.suffix for one in everything if one.suffix]
    guess = nearest(variant, known) if isinstance(variant, str) else None
    hint = f"did you mean {guess}?" if guess else f"it has {', '.join(known[:SHOWN])}"
    more = f" and {len(known) - SHOWN} more" if not guess and len(known) > SHOWN else ""
    named = "configuration without a variant" if variant is None else f"variant {shown(variant)}"
    return f"the recipe has no {named}; {hint}{more}"


def locked(document: Document) -> Locked | None:
    """What the lock of a file says; None for a recipe, and for the lockfile of another program.

    Raises:
        RecipeError: where the lock is incomplete, or the file was changed after it was written.
    """
    if "lock" not in document.data:
        return None
    lock = document.data["lock"]
    keys = lock.keys() if isinstance(lock, dict) else set()
    if keys - BOTH and not keys & OWN:
        return None
    if "servesweep_version" not in keys:
        raise RecipeError([document.problem(("lock",), INCOMPLETE)])
    if (sentence := tampered(document.data)) is not None:
        raise RecipeError([document.problem(("lock",), sentence)])
    try:
        read = _Lock.model_validate(lock)
    except ValidationError as error:
        faults = [(("lock", *one["loc"]), explain(_Lock, one)) for one in error.errors()]
        raise RecipeError(document.problem(at, f"{what}; {REMEDY}") for at, what in faults) from None
    return Locked(read.configuration, read.recipe, read.variant, tuple(read.settings), read.digest)


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
    return replace(lock, configuration=safe_name(f"{lock.configuration}{AGAIN}", MAX_ID))

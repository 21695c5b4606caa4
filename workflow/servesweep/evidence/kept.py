"""The evidence of a run as somebody else finds it: a lockfile, or a directory of results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from servesweep.evidence.differences import Difference, differences
from servesweep.evidence.files import RunFiles
from servesweep.evidence.fingerprint import PREFIX, read_fingerprints
from servesweep.evidence.points import read_json
from servesweep.evidence.reproduction import fingerprint_differences, plan_differences
from servesweep.plan.locked import LOCKFILE, Locked, tampered
from servesweep.recipe.problems import RecipeError
from servesweep.recipe.source import Document, load
from servesweep.recipe.variants import set_value

# Of a plan, what its other parts follow from, or names the files of this very run.
ASIDE = ("digest", "deployment_digest", "configuration", "recipe", "notes", "resolved", "cluster")


class NoEvidenceError(Exception):
    """A path that holds no evidence of a run; its text is one sentence."""


@dataclass(frozen=True)
class Evidence:
    """What is known of one run; each part may be missing."""

    path: Path
    lock: Mapping[str, Any] = field(default_factory=dict)
    recipe: Mapping[str, Any] = field(default_factory=dict)
    plan: Mapping[str, Any] = field(default_factory=dict)
    fingerprints: Mapping[str, Any] = field(default_factory=dict)
    warning: str | None = None


def evidence_of(path: Path) -> Evidence:
    """Read a lockfile, the directory of a configuration, a directory of logs, or one fingerprint.

    Raises:
        NoEvidenceError: where there is nothing of that kind.
    """
    if path.is_dir():
        if (path / LOCKFILE).is_file():
            return evidence_of(path / LOCKFILE)
        if fingerprints := read_fingerprints(path) or read_fingerprints(path / "logs"):
            return Evidence(path, fingerprints=fingerprints)
        inside = sorted(found.parent.name for found in path.glob(f"*/{LOCKFILE}"))
        hint = f"; name one of its configurations, such as {path / inside[0]}" if inside else ""
        raise NoEvidenceError(f"{path}: neither a {LOCKFILE} nor fingerprints are there{hint}")
    if path.suffix == ".json":
        record = read_json(path)
        if not {"arch", "cpu"} <= record.keys():
            raise NoEvidenceError(f"{path}: no fingerprint of a worker")
        return Evidence(path, fingerprints={path.stem.removeprefix(PREFIX): record})
    return _of_lockfile(path)


def _of_lockfile(path: Path) -> Evidence:
    try:
        document = load(path)
    except RecipeError as error:
        raise NoEvidenceError(str(error)) from None
    lock = document.data.get("lock")
    if not isinstance(lock, dict):
        raise NoEvidenceError(f"{path}: a recipe without a lock; a run writes its {LOCKFILE}")
    own = "servesweep_version" in lock
    sentence = tampered(document.data) if own else None
    return Evidence(
        path,
        lock=lock,
        recipe=_variant(document, lock),
        plan=read_json(RunFiles(path.parent).plan) if path.name == LOCKFILE else {},
        fingerprints=lock.get("fingerprints") or {},
        warning=f"{path}: {sentence}" if sentence else None,
    )


def _variant(document: Document, lock: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the file says about the locked configuration, with what was set from the command line."""
    bare = Document(
        document.path,
        document.text,
        {key: value for key, value in document.data.items() if key != "lock"},
        document.lines,
    )
    settings = tuple(map(str, said)) if isinstance(said := lock.get("settings"), list) else ()
    chosen = Locked("", "", lock.get("variant"), settings, "")
    try:
        data = chosen.variants(bare)[0].data
        for assignment in settings:
            data = set_value(data, assignment)
    except (RecipeError, ValueError, IndexError):
        return bare.data
    return data


def compared(before: Evidence, after: Evidence) -> Iterator[tuple[str, list[Difference]]]:
    """The differences of two runs by what they are about: recipe, plan, slurm, fingerprints."""
    if before.recipe and after.recipe:
        yield "recipe", list(differences(before.recipe, after.recipe))
    if before.plan and after.plan:
        yield "plan", list(differences(_planned(before.plan), _planned(after.plan)))
        sites = before.plan.get("cluster"), after.plan.get("cluster")
        yield "cluster file", list(differences(*sites))
    elif before.lock and after.lock:
        yield "plan", list(plan_differences(before.lock, after.lock))
    if before.lock and after.lock:
        yield "slurm", list(differences(before.lock.get("slurm"), after.lock.get("slurm")))
    yield "fingerprints", list(fingerprint_differences(before.fingerprints, after.fingerprints))


def _planned(plan: Mapping[str, Any]) -> dict[str, Any]:
    """A plan, its steps and points by their names."""
    kept = {key: value for key, value in plan.items() if key not in ASIDE}
    for part, name in (("steps", "name"), ("nodes", "name"), ("points", "id")):
        kept[part] = {str(one.get(name)): one for one in kept.get(part) or []}
    return kept

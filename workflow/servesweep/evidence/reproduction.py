"""`logs/reproduction-report.txt`: what differs between a run and the lockfile that it was run from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from servesweep.evidence.differences import Difference, differences
from servesweep.recipe.problems import RecipeError
from servesweep.recipe.source import load

REPORT = "reproduction-report.txt"
# What differs between any two runs of the same: of places, not of what is run.
OF_PLACES = ("timestamp", "hostname")
OF_PLACES_CPU = ("affinity_cpus", "affinity_list", "slurm")
OF_PLACES_BOARD = ("uuid", "index")
MEASURED = ("_ms", "_tok_s", "_per_s", "_per_gpu", "_per_user")


def reproduced(recipe: Path) -> dict[str, Any] | None:
    """The lock of the file that a configuration was planned from; None for a recipe of its own."""
    try:
        lock = load(recipe).data.get("lock")
    except RecipeError:
        return None
    return lock if isinstance(lock, dict) and "servesweep_version" in lock else None


def portable(fingerprint: Mapping[str, Any]) -> dict[str, Any]:
    """A fingerprint without what names the place: another node of the same kind has the same."""
    kept = {key: value for key, value in fingerprint.items() if key not in OF_PLACES}
    cpu, gpu = kept.get("cpu") or {}, kept.get("gpu") or {}
    if cpu:
        kept["cpu"] = {key: value for key, value in cpu.items() if key not in OF_PLACES_CPU}
    if gpu.get("gpus"):
        boards = [{key: b[key] for key in b if key not in OF_PLACES_BOARD} for b in gpu["gpus"]]
        kept["gpu"] = {**gpu, "gpus": boards}
    return kept


def fingerprint_differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Difference]:
    """What differs between the workers of two runs, by worker, wherever they ran."""
    old, new = ({name: portable(one) for name, one in side.items()} for side in (before, after))
    return differences(old, new)


def plan_differences(first: Mapping[str, Any], lock: Mapping[str, Any]) -> Iterator[Difference]:
    """What differs in what was planned, as far as lockfiles tell."""
    for key in ("settings", "digest", "topology"):
        yield from differences(first.get(key), lock.get(key), key)
    old, new = first.get("resolved") or {}, lock.get("resolved") or {}
    for key in ("model_path", "container_path", "cluster"):
        yield from differences(old.get(key), new.get(key), key)


def result_lines(first: Mapping[str, Any], lock: Mapping[str, Any]) -> Iterator[str]:
    """A line a number that both runs have, and one for each point that only one of them has."""
    old, new = first.get("results") or {}, lock.get("results") or {}
    for point in dict.fromkeys([*old, *new]):
        before, after = old.get(point) or {}, new.get(point) or {}
        if (was := before.get("status", "absent")) != (now := after.get("status", "absent")):
            yield f"{point}: {was} -> {now}"
        for name in before:
            then, here = _number(before[name]), _number(after.get(name))
            if name.endswith(MEASURED) and then is not None and here is not None:
                yield f"{point}: {name}: {then:.6g} -> {here:.6g} ({_percent(then, here)})"


def reproduction_report(first: Mapping[str, Any], lock: Mapping[str, Any]) -> str:
    """The report: plan, software and machine, results; of each what differs, or that nothing does."""
    of = f"{first['configuration']}, locked {first['generated_at']}"
    job = (first.get("slurm") or {}).get("job_id")
    fingerprints = first.get("fingerprints") or {}, lock.get("fingerprints") or {}
    parts = {
        "plan": plan_differences(first, lock),
        "software and machine": fingerprint_differences(*fingerprints),
        "servesweep": differences(first["servesweep_version"], lock["servesweep_version"], "version"),
    }
    lines = [f"Reproduction of {of}" + (f", job {job}" if job else "")]
    for title, found in parts.items():
        lines += ["", *_part(title, map(str, found))]
    return "\n".join([*lines, "", *_part("results", result_lines(first, lock)), ""])


def _part(title: str, found: Iterable[str]) -> list[str]:
    told = [f"  {line}" for line in found]
    return [f"{title}:", *told] if told else [f"{title}: the same"]


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _percent(before: float, after: float) -> str:
    return f"{(after - before) / before:+.1%}" if before else "from 0"

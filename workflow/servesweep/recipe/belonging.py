"""Where a key belongs that stands in the wrong section."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, get_args

from pydantic import BaseModel

from servesweep.recipe.problems import listed
from servesweep.recipe.recipe import Recipe
from servesweep.recipe.roles import RoleSection, RolesSection
from servesweep.recipe.section import Choice
from servesweep.recipe.slurm import SlurmSection

ARGS = "flags of the engine belong under args"
# More places than these are no hint.
FEW = 3
# Keys of the usual benchmark: a benchmark's options are the concern of its type, which is not known here.
OF_THE_LOAD = (
    "isl", "osl", "concurrencies", "req_rate", "random_range_ratio", "num_prompts_mult", "num_warmup_mult",
    "repeats", "ignore_eos", "goodput", "max_failed_fraction", "request_timeout_s", "use_chat_template",
    "custom_tokenizer",
)  # fmt: skip
# Options of sbatch that people look for under `slurm`; which of them a recipe may set is judged there.
OF_SBATCH = (
    "qos", "constraint", "reservation", "exclude", "exclusive", "nodelist", "mem", "mem-per-cpu",
    "mem-per-gpu", "cpus-per-task", "cpus-per-gpu", "gres", "gpus-per-node", "comment", "mail-type",
    "mail-user", "signal", "requeue", "no-requeue", "dependency", "licenses", "switches", "segment", "nice",
    "priority", "network", "begin", "deadline", "hint", "wckey", "tmp", "export", "oversubscribe", "ntasks",
    "ntasks-per-node",
)  # fmt: skip
RENAMED = {"time": "slurm.time_limit", "walltime": "slurm.time_limit", "job_name": "name"}
# Sections that few recipes have: a key that stands in the wrong place is hardly meant for them.
RARE = (
    "services", "identity", "telemetry", "reporting", "observability", "profiling", "host_setup", "post_eval",
)  # fmt: skip


def belongs(key: str, model: type[BaseModel]) -> str | None:
    """Where a key that `model` does not have belongs, as a sentence's end; None where nobody can tell."""
    snake, kebab = key.replace("-", "_"), key.replace("_", "-")
    if model is SlurmSection and kebab in OF_SBATCH:
        return f"options of sbatch belong under sbatch_directives: write sbatch_directives.{kebab}"
    if places := _places(snake):
        return f"it belongs {listed(places, 'or')}"
    if model is RoleSection:
        return f"{ARGS}: write args.{key}"
    if snake in OF_THE_LOAD:
        return f"it belongs in benchmark.{snake}"
    if kebab in OF_SBATCH:
        return f"it belongs in sbatch_directives.{kebab}"
    return None


def _places(key: str) -> list[str]:
    found = (RENAMED[key],) if key in RENAMED else _index().get(key, ())
    # A place at the top is better known than one that lies deeper.
    chosen = [place for place in found if "." not in place] or list(found)
    return [_in(place) for place in chosen] if len(chosen) <= FEW else []


def _in(place: str) -> str:
    return f"in {place}" if "." in place else f"at the top of the recipe, as {place}"


@cache
def _index() -> dict[str, tuple[str, ...]]:
    """Of every key of the recipe, the places where it stands."""
    found: dict[str, list[str]] = {}
    for path in (one for one in _paths(Recipe, ()) if len(one) == 1 or one[0] not in RARE):
        found.setdefault(path[-1], []).append(".".join(path))
    return {key: tuple(dict.fromkeys(places)) for key, places in found.items()}


def _paths(model: type[BaseModel], above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for name, field in model.model_fields.items():
        if issubclass(model, Choice) and name == "options":
            continue
        path = (*above, field.alias or name)
        # One role speaks for all.
        step = (*above, "<role>") if model is RolesSection else path
        yield path
        for inner in _models(field.annotation):
            yield from _paths(inner, step)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)

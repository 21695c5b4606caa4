"""What can be told of single sections, where another fault keeps a recipe from being planned.

Each rule reads one section, or a role's arguments and its engine, and is silent where these are at fault
themselves: nothing is told that follows from a fault alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from servesweep.benchmarks import BENCHMARKS
from servesweep.engines import ENGINES
from servesweep.frontends import FRONTENDS
from servesweep.plan.directives import read_directives
from servesweep.plan.fitting import untyped
from servesweep.plan.roles import unknown
from servesweep.plan.srun_options import faults_of
from servesweep.recipe.problems import KeyPath, Problem, RecipeError
from servesweep.recipe.roles import MODES
from servesweep.recipe.section import Section
from servesweep.recipe.validation import read_section
from servesweep.recipe.variants import Variant

Registry = Mapping[str, Any]


def section_problems(variant: Variant) -> list[Problem]:
    """Every fault that one section shows by itself, beside those that were found first."""
    if not variant.data:
        return []
    return [
        *_type("frontend", ("frontend",), FRONTENDS, variant),
        *_benchmark(variant),
        *_engines(variant),
        *_slurm_options(variant),
    ]


def _benchmark(variant: Variant) -> Iterator[Problem]:
    given = _mapping(variant.data, "benchmark")
    if "type" not in given:
        manual = BENCHMARKS["manual"].Options
        if isinstance(_options(manual, given, ("benchmark",), variant, "placement"), list):
            yield untyped(given, variant)
        return
    yield from _type("benchmark", ("benchmark",), BENCHMARKS, variant)
    benchmark = _registered(given, BENCHMARKS)
    if benchmark is not None:
        found = _options(benchmark.Options, given, ("benchmark",), variant, "placement")
        yield from found if isinstance(found, list) else ()


def _engines(variant: Variant) -> Iterator[Problem]:
    """Unknown engines, their wrong options, and arguments that an engine refuses by itself."""
    roles = _mapping(variant.data, "roles")
    places: list[KeyPath] = [("engine",), *(("roles", mode, "engine") for mode in MODES)]
    sound: dict[KeyPath, tuple[Any, Section]] = {}
    for path in places:
        holder = variant.data if len(path) == 1 else _mapping(roles, str(path[1]))
        given = _mapping(holder, "engine")
        yield from _type("engine", path, ENGINES, variant, given)
        engine = _registered(given, ENGINES)
        if engine is not None:
            found = _options(engine.Options, given, path, variant)
            if isinstance(found, list):
                yield from found
            else:
                sound[path] = engine, found
    for mode in (one for one in MODES if isinstance(roles.get(one), dict)):
        role = _mapping(roles, mode)
        own: KeyPath = ("roles", mode, "engine") if "engine" in role else ("engine",)
        if own in sound:
            engine, options = sound[own]
            for key, message in engine.refusals(mode, _mapping(role, "args"), options):
                yield variant.problem(("roles", mode, *key.split(".", 1)), message)


def _slurm_options(variant: Variant) -> Iterator[Problem]:
    for name, message in read_directives(_texts(variant, "sbatch_directives")).faults:
        yield variant.problem(("sbatch_directives", name), message)
    for path, message in faults_of(("srun_options",), _texts(variant, "srun_options")):
        yield variant.problem(path, message)


def _type(
    kind: str, path: KeyPath, registry: Registry, variant: Variant, given: Mapping[str, Any] | None = None
) -> Iterator[Problem]:
    given = _mapping(variant.data, str(path[0])) if given is None else given
    if isinstance(given.get("type"), str) and given["type"] not in registry:
        at = path if kind == "engine" else (*path, "type")
        yield unknown(kind, given["type"], registry, at, variant)


def _registered(given: Mapping[str, Any], registry: Registry) -> Any:
    return registry.get(given["type"]) if isinstance(given.get("type"), str) else None


def _options(
    model: type[Section], given: Mapping[str, Any], path: KeyPath, variant: Variant, *others: str
) -> Section | list[Problem]:
    """The options of a type, read from what its section holds beside `type`; or what is wrong with them."""
    own = {key: value for key, value in given.items() if key not in ("type", *others)}
    try:
        return read_section(model, own, variant, path, others)
    except RecipeError as error:
        return list(error.problems)


def _mapping(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The section of a key, where a name alone is its type; empty where it is none."""
    value = data.get(key)
    if isinstance(value, str) and key in ("engine", "benchmark"):
        return {"type": value}
    return value if isinstance(value, dict) else {}


def _texts(variant: Variant, key: str) -> dict[str, str]:
    """Options of Slurm that have a value; others are told by the section itself."""
    given = _mapping(variant.data, key)
    return {
        name: str(value)
        for name, value in given.items()
        if isinstance(value, str | int | float) and not isinstance(value, bool)
    }

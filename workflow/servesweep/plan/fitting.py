"""What goes together: engines, frontend, benchmark and the limits of one configuration."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from pydantic import ValidationError

from servesweep.benchmarks import BENCHMARKS
from servesweep.benchmarks.benchmark import Benchmark
from servesweep.engines.argument_faults import argument_faults
from servesweep.engines.engine import Engine
from servesweep.engines.flags import TOPOLOGY
from servesweep.frontends import FRONTENDS
from servesweep.frontends.frontend import Frontend
from servesweep.plan.asked import asked
from servesweep.plan.contradictions import contradictions
from servesweep.plan.job_rules import job_problems
from servesweep.plan.replicas import replica_problems
from servesweep.plan.role_rules import role_problems
from servesweep.plan.roles import Role, gpus_per_node, unknown
from servesweep.plan.service_rules import service_problems
from servesweep.plan.services import Wanted
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.frontend import FrontendSection
from servesweep.recipe.problems import Problem, RecipeError, listed, nearest
from servesweep.recipe.recipe import Recipe
from servesweep.recipe.validation import read_section
from servesweep.recipe.variants import Variant

NO_TYPE = "the type is missing, and without one nothing is measured: write type: sa-bench"


def fit_together(
    recipe: Recipe,
    cluster: Cluster,
    section: FrontendSection,
    roles: list[Role],
    services: list[Wanted],
    variant: Variant,
) -> Frontend:
    """Find the frontend, and let it, the benchmark and the engines refuse what does not go together.

    Raises:
        RecipeError: with every fault.
    """
    problems: list[Problem] = []
    frontend = FRONTENDS.get(section.type)
    if frontend is None:
        problems.append(unknown("frontend", section.type, FRONTENDS, ("frontend", "type"), variant))
    else:
        problems += _frontend_problems(recipe, section, frontend, roles, variant)
    for role in roles:
        for key, message in role.engine.refusals(role.mode, role.args, role.options):
            problems.append(variant.problem((*role.path, *key.split(".", 1)), message))
    benchmark = BENCHMARKS.get(recipe.benchmark.type)
    if benchmark is None:
        kind = recipe.benchmark.type
        problems.append(unknown("benchmark", kind, BENCHMARKS, ("benchmark", "type"), variant))
    else:
        problems += _option_problems(recipe, benchmark, variant)
        if frontend is not None:
            problems += _public_problems(recipe, frontend, benchmark, variant)
    problems += replica_problems(recipe, cluster, variant)
    problems += contradictions(recipe, cluster, roles, variant)
    problems += role_problems(recipe, section.type, roles, gpus_per_node(recipe, cluster), variant)
    problems += service_problems(recipe, section.type, services, variant)
    problems += job_problems(recipe, cluster, section, roles, variant)
    if problems or frontend is None:
        raise RecipeError(dict.fromkeys(problems))
    return frontend


def _option_problems(recipe: Recipe, benchmark: Benchmark, variant: Variant) -> Iterable[Problem]:
    section = recipe.benchmark
    with contextlib.suppress(ValidationError):
        asked(section)
        # A key without a value may be one that has a default: that takes a closer look.
        if "null" not in section.options_text:
            return ()
    try:
        read_section(benchmark.Options, dict(section.options), variant, ("benchmark",), ("placement",))
    except RecipeError as error:
        untold = "type" not in section.model_fields_set
        return (untyped(section.options, variant),) if untold else error.problems
    return ()


def untyped(given: Iterable[str], variant: Variant) -> Problem:
    """For a benchmark that has options, and no type that they are of; its keys tell a misspelt one."""
    if meant := next((key for key in given if nearest(key, ["type"])), None):
        return variant.problem(("benchmark", meant), "unknown key; did you mean type?")
    return variant.problem(("benchmark", "type"), NO_TYPE)


def _frontend_problems(
    recipe: Recipe, section: FrontendSection, frontend: Frontend, roles: list[Role], variant: Variant
) -> list[Problem]:
    problems = []
    engines = {role.mode: role.engine.name for role in roles}
    for role in roles:
        if frontend.transport not in role.engine.transports:
            problems.append(variant.problem(("frontend", "type"), _wrong_frontend(role.engine, frontend)))
    if recipe.replicas is None:
        workers = {role.mode: role.shape.workers for role in roles}
        faults = frontend.refusals(workers, engines, section.args) + frontend.section_refusals(section)
        for key, message in faults:
            problems.append(variant.problem(("frontend", *key.split(".", 1)), message))
    else:
        # This router may front any engine's replicas: of its refusals only that of its arguments counts.
        for key, message in argument_faults(section.args, frontend.reserved, frontend.vocabulary):
            flag = f"--{key.removeprefix('args.')}"
            ours = f"servesweep sets this argument of the router itself: remove {flag}"
            told = ours if message == TOPOLOGY else f"{flag}: {message}"
            problems.append(variant.problem(("router_args",), told))
    return problems


def _wrong_frontend(engine: Engine, frontend: Frontend) -> str:
    fitting = [
        other.name
        for other in FRONTENDS.values()
        if other.transport in engine.transports and engine.name in (other.required_engines or {engine.name})
    ]
    return f"the engine {engine.name} does not work under {frontend.name}: use {listed(fitting, 'or')}"


def _public_problems(
    recipe: Recipe, frontend: Frontend, benchmark: Benchmark, variant: Variant
) -> list[Problem]:
    """A benchmark that asks the public API needs one."""
    if frontend.name != "none" or not benchmark.needs_public:
        return []
    message = f"{benchmark.name} needs a public API, and frontend none has none"
    if recipe.replicas:
        message = f"{benchmark.name} over {recipe.replicas} replicas needs a router: say router: sglang"
    return [variant.problem(("benchmark", "type"), message)]

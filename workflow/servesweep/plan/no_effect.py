"""What a recipe says without any effect on its plan: harmless, and probably not what its author thinks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from servesweep.benchmarks import BENCHMARKS
from servesweep.frontends import FRONTENDS
from servesweep.plan.asked import asked
from servesweep.plan.plan import Plan
from servesweep.plan.roles import Role
from servesweep.recipe.frontend import FrontendSection
from servesweep.recipe.observability import ObservabilitySection
from servesweep.recipe.problems import listed
from servesweep.recipe.recipe import Recipe
from servesweep.recipe.section import option, said
from servesweep.recipe.services import ServiceSection

OF_PROCESS = ("env", "numa_bind", "container_image")
OF_NGINX = (
    "num_additional_frontends", "nginx_container", "nginx_raise_ulimit", "nginx_session_affinity",
    "nginx_session_affinity_header", "nginx_keepalive_timeout",
)  # fmt: skip
# Sections that one frontend or another writes to a file of its own.
OF_ROUTER = ("worker_selection", "ctx_router", "gen_router", "server_config_extra")
# What a service that runs elsewhere still needs.
OF_ANY_SERVICE = frozenset({"name", "type", "external", "enabled", "inherit_discovery_env"})
OF_TRACES = ("enable_otel", "otel_endpoint")
OF_RESTART = ("max_restarts", "backoff_seconds", "max_backoff_seconds")


def no_effect(plan: Plan, roles: Sequence[Role]) -> Iterator[str]:
    """Yield a sentence for keys of one section that change nothing, with the reason."""
    recipe = plan.resolved
    if recipe.frontend is not None:
        yield from _frontend(plan, recipe.frontend)
    yield from _benchmark(plan)
    yield from _roles(recipe)
    yield from _observability(recipe.observability, plan)
    for service in recipe.services:
        yield from _service(service)
    if recipe.resources.spread_workers and roles:
        per_node = plan.topology.gpus_per_node
        if all(role.shape.gpus % per_node == 0 for role in roles):
            yield _told(["resources.spread_workers"], "every worker has whole nodes")
    if recipe.setup_script is not None and not any(step.kind != "service" for step in plan.steps):
        yield _told(["setup_script"], "it runs before workers and frontends, and there are none")


def _told(keys: Sequence[str], reason: str) -> str:
    return f"{listed(keys)} {'has' if len(keys) == 1 else 'have'} no effect: {reason}"


def _frontend(plan: Plan, section: FrontendSection) -> Iterator[str]:
    starts = FRONTENDS[plan.frontend].starts
    nginx = any(step.kind == "frontend" and step.name == "nginx" for step in plan.steps)
    unread = [] if starts else said(section, OF_PROCESS)
    unread += [] if nginx else said(section, OF_NGINX)
    # One machine has one frontend: that is said where the launcher is.
    if section.enable_multiple_frontends and not nginx and (plan.launcher == "slurm" or not starts):
        unread.append("enable_multiple_frontends")
    if not starts and section.placement.node == "first_decode":
        unread.append("placement")
    if unread:
        reason = "no nginx stands before it" if starts else f"{plan.frontend} starts no process"
        yield _told([f"frontend.{key}" for key in unread], reason)
    elif nginx and not section.nginx_session_affinity and said(section, ("nginx_session_affinity_header",)):
        yield _told(["frontend.nginx_session_affinity_header"], "nginx_session_affinity is off")
    if elsewhere := [key for key in said(section, OF_ROUTER) if _changes_nothing(plan, section, key)]:
        yield _told(
            [f"frontend.{key}" for key in elsewhere], f"{plan.frontend} as it is used here reads none"
        )


def _changes_nothing(plan: Plan, section: FrontendSection, key: str) -> bool:
    """Whether the frontend's command and its files are the same without the key."""
    kind, port = FRONTENDS[plan.frontend], plan.deployment.public_port
    without = section.model_copy(update={key: None})
    return kind.command(plan.deployment, section, port) == kind.command(plan.deployment, without, port)


def _benchmark(plan: Plan) -> Iterator[str]:
    section = plan.resolved.benchmark
    options = asked(section).options
    unread = BENCHMARKS[section.type].unread(options)
    for reason in dict.fromkeys(unread.values()):
        yield _told([f"benchmark.{key}" for key, why in unread.items() if why == reason], reason)
    if plan.cluster.container_runtime == "none" and option(options, "container_image"):
        yield _told(["benchmark.container_image"], "container_runtime is none")


def _roles(recipe: Recipe) -> Iterator[str]:
    for mode, role in recipe.roles.items() if recipe.roles else ():
        if role.restart.policy == "never" and said(role.restart, OF_RESTART):
            yield _told([f"roles.{mode}.restart"], "its policy is never")


def _observability(section: ObservabilitySection, plan: Plan) -> Iterator[str]:
    traces = said(section, OF_TRACES)
    if traces and plan.deployment.transport != "dynamo":
        reason = f"Dynamo exports traces, and the frontend is {plan.frontend}"
        yield _told([f"observability.{key}" for key in traces], reason)
    elif traces and not section.enable_otel:
        yield _told(["observability.otel_endpoint"], "enable_otel is off")
    scraper = section.tachometer
    if scraper is not None and not section.scrapes and scraper.model_dump(exclude_defaults=True):
        yield _told(["observability.tachometer"], "scraping is off")


def _service(section: ServiceSection) -> Iterator[str]:
    if section.external is not None and section.enabled:
        unread = [key for key in said(section, type(section).model_fields) if key not in OF_ANY_SERVICE]
        if unread:
            yield _told([f"services.{section.name}.{key}" for key in unread], "it runs elsewhere")

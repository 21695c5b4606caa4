"""Render a configuration: every command, port and request, for symbolic nodes or for real ones."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from servesweep.benchmarks.post_eval import post_eval_load
from servesweep.frontends.frontend import Frontend
from servesweep.plan.asked import asked
from servesweep.plan.configuration import Configuration, canonical, digest_of
from servesweep.plan.containers import in_containers
from servesweep.plan.contradictions import name_notes
from servesweep.plan.fitting import fit_together
from servesweep.plan.layout import Layout, address_of, frontend_nodes, lay_out, node_map
from servesweep.plan.plan import JUDGED, Node, Plan, PlannedPoint, Topology
from servesweep.plan.port_claims import claims, process_problems
from servesweep.plan.replicas import frontend_of
from servesweep.plan.roles import Role, gpus_per_node, resolve_roles, served_name
from servesweep.plan.service_ports import port_problems
from servesweep.plan.service_steps import (
    Placed,
    discovery_of,
    in_order,
    placed_services,
    planned,
    service_steps,
    stores_of,
)
from servesweep.plan.services import services_of
from servesweep.plan.slurm_request import slurm_request
from servesweep.plan.steps import frontend_steps, worker_steps
from servesweep.plan.stores import with_stores
from servesweep.recipe.frontend import FrontendSection
from servesweep.recipe.problems import RecipeError
from servesweep.recipe.variants import Variant
from servesweep.topology.deployment import Binding, Deployment, Endpoint
from servesweep.topology.ports import INTERNAL, PUBLIC, REPLICA_ROUTER

MODEL_MOUNT = "/model"
LOG_MOUNT = "/logs"


def render(configuration: Configuration, binding: Binding | None = None) -> Plan:
    """Resolve a configuration; without a binding, for the symbolic nodes n0, n1, …

    Raises:
        RecipeError: with every fault that the sections show together.
    """
    return render_with_roles(configuration, binding)[0]


def render_with_roles(
    configuration: Configuration, binding: Binding | None = None
) -> tuple[Plan, list[Role]]:
    """`render`, and the roles that it has resolved."""
    recipe, variant, cluster = configuration.recipe, configuration.variant, configuration.cluster
    roles = resolve_roles(recipe, variant, cluster)
    section, notes = frontend_of(recipe, variant)
    wanted = services_of(recipe, section.type, roles)
    frontend = fit_together(recipe, cluster, section, roles, wanted, variant)
    per_node = gpus_per_node(recipe, cluster)
    windows = binding.windows if binding else {}
    layout = lay_out(recipe, section, roles, per_node, cluster, variant, windows)
    notes += [note for role in roles for note in role.engine.notes(role.mode, role.args, role.options)]
    notes += name_notes(recipe, roles)
    bound = binding or Binding(addresses={node: f"ip-{node}" for node in layout.carving.nodes})
    services = placed_services(wanted, layout)
    deployment = _deployment(configuration, roles, section, frontend, layout, bound, services)
    where = address_of(cluster.launcher)
    problems = [*process_problems(layout.claims, recipe, roles, deployment, where, variant)]
    taken = partial(claims, layout.claims, recipe, roles, deployment)
    if problems := [*problems, *port_problems(services, taken, deployment, where, variant)]:
        raise RecipeError(dict.fromkeys(problems))
    steps = in_order(
        service_steps(recipe, cluster, services, deployment, variant),
        with_stores([*worker_steps(recipe, cluster, roles, deployment)], services, deployment, variant),
        [*frontend_steps(recipe, cluster, roles, section, frontend, deployment)],
    )
    steps = in_containers(steps, recipe, cluster, deployment)
    standing = [(node, step.service or step.name) for step in steps for node in step.nodes or (step.node,)]
    holds = node_map(layout, standing)
    plan = Plan(
        schema=1,
        configuration=configuration.id,
        name=recipe.name,
        recipe=configuration.recipe_file,
        variant=variant.suffix,
        digest=configuration.digest,
        deployment_digest=configuration.deployment_digest,
        served_model=deployment.served_model,
        engine="+".join(dict.fromkeys(role.engine.name for role in roles)),
        frontend=frontend.name,
        launcher=cluster.launcher,
        gpu_type=recipe.resources.gpu_type or cluster.default_gpu_type,
        topology=_topology(roles, layout, per_node),
        nodes=tuple(Node(name=name, holds=tuple(held)) for name, held in holds.items()),
        client=layout.seats.client,
        public=frontend.public(deployment),
        expected=frontend.expected(deployment),
        slurm=slurm_request(recipe, cluster, len(layout.carving.nodes), per_node),
        steps=tuple(steps),
        points=_points(configuration),
        services=planned(services),
        notes=(*variant.notes, *notes, *layout.notes),
        deployment=deployment,
        resolved=recipe,
        cluster=cluster,
    )
    return plan, roles


def rebind(plan: Plan, binding: Binding) -> Plan:
    """The same plan for real nodes.

    Raises:
        RecipeError, PortError: where a node that other jobs share has too few ports for it.
    """
    if plan.resolved.replicas is not None:
        # A replica has whole nodes, and is found at port 8080.
        binding = replace(binding, windows={})
    data = plan.resolved.model_dump(mode="json", by_alias=True)
    configuration = Configuration(
        id=plan.configuration,
        recipe_file=plan.recipe,
        variant=Variant(suffix=plan.variant, data=data, lines={}, notes=(), path=plan.recipe),
        recipe=plan.resolved,
        cluster=plan.cluster,
        digest=plan.digest,
        deployment_digest=plan.deployment_digest,
    )
    return replace(render(configuration, binding), **{key: getattr(plan, key) for key in JUDGED})


def _deployment(
    configuration: Configuration,
    roles: list[Role],
    section: FrontendSection,
    frontend: Frontend,
    layout: Layout,
    binding: Binding,
    services: list[Placed],
) -> Deployment:
    recipe, cluster = configuration.recipe, configuration.cluster
    named = cluster.model_paths.get(recipe.model.path, recipe.model.path)
    path = named.removeprefix("hf:")
    in_container = cluster.container_runtime == "pyxis"
    stage = recipe.model.stage_dir if path == named else None
    staged = f"{stage.rstrip('/')}/{path.rstrip('/').rpartition('/')[2]}" if stage else None
    public = REPLICA_ROUTER if recipe.replicas else binding.port(layout.seats.frontend, PUBLIC)
    several = frontend_nodes(layout, section, cluster)
    schemes = {role.mode: role.engine.scheme(role.args) for role in roles}
    return Deployment(
        model_path=staged or path,
        model_source=path if staged else None,
        model_mount=MODEL_MOUNT if in_container and path == named else None,
        log_mount=LOG_MOUNT if in_container else None,
        served_model=_served_model(configuration, roles, path),
        transport=frontend.transport,
        gpus_per_node=gpus_per_node(recipe, cluster),
        gpu_type=recipe.resources.gpu_type or cluster.default_gpu_type,
        processes=layout.processes,
        standbys=layout.standbys,
        head=layout.seats.head,
        frontend=layout.seats.frontend,
        frontends=tuple(Endpoint(node=node, port=binding.port(node, INTERNAL)) for node in several)
        or (Endpoint(node=layout.seats.frontend, port=public),),
        infra=layout.seats.infra,
        public_port=public,
        request_plane=recipe.dynamo.request_plane,
        event_plane=recipe.dynamo.event_plane,
        config_dump=recipe.enable_config_dump,
        visible_devices=cluster.visible_devices_env,
        registering=any(role.engine.registers(role.args, role.options) for role in roles),
        schemes={mode: scheme for mode, scheme in schemes.items() if scheme != "http"},
        binding=binding,
        discovery=discovery_of(services, binding),
        stores=stores_of(services, binding),
        services={one.name: one.nodes for one in services if one.nodes},
        terminal=tuple(one.name for one in services if one.nodes and one.wanted.section.terminal),
    )


def _served_model(configuration: Configuration, roles: list[Role], path: str) -> str:
    """The recipe's name, else an argument's, else the directory's; a replica's has the digest in it.

    Replicas of two configurations of one model must not answer to one name: a router could mix them.
    """
    recipe = configuration.recipe
    if recipe.model.served_name:
        return recipe.model.served_name
    for role in roles:
        if given := served_name(role):
            return given
    name = path.rstrip("/").rpartition("/")[2]
    return f"{name}-{configuration.digest[:8]}" if recipe.replicas else name


def _topology(roles: list[Role], layout: Layout, per_node: int) -> Topology:
    shapes = {role.mode: role.shape for role in roles}
    workers = {mode: shapes[mode].workers if mode in shapes else 0 for mode in ("prefill", "decode", "agg")}
    gpus = {mode: shapes[mode].gpus if mode in shapes else 0 for mode in ("prefill", "decode", "agg")}
    held = dict.fromkeys(workers, 0)
    for process in layout.processes:
        held[process.mode] += len(process.gpus)
    return Topology(
        is_disaggregated="prefill" in shapes,
        total_nodes=len(layout.carving.nodes),
        gpus_per_node=per_node,
        total_gpus=sum(held.values()),
        **{f"num_{mode}": count for mode, count in workers.items()},
        **{f"gpus_per_{mode}": count for mode, count in gpus.items()},
        **{f"{mode}_gpus": count for mode, count in held.items()},
    )


def _points(configuration: Configuration) -> tuple[PlannedPoint, ...]:
    """The benchmark's loads, each with the identity of its numbers; a load given twice is one point."""
    points = {}
    section = configuration.recipe.benchmark
    before = canonical(configuration.deployment_digest), canonical(section.type)
    for load, text in asked(section).loads:
        points[load.id] = PlannedPoint(
            id=load.id,
            concurrency=load.concurrency,
            request_rate=load.request_rate,
            repeat=load.repeat,
            digest=digest_of(*before, text),
        )
    if (after := configuration.recipe.post_eval) is not None:
        load = post_eval_load(after)
        points[load.id] = PlannedPoint(id=load.id, digest=digest_of(*before, canonical(load.facts)))
    return tuple(points.values())

"""Render a configuration: every command, port and request, for symbolic nodes or for real ones."""

from __future__ import annotations

from collections.abc import Mapping

from servesweep.benchmarks.benchmark import Benchmark
from servesweep.frontends.frontend import Frontend
from servesweep.plan.configuration import Configuration, digest
from servesweep.plan.fitting import fit_together
from servesweep.plan.layout import Layout, lay_out, node_map
from servesweep.plan.plan import Node, Plan, PlannedPoint, Step, Topology
from servesweep.plan.roles import Role, gpus_per_node, resolve_roles
from servesweep.plan.slurm_request import slurm_request
from servesweep.recipe.frontend import FrontendSection
from servesweep.recipe.recipe import Recipe
from servesweep.recipe.section import Section
from servesweep.recipe.variants import Variant
from servesweep.services import SERVICES
from servesweep.topology.deployment import Binding, Census, Command, Deployment, step_name
from servesweep.topology.ports import PUBLIC, REPLICA_ROUTER
from servesweep.topology.shapes import ProcessPlace


def render(configuration: Configuration, binding: Binding | None = None) -> Plan:
    """Resolve a configuration; without a binding, for the symbolic nodes n0, n1, …

    Raises:
        RecipeError: with every fault that the sections show together.
    """
    recipe, variant, cluster = configuration.recipe, configuration.variant, configuration.cluster
    roles = resolve_roles(recipe, variant, cluster)
    section, notes = _frontend_section(recipe)
    notes += [
        n for role in roles if role.framework_args for n in role.engine.replica_notes(role.framework_args)
    ]
    frontend, benchmark, options = fit_together(recipe, cluster, section, roles, variant)
    per_node = gpus_per_node(recipe, cluster)
    layout = lay_out(recipe, section, roles, per_node, cluster, variant)
    bound = binding or Binding(addresses={node: f"ip-{node}" for node in layout.carving.nodes})
    deployment = _deployment(configuration, roles, section, frontend, layout, bound)
    steps = _steps(configuration, roles, section, frontend, layout, deployment)
    counts = {role.mode: role.shape.workers for role in roles}
    holds = node_map(layout, [(step.node, step.name) for step in steps])
    return Plan(
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
        expected=Census(
            prefill=counts.get("prefill", 0), decode=counts.get("decode", 0) + counts.get("agg", 0)
        ),
        slurm=slurm_request(recipe, cluster, len(layout.carving.nodes), per_node),
        steps=tuple(steps),
        points=_points(configuration, benchmark, options),
        notes=(*variant.notes, *notes, *layout.notes),
        deployment=deployment,
        resolved=recipe,
        cluster=cluster,
    )


def rebind(plan: Plan, binding: Binding) -> Plan:
    """The same plan for real nodes."""
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
    return render(configuration, binding).model_copy(update={"notes": plan.notes})


def _frontend_section(recipe: Recipe) -> tuple[FrontendSection, list[str]]:
    """The frontend of either spelling; replicas get a router only when there are several."""
    if recipe.replicas is None:
        return recipe.frontend or FrontendSection(), []
    if recipe.router == "sglang" and recipe.replicas == 1:
        return FrontendSection(type="direct"), [
            "router: sglang is left out: one replica has nothing to balance, and is served directly"
        ]
    if recipe.router == "sglang":
        return FrontendSection(type="sglang-router"), []
    return FrontendSection(type="direct" if recipe.replicas == 1 else "none"), []


def _deployment(
    configuration: Configuration,
    roles: list[Role],
    section: FrontendSection,
    frontend: Frontend,
    layout: Layout,
    binding: Binding,
) -> Deployment:
    recipe, cluster = configuration.recipe, configuration.cluster
    path = cluster.model_paths.get(recipe.model.path, recipe.model.path).removeprefix("hf:")
    discovery: dict[str, str] = {}
    for service in frontend.services:
        discovery |= SERVICES[service].discovery(layout.seats.infra, binding)
    return Deployment(
        model_path=path,
        served_model=_served_model(configuration, roles, path),
        transport=frontend.transport,
        gpus_per_node=gpus_per_node(recipe, cluster),
        processes=layout.processes,
        head=layout.seats.head,
        frontend=layout.seats.frontend,
        infra=layout.seats.infra,
        public_port=REPLICA_ROUTER if recipe.replicas else PUBLIC,
        binding=binding,
        discovery=discovery,
    )


def _served_model(configuration: Configuration, roles: list[Role], path: str) -> str:
    """The recipe's name, else an argument's, else the directory's; a replica's has the digest in it.

    Replicas of two configurations of one model must not answer to one name: a router could mix them.
    """
    recipe = configuration.recipe
    if recipe.model.served_name:
        return recipe.model.served_name
    for role in roles:
        given = role.engine.served_model(role.args) or _flag(role.framework_args or (), "--served-model-name")
        if given:
            return given
    name = path.rstrip("/").rpartition("/")[2]
    return f"{name}-{configuration.digest[:8]}" if recipe.replicas else name


def _flag(words: tuple[str, ...], flag: str) -> str | None:
    for at, word in enumerate(words):
        if word.startswith(f"{flag}="):
            return word.partition("=")[2]
        if word == flag and at + 1 < len(words):
            return words[at + 1]
    return None


def _steps(
    configuration: Configuration,
    roles: list[Role],
    section: FrontendSection,
    frontend: Frontend,
    layout: Layout,
    deployment: Deployment,
) -> list[Step]:
    """Services, workers in the order of their ranks, frontend."""
    recipe, cluster = configuration.recipe, configuration.cluster
    everywhere = {**cluster.environment}
    srun = {**cluster.srun_options, **recipe.srun_options}
    steps = [
        Step(
            name=name,
            kind="service",
            node=layout.seats.infra,
            command=SERVICES[name].command(layout.seats.infra, deployment.binding),
            probe=SERVICES[name].probe(),
            srun_options=srun,
            log=f"service_{name}.out",
        )
        for name in frontend.services
    ]
    by_mode = {role.mode: role for role in roles}
    for process in layout.processes:
        role = by_mode[process.mode]
        env = {**everywhere, **role.env, **recipe.environment}
        steps.append(
            Step(
                name=step_name(process),
                kind="worker",
                mode=process.mode,
                index=process.index,
                rank=process.rank,
                node=process.node,
                gpus=process.gpus,
                command=_worker_command(process, role, deployment, env, cluster.visible_devices_env),
                probe=role.engine.probe(process, role.options, deployment),
                critical=role.critical,
                srun_options={**srun, **role.srun_options},
                log=_worker_log(process, deployment),
            )
        )
    command = frontend.command(deployment, section.args)
    if command is not None:
        env = {**everywhere, **recipe.environment, **section.env}
        steps.append(
            Step(
                name="frontend_0",
                kind="frontend",
                node=layout.seats.frontend,
                command=_with(command, env),
                probe=frontend.probe(deployment),
                srun_options=srun,
                log="{host}_frontend_0.out",
            )
        )
    return steps


def _worker_command(
    process: ProcessPlace, role: Role, deployment: Deployment, env: Mapping[str, str], visible: str
) -> Command:
    if role.framework_args is None:
        command = role.engine.command(process, role.args, role.options, deployment)
    else:
        words = role.framework_args
        if _flag(words, "--served-model-name") is None:
            words = (*role.engine.replica_name(deployment.served_model), *words)
        command = role.engine.replica(process, words, role.options, deployment)
    if not role.engine.pins_devices and len(process.gpus) < deployment.gpus_per_node:
        env = {**env, visible: ",".join(map(str, process.gpus))}
    return _with(command, env)


def _with(command: Command, env: Mapping[str, str]) -> Command:
    """The user's environment wins over what a command sets for itself."""
    return command.model_copy(update={"env": {**command.env, **env}})


def _worker_log(process: ProcessPlace, deployment: Deployment) -> str:
    """`<host>_<mode>_w<i>.out`; further processes of the worker on the same node add their rank."""
    twins = [p for p in deployment.ranks(process) if p.node == process.node]
    rank = f"_r{process.rank}" if len(twins) > 1 else ""
    return f"{{host}}_{process.mode}_w{process.index}{rank}.out"


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


def _points(configuration: Configuration, benchmark: Benchmark, options: Section) -> tuple[PlannedPoint, ...]:
    """The benchmark's loads, each with the identity of its numbers; a load given twice is one point."""
    points = {}
    for load in benchmark.loads(options):
        identity = digest(configuration.deployment_digest, benchmark.name, load.model_dump(mode="json"))
        points[load.id] = PlannedPoint(
            id=load.id,
            concurrency=load.concurrency,
            request_rate=load.request_rate,
            repeat=load.repeat,
            digest=identity,
        )
    return tuple(points.values())

"""The steps of a plan: workers in the order of their ranks, frontends, nginx before them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from servesweep.engines.engine import WorkerSpec
from servesweep.frontends.frontend import Frontend
from servesweep.frontends.nginx import nginx
from servesweep.plan.environment import Said, preset, said_of_role
from servesweep.plan.plan import Step
from servesweep.plan.profiling import profiled
from servesweep.plan.replicas import around
from servesweep.plan.roles import Role
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.frontend import FrontendSection
from servesweep.recipe.recipe import Recipe
from servesweep.topology.deployment import Command, Deployment, changed, step_name, uneven
from servesweep.topology.shapes import ProcessPlace

NUMA_NODE_0 = ("numactl", "--cpunodebind=0", "--membind=0")


def worker_steps(
    recipe: Recipe, cluster: Cluster, roles: list[Role], deployment: Deployment
) -> Iterator[Step]:
    """A step a process; of an engine whose ranks one launch starts, a step a worker."""
    by_mode = {role.mode: _shared(recipe, cluster, role) for role in roles}
    turns: dict[str, list[str]] = {}
    for process in (one for first in deployment.processes for one in deployment.engines(first)):
        shared = by_mode[process.mode]
        role = shared.role
        ranks = deployment.ranks(process)
        if role.engine.one_step and not process.is_leader:
            continue
        whole = role.engine.one_step
        # Tasks then go to the nodes in the order of ranks, as many as each has GPUs.
        spread = whole and uneven(ranks)
        yield Step(
            name=step_name(process),
            kind="worker",
            mode=process.mode,
            index=process.index,
            rank=process.rank,
            engine=process.engine,
            node=process.node,
            nodes=process.worker_nodes if whole and len(process.worker_nodes) > 1 else (),
            tasks=sum(len(rank.gpus) for rank in ranks) if whole else 1,
            shares=tuple(len(rank.gpus) for rank in ranks) if whole and len(ranks) > 1 else (),
            gpus=process.gpus,
            command=_worker_command(recipe, cluster, shared, process, deployment),
            probe=role.engine.probe(process, role.options, deployment),
            after=_earlier(process, role, turns),
            critical=role.critical,
            image=shared.image,
            srun_options=_srun(recipe, cluster, role, distribution="arbitrary") if spread else shared.srun,
            log=_worker_log(process, deployment),
        )


class _Shared(NamedTuple):
    """What all processes of a role have in common."""

    role: Role
    spec: WorkerSpec
    said: Said
    image: str | None
    srun: dict[str, str]


def _shared(recipe: Recipe, cluster: Cluster, role: Role) -> _Shared:
    return _Shared(
        role,
        spec_of(recipe, role),
        said_of_role(recipe, cluster, role.env),
        _image(role.container, cluster),
        _srun(recipe, cluster, role),
    )


def _srun(recipe: Recipe, cluster: Cluster, role: Role, **own: str) -> dict[str, str]:
    """Options of a worker's step: a recipe's may change them, and a role's most of all."""
    ours = {**role.engine.step_options, **own}
    return {**cluster.srun_options, **ours, **recipe.srun_options, **role.srun_options}


def _earlier(process: ProcessPlace, role: Role, turns: dict[str, list[str]]) -> tuple[str, ...]:
    """The workers that lead on the same node and are ready before this one starts; `turns` grows by it."""
    size = role.engine.together(role.options)
    if not size:
        return ()
    names = turns.setdefault(process.node, [])
    batch = len(names) // size
    names.append(step_name(process))
    return tuple(names[(batch - 1) * size : batch * size]) if batch else ()


def spec_of(recipe: Recipe, role: Role) -> WorkerSpec:
    """What the recipe says about each worker of a role."""
    observed, sidecar = recipe.observability.enabled, recipe.dynamo if role.sidecar else None
    return WorkerSpec(role.args, role.options, role.extra_args, role.kv_events, observed, sidecar)


def _worker_command(
    recipe: Recipe, cluster: Cluster, shared: _Shared, process: ProcessPlace, deployment: Deployment
) -> Command:
    """The engine's command; the user's environment wins over its defaults, and the plan's ports over both."""
    role, spec = shared.role, shared.spec
    # A launch over several nodes has one environment for all of them.
    node = None if role.engine.one_step and len(process.worker_nodes) > 1 else process.node
    said = shared.said.of_worker(node, deployment)
    devices = _devices(role, process, deployment)
    if role.framework_args is not None:
        words = (*role.framework_args, *role.engine.replica_words(role.framework_args, deployment))
        command = role.engine.replica(process, words, role.options, deployment)
        command = around(command, role, process, deployment, cluster)
        return changed(command, env={**command.env, **said, **devices})
    command = role.engine.command(process, spec, deployment)
    head = {"HEAD_NODE_IP": deployment.address(deployment.head)}
    traced = preset(recipe.observability, process.mode, deployment)
    last = {**devices, **role.engine.environment(process, spec, deployment)}
    env = {**head, **command.env, **traced, **said}
    if recipe.profiling.type == "none":
        return changed(command, env=env | last)
    command = profiled(changed(command, env=env), recipe.profiling, role.engine, process, deployment)
    return changed(command, env=command.env | last)


def _devices(role: Role, process: ProcessPlace, deployment: Deployment) -> dict[str, str]:
    """The variable of visible GPUs, where a process has not all of its node and is not told otherwise."""
    # Where one launch has different GPUs on each node, the command sorts that out by itself.
    sorts = role.engine.one_step and uneven(deployment.ranks(process))
    told = role.engine.pins_devices(role.options) and not role.sidecar
    if sorts or told or len(process.gpus) >= deployment.gpus_per_node:
        return {}
    return {deployment.visible_devices: ",".join(map(str, process.gpus))}


def _worker_log(process: ProcessPlace, deployment: Deployment) -> str:
    """`<host>_<mode>_w<i>.out`; further processes of the worker on the same node add their rank."""
    twins = [p for p in deployment.ranks(process) if p.node == process.node]
    rank = f"_r{process.rank}" if len(twins) > 1 else ""
    engine = f"_e{process.engine}" if process.engine else ""
    return f"{{host}}_{process.mode}_w{process.index}{rank}{engine}.out"


def frontend_steps(
    recipe: Recipe,
    cluster: Cluster,
    roles: list[Role],
    section: FrontendSection,
    frontend: Frontend,
    deployment: Deployment,
) -> Iterator[Step]:
    """Each frontend, and nginx before them where they are not public themselves."""
    srun = {**cluster.srun_options, **recipe.srun_options}
    if any(one.port != deployment.public_port for one in deployment.frontends):
        raised = section.nginx_raise_ulimit
        raised = cluster.nginx_raise_ulimit if raised is None else raised
        yield Step(
            name="nginx",
            kind="frontend",
            node=deployment.frontend,
            command=nginx(deployment, section, raise_ulimit=raised),
            probe=frontend.probe(deployment.public_port),
            image=_image(section.nginx_container, cluster),
            srun_options={**srun, **({"container-remap-root": ""} if deployment.log_mount else {})},
            log="{host}_nginx.out",
        )
    needed = {key: value for role in roles for key, value in role.engine.frontend_step_options.items()}
    traced = preset(recipe.observability, "frontend", deployment)
    said = {**traced, **cluster.environment, **recipe.environment, **section.env}
    for number, one in enumerate(deployment.frontends):
        command = frontend.command(deployment, section, one.port)
        if command is None:
            continue
        argv = (*NUMA_NODE_0, *command.argv) if section.numa_bind else command.argv
        yield Step(
            name=f"frontend_{number}",
            kind="frontend",
            index=number,
            node=one.node,
            command=changed(command, argv=argv, env={**command.env, **said}),
            probe=frontend.probe(one.port),
            after_workers=frontend.needs_workers,
            image=_image(section.container_image or recipe.model.container, cluster),
            srun_options={**cluster.srun_options, **needed, **recipe.srun_options},
            log=f"{{host}}_frontend_{number}.out",
        )


def _image(named: str | None, cluster: Cluster) -> str | None:
    """An image by its alias or itself; none where everything runs bare."""
    if named is None or cluster.container_runtime == "none":
        return None
    return cluster.containers.get(named, named)

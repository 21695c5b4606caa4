"""The steps of a plan: services, workers in the order of their ranks, frontends, nginx before them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from servesweep.engines.engine import WorkerSpec
from servesweep.frontends.frontend import Frontend
from servesweep.frontends.nginx import nginx
from servesweep.plan.plan import Step
from servesweep.plan.profiling import profiled
from servesweep.plan.replicas import around
from servesweep.plan.roles import Role
from servesweep.plan.services import services_of
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.frontend import FrontendSection
from servesweep.recipe.recipe import Recipe
from servesweep.recipe.section import Section
from servesweep.recipe.validation import read_section
from servesweep.recipe.variants import Variant
from servesweep.services import SERVICES
from servesweep.topology.deployment import Binding, Command, Deployment, step_name, uneven
from servesweep.topology.shapes import ProcessPlace

NUMA_NODE_0 = ("numactl", "--cpunodebind=0", "--membind=0")


@dataclass(frozen=True)
class Discovery:
    """One service of the discovery plane: where it is reached, and how it is started, if it is."""

    name: str
    url: str
    starts: bool
    options: Section | None = None


def discovery_of(
    recipe: Recipe, section: FrontendSection, variant: Variant, infra: str, binding: Binding
) -> list[Discovery]:
    """The services that the plan itself can start and find, in the order of their start.

    Raises:
        RecipeError: for wrong options of a declared one.
    """
    declared = {one.name: (index, one) for index, one in enumerate(recipe.services)}
    found = []
    for planned in services_of(recipe, section.type, {}):
        service = SERVICES.get(planned.type)
        if service is None:
            continue
        options = None
        if planned.name in declared:
            index, one = declared[planned.name]
            options = read_section(service.Options, one.options, variant, ("services", index, "options"))
        own = planned.external is None
        url = service.url(infra, binding) if own else service.external_url(planned.external or "")
        found.append(Discovery(planned.type, url, own, options))
    return found


def service_steps(
    recipe: Recipe, cluster: Cluster, found: list[Discovery], deployment: Deployment
) -> Iterator[Step]:
    """The discovery plane on its node."""
    images = {one.name: one.container for one in recipe.services}
    for one in found:
        if not one.starts:
            continue
        service = SERVICES[one.name]
        yield Step(
            name=one.name,
            kind="service",
            node=deployment.infra,
            command=service.command(deployment.infra, deployment.binding, one.options),
            probe=service.probe(),
            image=_image(images.get(one.name) or recipe.model.container, cluster),
            srun_options={**cluster.srun_options, **recipe.srun_options},
            log=f"service_{one.name}.out",
        )


def worker_steps(
    recipe: Recipe, cluster: Cluster, roles: list[Role], deployment: Deployment
) -> Iterator[Step]:
    """A step a process; of an engine whose ranks one launch starts, a step a worker."""
    by_mode = {role.mode: role for role in roles}
    for process in deployment.processes:
        role = by_mode[process.mode]
        ranks = deployment.ranks(process)
        if role.engine.one_step and not process.is_leader:
            continue
        whole = role.engine.one_step
        srun = {**cluster.srun_options, **role.engine.step_options}
        if whole and uneven(ranks):
            # Tasks then go to the nodes in the order of ranks, as many as each has GPUs.
            srun["distribution"] = "arbitrary"
        yield Step(
            name=step_name(process),
            kind="worker",
            mode=process.mode,
            index=process.index,
            rank=process.rank,
            node=process.node,
            nodes=process.worker_nodes if whole and len(process.worker_nodes) > 1 else (),
            tasks=sum(len(rank.gpus) for rank in ranks) if whole else 1,
            gpus=process.gpus,
            command=_worker_command(recipe, cluster, role, process, deployment),
            probe=role.engine.probe(process, role.options, deployment),
            critical=role.critical,
            image=_image(role.container, cluster),
            srun_options={**srun, **recipe.srun_options, **role.srun_options},
            log=_worker_log(process, deployment),
        )


def _worker_command(
    recipe: Recipe, cluster: Cluster, role: Role, process: ProcessPlace, deployment: Deployment
) -> Command:
    """The engine's command; the user's environment wins over its defaults, and the plan's ports over both."""
    said = {**cluster.environment, **role.env, **recipe.environment}
    devices = _devices(role, process, deployment)
    if role.framework_args is not None:
        words = role.framework_args
        if flag(words, "--served-model-name") is None:
            words = (*role.engine.replica_name(deployment.served_model), *words)
        command = role.engine.replica(process, words, role.options, deployment)
        command = around(command, role, process, deployment, cluster)
        return command.model_copy(update={"env": {**command.env, **said, **devices}})
    spec = WorkerSpec(role.args, role.options, role.extra_args, role.kv_events)
    command = role.engine.command(process, spec, deployment)
    head = {"HEAD_NODE_IP": deployment.address(deployment.head)}
    command = command.model_copy(update={"env": {**head, **command.env, **said}})
    command = profiled(command, recipe.profiling, role.engine, process, deployment)
    env = {**command.env, **devices, **role.engine.environment(process, spec, deployment)}
    return command.model_copy(update={"env": env})


def _devices(role: Role, process: ProcessPlace, deployment: Deployment) -> dict[str, str]:
    """The variable of visible GPUs, where a process has not all of its node and is not told otherwise."""
    # Where one launch has different GPUs on each node, the command sorts that out by itself.
    sorts = role.engine.one_step and uneven(deployment.ranks(process))
    if sorts or role.engine.pins_devices(role.options) or len(process.gpus) >= deployment.gpus_per_node:
        return {}
    return {deployment.visible_devices: ",".join(map(str, process.gpus))}


def _worker_log(process: ProcessPlace, deployment: Deployment) -> str:
    """`<host>_<mode>_w<i>.out`; further processes of the worker on the same node add their rank."""
    twins = [p for p in deployment.ranks(process) if p.node == process.node]
    rank = f"_r{process.rank}" if len(twins) > 1 else ""
    return f"{{host}}_{process.mode}_w{process.index}{rank}.out"


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
            srun_options={**srun, "container-remap-root": ""},
            log="{host}_nginx.out",
        )
    needed = {key: value for role in roles for key, value in role.engine.frontend_step_options.items()}
    said = {**cluster.environment, **recipe.environment, **section.env}
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
            command=command.model_copy(update={"argv": argv, "env": {**command.env, **said}}),
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


def flag(words: tuple[str, ...], name: str) -> str | None:
    """The value of a flag in a command line, in either form."""
    for at, word in enumerate(words):
        if word.startswith(f"{name}="):
            return word.partition("=")[2]
        if word == name and at + 1 < len(words):
            return words[at + 1]
    return None

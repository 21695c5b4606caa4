"""Where each service stands, and the step of each of its instances."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from servesweep.plan.layout import Layout
from servesweep.plan.plan import PlannedService, Step
from servesweep.plan.services import DISCOVERY, Wanted
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.problems import Problem, RecipeError
from servesweep.recipe.recipe import Recipe
from servesweep.recipe.services import ServiceReadiness, Start
from servesweep.recipe.variants import Variant
from servesweep.services.instance import Instance
from servesweep.services.mooncake_master import master_environment
from servesweep.services.placeholders import fill, misspelt
from servesweep.services.service import SharedService
from servesweep.topology.deployment import Binding, Command, Deployment, Probe, Readiness, changed
from servesweep.topology.ports import MOONCAKE_METADATA


@dataclass(frozen=True)
class Placed:
    """A service and the nodes of its instances, in order; none where it runs elsewhere."""

    wanted: Wanted
    nodes: tuple[str, ...]

    @property
    def name(self) -> str:
        """Its name."""
        return self.wanted.section.name

    def url(self, binding: Binding) -> str | None:
        """Where others find it; None for services that nobody looks for."""
        kind = self.wanted.kind
        if not isinstance(kind, SharedService):
            return None
        return self.wanted.url_elsewhere or kind.url(self.nodes[0], binding)


def placed_services(services: Sequence[Wanted], layout: Layout) -> list[Placed]:
    """Say for each service on which nodes it stands."""
    return [Placed(one, standing(one, layout)) for one in services]


def standing(service: Wanted, layout: Layout) -> tuple[str, ...]:
    """The symbolic nodes that carry an instance of a service, in order of allocation."""
    carving, seats, place = layout.carving, layout.seats, service.place
    if service.section.external is not None:
        return ()
    if service.pool is not None:
        return carving.pools[service.pool]
    if place == "all":
        return carving.nodes
    if place in ("head", "infra", "dedicated"):
        return (seats.head if place == "head" else seats.infra,)
    every = place in ("workers", "compute")
    carrying = {node for w in layout.workers if every or w.mode == place for node in w.nodes}
    if place == "compute":
        carrying |= {node for pool in carving.pools.values() for node in pool}
    return tuple(node for node in carving.nodes if node in carrying)


def planned(services: Sequence[Placed]) -> tuple[PlannedService, ...]:
    """The services as the plan lists them."""
    return tuple(
        PlannedService(
            name=one.name,
            type=one.wanted.section.type,
            implied=one.wanted.index is None,
            nodes=one.wanted.section.nodes or 0,
            place=one.wanted.pool or one.wanted.place,
            on=one.nodes,
            external=one.wanted.section.external,
        )
        for one in services
    )


def discovery_of(services: Sequence[Placed], binding: Binding) -> dict[str, str]:
    """Environment that names the discovery plane."""
    found: dict[str, str] = {}
    for one in services:
        url, kind = one.url(binding), one.wanted.kind
        if url is not None and isinstance(kind, SharedService):
            found |= kind.discovery(url)
    return found


def stores_of(services: Sequence[Placed], binding: Binding) -> dict[str, str]:
    """Environment that names the Mooncake master."""
    masters = [one for one in services if one.wanted.section.type == "mooncake-master"]
    if not masters:
        return {}
    place = masters[0].nodes[:1]
    metadata = binding.port(place[0], MOONCAKE_METADATA) if place else MOONCAKE_METADATA
    return master_environment(masters[0].url(binding) or "", metadata)


def instances(service: Placed, deployment: Deployment) -> list[Instance]:
    """One a node, or one a worker process that stands on its nodes."""
    wanted = service.wanted
    role = wanted.place if wanted.section.nodes or not wanted.pool else wanted.pool

    def made(node: str, index: int) -> Instance:
        return Instance(deployment, service.name, node, index, service.nodes, role)

    if wanted.per == "node":
        return [made(node, index) for index, node in enumerate(service.nodes)]
    modes = (wanted.place,) if wanted.place != "workers" else ("prefill", "decode", "agg")
    attached = [process for process in deployment.processes if process.mode in modes]
    return [
        Instance(deployment, service.name, process.node, index, service.nodes, role, process)
        for index, process in enumerate(attached)
    ]


def service_steps(
    recipe: Recipe, cluster: Cluster, services: Sequence[Placed], deployment: Deployment, variant: Variant
) -> list[Step]:
    """The step of each instance, in the order of start within a phase.

    Raises:
        RecipeError: for placeholders that are nearly one.
    """
    problems = [p for one in services for p in _misspelt(one, deployment, variant)]
    if problems:
        raise RecipeError(dict.fromkeys(problems))
    images = {one.name: one.wanted.section.container for one in services}
    images |= {one.wanted.section.type: one.wanted.section.container for one in services}
    return [
        _step(recipe, cluster, one, instance, images, variant)
        for one in services
        for instance in instances(one, deployment)
    ]


def in_order(services: Sequence[Step], workers: Sequence[Step], frontends: Sequence[Step]) -> list[Step]:
    """All steps in the order of their start."""
    phases = {start: [step for step in services if step.start == start] for start in get_args(Start)}
    last = phases.pop("after_frontend")
    return [*(step for steps in phases.values() for step in steps), *workers, *frontends, *last]


def _step(
    recipe: Recipe,
    cluster: Cluster,
    service: Placed,
    instance: Instance,
    images: dict[str, str | None],
    variant: Variant,
) -> Step:
    wanted = service.wanted
    section, kind, options = wanted.section, wanted.kind, wanted.options(variant)
    readiness = kind.readiness(instance, options)
    if section.readiness is not None:
        readiness = _readiness(section.readiness, instance, _moved(wanted, instance, variant))
    image = section.container or images.get(kind.image_of or "") or kind.image
    image = image or (None if kind.bare else recipe.model.container)
    pinned = {"cpus-per-task": section.cpus_per_task, "cpu-bind": section.cpu_bind}
    own = {key: str(value) for key, value in pinned.items() if value is not None}
    return Step(
        name=instance.step,
        kind="service",
        service=service.name,
        index=instance.index,
        node=instance.node,
        gpus=instance.worker.gpus if instance.worker else (),
        command=_command(cluster, wanted, instance, variant),
        probe=readiness.probes[0]
        if readiness and readiness.probes and not readiness.probes[0].node
        else None,
        readiness=readiness,
        start=wanted.start,
        critical=wanted.critical,
        terminal=section.terminal,
        image=None
        if image is None or cluster.container_runtime == "none"
        else cluster.containers.get(image, image),
        srun_options={
            **cluster.srun_options,
            **recipe.srun_options,
            **kind.srun_options,
            **own,
            **section.srun_options,
        },
        log=instance.log,
    )


def _command(cluster: Cluster, wanted: Wanted, instance: Instance, variant: Variant) -> Command:
    """The type's command or the recipe's, with everything around it."""
    section, kind, place = wanted.section, wanted.kind, instance.deployment
    texts = section.command or section.args or section.env or section.preamble
    known = instance.placeholders() if texts else {}
    if section.command:
        argv = tuple(fill(word, known) for word in section.command)
        command = Command(argv=argv, env=kind.command(instance, wanted.options(variant)).env)
    else:
        command = kind.command(instance, wanted.options(variant))
    argv = (*command.argv, *(fill(word, known) for word in section.args))
    if section.preamble:
        # The words of the command stay words: the script gets them as its arguments.
        argv = ("bash", "-c", f'set -e\n{fill(section.preamble.rstrip(), known)}\nexec "$0" "$@"', *argv)
    told = place.discovery if section.inherit_discovery_env and section.type not in DISCOVERY else {}
    worker = instance.worker
    devices = {place.visible_devices: ",".join(map(str, worker.gpus))} if worker else {}
    env = {
        **told,
        **command.env,
        **cluster.environment,
        **{name: fill(value, known) for name, value in section.env.items()},
        **devices,
        **kind.owned_environment(instance),
    }
    return changed(command, argv=argv, env=env)


def _moved(wanted: Wanted, instance: Instance, variant: Variant) -> dict[int, int]:
    """The type's own ports to where they lie on a node that other jobs share: a recipe names the usual ones.

    What a recipe's own command listens on stays as it is written.
    """
    place = instance.deployment
    if wanted.section.command or not place.binding.windows:
        return {}
    usual = replace(instance, deployment=replace(place, binding=replace(place.binding, windows={})))
    options = wanted.options(variant)
    ports = (wanted.kind.ports(one, options) for one in (usual, instance))
    return dict(zip(*ports, strict=True))


def _readiness(said: ServiceReadiness, instance: Instance, moved: Mapping[int, int]) -> Readiness:
    """The recipe's way of asking."""
    port = said.port or (said.tcp.port if said.tcp else None)
    probes = (Probe(kind="tcp", port=moved.get(port, port)),) if port else ()
    if said.http is not None:
        asked = said.http
        probes = (
            Probe(kind="http", port=moved.get(asked.port, asked.port), path=asked.path, status=asked.status),
        )
    file = fill(said.file.path, instance.placeholders()) if said.file else None
    if file is not None and not file.startswith("/"):
        file = f"{instance.deployment.binding.logs}/{file}"
    return Readiness(
        probes=probes,
        log=said.log.pattern if said.log else None,
        file=file,
        timeout_seconds=said.timeout_seconds,
        interval_seconds=said.interval_seconds,
    )


def _misspelt(service: Placed, deployment: Deployment, variant: Variant) -> Iterator[Problem]:
    """What is nearly a placeholder, in the texts in which placeholders are filled."""
    wanted = service.wanted
    section, found = wanted.section, instances(service, deployment)
    if wanted.index is None or not found:
        return
    known = found[0].placeholders()
    texts: list[tuple[tuple[str | int, ...], str]] = []
    texts += [(("command", at), word) for at, word in enumerate(section.command)]
    texts += [(("args", at), word) for at, word in enumerate(section.args)]
    texts += [(("env", name), value) for name, value in section.env.items()]
    texts += [(("preamble",), section.preamble)] if section.preamble else []
    if section.readiness is not None and section.readiness.file is not None:
        texts.append((("readiness", "file"), section.readiness.file.path))
    for key, text in texts:
        if sentence := misspelt(text, known):
            yield variant.problem((*wanted.path, *key), sentence)

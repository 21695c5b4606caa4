"""No port of an address for two things, where one of them is a service."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from servesweep.plan.service_steps import Placed, instances
from servesweep.recipe.problems import Problem
from servesweep.recipe.variants import Variant
from servesweep.services.instance import Instance
from servesweep.topology.deployment import Deployment, step_name

PORTS = ("http_port", "bootstrap_port", "system_port", "kv_events_port", "nixl_port", "nccl_port")


def port_problems(
    services: Sequence[Placed], deployment: Deployment, address_of: Callable[[str], str], variant: Variant
) -> list[Problem]:
    """What two services, or a service and the deployment, want both.

    `address_of` says which nodes are one host to the network.
    """
    problems = []
    owners = {(address_of(node), port): owner for node, port, owner in _deployment_ports(deployment)}
    for service in services:
        for instance in instances(service, deployment):
            for port in _ports(service, instance, variant):
                address = address_of(instance.node)
                owner = owners.setdefault((address, port), instance.step)
                if owner != instance.step:
                    message = f"{instance.step} and {owner} both listen on port {port} of {address}"
                    problems.append(variant.problem(service.wanted.path, message))
    return problems


def _ports(service: Placed, instance: Instance, variant: Variant) -> set[int]:
    """The type's own ports, those at which the recipe asks whether it is ready, and those of its metrics."""
    wanted = service.wanted
    ports = set() if wanted.section.command else {*wanted.kind.ports(instance, wanted.options(variant))}
    asked = wanted.section.readiness
    if asked is not None:
        said = (asked.port, asked.tcp and asked.tcp.port, asked.http and asked.http.port)
        ports |= {port for port in said if port}
    first = instance.index == 0
    return ports | {one.port for one in wanted.section.metrics if one.nodes == "all" or first}


def _deployment_ports(deployment: Deployment) -> Iterator[tuple[str, int, str]]:
    for process in deployment.processes:
        for name in PORTS:
            port = getattr(process, name)
            if port is not None:
                yield process.node, port, step_name(process)
    if deployment.processes:
        for one in deployment.frontends:
            yield one.node, one.port, "a frontend"
        yield deployment.frontend, deployment.public_port, "the public API"

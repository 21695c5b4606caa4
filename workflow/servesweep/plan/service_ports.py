"""No port of an address for two things, where one of them is a service."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from servesweep.plan.port_claims import Claim
from servesweep.plan.service_steps import Placed, instances
from servesweep.recipe.problems import Problem
from servesweep.recipe.variants import Variant
from servesweep.services.instance import Instance
from servesweep.topology.deployment import Deployment


def port_problems(
    services: Sequence[Placed],
    taken: Callable[[], Iterable[Claim]],
    deployment: Deployment,
    address_of: Callable[[str], str],
    variant: Variant,
) -> list[Problem]:
    """What two services, or a service and the deployment, want both.

    `taken` gives the deployment's ports; `address_of` says which nodes are one host to the network.
    """
    wanted = [
        (address_of(instance.node), port, instance.step, service)
        for service in services
        for instance in instances(service, deployment)
        for port in _ports(service, instance, variant)
    ]
    if not wanted:
        return []
    few = {port for _, port, _, _ in wanted}
    owners = {
        (address_of(one.node), port): one.owner
        for one in taken()
        for port in few
        if one.first <= port < one.first + one.many
    }
    problems = []
    for address, port, step, service in wanted:
        owner = owners.setdefault((address, port), step)
        if owner != step:
            message = f"{step} and {owner} both listen on port {port} of {address}"
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

"""Who listens where: every port of workers and frontends, with those that only an engine knows of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from servesweep.plan.roles import Role
from servesweep.plan.steps import spec_of
from servesweep.recipe.problems import Problem
from servesweep.recipe.recipe import Recipe
from servesweep.recipe.variants import Variant
from servesweep.topology.deployment import Deployment, step_name
from servesweep.topology.ports import HIGHEST, OPENTELA, VLLM
from servesweep.topology.shapes import ProcessPlace


class Claim(NamedTuple):
    """`many` ports from `first` on, on a node."""

    node: str
    first: int
    many: int
    owner: str


def claims(
    own: Iterable[Claim], recipe: Recipe, roles: Sequence[Role], deployment: Deployment
) -> list[Claim]:
    """Every port of the deployment but those of services; `own` are those of its processes."""
    found = [*own, *further_claims(recipe, roles, deployment)]
    if deployment.processes:
        # Where a worker or a frontend is public itself, its port is the public one.
        taken = {(one.node, one.first) for one in found}
        public = Claim(deployment.frontend, deployment.public_port, 1, "the public API")
        others = [Claim(one.node, one.port, 1, "a frontend") for one in deployment.frontends]
        for one in (public, *others):
            if (one.node, one.first) not in taken:
                taken.add((one.node, one.first))
                found.append(one)
    return found


def further_claims(recipe: Recipe, roles: Sequence[Role], deployment: Deployment) -> list[Claim]:
    """The ports that engines take beside those of their processes' places."""
    found = []
    for role in roles:
        spec, replica = spec_of(recipe, role), role.framework_args is not None
        for process in (one for one in deployment.processes if one.mode == role.mode):
            for first, count in role.engine.further_ports(process, spec, deployment, replica=replica):
                found.append(Claim(process.node, first, count, step_name(process)))
            if role.opentela and process.is_leader:
                owner = f"OpenTela around {step_name(process)}"
                found += [Claim(process.node, port, 1, owner) for port in OPENTELA]
    return found


def process_problems(
    own: Iterable[Claim],
    recipe: Recipe,
    roles: Sequence[Role],
    deployment: Deployment,
    address_of: Callable[[str], str],
    variant: Variant,
) -> Iterator[Problem]:
    """Yield ports that two processes want both, or that are none, where an engine takes further ones."""
    if not further_claims(recipe, roles, deployment):
        return  # The others were counted out without meeting.
    at = ("roles",) if recipe.roles else ("replicas",)
    every = {(address_of(one.node), one) for one in claims(own, recipe, roles, deployment)}
    for _, one in every:
        if one.first + one.many - 1 > HIGHEST:
            yield variant.problem(at, f"{one.owner} would listen on port {one.first}, beyond {HIGHEST}")
    for (address, one), (other_address, other) in pairwise(sorted(every, key=lambda c: (c[0], c[1][1:]))):
        if address == other_address and one.owner != other.owner and one.first + one.many > other.first:
            message = f"{one.owner} and {other.owner} both listen on port {other.first} of {address}"
            yield variant.problem(at, message)


def of_place(process: ProcessPlace) -> list[Claim]:
    """The ports of one process."""
    node, owner, ranks = process.node, step_name(process), process.data_parallel_ranks
    own = (
        (process.http_port, 1),
        (process.system_port, 1),
        (process.kv_events_port, ranks),
        # vLLM adds the rank to the base that all processes of a worker share.
        (process.nixl_port + (process.rank if ranks > 1 else 0), ranks),
        (process.nccl_port, 1),
        (process.vllm_port, VLLM.stride if len(process.worker_nodes) == 1 else 0),
    )
    found = [Claim(node, port, count, owner) for port, count in own if port and count]
    if process.is_leader:
        of_worker = (process.bootstrap_port, process.dp_rpc_port, process.dist_init_port)
        found += [Claim(process.leader, port, 1, owner) for port in of_worker if port]
    return found

"""From roles to placed processes: nodes, GPUs and ports of one configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from servesweep.frontends import FRONTENDS
from servesweep.frontends.frontend import Frontend
from servesweep.plan.port_claims import Claim, of_place
from servesweep.plan.replicas import reserve_opentela
from servesweep.plan.roles import Role
from servesweep.plan.services import discovery_spot, pools
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.frontend import FrontendSection
from servesweep.recipe.problems import RecipeError
from servesweep.recipe.recipe import Recipe
from servesweep.recipe.variants import Variant
from servesweep.topology.layout_notes import layout_notes
from servesweep.topology.packing import DoesNotFitError, PackingError, colocated_nodes, pack
from servesweep.topology.placement import (
    BenchmarkSpot,
    Carving,
    DiscoverySpot,
    FrontendSpot,
    PlacementError,
    Seats,
    carve,
    seat,
)
from servesweep.topology.port_book import NO_WINDOWS, PortBook, own_address
from servesweep.topology.ports import REPLICA_HTTP, PortBlock, PortError
from servesweep.topology.processes import Parallelism, processes
from servesweep.topology.shapes import Mode, ProcessPlace, RoleShape, WorkerPlace, reserved_nodes
from servesweep.topology.standby import standbys


@dataclass(frozen=True)
class Layout:
    """Who stands where."""

    carving: Carving
    seats: Seats
    workers: tuple[WorkerPlace, ...]
    processes: tuple[ProcessPlace, ...]
    notes: tuple[str, ...]
    standbys: tuple[ProcessPlace, ...] = ()

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """The ports of the processes, and of those that stand by."""
        return tuple(one for process in (*self.processes, *self.standbys) for one in of_place(process))


class _Facts(NamedTuple):
    """All that decides about a layout."""

    shapes: tuple[RoleShape, ...]
    pools: tuple[tuple[str, int], ...]
    frontend: FrontendSpot
    benchmark: BenchmarkSpot
    discovery: DiscoverySpot
    gpus_per_node: int
    spread: bool
    colocate: bool
    exact: bool
    opentela: bool
    launcher: str
    http: PortBlock
    data_parallel: tuple[tuple[Mode, Parallelism], ...]
    counts: tuple[tuple[Mode, int], ...]
    windows: tuple[tuple[str, int], ...]


def lay_out(
    recipe: Recipe,
    frontend: FrontendSection,
    roles: list[Role],
    gpus_per_node: int,
    cluster: Cluster,
    variant: Variant,
    windows: Mapping[str, int] = NO_WINDOWS,
) -> Layout:
    """Place every process; `windows` are those of nodes that other jobs share.

    Raises:
        RecipeError: where workers do not fit, or a component has no node to stand on.
    """
    try:
        return _laid_out(
            _Facts(
                shapes=tuple(role.shape for role in roles),
                pools=tuple(pools(recipe).items()),
                frontend=frontend.placement.node,
                benchmark=recipe.benchmark.placement.node,
                discovery=discovery_spot(recipe),
                gpus_per_node=gpus_per_node,
                spread=recipe.resources.spread_workers,
                colocate=colocates(roles, gpus_per_node),
                exact=all(role.engine.exact_packing for role in roles),
                opentela=recipe.router == "opentela",
                launcher=cluster.launcher,
                http=REPLICA_HTTP
                if recipe.replicas
                else FRONTENDS[frontend.type].worker_ports(_modes(roles)),
                data_parallel=tuple(_parallelism(roles, FRONTENDS[frontend.type], variant).items()),
                counts=tuple((role.mode, role.engine.standbys(role.options)) for role in roles),
                windows=tuple(windows.items()),
            )
        )
    except DoesNotFitError as error:
        key = ("roles", error.mode, "nodes") if recipe.roles else ("replicas",)
        raise RecipeError([variant.problem(key, str(error))]) from None
    except (PackingError, PortError) as error:
        key = ("roles",) if recipe.roles else ("replicas",)
        raise RecipeError([variant.problem(key, str(error))]) from None
    except PlacementError as error:
        where, _, sentence = str(error).partition(": ")
        raise RecipeError([variant.problem(tuple(where.split(".")), sentence)]) from None


# The variants of a sweep, and many recipes, place the same workers.
@lru_cache(maxsize=256)
def _laid_out(facts: _Facts) -> Layout:
    carving = carve(
        _role_nodes(facts),
        dict(facts.pools),
        frontend=facts.frontend,
        benchmark=facts.benchmark,
        discovery=facts.discovery,
    )
    workers = pack(
        facts.shapes,
        carving.roles,
        facts.gpus_per_node,
        spread=facts.spread,
        colocate=facts.colocate,
        exact=facts.exact,
    )
    seats = seat(carving, workers, frontend=facts.frontend, benchmark=facts.benchmark)
    book = PortBook(address_of(facts.launcher), dict(facts.windows))
    if facts.opentela:
        reserve_opentela(book, workers)
    placed = processes(workers, book=book, http=facts.http, data_parallel=dict(facts.data_parallel))
    waiting = standbys(placed, dict(facts.counts), book) if any(count for _, count in facts.counts) else ()
    return Layout(
        carving, seats, workers, placed, layout_notes(facts.shapes, workers, carving.roles), waiting
    )


def _modes(roles: list[Role]) -> frozenset[Mode]:
    return frozenset(role.mode for role in roles)


def colocates(roles: list[Role], gpus_per_node: int) -> bool:
    """Whether the one engine of all roles packs prefill and decode together, as each role allows."""
    shapes = [role.shape for role in roles]
    one = len({role.engine.name for role in roles}) == 1
    return one and all(role.engine.colocates(shapes, gpus_per_node, role.options) for role in roles)


def _role_nodes(facts: _Facts) -> int:
    """Nodes of all roles: what they reserve, or what they fill where they are packed together."""
    if facts.colocate:
        return colocated_nodes(facts.shapes, facts.gpus_per_node, spread=facts.spread)
    return reserved_nodes(facts.shapes)


def _parallelism(roles: list[Role], frontend: Frontend, variant: Variant) -> dict[Mode, Parallelism]:
    found: dict[Mode, Parallelism] = {}
    for role in roles:
        try:
            parallel = role.engine.parallelism(role.args, role.options)
        except ValueError as error:
            raise RecipeError([variant.problem((*role.path, "args"), str(error))]) from None
        if parallel.per_gpu and parallel.data > 1 and frontend.transport != "dynamo":
            message = "a process a rank is known to Dynamo alone, and one a node serves HTTP: use per_node"
            raise RecipeError([variant.problem(("engine", "dp_launch_mode"), message)])
        found[role.mode] = parallel
    return found


def frontend_nodes(layout: Layout, frontend: FrontendSection, cluster: Cluster) -> tuple[str, ...]:
    """Nodes of the frontends behind nginx; none where one frontend stands alone on the public port.

    As in srt-slurm: with several worker nodes nginx takes the frontend's seat, and frontends stand on the
    further ones, as many as the recipe allows. Bare, nginx must be installed on the nodes, so there the
    recipe asks for it; one machine has one frontend.
    """
    wanted = frontend.enable_multiple_frontends
    if wanted is None:
        wanted = cluster.container_runtime == "pyxis"
    if not (wanted and FRONTENDS[frontend.type].scales and cluster.launcher == "slurm"):
        return ()
    others = [node for node in layout.carving.roles if node != layout.seats.frontend]
    return tuple(others[: 1 + frontend.num_additional_frontends])


def address_of(launcher: str) -> Callable[[str], str]:
    """On one machine all nodes share an address, so that their ports must differ."""
    return own_address if launcher == "slurm" else lambda node: "localhost"


def node_map(layout: Layout, steps: list[tuple[str, str]]) -> dict[str, list[str]]:
    """Node to what it holds: the head, the client, and the (node, process) pairs."""
    holds: dict[str, list[str]] = {node: [] for node in layout.carving.nodes}
    holds[layout.seats.head].append("head")
    # A service may have several instances on a node, and stands there once.
    for node, name in dict.fromkeys(steps):
        holds[node].append(name)
    holds[layout.seats.client].append("client")
    return holds

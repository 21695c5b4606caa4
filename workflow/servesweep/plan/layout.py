"""From roles to placed processes: nodes, GPUs and ports of one configuration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from servesweep.plan.roles import Role
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.frontend import FrontendSection
from servesweep.recipe.problems import RecipeError
from servesweep.recipe.recipe import Recipe
from servesweep.recipe.variants import Variant
from servesweep.topology.packing import DoesNotFitError, PackingError, layout_notes, pack
from servesweep.topology.placement import Carving, PlacementError, Seats, carve, seat
from servesweep.topology.ports import REPLICA_HTTP, WORKER_HTTP, PortBook, PortError, own_address
from servesweep.topology.processes import processes
from servesweep.topology.shapes import ProcessPlace, WorkerPlace, reserved_nodes


@dataclass(frozen=True)
class Layout:
    """Who stands where."""

    carving: Carving
    seats: Seats
    workers: tuple[WorkerPlace, ...]
    processes: tuple[ProcessPlace, ...]
    notes: tuple[str, ...]


def lay_out(
    recipe: Recipe,
    frontend: FrontendSection,
    roles: list[Role],
    gpus_per_node: int,
    cluster: Cluster,
    variant: Variant,
) -> Layout:
    """Place every process.

    Raises:
        RecipeError: where workers do not fit, or a component has no node to stand on.
    """
    shapes = [role.shape for role in roles]
    spots = {"frontend": frontend.placement.node, "benchmark": recipe.benchmark.placement.node}
    try:
        carving = carve(reserved_nodes(shapes), frontend=spots["frontend"], benchmark=spots["benchmark"])  # type: ignore[arg-type]
        workers = pack(shapes, carving.roles, gpus_per_node, spread=recipe.resources.spread_workers)
        seats = seat(carving, workers, frontend=spots["frontend"], benchmark=spots["benchmark"])  # type: ignore[arg-type]
        book = PortBook(address_of(cluster))
        http = REPLICA_HTTP if recipe.replicas else WORKER_HTTP
        placed = processes(workers, book=book, http=http)
    except DoesNotFitError as error:
        raise RecipeError([variant.problem(("roles", error.mode, "nodes"), str(error))]) from None
    except (PackingError, PortError) as error:
        key = ("roles",) if recipe.roles else ("replicas",)
        raise RecipeError([variant.problem(key, str(error))]) from None
    except PlacementError as error:
        where, _, sentence = str(error).partition(": ")
        raise RecipeError([variant.problem(tuple(where.split(".")), sentence)]) from None
    return Layout(carving, seats, workers, placed, layout_notes(shapes, workers, carving.roles))


def address_of(cluster: Cluster) -> Callable[[str], str]:
    """On one machine all nodes share an address, so that their ports must differ."""
    return own_address if cluster.launcher == "slurm" else lambda node: "localhost"


def node_map(layout: Layout, steps: list[tuple[str, str]]) -> dict[str, list[str]]:
    """Node to what it holds: the head, the client, and the (node, step) pairs."""
    holds: dict[str, list[str]] = {node: [] for node in layout.carving.nodes}
    holds[layout.seats.head].append("head")
    for node, name in steps:
        holds[node].append(name)
    holds[layout.seats.client].append("client")
    return holds

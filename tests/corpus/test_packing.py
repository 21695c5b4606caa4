"""Packing and ports against the reference's answers for 6,612 synthetic calls and 392 real recipes.

Every deliberate difference from the reference is in this one place:

1. `kv_events`: ours start at 5550 and count processes with an endpoint of their own (worker leaders, and
   every process of vLLM's data parallelism by node), in order; the reference starts at 5200 and counts every
   process. `renumbered` gives the reference's processes the ports that this rule asks for, with the
   reference's own block sizes.
2. A follower's HTTP port is None here and 0 there.
3. One dedicated node each: the reference's rows have at most one dedicated component, so they agree.
4. A whole-node worker never begins on a partly used node: the corpus leaves such rows out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from comparing.placement import seen

from servesweep.topology.packing import DoesNotFitError, pack, vllm_colocates
from servesweep.topology.placement import carve, seat
from servesweep.topology.processes import Parallelism, processes
from servesweep.topology.shapes import MODES, Mode, ProcessPlace, RoleShape, WorkerPlace

Row = dict[str, Any]

Rows = Callable[[str], list[Row]]


def shapes(row: Row) -> list[RoleShape]:
    """Roles of a row; the grid knows no nodes by role, and packing does not use them."""
    return [
        RoleShape(mode, row.get(f"{mode}_nodes") or 1, row[f"num_{mode}"], row[f"gpus_per_{mode}"])
        for mode in MODES
        if row[f"num_{mode}"]
    ]


def renumbered(reference: list[Row]) -> list[Row]:
    """Apply the differences above to the reference's processes."""
    kv_events = [process["kv_events_port"] for process in reference]
    widths = [after - before for before, after in pairwise(kv_events)] + [1]
    port, result = 5550, []
    for process, width in zip(reference, widths, strict=True):
        serves = process["http_port"] != 0
        changed = {"http_port": process["http_port"] or None, "kv_events_port": port if serves else None}
        result.append({**process, **changed})
        port += width if serves else 0
    return result


KEYS = tuple(seen(ProcessPlace("agg", 0, 0, "", (), ("",), 0, 0, 0, 0)))
GRID_ORDER = [
    "mode",
    "index",
    "node",
    "node_rank",
    "gpu_indices",
    "sys_port",
    "http_port",
    "bootstrap_port",
    "kv_events_port",
    "nixl_port",
]


def endpoint(worker: WorkerPlace) -> list[Any]:
    return [worker.mode, worker.index, list(worker.nodes), list(worker.places[0].gpus)]


def grid_processes(row: Row) -> list[Row]:
    return [
        {**dict(zip(GRID_ORDER, values, strict=True)), "dp_rpc_port": None} for values in row["processes"]
    ]


def test_grid(rows: Rows) -> None:
    outcome: Counter[str] = Counter()
    for row in rows("packing_grid.jsonl.gz"):
        call = row["in"]
        options = {
            "spread": call["spread_workers"],
            "colocate": call.get("allow_prefill_decode_colocation", False),
        }
        nodes = [f"n{number}" for number in range(row["nodes"])]
        if row.get("error") == "does not fit":
            with pytest.raises(DoesNotFitError) as caught:
                pack(shapes(call), nodes, call["gpus_per_node"], **options)
            assert caught.value.nodes_needed > row["nodes"], row
            outcome["refused"] += 1
            continue
        workers = pack(shapes(call), nodes, call["gpus_per_node"], **options)
        assert [endpoint(worker) for worker in workers] == row["endpoints"], row
        assert [seen(process) for process in processes(workers)] == renumbered(grid_processes(row)), row
        outcome["placed"] += 1
    print(f"\npacking: {outcome.total()} of {2825 + 3787} calls equal, {dict(outcome)}")
    assert outcome == {"placed": 2825, "refused": 3787}


def variants(rows: Rows) -> Iterator[tuple[str, Row]]:
    for row in rows("placement.jsonl.gz"):
        for variant in row["variants"]:
            yield f"{row['recipe']} {variant['suffix']}", variant


def parallelism(variant: Row) -> dict[Mode, Parallelism]:
    found: dict[Mode, Parallelism] = {}
    for mode, sizes in variant.get("parallel", {}).items():
        found[mode] = Parallelism(sizes["dp"] or 1, sizes["tp"], sizes["pp"])
    return found


def test_recipes(rows: Rows) -> None:
    outcome: Counter[str] = Counter()
    for name, variant in variants(rows):
        placement = variant["placement"]
        dedicated = placement["nodes"]["infra"] not in placement["nodes"]["worker"]
        roles = shapes(variant)
        carving = carve(variant["total_nodes"], discovery="dedicated" if dedicated else "head")
        workers = pack(
            roles,
            carving.roles,
            variant["gpus_per_node"],
            spread=variant["spread_workers"],
            colocate=variant["decode_nodes"] == 0 or vllm_colocates(roles, variant["gpus_per_node"]),
        )
        seats = seat(carving, workers)
        placed = processes(workers, data_parallel=parallelism(variant))

        assert len(carving.nodes) == placement["sbatch_nodes"], name
        assert list(carving.roles) == placement["nodes"]["worker"], name
        expected = placement["nodes"]["head"], placement["nodes"]["bench"], placement["nodes"]["infra"]
        assert (seats.head, seats.client, seats.infra) == expected, name
        assert [endpoint(worker) for worker in workers] == [
            [e["mode"], e["index"], e["nodes"], e["gpu_indices"]] for e in placement["endpoints"]
        ], name
        assert [worker.gpu_count for worker in workers] == [
            e["total_gpus"] for e in placement["endpoints"]
        ], name
        reference = renumbered(placement["processes"])
        assert [seen(p) for p in placed] == [{key: p[key] for key in KEYS} for p in reference], name
        outcome["data-parallel by node" if any(p.dp_rpc_port for p in placed) else "plain"] += 1
    assert outcome == {"plain": 487, "data-parallel by node": 5}


def test_exact_packing_agrees_where_workers_fill_their_nodes(rows: Rows) -> None:
    """No real TRT-LLM worker ends in the middle of a node, so both strategies place them alike."""
    compared = 0
    for name, variant in variants(rows):
        if variant["backend"] != "trtllm":
            continue
        nodes = carve(variant["total_nodes"]).roles
        workers = pack(shapes(variant), nodes, variant["gpus_per_node"], exact=True)
        assert workers == pack(shapes(variant), nodes, variant["gpus_per_node"]), name
        compared += 1
    assert compared == 239

"""Node map, GPUs, ports and computed properties of a plan that was made from the recipe."""

from __future__ import annotations

from dataclasses import asdict
from itertools import pairwise
from typing import Any

from comparing.case import Case, Row

from servesweep.topology.shapes import ProcessPlace

PROPERTIES = (
    "is_disaggregated", "total_nodes", "gpus_per_node", "num_prefill", "num_decode", "num_agg",
    "prefill_gpus", "decode_gpus",
)  # fmt: skip


def compare_map(case: Case) -> None:
    """Which nodes there are and what stands where; the properties that tables and clients compute with."""
    plan, placed = case.plan, case.placed["placement"]
    topology = asdict(plan.topology)
    nodes = placed["nodes"]
    active = [mode for mode in ("prefill", "decode", "agg") if case.placed[f"num_{mode}"]]
    theirs = {**case.placed}
    if nodes["infra"] not in nodes["worker"]:
        case.differs("total nodes")
        theirs["total_nodes"] += 1
    names = [*PROPERTIES, *(f"gpus_per_{mode}" for mode in active)]
    case.tally.compare(
        case,
        "node maps and computed properties",
        "topology",
        ({name: topology[name] for name in names}, {name: theirs[name] for name in names}),
        ((plan.gpu_type, plan.served_model), (case.placed["gpu_type"], case.placed["served_model_name"])),
        (plan.resolved.resources.spread_workers, case.placed["spread_workers"]),
        ([node.name for node in plan.nodes], [f"n{number}" for number in range(placed["sbatch_nodes"])]),
        ((plan.deployment.head, plan.client), (nodes["head"], nodes["bench"])),
        (workers(plan.deployment.processes), [worker(end) for end in placed["endpoints"]]),
    )
    if case.dynamo:
        assert plan.deployment.infra == nodes["infra"], case.name


def workers(processes: tuple[ProcessPlace, ...]) -> list[Row]:
    found: dict[tuple[str, int], Row] = {}
    for process in processes:
        key = (process.mode, process.index)
        blank = {"mode": key[0], "index": key[1], "nodes": [], "gpus": process.gpus, "total": 0}
        one = found.setdefault(key, blank)
        one["nodes"] += [process.node] if process.node not in one["nodes"] else []
        one["gpus"] = tuple(sorted({*one["gpus"], *process.gpus}))
        one["total"] += len(process.gpus)
    return list(found.values())


def worker(endpoint: Row) -> Row:
    return {
        "mode": endpoint["mode"],
        "index": endpoint["index"],
        "nodes": endpoint["nodes"],
        "gpus": tuple(endpoint["gpu_indices"]),
        "total": endpoint["total_gpus"],
    }


def compare_processes(case: Case) -> None:
    """GPUs and ports of every process."""
    ours = case.plan.deployment.processes
    theirs = reference_processes(case)
    assert len(ours) == len(theirs), case.name
    for process, row in zip(ours, theirs, strict=True):
        name = f"{process.mode}_{process.index} rank {process.rank}"
        case.tally.compare(case, "processes: GPUs and ports", name, (seen(process), row))


def seen(process: ProcessPlace) -> Row:
    return {
        "mode": process.mode,
        "index": process.index,
        "node": process.node,
        "node_rank": process.rank,
        "gpu_indices": list(process.gpus),
        "sys_port": process.system_port,
        "http_port": process.http_port,
        "bootstrap_port": process.bootstrap_port,
        "kv_events_port": process.kv_events_port,
        "nixl_port": process.nixl_port,
        "dp_rpc_port": process.dp_rpc_port,
    }


def reference_processes(case: Case) -> list[Row]:
    """The reference's, with the ports of events that the rule of the corpus's README gives."""
    rows: list[Any] = case.placed["placement"]["processes"]
    events = [process["kv_events_port"] for process in rows]
    widths = [after - before for before, after in pairwise(events)] + [1]
    port, found = 5550, []
    keys = tuple(seen(case.plan.deployment.processes[0]))
    for row, width in zip(rows, widths, strict=True):
        serves = row["http_port"] != 0
        case.differs("kv ports")
        # Its followers have the port 0, which is none.
        changed = {"http_port": row["http_port"] or None, "kv_events_port": port if serves else None}
        found.append({**{key: row[key] for key in keys}, **changed})
        port += width if serves else 0
    return found

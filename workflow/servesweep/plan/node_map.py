"""The plan as a person reads it: node map, Slurm request, points, notes."""

from __future__ import annotations

import json
from collections.abc import Iterable

from servesweep.plan.plan import Plan


def describe(plan: Plan, refused: Iterable[str] = ()) -> str:
    """A few lines about one configuration, and the reasons for which validation would refuse it."""
    topology, slurm = plan.topology, plan.slurm
    workers = " + ".join(
        f"{count} {mode} x {gpus} GPU"
        for mode, count, gpus in (
            ("prefill", topology.num_prefill, topology.gpus_per_prefill),
            ("decode", topology.num_decode, topology.gpus_per_decode),
            ("agg", topology.num_agg, topology.gpus_per_agg),
        )
        if count
    )
    served = f"{plan.engine} under {plan.frontend}: {workers}, model {plan.served_model}"
    lines = [
        f"{plan.configuration}  {served if workers else 'services alone'}",
        f"  load    {_load(plan)}",
        f"  points  {', '.join(point.id for point in plan.points)}",
    ]
    if plan.launcher == "slurm":
        asked = f"{len(plan.nodes)} node{'s' if len(plan.nodes) > 1 else ''}, {slurm.runtime} min"
        asked += f", partition {slurm.slurm_partition}" if slurm.slurm_partition else ""
        asked += f", account {slurm.slurm_account}" if slurm.slurm_account else ""
        lines.append(f"  slurm   {asked}, {slurm.slurm_extra}".rstrip(", "))
    width = max(len(node.name) for node in plan.nodes)
    gpus = {step.name: step.gpus for step in plan.steps}
    for node in plan.nodes:
        held = [_with_gpus(name, gpus.get(name, ())) for name in node.holds]
        lines.append(f"  {node.name:<{width}}      {', '.join(held) or 'idle'}")
    lines += [f"  note    {note}" for note in plan.notes]
    lines += [f"  set     {assignment}" for assignment in plan.settings]
    return "\n".join([*lines, *(f"  refused {reason}" for reason in refused)])


def _load(plan: Plan) -> str:
    """The benchmark's type, and what its recipe says about it beside the levels, which are the points."""
    benchmark = plan.resolved.benchmark
    said = {key: value for key, value in benchmark.options.items() if key not in ("concurrencies", "command")}
    return " ".join([benchmark.type, *(f"{key}={_short(value)}" for key, value in said.items())])


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= 40 else text[:37] + "..."


def _with_gpus(name: str, gpus: tuple[int, ...]) -> str:
    if not gpus:
        return name
    consecutive = gpus == tuple(range(gpus[0], gpus[-1] + 1))
    told = f"{gpus[0]}-{gpus[-1]}" if consecutive and len(gpus) > 1 else ",".join(map(str, gpus))
    return f"{name}[{told}]"

"""`servesweep plan --json`: a configuration's plan as one object, with keys that stay."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from servesweep.plan.judging import gpu_hours
from servesweep.plan.plan import Plan, Step
from servesweep.plan.slurm_request import directives_of, sbatch_words
from servesweep.topology.deployment import step_name
from servesweep.topology.shapes import ProcessPlace


def plan_object(plan: Plan, refused: Sequence[str] = ()) -> dict[str, Any]:
    """What is documented under "The plan as JSON" in the manual; nodes are symbolic.

    `processes` has an entry for each process of a worker; where one launch starts several, they share argv
    and env.
    """
    return {
        "id": plan.configuration,
        "recipe": plan.recipe,
        "variant": plan.variant,
        "name": plan.name,
        "engine": plan.engine,
        "frontend": plan.frontend,
        "served_model": plan.served_model,
        "nodes": [node.name for node in plan.nodes],
        "placement": {
            "frontend": plan.deployment.frontend if plan.public else None,
            "benchmark": plan.client,
            "services": {service.name: list(service.on) for service in plan.services},
        },
        "topology": asdict(plan.topology),
        "workers": _workers(plan),
        "frontends": [_frontend(step) for step in plan.steps if step.kind == "frontend"],
        "services": [_service(step) for step in plan.steps if step.kind == "service"],
        "benchmark": _benchmark(plan),
        "slurm": _slurm(plan),
        "gpu_hours": gpu_hours(plan),
        "settings": list(plan.settings),
        "warnings": list(plan.notes),
        "unsupported": list(plan.unsupported),
        "refused": list(refused),
    }


def _workers(plan: Plan) -> list[dict[str, Any]]:
    steps = {step.name: step for step in plan.steps}
    workers = []
    for leader in plan.deployment.leaders("prefill", "decode", "agg"):
        ranks = plan.deployment.ranks(leader)
        launch = steps[step_name(leader)]
        gpus: dict[str, list[int]] = {}
        for rank in ranks:
            gpus.setdefault(rank.node, []).extend(rank.gpus)
        workers.append(
            {
                "role": leader.mode,
                "index": leader.index,
                "nodes": list(leader.worker_nodes),
                "gpus": gpus,
                "processes": [
                    _process(one, steps.get(step_name(one), launch))
                    for rank in ranks
                    for one in plan.deployment.engines(rank)
                ],
            }
        )
    return workers


def _process(process: ProcessPlace, step: Step) -> dict[str, Any]:
    return {
        "node": process.node,
        "rank": process.rank,
        "engine": process.engine,
        "gpus": list(process.gpus),
        "ports": ports(process),
        "after": list(step.after),
        "argv": list(step.command.argv),
        "env": step.command.env,
        "files": step.command.files,
        "image": step.image,
        "mounts": step.mounts,
    }


def ports(process: ProcessPlace) -> dict[str, int | None]:
    """The ports of a process; null where it has none."""
    return {
        "http": process.http_port,
        "bootstrap": process.bootstrap_port,
        "system": process.system_port,
        "kv_events": process.kv_events_port,
        "nixl": process.nixl_port,
    }


def _frontend(step: Step) -> dict[str, Any]:
    return {
        "name": step.name,
        "node": step.node,
        "argv": list(step.command.argv),
        "env": step.command.env,
        "files": step.command.files,
        "image": step.image,
        "mounts": step.mounts,
        "port": step.probe.port if step.probe else None,
    }


def _service(step: Step) -> dict[str, Any]:
    return {
        "name": step.name,
        "service": step.service,
        "node": step.node,
        "start": step.start,
        "critical": step.critical,
        "terminal": step.terminal,
        "argv": list(step.command.argv),
        "env": step.command.env,
        "readiness": asdict(step.readiness) if step.readiness else None,
        "files": step.command.files,
        "image": step.image,
        "mounts": step.mounts,
        "srun_options": step.srun_options,
        "log": step.log,
    }


def _benchmark(plan: Plan) -> dict[str, Any]:
    url = f"http://ip-{plan.public.node}:{plan.public.port}" if plan.public else None
    return {
        "node": plan.client,
        "url": url,
        "type": plan.resolved.benchmark.type,
        "options": dict(plan.resolved.benchmark.options),
        "points": [
            {name: getattr(point, name) for name in ("id", "concurrency", "request_rate", "repeat")}
            for point in plan.points
        ],
    }


def _slurm(plan: Plan) -> dict[str, Any]:
    slurm = plan.slurm
    return {
        "nodes": len(plan.nodes),
        "gpus_per_node": plan.topology.gpus_per_node,
        "account": slurm.slurm_account,
        "partition": slurm.slurm_partition,
        "time_limit_minutes": slurm.runtime,
        "cpus_per_node": slurm.tasks_per_node * slurm.cpus_per_task,
        "mem_mb_per_node": slurm.mem_mb,
        "directives": dict(directives_of(plan.resolved, plan.cluster)),
        "comment": slurm.comment,
        "sbatch": _words(" ".join(sbatch_words(slurm))),
    }


# Most configurations of a sweep ask Slurm for the same.
@lru_cache(maxsize=256)
def _words(line: str) -> list[str]:
    return shlex.split(line)

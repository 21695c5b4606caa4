"""What is asked of Slurm."""

from __future__ import annotations

import shlex
from typing import Any

from comparing.case import Case

from servesweep.plan.plan import SlurmRequest
from servesweep.recipe.durations import parse_time_limit

# The executor names its jobs and their logs, and every step says its own tasks.
EXECUTOR = {"job-name", "output", "ntasks", "ntasks-per-node"}


def compare_request(case: Case) -> None:
    """The header of the reference's job script, in what it asks for."""
    theirs = dict(line.removeprefix("#SBATCH --").split("=", 1) for line in case.row["sbatch"])
    assert theirs.keys() >= EXECUTOR
    case.differs("executor")
    assert case.plan.name == theirs["job-name"], case.name
    ours = asked(case.plan.slurm)
    if "time_limit" not in case.recipe.get("slurm", {}):
        # The default of either is the cluster file's, and the reference's own without one.
        assert theirs["time"] == "01:00:00"
        theirs["time"] = f"{ours['minutes']}"
    case.tally.compare(case, "Slurm requests", "sbatch", (ours, asked_by(theirs)))


def asked(slurm: SlurmRequest) -> dict[str, Any]:
    words = [word.lstrip("-").partition("=") for word in shlex.split(slurm.slurm_extra)]
    extra = {name: value for name, _, value in words}
    return {
        "nodes": slurm.nodes,
        "gpus of a node": int(extra.pop("gpus-per-node")),
        "minutes": slurm.runtime,
        "account": slurm.slurm_account,
        "partition": slurm.slurm_partition,
        "whole memory": extra.pop("mem", None) == "0",
        "cpus of a node": slurm.tasks_per_node * slurm.cpus_per_task,
        **extra,
    }


def asked_by(header: dict[str, str]) -> dict[str, Any]:
    """The same of the reference's header; where it leaves CPUs to Slurm, ours are the cluster file's."""
    left = {name: value for name, value in header.items() if name not in EXECUTOR}
    gpus = int(left.pop("gpus-per-node"))
    by_gpu = int(left.pop("cpus-per-gpu", 6)) * gpus
    by_node = left.pop("cpus-per-task", None)
    return {
        "nodes": int(left.pop("nodes")),
        "gpus of a node": gpus,
        "minutes": parse_time_limit(left.pop("time")),
        "account": left.pop("account"),
        "partition": left.pop("partition"),
        "whole memory": left.pop("mem", None) == "0",
        # With one task a node; a task for each GPU would have CPUs of its own.
        "cpus of a node": int(by_node) if by_node else by_gpu,
        **left,
    }

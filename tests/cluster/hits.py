"""What is done to the processes of a run on the cluster, and a server that a child of its own outlives."""

from __future__ import annotations

import json
from typing import Any

# The child has a session of its own.
SERVER = """
setsid sleep 601 &
set -- --port "$1" --model-path "$2" --model-name tiny
exec python3 -m servesweep.simulator --host 0.0.0.0 "$@" --itl-ms 50
"""
# Slurm waits a minute for the children of a task that is gone (UnkillableStepTimeout).
WITHOUT_WAITING_S = 30


def with_a_child_that_stays(sweep: Any, name: str) -> None:
    """Give a configuration a server whose child lives on when it dies."""
    server = sweep.project.write("server.sh", SERVER)
    path = sweep.project.root / f"config/recipes/{name}.yaml"
    recipe = json.loads(path.read_text())
    argv = ["bash", str(server), "{port}", "{model}"]
    recipe["engine"] = {"type": "command", "argv": argv, "health": "/health"}
    del recipe["roles"]["agg"]["args"]
    path.write_text(json.dumps(recipe))


def kill(cluster: Any, sweep: Any, name: str, program: str) -> None:
    """SIGKILL to a configuration's processes of a program, on the node where they are."""
    allocation = sweep.project.json(f"{name}/allocation.json")
    node = allocation["hosts"][0]["host"]
    for pid, command in cluster.processes(node):
        if (
            f"servesweep.{program}" in command
            and command.startswith(("python3", "/"))
            and "srun" not in command
        ):
            cluster.execute(node, "kill", "-9", str(pid))

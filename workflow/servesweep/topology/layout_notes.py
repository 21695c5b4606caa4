"""What works but is probably not meant: idle nodes, roles beyond their own, GPUs that nobody asked for."""

from __future__ import annotations

from collections.abc import Sequence

from servesweep.topology.shapes import RoleShape, WorkerPlace

# Idle nodes that a note names.
NAMED = 5


def layout_notes(
    roles: Sequence[RoleShape], workers: Sequence[WorkerPlace], nodes: Sequence[str]
) -> tuple[str, ...]:
    """Say what works but is probably not meant: idle nodes, roles beyond their own nodes."""
    notes = []
    for role in roles:
        taken = len({node for worker in workers if worker.mode == role.mode for node in worker.nodes})
        if role.nodes != "colocate" and taken > role.nodes:
            notes.append(beyond(role, taken))
        held = max((worker.gpu_count for worker in workers if worker.mode == role.mode), default=role.gpus)
        if held > role.gpus:
            notes.append(f"each {role.mode} worker asks for {role.gpus} GPUs, and has whole nodes of {held}")
    used = {node for worker in workers for node in worker.nodes}
    if idle := [node for node in nodes if node not in used]:
        further = f" and {len(idle) - NAMED} further nodes" if len(idle) > NAMED else ""
        notes.append(f"no worker runs on {', '.join(idle[:NAMED])}{further}")
    return tuple(notes)


def beyond(role: RoleShape, taken: int) -> str:
    """Say that a role's workers take more nodes than it reserves."""
    assert role.nodes != "colocate"
    return f"{role.mode} reserves {counted(role.nodes)}, but its workers take {taken}"


def counted(count: int) -> str:
    """A number of nodes in words: `1 node`, `2 nodes`."""
    return f"{count} node{'' if count == 1 else 's'}"

"""The parallel sizes in a worker's arguments against the GPUs that it has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from servesweep.plan.roles import Role
from servesweep.recipe.problems import KeyPath, dotted


def too_large(roles: Sequence[Role], per_node: int) -> Iterator[tuple[KeyPath, str]]:
    """Sizes that need more GPUs than a worker has: its engine would end at its start.

    A replica's free-form arguments are its author's own concern, and a note.
    """
    for role in roles:
        if role.framework_args is not None:
            continue
        asked, held = role.asked_gpus, role.shape.gpus
        if held > per_node and not role.engine.exact_packing:
            # Where its GPUs fill no whole nodes, it has them all the same.
            held = -(-held // per_node) * per_node
        if asked is not None and asked > held:
            counts = f"{asked} GPUs, and each worker has {held}"
            yield where(role), f"the parallel sizes need {counts}: make them smaller, or give workers more"


def uneven(roles: Sequence[Role]) -> Iterator[str]:
    """Notes about sizes that are missing, or are not the GPUs of a worker, and let it start."""
    for role in roles:
        asked, held = role.asked_gpus, role.shape.gpus
        if asked is None and held > 1 and role.engine.size_flag and role.framework_args is None:
            told = f"{dotted(where(role))} say no parallel size, and each worker has {held} GPUs"
            yield f"{told}: without {role.engine.size_flag} the engine uses one of them"
        if asked not in (None, held):
            yield f"{dotted(where(role))} spread the model over {asked} GPUs, and each worker has {held}"


def where(role: Role) -> KeyPath:
    """The key that holds a role's arguments."""
    return (*role.path, "args") if role.framework_args is None else ("framework_args",)

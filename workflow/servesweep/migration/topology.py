"""`resources` of v1 become `roles`: nodes, workers and GPUs of each role."""

from __future__ import annotations

from servesweep.migration import v1
from servesweep.migration.entries import Block
from servesweep.migration.folding import swept
from servesweep.migration.joining import move_to_role
from servesweep.migration.remarks import ATTENTION
from servesweep.migration.scope import ABSENT, Scope, get, rewrite

SWEPT_NODES = "the sweep chooses the nodes of decode: its 0, if it has one, is `colocate` in v2"


def migrate_topology(scope: Scope) -> None:
    """Move the workers' layout, then say what v1 derived otherwise than v2 does."""
    resources = scope.section("resources")
    if resources is not None:
        for role in v1.ROLES:
            _move(scope, resources, role)
    if scope.modern:
        _colocate(scope)
    elif not scope.over:
        scope.settle(("resources", "gpus_per_node"), [_gpus_per_node(scope)])
    elif get(scope.base, "resources", "gpus_per_node") is not None:
        wanted = [get(old, "resources", "gpus_per_node") or v1.GPUS_PER_NODE for old in scope.old]
        scope.settle(("resources", "gpus_per_node"), wanted)
    entry = scope.block.get("resources")
    if entry is not None and resources is not None and not resources.entries:
        _hand_over(scope, [*entry.lead, *([entry.comment.strip()] if entry.comment else [])], resources.tail)
        scope.block.entries.remove(entry)


def _gpus_per_node(scope: Scope) -> object:
    return get(scope.old[0], "resources", "gpus_per_node") or v1.GPUS_PER_NODE


def _move(scope: Scope, resources: Block, role: str) -> None:
    names = {
        f"{role}_nodes": "nodes",
        f"{role}_workers": "workers",
        f"gpus_per_{role}": "gpus",
        f"{role}_critical": "critical",
    }
    for old, new in names.items():
        entry = resources.get(old)
        if entry is None:
            continue
        if entry.value is None and not scope.over:
            resources.drop(entry)
            continue
        if role == "decode" and new == "nodes":
            rewrite(entry, _colocated)
            if swept(entry.value):
                entry.note(scope.say(SWEPT_NODES, ATTENTION, "resources.decode_nodes"))
        move_to_role(scope, resources, entry, role, new)


def _colocate(scope: Scope) -> None:
    """`roles.decode.nodes: 0`, as files were written that mixed both versions."""
    said = get(scope.block.data(), "roles", "decode", "nodes")
    if any(_colocated(one) != one for one in (said if isinstance(said, list) else [said])):
        nodes = scope.need("roles", "decode").get("nodes")
        assert nodes is not None
        rewrite(nodes, _colocated)


def _colocated(nodes: object) -> object:
    return "colocate" if nodes == 0 and nodes is not False else nodes


def _hand_over(scope: Scope, lead: list[str], tail: list[str]) -> None:
    """Give the comments of the emptied `resources` to `roles`."""
    roles = scope.block.get("roles")
    comments = [*lead, *tail]
    if roles is not None:
        while comments and roles.lead and not comments[-1] and not roles.lead[0]:
            comments.pop()
        roles.lead[:0] = comments


def settle_roles(scope: Scope) -> None:
    """Make every configuration have v1's roles with v1's nodes and GPUs."""
    concrete = scope.label != "base" or get(scope.own, "resources", "prefill_nodes") is not None
    for role in v1.ROLES:
        if all(role not in v1.active(old) for old in scope.old):
            _remove(scope, role)
        elif concrete or get(scope.own, "resources", "agg_nodes") is not None:
            _settle(scope, role)


def _settle(scope: Scope, role: str) -> None:
    resources = [get(old, "resources") or {} for old in scope.old]
    started = [bool(one.get(f"{role}_workers")) for one in resources]
    live = [role in v1.active(old) for old in scope.old]
    if not all(live):
        note = scope.say(
            f"some of these configurations have no {role}: give them an override of their own", ATTENTION
        )
        scope.need("roles").entries[0].note(note)
        return
    if not all(started):
        if any(one.get(f"{role}_nodes") for one in resources):
            nodes = scope.need("roles", role).get("nodes")
            told = f"v1 counted no {role} workers here, for want of {role}_workers"
            sentence = scope.say(told, ATTENTION)
            if nodes is not None:
                nodes.note(sentence)
        return
    if role == "agg":
        scope.settle(("roles", role, "nodes"), [one.get("agg_nodes") or 1 for one in resources])
    wanted = [_gpus(old, role) for old in scope.old]
    if any(value is None for value in wanted):
        return
    if any(not value for value in wanted):
        note = scope.say(f"v1 gave a {role} worker 0 GPUs: say how many it has", ATTENTION)
        scope.need("roles", role).entries[0].note(note)
        return
    colocated = any(one.get("decode_nodes") == 0 for one in resources)
    derived = [_derived(data, role) for data in scope.new()]
    explicit = [get(data, "roles", role, "gpus") is not None for data in scope.new()]
    if derived != wanted or (colocated and not all(explicit)):
        scope.settle(("roles", role, "gpus"), wanted)


def _gpus(old: dict[str, object], role: str) -> int | None:
    """GPUs of a worker; None also where the cluster file gives those of a node."""
    resources = get(old, "resources") or {}
    named = resources.get("gpus_per_node") or resources.get(f"gpus_per_{role}")
    return v1.gpus(old, role) if named or not v1.modern(old) else None


def _derived(data: dict[str, object], role: str) -> int | None:
    """GPUs of a worker as v2 derives them; None where it cannot."""
    spec = get(data, "roles", role) or {}
    if spec.get("gpus") is not None:
        return int(spec["gpus"])
    nodes, workers = spec.get("nodes"), spec.get("workers", 1)
    whole = get(data, "resources", "gpus_per_node")
    if not all(isinstance(value, int) for value in (nodes, workers, whole)) or nodes * whole % workers:
        return None
    return int(nodes * whole // workers)


def _remove(scope: Scope, role: str) -> None:
    """A role that v1 did not start has no place in v2, whose roles are what is started."""
    if scope.over:
        if any(get(data, "roles", role) is not None for data in scope.new()):
            roles = scope.need("roles")
            entry = roles.get(role)
            if entry is not None and _says(entry.data()):
                _comment_out(scope, roles, role)
            elif entry is not None:
                roles.drop(entry)
            if get(scope.base, "roles", role) is not None:
                scope.settle(("roles", role), [ABSENT] * len(scope.old))
    elif scope.label != "base" and get(scope.block.data(), "roles", role) is not None:
        _comment_out(scope, scope.need("roles"), role)


def _says(value: object) -> bool:
    """Whether anything but nulls is said."""
    return any(map(_says, value.values())) if isinstance(value, dict) else value is not None


def _comment_out(scope: Scope, roles: Block, role: str) -> None:
    entry = roles.get(role)
    assert entry is not None
    sentence = f"roles.{role} is commented out: the resources of this recipe start no {role} workers"
    roles.comment_out(entry, scope.say(sentence))

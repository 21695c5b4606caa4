"""`backend` of v1 becomes `engine` and the `env`, `args`, `extra_args` and `kv_events` of the roles."""

from __future__ import annotations

from typing import Any

from servesweep.migration import v1
from servesweep.migration.entries import NOTE, Block, Entry, made, opened
from servesweep.migration.joining import move_to_role
from servesweep.migration.remarks import ATTENTION, SET_BY_THE_PRODUCT
from servesweep.migration.scope import ABSENT, Scope, get

ENGINES = ("sglang", "vllm", "trtllm", "mocker")
RANKS = {"nnodes", "node-rank", "host", "port", "disaggregation-mode"}
# Flags that v2 sets itself and refuses; args of trtllm are the engine's own YAML, which has none of them.
TOPOLOGY_FLAGS = {
    "sglang": RANKS | {"dist-init-addr", "nccl-port", "disaggregation-bootstrap-port"},
    "vllm": RANKS | {"headless", "master-addr", "device-ids"},
    "mocker": {"disaggregation-mode", "bootstrap-ports"},
    "trtllm": set[str](),
}
RENAMED = {"set_cuda_visible_devices": "set_visible_devices"}


def migrate_engine(scope: Scope) -> None:
    """Move what `backend` holds; what no role and no engine has a place for stays with a note."""
    backend = scope.block.get("backend")
    if backend is None:
        return
    if not scope.speaks_v1:
        note = "backend stays: an engine is named too, and both cannot be meant; keep one"
        if NOTE + note not in backend.lead:
            backend.note(note)
        scope.say(note, ATTENTION)
        return
    if not isinstance(backend.data(), dict):
        _forget(scope, backend)
        return
    place = scope.block.entries.index(backend)
    block = opened(backend)
    engine = Entry("engine", f":{backend.comment}", block=Block(indent=block.indent), line=backend.line)
    scope.block.entries[place] = engine
    if not scope.over and block.get("type") is None:
        opened(engine).entries.append(made("type", v1.engine(scope.old[0])))
    for entry in list(block.entries):
        _move(scope, block, engine, entry)
    assert engine.block is not None
    roles = scope.block.get("roles")
    if engine.block.entries:
        engine.lead = backend.lead
        engine.block.tail[:0] = block.tail
    else:
        scope.block.entries.remove(engine)
        said = [backend.comment.strip()] if backend.comment else []
        _give(scope.block, roles, place, backend.lead + said, block.tail)


def _give(block: Block, roles: Entry | None, place: int, lead: list[str], tail: list[str]) -> None:
    """Leave comments of a block that is gone where `roles` took its place."""
    if roles is not None and roles.block is not None:
        roles.lead = lead + [line for line in roles.lead if line]
        roles.block.tail[:0] = tail
    elif place < len(block.entries):
        block.entries[place].lead[:0] = lead + tail
    else:
        block.tail[:0] = lead + tail


def _move(scope: Scope, backend: Block, engine: Entry, entry: Entry) -> None:
    mode, _, kind = entry.key.partition("_")
    roles = {mode: role for role, mode in v1.MODES.items()}
    places = {"environment": "env", "extra_args": "extra_args"}
    if mode in roles and kind in places:
        if entry.value is not None or scope.over:
            move_to_role(scope, backend, entry, roles[mode], places[kind])
        else:
            backend.take(entry.key)
    elif mode in ENGINES and kind == "config":
        _move_args(scope, backend, entry)
    elif entry.key in ("kv_events_config", "mooncake_kv_store"):
        backend.drop(entry)
    else:
        backend.entries.remove(entry)
        assert engine.block is not None
        engine.block.entries.append(entry.rename(RENAMED.get(entry.key, entry.key)))


def _move_args(scope: Scope, backend: Block, entry: Entry) -> None:
    name = entry.key.removesuffix("_config")
    if name not in {v1.engine(old) for old in scope.old}:
        if isinstance(entry.data(), dict):
            scope.drop(backend, entry, "backend.", f"the engine is {v1.engine(scope.old[0])}")
        else:
            backend.drop(entry)
        return
    if not isinstance(entry.data(), dict):
        # A null takes the arguments of every role away; settling the args says so flag by flag.
        backend.drop(entry)
        return
    config = opened(entry)
    lead, tail = [*entry.lead, entry.comment.strip()], list(config.tail)
    backend.entries.remove(entry)
    first = True
    for mode in list(config.entries):
        role = {mode: role for role, mode in v1.MODES.items()}.get(mode.key)
        if role is None:
            continue
        if mode.value is None and not scope.over:
            config.take(mode.key)
        if first:
            mode.lead[:0] = [line for line in lead if line]
            first = False
        if mode.value is None and not scope.over:
            continue
        args = move_to_role(scope, config, mode, role, "args")
        _clean(scope, args, role, name)
        if tail and args.block is not None and not config.entries:
            args.block.tail += tail


def _clean_own(scope: Scope, role: str, engine: str) -> None:
    """Remove such flags also from the arguments that a mixed file gives as v2 does."""
    args = get(scope.block.data(), "roles", role, "args")
    if isinstance(args, dict) and _kept(engine, args) != args:
        given = scope.need("roles", role).get("args")
        assert given is not None
        _clean(scope, given, role, engine)


def _clean(scope: Scope, args: Entry, role: str, engine: str) -> None:
    """Remove the flags that v2 sets itself."""
    taken = TOPOLOGY_FLAGS[engine]
    if not isinstance(args.data(), dict):
        return
    if args.block is None and _kept(engine, args.data()) == args.data():
        return
    block = args.block if args.block is not None else opened(args)
    for entry in list(block.entries):
        if entry.key == "<<":
            # The mapping that is merged here is another role's, and loses its flags there.
            entry.value = _kept(engine, entry.value)
        elif entry.key.replace("_", "-") in taken:
            sentence = f"{entry.shown()} is left out: servesweep sets it"
            block.drop(entry, sentence)
            scope.say(f"roles.{role}.args.{sentence}", SET_BY_THE_PRODUCT, entry.key)


def _forget(scope: Scope, backend: Entry) -> None:
    """`backend: null` in a variant takes everything away that the base said."""
    scope.block.drop(backend)
    if not scope.over:
        return
    for role, spec in (get(scope.base, "roles") or {}).items():
        for key in ("env", "extra_args"):
            if key in spec:
                scope.settle(("roles", role, key), [ABSENT] * len(scope.old))
    if isinstance(scope.base.get("engine"), dict):
        for key in scope.base["engine"]:
            if key != "type":
                scope.settle(("engine", key), [ABSENT] * len(scope.old))


def settle_engine(scope: Scope) -> None:
    """Make every configuration have v1's engine, arguments and KV events."""
    if not scope.speaks_v1:
        return
    _settle_type(scope)
    for role in scope.roles:
        if scope.modern:
            _clean_own(scope, role, v1.engine(scope.old[0]))
        for key in sorted({key for data in scope.new() for key in get(data, "roles", role, "args") or {}}):
            here = [_kept(v1.engine(old), v1.args(old, role)) for old in scope.old]
            if not all(key in args for args in here):
                scope.settle(("roles", role, "args", key), [args.get(key, ABSENT) for args in here])
        events = [v1.kv_events(old, role) for old in scope.old]
        scope.settle(("roles", role, "kv_events"), [ABSENT if one is None else one for one in events])
    entry = scope.block.get("engine")
    if entry is not None and entry.block is not None:
        _shorten(scope, entry, entry.block)


def _kept(engine: str, args: dict[str, Any]) -> dict[str, Any]:
    taken = TOPOLOGY_FLAGS.get(engine, set())
    return {key: value for key, value in args.items() if key.replace("_", "-") not in taken}


def _settle_type(scope: Scope) -> None:
    scope.settle(("engine", "type"), [v1.engine(old) for old in scope.old])
    if scope.modern:
        return
    events, metrics = [], []
    for old, now in zip(scope.old, scope.new(), strict=True):
        dynamo = v1.engine(old) == "trtllm" and v1.frontend(old) == "dynamo"
        both = get(old, "backend", "publish_events_and_metrics")
        # v1's observability turned this on; v2's does not.
        events.append(
            True if dynamo and v1.observed(old) else get(now, "engine", "publish_events_and_metrics")
        )
        # v1 passed no flag for metrics alone; v2 does unless told not to.
        metrics.append(False if dynamo and not (both or v1.observed(old)) else ABSENT)
    scope.settle(("engine", "publish_events_and_metrics"), [ABSENT if one is None else one for one in events])
    scope.settle(("engine", "publish_metrics"), metrics)


def _shorten(scope: Scope, entry: Entry, block: Block) -> None:
    """`engine: {type: x}` is `engine: x`, unless a base's options have to stay."""
    alone = len(block.entries) == 1 and block.entries[0].key == "type"
    if not alone or isinstance(scope.base.get("engine"), dict):
        return
    kind = block.entries[0]
    if kind.comment:
        entry.lead += [entry.comment.strip()] if entry.comment else []
        entry.head = kind.head
    else:
        entry.head = kind.head + entry.comment
    entry.lead += kind.lead
    entry.value, entry.body, entry.block = kind.value, kind.body, None
    if any(block.tail):
        place = scope.block.entries.index(entry) + 1
        if place < len(scope.block.entries):
            scope.block.entries[place].lead[:0] = block.tail

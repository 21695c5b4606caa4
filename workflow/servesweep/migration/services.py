"""`infra` and the Mooncake store of v1 become `services`, and environment of the roles."""

from __future__ import annotations

from typing import Any

from servesweep.migration import v1
from servesweep.migration.entries import NOTE, Entry, made, one_line
from servesweep.migration.folding import swept
from servesweep.migration.remarks import ATTENTION
from servesweep.migration.scope import ABSENT, Data, Scope, get


def migrate_services(scope: Scope) -> None:
    """Say in v2's words which services every configuration had."""
    wanted = [_wanted(scope, old) for old in scope.old]
    present = scope.block.get("services")
    infra = scope.block.get("infra")
    if infra is not None:
        _fold_infra(scope, infra, present is None)
    if present is not None and not scope.over:
        _add(scope, present, wanted[0])
    elif not scope.modern or _says_services(scope):
        scope.settle(("services",), [services or ABSENT for services in wanted])
    left = scope.block.get("services")
    if left is not None and not left.value and left.block is None and "services" not in scope.base:
        scope.block.drop(left)
        left = None
    lost = [old for old in scope.old if v1.frontend(old) != "dynamo" and get(old, "infra")]
    if left is not None and lost and infra is None:
        left.note(scope.say(f"the frontend {v1.frontend(lost[0])} uses no etcd and no nats"))
    _settle_store_environment(scope)


def _fold_infra(scope: Scope, infra: Entry, alone: bool) -> None:
    """Take `infra` out, `services` taking its place; what has no meaning under the frontend leaves a note."""
    lead = list(infra.lead)
    unused = [old for old in scope.old if v1.frontend(old) != "dynamo"]
    data = infra.data()
    for key, value in data.items() if isinstance(data, dict) else ():
        shown = one_line(value)
        why = "v2 has no place for it"
        if key == "etcd_nats_dedicated_node" and swept(value):
            sentence = f"infra.{key}: {shown} is left out: a sweep cannot choose it; they are on head"
            lead.append(NOTE + scope.say(sentence, ATTENTION, f"infra.{key}", origin=infra.line))
            continue
        if key in ("etcd_nats_dedicated_node", "nats_max_payload_mb"):
            if not (unused and value):
                continue
            why = f"the frontend {v1.frontend(unused[0])} uses no etcd and no nats"
        lead.append(NOTE + scope.say(f"infra.{key}: {shown} is left out: {why}"))
    lead += infra.comments()
    # Its value is no configuration's, so that it is settled in any case.
    place = Entry("services", ": ''", "", lead=lead, line=infra.line)
    scope.block.entries[scope.block.entries.index(infra)] = place
    if not alone:
        scope.block.drop(place)


def _add(scope: Scope, present: Entry, wanted: list[Data]) -> None:
    """Add what is not there; a service of the same name stays as the file has it."""
    own = present.value or []
    names = [get(service, "name") for service in own]
    fresh = [service for service in wanted if service not in own]
    for service in [one for one in fresh if one["name"] in names]:
        present.note(scope.say(f"the service {service['name']} stays as it is, whatever infra said"))
    _append(present, [service for service in fresh if service["name"] not in names])


def _says_services(scope: Scope) -> bool:
    """Whether v1's `infra`, or a store, has a say in the services of a mixed file."""
    return any(old.get("infra") or get(old, "backend", "mooncake_kv_store") for old in scope.old)


def _wanted(scope: Scope, old: Data) -> list[Data]:
    """v1's services; in a variant of a mixed file behind those that it names itself."""
    own = old.get("services") if scope.modern and scope.over else None
    named = [service for service in own or [] if isinstance(service, dict)]
    names = {service.get("name") for service in named}
    return [*named, *(service for service in _services(scope, old) if service["name"] not in names)]


def _services(scope: Scope, old: Data) -> list[Data]:
    services: list[Data] = []
    dedicated = v1.dedicated_infra(old)
    payload = get(old, "infra", "nats_max_payload_mb") if v1.frontend(old) == "dynamo" else None
    undone = scope.over and any(
        get(one, "placement", "node") == "dedicated" for one in get(scope.base, "services") or []
    )
    place = {"placement": {"node": "dedicated" if dedicated else "infra"}} if dedicated or undone else {}
    if v1.frontend(old) == "dynamo":
        if place:
            services.append({"name": "etcd", "type": "etcd", **place})
        if place or payload is not None:
            options = {"options": {"max_payload_mb": payload}} if payload is not None else {}
            services.append({"name": "nats", "type": "nats", **place, **options})
    store = get(old, "backend", "mooncake_kv_store")
    if isinstance(store, dict):
        services.append(_master(store))
    return services


def _master(store: Data) -> Data:
    master: Data = {"name": "mooncake-master", "type": "mooncake-master"}
    if store.get("container"):
        master["container"] = store["container"]
    if store.get("master_extra_args"):
        master["args"] = store["master_extra_args"]
    known = ("container", "master_extra_args", "env")
    options = {key: value for key, value in store.items() if key not in known and value is not None}
    if options:
        master["options"] = options
    return master


def _append(present: Entry, services: list[Data]) -> None:
    """Add services behind those that a file already has."""
    if not services:
        return
    first = next((line for line in present.body if line.lstrip().startswith("- ")), None)
    if first is None:
        fresh = made("services", [*(present.value or []), *services])
        present.head, present.body = fresh.head, fresh.body
    else:
        indent = len(first) - len(first.lstrip())
        body = made("services", services).body
        present.body += [" " * indent + line[2:] for line in body]
    present.value = [*(present.value or []), *services]


def _mapping(value: Any) -> dict[str, Any]:
    """What is none is told by the reader of schema 2."""
    return value if isinstance(value, dict) else {}


def _settle_store_environment(scope: Scope) -> None:
    """The store's environment reached every worker, and won over the role's own."""
    stores = [_mapping(get(old, "backend", "mooncake_kv_store", "env")) for old in scope.old]
    base = get(scope.base, "roles") or {}
    for role in scope.roles:
        own = [_mapping(get(old, "backend", f"{v1.MODES[role]}_environment")) for old in scope.old]
        names = {name for store in stores for name in store}
        if scope.over:
            names |= set(get(base, role, "env") or {})
        for name in sorted(names):
            wanted = [
                store.get(name, role_env.get(name, ABSENT))
                for store, role_env in zip(stores, own, strict=True)
            ]
            scope.settle(("roles", role, "env", name), wanted)

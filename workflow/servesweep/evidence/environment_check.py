"""Is this machine, with this environment, as the one that a run was made on?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from servesweep.evidence.differences import Difference, differences
from servesweep.evidence.node_fingerprint import fingerprint
from servesweep.evidence.reproduction import portable


def here_and_there(fingerprints: Mapping[str, Any]) -> Iterator[tuple[str, list[Difference]]]:
    """For each kind of worker what differs here, by key; workers that found the same are told together.

    Of the environment only what is set here counts: what a worker had besides, the plan has set.
    """
    kinds: dict[str, tuple[list[str], dict[str, Any]]] = {}
    for name, found in fingerprints.items():
        then = _comparable(found)
        kinds.setdefault(repr(then), ([], then))[0].append(name)
    for names, then in kinds.values():
        model = (then.get("model") or {}).get("path") or ""
        now = _comparable(fingerprint([], model))
        then = {**then, "env": {key: value for key, value in then["env"].items() if key in now["env"]}}
        yield ", ".join(names), list(differences(then, now))


def _comparable(found: Mapping[str, Any]) -> dict[str, Any]:
    kept = portable(found)
    kept["gpu"] = {key: value for key, value in (kept.get("gpu") or {}).items() if key != "assigned"}
    return {"env": {}, **kept}

"""The sections that v2 keeps: frontend, benchmark, dynamo, observability, telemetry."""

from __future__ import annotations

import math

from servesweep.migration import v1
from servesweep.migration.benchmarks import migrate_benchmark
from servesweep.migration.entries import Entry, opened
from servesweep.migration.folding import fold, settle_place, swept, tidy
from servesweep.migration.remarks import ATTENTION
from servesweep.migration.scope import ABSENT, Data, Scope, get, rewrite

# With `schema: 2` the word has two meanings, and the other words of the file decide.
ROUTER = (
    "sglang is the router here, as in v1, whose keys this file has; in v2 it is one worker without a router"
)
SWEPT_ROUTER = "the sweep chooses the frontend, and its words are v1's: write sglang-router there for sglang"
RETIRED = ("scrape_metrics", "scrape_interval_seconds", "scrape_output", "build_dashboard")


def migrate_sections(scope: Scope) -> None:
    """Rewrite what v2 spells otherwise in the sections that it keeps."""
    _frontend(scope)
    migrate_benchmark(scope)
    _dynamo(scope)
    _telemetry(scope)
    _observability(scope)
    options = scope.block.get("srun_options")
    if options is not None and options.data() and not scope.modern:
        options.note(scope.say("v2 gives srun_options to every step, v1 gave them to workers and benchmark"))


def _frontend(scope: Scope) -> None:
    frontend = scope.section("frontend")
    if frontend is not None:
        kind = frontend.get("type")
        named = kind.value if kind and isinstance(kind.value, list) else [kind.value if kind else None]
        if kind is not None and any(map(swept, named)) and scope.speaks_v1:
            kind.note(scope.say(SWEPT_ROUTER, ATTENTION, "frontend.type"))
        if kind is not None and "sglang" in named and scope.speaks_v1:
            if scope.modern:
                kind.note(scope.say(ROUTER))
            # Only the word changes, so that quotes and comments stay.
            before, mark, after = kind.head.partition("#")
            kind.head = before.replace("sglang", "sglang-router") + mark + after
            kind.body = [line.replace("sglang", "sglang-router", 1) for line in kind.body]
            router = {"sglang": "sglang-router"}
            kind.value = (
                [router.get(item, item) for item in kind.value]
                if isinstance(kind.value, list)
                else router.get(kind.value, kind.value)
            )
    settle_place(scope, "frontend", "orchestrator_placement", "dedicated_node")
    tidy(scope, "frontend")


def _dynamo(scope: Scope) -> None:
    dynamo = scope.section("dynamo")
    sources = [v1.dynamo_source(old) for old in scope.old]
    if dynamo is not None and dynamo.get("source") is None:
        renamed = {"version": "pypi", "wheel": "wheel", "hash": "rev", "cargo_patches": "patches"}
        for old, new in renamed.items():
            entry = dynamo.get(old)
            if entry is None:
                continue
            if any(new in source for source in sources):
                dynamo.take(old)
                scope.need("dynamo", "source").insert(entry.rename(new), ("git", "rev", "patches"))
            elif entry.value is None or not _words(entry):
                fold(dynamo, old)
            else:
                scope.drop(dynamo, entry, "dynamo.", "another source of Dynamo was given, and v1 took that")
    for key in ("version", "wheel", "hash", "cargo_patches"):
        entry = dynamo.get(key) if dynamo is not None else None
        if dynamo is not None and entry is not None:
            scope.drop(dynamo, entry, "dynamo.", "dynamo.source says what is installed")
    if dynamo is None and scope.over and "dynamo" not in scope.own and not _differs(scope):
        return
    if get(scope.own, "dynamo", "source") is None:
        sources = [
            source if source or _must_go(old) else get(now, "dynamo", "source") or {}
            for source, old, now in zip(sources, scope.old, scope.new(), strict=True)
        ]
        if not any(sources):
            scope.settle(("dynamo", "source"), [ABSENT] * len(sources))
            return
        for key in ("git", "pypi", "wheel", "rev", "patches"):
            scope.settle(("dynamo", "source", key), [source.get(key, ABSENT) for source in sources])


def _must_go(old: Data) -> bool:
    """Whether a source that a base gives would be wrong, not merely unused."""
    return bool(get(old, "dynamo", "top_of_tree"))


def _words(entry: Entry) -> bool:
    return bool(entry.data())


def _differs(scope: Scope) -> bool:
    """Whether a variant installs Dynamo from elsewhere than its base does, by v1's defaults."""
    base = get(scope.base, "dynamo", "source") or {}
    return any(v1.dynamo_source(old) != base for old in scope.old)


def _telemetry(scope: Scope) -> None:
    telemetry = scope.section("telemetry")
    entry = telemetry.get("default_frequency") if telemetry else None
    if telemetry and entry and telemetry.get("collect_interval_ms"):
        scope.drop(telemetry, entry, "telemetry.", "collect_interval_ms says it")
    elif entry is not None:
        # In spite of its name it was a period in seconds.
        rewrite(entry.rename("collect_interval_ms"), lambda seconds: _milliseconds(seconds, 1))


def _observability(scope: Scope) -> None:
    observability = scope.section("observability")
    if observability is not None:
        for key in RETIRED:
            entry = observability.get(key)
            if entry is not None:
                scope.drop(observability, entry, "observability.", "v2 has no place for it")
        tachometer = observability.get("tachometer")
        rate = opened(tachometer).get("default_frequency") if tachometer and tachometer.data() else None
        if rate is not None:
            rewrite(rate.rename("collect_interval_ms"), lambda hertz: _milliseconds(1, hertz))
    if scope.modern or not any(map(v1.observed, scope.old)):
        return
    # v2's switch also starts Tachometer and Nsight; v1's did not.
    on = [get(old, "observability", "tachometer", "enabled") is True for old in scope.old]
    observed = list(map(v1.observed, scope.old))
    scope.settle(
        ("observability", "tachometer", "enabled"),
        [True if yes else False if seen else ABSENT for yes, seen in zip(on, observed, strict=True)],
    )
    hertz = [get(old, "observability", "tachometer", "default_frequency") for old in scope.old]
    scope.settle(
        ("observability", "tachometer", "collect_interval_ms"),
        [
            _milliseconds(1, rate or v1.TACHOMETER_HZ) if yes else ABSENT
            for rate, yes in zip(hertz, on, strict=True)
        ],
        default=ABSENT,
    )
    scope.settle(("observability", "nsys", "enabled"), [False if seen else ABSENT for seen in observed])


def _milliseconds(seconds: object, divisor: object) -> object:
    """1000 x seconds / divisor, rounded; a null or a placeholder stays."""
    if not isinstance(seconds, int | float) or not isinstance(divisor, int | float) or not divisor:
        return seconds if divisor == 1 else divisor
    if not math.isfinite(seconds / divisor):
        return seconds  # the reader of schema 2 says what is wrong with it
    return round(1000 * seconds / divisor)

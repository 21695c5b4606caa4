"""What the registries know, for the reference page: engines, frontends, services and benchmark types."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from inspect import getmodule
from typing import Any

from pydantic import BaseModel

from servesweep.benchmarks import BENCHMARKS
from servesweep.benchmarks.benchmark import Benchmark
from servesweep.benchmarks.shared_options import SharedOptions
from servesweep.engines import ENGINES
from servesweep.engines.engine import Engine, NoOptions
from servesweep.frontends import FRONTENDS
from servesweep.frontends.frontend import Frontend
from servesweep.plan.reference_examples import EXAMPLES
from servesweep.plan.reference_tables import rows, table
from servesweep.recipe.benchmark import BenchmarkSection
from servesweep.recipe.section import Section
from servesweep.services import SERVICES
from servesweep.services.instance import OF_WORKERS, PLACEHOLDERS
from servesweep.topology.shapes import Mode

Anchors = Mapping[str, str]
NO = "–"


def engines(anchors: Anchors) -> Iterator[str]:
    """The engines, which frontends they go with, and the options of each."""
    yield "A name alone, or a mapping with `type` and options; at the top for all roles, or on every role.\n"
    yield _grid(
        ["type", "what it is", "worker over several nodes", "required options"],
        (
            [
                f"[`{name}`](#engine-{name})",
                _about(getmodule(type(engine))),
                _yes(engine.spans_nodes),
                _required(engine.Options),
            ]
            for name, engine in sorted(ENGINES.items())
        ),
    )
    yield "Which goes with which frontend: `disagg` is prefill and decode, `agg` aggregated workers.\n"
    yield _grid(
        ["engine", *(f"`{name}`" for name in FRONTENDS)],
        (
            [f"`{name}`", *(fits(engine, frontend) for frontend in FRONTENDS.values())]
            for name, engine in sorted(ENGINES.items())
        ),
    )
    for name, engine in sorted(ENGINES.items()):
        yield f"### engine {name}\n"
        yield table(rows(engine.Options, "engine.", anchors))
        if engine.reserved:
            yield f"Decided by the topology, so not in `args`: {_words(engine.reserved)}.\n"
        yield from _example(f"engine {name}")


def fits(engine: Engine, frontend: Frontend) -> str:
    """Which roles an engine may have under a frontend, by asking both."""
    if frontend.transport not in engine.transports:
        return NO
    found = []
    if _taken(frontend, {"prefill": 1, "decode": 1}, {"prefill": engine, "decode": engine}):
        found.append("disagg")
    elif frontend.required_engines is not None:
        found += _pairs(engine, frontend)
    if _taken(frontend, {"agg": 2}, {"agg": engine}):
        found.append("agg")
    elif _taken(frontend, {"agg": 1}, {"agg": engine}):
        found.append("one agg worker")
    return ", ".join(found) or NO


def _pairs(engine: Engine, frontend: Frontend) -> Iterator[str]:
    """The other engines with which it may be one of the two roles."""
    for other in ENGINES.values():
        pairs: list[tuple[Mode, Mode]] = [("prefill", "decode"), ("decode", "prefill")]
        for own, theirs in pairs:
            if other is not engine and _taken(frontend, {own: 1, theirs: 1}, {own: engine, theirs: other}):
                yield f"{own}, with {other.name} {theirs}"


def _taken(frontend: Frontend, workers: Mapping[Mode, int], engines: Mapping[Mode, Engine]) -> bool:
    names = {mode: engine.name for mode, engine in engines.items()}
    if any(frontend.transport not in engine.transports for engine in engines.values()):
        return False
    return not frontend.refusals(workers, names, {}) and all(
        not engine.refusals(mode, {}, _defaults(engine)) for mode, engine in engines.items()
    )


def _defaults(engine: Engine) -> Section:
    return NoOptions() if _required(engine.Options) != NO else engine.Options()


def frontends(anchors: Anchors) -> Iterator[str]:
    """The frontends: how they reach workers, what they need, what they do not take."""
    yield "### Types of frontends\n\nWhich engines and roles each takes: the table under [engine](#engine).\n"
    yield _grid(
        [
            "type",
            "what it is",
            "reaches workers by",
            "starts",
            "several behind nginx",
            "not in `args`: it is set",
        ],
        (
            [
                f"`{name}`",
                _about(frontend),
                "Dynamo: the service etcd is added" if frontend.transport == "dynamo" else "HTTP",
                _started(frontend),
                _yes(frontend.scales),
                _words(frontend.reserved) or NO,
            ]
            for name, frontend in FRONTENDS.items()
        ),
    )


def _started(frontend: Frontend) -> str:
    if any(key.startswith("args.") for key, _ in frontend.refusals({"agg": 1}, {}, {"some": 1})):
        return "nothing"
    return "when all workers are ready" if frontend.needs_workers else "with the workers"


def benchmarks(anchors: Anchors) -> Iterator[str]:
    """The benchmark types, the keys of all, and those of each."""
    shared = frozenset(SharedOptions.model_fields)
    yield "A name alone where the type needs no options, or a mapping with `type` and options.\n"
    yield _grid(
        ["type", "what it measures", "client", "required options"],
        (
            [
                f"[`{name}`](#benchmark-{name})",
                _about(_told_of(kind)),
                kind.client,
                _required(kind.Options),
            ]
            for name, kind in sorted(BENCHMARKS.items())
        ),
    )
    yield "Every type takes:\n"
    yield table(
        row for model in (BenchmarkSection, SharedOptions) for row in rows(model, "benchmark.", anchors)
    )
    for name, kind in sorted(BENCHMARKS.items()):
        yield f"### benchmark {name}\n"
        yield table(rows(kind.Options, "benchmark.", anchors, skip=shared))
        yield from _example(f"benchmark {name}")


def _told_of(kind: Benchmark) -> Any:
    """Where a benchmark type is described: a file of its own, or its options where a file has several."""
    module = getmodule(type(kind))
    return module if (module.__doc__ or "").startswith(f"`{kind.name}`:") else kind.Options


def services(anchors: Anchors) -> Iterator[str]:
    """The types of services, with what a recipe need not say of each, and the options of some."""
    yield "### Types of services\n\nA recipe may say another placement and start.\n"
    yield _grid(
        ["type", "what it is", "placement", "start", "critical"],
        (
            [f"`{name}`", _about(kind), f"`{kind.place}`", f"`{kind.start}`", str(kind.critical).lower()]
            for name, kind in sorted(SERVICES.items())
        ),
    )
    yield (
        "Placeholders in braces are filled in `command`, `args`, `env`, `preamble` and `readiness.file`:"
        f" {_braced(PLACEHOLDERS)}; with `per: worker` also {_braced(OF_WORKERS)}. Other braces stay as they"
        " are.\n"
    )
    for name, kind in sorted(SERVICES.items()):
        if kind.Options.model_fields:
            yield f"### service {name}\n\n" + table(rows(kind.Options, "services[].options.", anchors))


def _grid(head: Iterable[str], body: Iterable[Iterable[str]]) -> str:
    cells = [list(head), *map(list, body)]
    cells.insert(1, ["---"] * len(cells[0]))
    lines = [" | ".join(cell.replace("|", "\\|") for cell in line) for line in cells]
    return "\n".join(f"| {line} |" for line in lines) + "\n"


def _about(thing: Any) -> str:
    """The first sentence of a docstring, without the name that it may begin with."""
    said = " ".join((thing.__doc__ or "").partition("\n\n")[0].split())
    return re.sub(r"^`[^`]+`: ", "", said)


def _required(options: type[BaseModel]) -> str:
    return ", ".join(f"`{name}`" for name, field in options.model_fields.items() if field.is_required()) or NO


def _yes(fact: bool) -> str:
    return "yes" if fact else "no"


def _words(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


def _braced(names: Iterable[str]) -> str:
    return ", ".join(f"`{{{name}}}`" for name in names)


def _example(title: str) -> Iterator[str]:
    if title in EXAMPLES:
        yield f"```yaml\n{EXAMPLES[title].strip()}\n```\n"

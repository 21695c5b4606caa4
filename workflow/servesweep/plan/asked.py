"""What a benchmark section asks to be measured: its options, and its loads as they enter identities."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from functools import lru_cache

from servesweep.benchmarks import BENCHMARKS
from servesweep.benchmarks.benchmark import Load
from servesweep.plan.configuration import canonical
from servesweep.recipe.benchmark import BenchmarkSection
from servesweep.recipe.section import Section

FACTS = tuple(field.name for field in fields(Load))


@dataclass(frozen=True)
class Asked:
    """Validated options, and each load with its text in digests, in the order of measurement."""

    options: Section
    loads: tuple[tuple[Load, str], ...]


def asked(section: BenchmarkSection) -> Asked:
    """Read the options of a benchmark type that exists.

    Raises:
        ValidationError: for wrong options.
    """
    return _asked(section.type, section.options_text)


# The variants of a sweep mostly have one benchmark section.
@lru_cache(maxsize=64)
def _asked(kind: str, options: str) -> Asked:
    benchmark = BENCHMARKS[kind]
    read = benchmark.Options.model_validate(json.loads(options))
    loads = benchmark.loads(read)
    return Asked(
        read, tuple((load, canonical({name: getattr(load, name) for name in FACTS})) for load in loads)
    )

"""`slurm:` — what is asked of the scheduler."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from servesweep.recipe.durations import parse_time_limit
from servesweep.recipe.section import Section


def _minutes(value: Any) -> int:
    return parse_time_limit(value)


TimeLimit = Annotated[
    int, BeforeValidator(_minutes), WithJsonSchema({"type": ["string", "integer"], "title": "Time limit"})
]


class SlurmSection(Section):
    """Time limit, account and partition; what is unset comes from the cluster file."""

    time_limit: TimeLimit | None = Field(
        default=None, description="Time limit in any form that Slurm reads; kept as minutes, rounded up."
    )
    account: str | None = Field(default=None, min_length=1, description="Slurm account.")
    partition: str | None = Field(default=None, min_length=1, description="Slurm partition.")

"""`slurm:` — what is asked of the scheduler."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from servesweep.recipe.durations import parse_time_limit
from servesweep.recipe.problems import shown
from servesweep.recipe.section import Section

# Names that Slurm takes, and that no shell and no list of options could take for something else.
SLURM_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+:-]*")


def account_name(text: str) -> str:
    """A Slurm account.

    Raises:
        ValueError: for what cannot be one.
    """
    if not SLURM_NAME.fullmatch(text):
        raise ValueError(f"{shown(text)} is no name of a Slurm account: letters, digits and _ . @ + : -")
    return text


def partition_names(text: str) -> str:
    """A Slurm partition, or several with commas between.

    Raises:
        ValueError: for what cannot be one.
    """
    if not all(map(SLURM_NAME.fullmatch, text.split(","))):
        raise ValueError(f"{shown(text)} is no name of a Slurm partition: letters, digits and _ . @ + : -")
    return text


def _minutes(value: Any) -> int:
    return parse_time_limit(value)


TimeLimit = Annotated[
    int, BeforeValidator(_minutes), WithJsonSchema({"type": ["string", "integer"], "title": "Time limit"})
]

Account = Annotated[str, Field(min_length=1), AfterValidator(account_name)]
Partition = Annotated[str, Field(min_length=1), AfterValidator(partition_names)]


class SlurmSection(Section):
    """Time limit, account and partition; what is unset comes from the cluster file."""

    time_limit: TimeLimit | None = Field(
        default=None, description="Time limit in any form that Slurm reads; kept as minutes, rounded up."
    )
    account: Account | None = Field(default=None, description="Slurm account.")
    partition: Partition | None = Field(default=None, description="Slurm partition.")

"""What a run left, as a reader sees it: what the report needs of each file, everything else ignored.

Evidence may be old, partial or damaged, so these models ignore unknown keys and `read` returns a sentence
instead of raising.
"""

import json
import math
from pathlib import Path
from typing import Any, TypeGuard, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

SCHEMA = 1


class Evidence(BaseModel):
    """One result file, read leniently."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=True)


class Load(Evidence):
    """The load that a point really had."""

    isl: int | None = Field(None, description="input tokens asked for")
    osl: int | None = Field(None, description="output tokens asked for")
    concurrency: int | None = Field(None, description="requests in flight")
    request_rate: float | str | None = Field(None, description="requests per second, or 'inf'")


class Requests(Evidence):
    """Requests of a point, counted."""

    asked: int | None = Field(None, description="requests to send")
    completed: int | None = Field(None, description="requests that ended well")
    failed: int | None = Field(None, description="requests that did not")
    errors: dict[str, int] = Field(default_factory=dict, description="failures by category")


class Tokens(Evidence):
    """Tokens of a point, counted."""

    input: int | None = Field(None, description="prompt tokens")
    output: int | None = Field(None, description="generated tokens")


class Client(Evidence):
    """How well the measuring client kept up."""

    saturated: bool | None = Field(None, description="too busy for its times to be trusted")
    lag_ms_p99: float | None = Field(None, description="99th percentile of its lateness, ms")


class Slo(Evidence):
    """Whether a point kept the objectives of its recipe."""

    met: bool = Field(description="every objective was kept")
    missed: list[str] = Field(default_factory=list, description="one clause for each that was not")


class Result(Evidence):
    """`result.json` or `invalid.json` of a point."""

    digest: str = Field("", description="identity of the measurement")
    valid: bool = Field(description="whether the validity gate passed it")
    reasons: list[str] = Field(default_factory=list, description="why it is not valid")
    notes: list[str] = Field(default_factory=list, description="remarks of the client")
    load: Load = Field(default_factory=Load, description="the load it had")
    model: str | None = Field(None, description="model asked for")
    started_at: str | None = Field(None, description="ISO time of the first request")
    duration_s: float | None = Field(None, description="seconds of measurement")
    requests: Requests = Field(default_factory=Requests, description="requests, counted")
    tokens: Tokens = Field(default_factory=Tokens, description="tokens, counted")
    client: Client = Field(default_factory=Client, description="how well the client kept up")
    slo: Slo | None = Field(None, description="objectives; none where the recipe has none")
    metrics: dict[str, float] = Field(default_factory=dict, description="measured numbers, unit in the name")

    @field_validator("metrics", mode="before")
    @classmethod
    def _only_finite_numbers(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {k: v for k, v in value.items() if is_number(v)}


class RunNode(Evidence):
    """A symbolic node bound to a host."""

    name: str = Field(description="symbolic name")
    host: str = Field("", description="host name")
    address: str = Field("", description="network address")


class Run(Evidence):
    """`run.json`: the run finished and every point is valid."""

    digest: str = Field("", description="identity of the configuration that ran")
    job_id: str | int | None = Field(None, description="Slurm job")
    nodes: list[RunNode] = Field(default_factory=list, description="hosts of the symbolic nodes")
    started_at: str | None = Field(None, description="ISO time")
    finished_at: str | None = Field(None, description="ISO time")


class Failure(Evidence):
    """`failure.json`: what failed first."""

    digest: str = Field("", description="identity of the configuration that ran")
    stage: str = Field("", description="part of the run that failed")
    message: str = Field("", description="one sentence")
    step: str | None = Field(None, description="process that failed")
    node: str | None = Field(None, description="host it ran on")
    exit_code: int | None = Field(None, description="its exit code")
    signal: str | None = Field(None, description="signal that ended it")
    log: str | None = Field(None, description="its log, relative to the configuration's directory")
    tail: list[str] = Field(default_factory=list, description="last lines of that log")
    at: str | None = Field(None, description="ISO time")
    job_id: str | int | None = Field(None, description="Slurm job")


Kind = TypeVar("Kind", bound=Evidence)


def is_number(value: object) -> TypeGuard[int | float]:
    """Tell whether a JSON value is a finite number (true and false are not)."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def read(path: Path, kind: type[Kind]) -> tuple[Kind | None, str]:
    """Read one file; returns (content, "") or (None, one sentence), and (None, "") when it is not there."""
    try:
        raw = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None, ""
    except OSError as error:
        return None, f"{path.name} cannot be read: {error.strerror}"
    except (ValueError, RecursionError) as error:
        return None, f"{path.name} is not JSON: {error}"
    if not isinstance(raw, dict):
        return None, f"{path.name} is not a JSON object"
    if raw.get("schema", SCHEMA) != SCHEMA:
        return None, f"{path.name} has schema {raw['schema']!r}, this version reads schema {SCHEMA}"
    try:
        return kind.model_validate(raw), ""
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        return None, f"{path.name} is damaged at {key}: {first['msg']}"

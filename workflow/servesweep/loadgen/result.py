"""The record of one point, and where it is written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from servesweep.loadgen.files import write_atomically
from servesweep.loadgen.record import RequestRecord
from servesweep.loadgen.request_log import request_log
from servesweep.loadgen.slo import SloMark


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class RequestCounts(_Part):
    """How the requests ended."""

    asked: int = Field(description="Requests that were to be measured.")
    completed: int = Field(description="Requests answered in full.")
    failed: int = Field(description="Requests that failed.")
    errors: dict[str, int] = Field(description="Failed requests by category.")
    error_examples: dict[str, str] = Field(
        description="First 200 characters of one failure of each category."
    )


class TokenCounts(_Part):
    """Tokens of the completed requests, as the server counts them."""

    input: int = Field(description="Prompt tokens.")
    output: int = Field(description="Output tokens.")


class ClientFacts(_Part):
    """How well the client itself kept up."""

    processes: int = Field(description="Client processes.")
    max_in_flight: int = Field(description="Most requests open at one moment, over all processes.")
    cpu_share_max: float = Field(description="CPU seconds per second of the busiest process.")
    lag_ms_mean: float = Field(description="Mean lateness of the event loops' wake-ups, ms.")
    lag_ms_p99: float = Field(description="99th percentile of that lateness, ms.")
    lag_ms_max: float = Field(description="Largest lateness, ms.")
    saturated: bool = Field(description="Whether the client was too busy for its times to be trusted.")


class PromptFacts(_Part):
    """Which prompts were measured: two points with one fingerprint would have warmed each other's cache."""

    source: str = Field(description="`random`, or the file of prompts.")
    sha256: str = Field(description="Fingerprint of all measured prompts in their order.")
    distinct: int = Field(description="Different prompts; fewer than the requests where some recurred.")
    shared_prefix_ratio: float = Field(description="Share of each random prompt that others have too.")


class PointResult(_Part):
    """One measured point."""

    schema_version: Literal[1] = Field(1, alias="schema", description="Version of this record's form.")
    configuration: str = Field(description="Name of the configuration that was measured.")
    point: str = Field(description="Name of the load level.")
    digest: str = Field(description="Identity of the configuration.")
    valid: bool = Field(description="Whether the point counts.")
    reasons: list[str] = Field(description="Why it does not count; empty when it does.")
    notes: list[str] = Field(description="What a reader of the numbers should know.")
    load: dict[str, Any] = Field(description="The load as asked: the spec without its names.")
    model: str = Field(description="Model name that was asked for.")
    models_answered: list[str] = Field(description="Model names that the answers gave.")
    started_at: str = Field(description="UTC time at which the measured phase began, ISO 8601.")
    duration_s: float = Field(description="First send to last token of the completed requests, seconds.")
    requests: RequestCounts = Field(description="How the requests ended.")
    tokens: TokenCounts = Field(description="Tokens of the completed requests.")
    metrics: dict[str, float | None] = Field(
        description="Flat metrics; null where there is no sample or divisor."
    )
    client: ClientFacts = Field(description="How well the client kept up.")
    prompts: PromptFacts | None = Field(None, description="Which prompts were sent.")
    slo: SloMark | None = Field(None, description="Whether the objectives were kept; null without any.")


def write_result(result: PointResult, records: Sequence[RequestRecord], output: Path) -> Path:
    """Write the record and its requests; returns the record's path.

    A valid point goes to `output`, beside `requests.parquet`, and removes the traces of an earlier failure.
    An invalid one goes to `invalid.json` and `invalid.requests.parquet` beside it and leaves `output` alone.
    The record is written last: who sees it sees everything.
    """
    invalid, invalid_requests = output.with_name("invalid.json"), output.with_name("invalid.requests.parquet")
    path = output if result.valid else invalid
    requests = output.with_name("requests.parquet") if result.valid else invalid_requests
    write_atomically(requests, request_log(records))
    write_atomically(path, result.model_dump_json(by_alias=True, indent=2) + "\n")
    if result.valid:
        for stale in (invalid, invalid_requests):
            stale.unlink(missing_ok=True)
    return path

"""Options of one simulator process."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from servesweep.simulator.faults import Faults

Mode = Literal["agg", "prefill", "decode"]


class SimulatorOptions(BaseModel):
    """What a simulator serves, how fast, and what is wrong with it.

    Each field but `faults` is one command-line option of the same name, written with hyphens.
    """

    # A field named model_* is not one of pydantic's own here.
    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    model_name: str = Field(min_length=1, description="name the model is served under")
    model_path: Path | None = Field(
        default=None,
        description="directory whose tokenizer.json counts prompt tokens; without it words count",
    )
    host: str = Field(default="127.0.0.1", min_length=1, description="address to listen on")
    port: int = Field(default=8000, ge=0, le=65535, description="port to listen on; 0 takes a free one")
    mode: Mode = Field(default="agg", description="part of a disaggregated pair, or agg for the whole")
    bootstrap_port: int | None = Field(
        default=None, ge=0, le=65535, description="port of the bootstrap listener, in prefill mode only"
    )
    ttft_ms: float = Field(default=20.0, ge=0, description="milliseconds from admission to the first token")
    itl_ms: float = Field(default=5.0, ge=0, description="milliseconds between two tokens of a request")
    itl_slope_ms: float = Field(
        default=0.0,
        ge=0,
        description="milliseconds added to the ITL for each other request running at admission",
    )
    prefill_tokens_per_s: float | None = Field(
        default=None, gt=0, description="adds prompt tokens / this many seconds to the TTFT"
    )
    max_num_seqs: int | None = Field(
        default=None, ge=1, description="requests that run at once; others queue"
    )
    context_length: int = Field(default=131072, ge=1, description="most tokens of prompt and output together")
    eos_after: int | None = Field(
        default=None,
        ge=1,
        description="tokens after which an answer ends by itself unless ignore_eos is sent",
    )
    startup_s: float = Field(
        default=0.0, ge=0, description="seconds of answering 503 after the port is bound"
    )
    seed: int = Field(default=0, ge=0, description="moves the words of the answers and the failing requests")
    faults: Faults = Field(default_factory=Faults, description="what is made to go wrong")

    @property
    def told_name(self) -> str:
        """The model name in answers: the real one, unless a fault tells another."""
        return self.faults.wrong_model or self.model_name

    @property
    def total_startup_s(self) -> float:
        """Seconds after binding the port until requests are served; infinite for `never-healthy`."""
        if self.faults.never_healthy:
            return float("inf")
        return self.startup_s + self.faults.slow_start_s

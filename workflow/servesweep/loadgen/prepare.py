"""Writes the files through which the parent tells its client processes what to send; `job` reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from servesweep.loadgen.dataset import Prompt, Schedule
from servesweep.loadgen.job import Phase
from servesweep.loadgen.processes import shares
from servesweep.loadgen.spec import LoadSpec


def request_body(spec: LoadSpec, prompt: Prompt) -> bytes:
    """JSON body of one streaming request.

    The prompt goes as text, not as token ids: cache-aware routers look at the text.
    """
    body: dict[str, Any] = {"model": spec.model}
    if spec.api == "chat":
        body["messages"] = list(prompt.messages) or [{"role": "user", "content": prompt.text}]
    else:
        body["prompt"] = prompt.text
    body |= {
        "max_tokens": prompt.output_tokens,
        "temperature": spec.temperature,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if spec.ignore_eos:
        body["ignore_eos"] = True
    return json.dumps(body | spec.extra_body).encode()


def write_job(directory: Path, spec: LoadSpec, processes: int) -> None:
    """Write `job.json`, what is common to the phases."""
    slots = None if spec.concurrency is None else shares(spec.concurrency, processes)
    fields = {
        "url": spec.endpoint,
        "timeout_s": spec.request_timeout_s,
        "processes": processes,
        "slots": slots,
    }
    (directory / "job.json").write_text(json.dumps(fields))


def write_phase(directory: Path, spec: LoadSpec, phase: Phase, schedule: Schedule) -> None:
    """Write the bodies and the index of one phase."""
    starts = [0]
    with (directory / f"{phase}.bodies").open("wb") as file:
        for prompt in schedule.prompts:
            starts.append(starts[-1] + file.write(request_body(spec, prompt)))
    index = {
        "starts": starts,
        "inputs": [p.input_tokens for p in schedule.prompts],
        "outputs": [p.output_tokens for p in schedule.prompts],
        "arrivals_s": schedule.arrivals_s,
    }
    (directory / f"{phase}.json").write_text(json.dumps(index))

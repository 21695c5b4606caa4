"""The state of a running simulator: what is up, running, waiting and counted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields

from servesweep.simulator.generation import Generation
from servesweep.simulator.options import SimulatorOptions
from servesweep.simulator.precise_loop import sleep_until
from servesweep.simulator.timetable import Timetable
from servesweep.simulator.vocabulary import answer_words


@dataclass(slots=True)
class Counters:
    """Numbers that /metrics shows; the first two go up and down, the others only up."""

    requests_running: int = 0
    requests_waiting: int = 0
    requests_total: int = 0
    requests_success_total: int = 0
    requests_failed_total: int = 0
    prompt_tokens_total: int = 0
    generation_tokens_total: int = 0


class Engine:
    """What all requests of one process share."""

    def __init__(self, options: SimulatorOptions, count_text: Callable[[str], int]) -> None:
        self.options = options
        self.count_text = count_text
        self.words = answer_words(options.seed)
        self.counters = Counters()
        self._slots = asyncio.Semaphore(options.max_num_seqs) if options.max_num_seqs else None
        self._ready_at = float("inf")

    def start_up(self, now: float) -> None:
        """Start the clock of the start-up time at `now`, seconds of the loop's clock."""
        self._ready_at = now + self.options.total_startup_s

    def is_ready(self, now: float) -> bool:
        """Say whether the start-up is over at `now`, seconds of the loop's clock."""
        return now >= self._ready_at

    @asynccontextmanager
    async def admitted(self, arrival: float) -> AsyncIterator[tuple[float, int]]:
        """Wait, first come first served, for one of `max_num_seqs` slots and hold it.

        Gives the time of admission (`arrival` itself when nothing had to be waited for) and the number of
        requests that run now, this one included.
        """
        admission = arrival
        if self._slots is not None:
            must_wait = self._slots.locked()
            self.counters.requests_waiting += 1
            try:
                await self._slots.acquire()
            finally:
                self.counters.requests_waiting -= 1
            if must_wait:
                admission = asyncio.get_running_loop().time()
        self.counters.requests_running += 1
        try:
            yield admission, self.counters.requests_running
        finally:
            self.counters.requests_running -= 1
            if self._slots is not None:
                self._slots.release()

    async def produce(self, token: int, generation: Generation, due: Timetable) -> None:
        """Return when token number `token` of a request is due; never, when a fault makes it hang."""
        hang = self.options.faults.hang_after
        if hang is not None:
            limit = hang.tokens_before_hang(self.counters.requests_success_total, generation.output_tokens)
            if limit is not None and token >= limit:
                await asyncio.Event().wait()
        await sleep_until(due.due(token))
        self.counters.generation_tokens_total += 1


def prometheus_text(counters: Counters, model_name: str) -> str:
    """Write the counters in Prometheus' text format, every name prefixed with `simulator_`."""
    label = model_name.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    lines = []
    for field in fields(counters):
        name = f"simulator_{field.name}"
        lines.append(f"# TYPE {name} {'counter' if name.endswith('_total') else 'gauge'}")
        lines.append(f'{name}{{model_name="{label}"}} {getattr(counters, field.name)}')
    return "\n".join(lines) + "\n"

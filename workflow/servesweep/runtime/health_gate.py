"""The health gate: every worker ready and known to the frontend, the right model, one real answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp

from servesweep.evidence.files import RunFiles
from servesweep.frontends import FRONTENDS
from servesweep.plan.plan import Plan, Step
from servesweep.runtime.excerpt import excerpt
from servesweep.runtime.fatal_lines import FatalLines
from servesweep.runtime.probing import answers, http_session
from servesweep.runtime.processes import foreign_listener
from servesweep.runtime.state import tell_ready
from servesweep.runtime.unhealthy import UnhealthyError
from servesweep.topology.deployment import Census

# Lines after which an engine never becomes ready, although its process may stay.
FATAL_MARKERS = (
    r"CUDA out of memory",
    r"torch\.OutOfMemoryError",
    r"NCCL error",
    r"Address already in use",
    r"ImportError:",
    r"ModuleNotFoundError:",
    r"Segmentation fault",
)
FIRST_INTERVAL_SECONDS = 0.2
REQUEST_SECONDS = 120.0
LONGEST_EXCERPT = 200
WRONG_MODEL_PROBES = 20
START_SECONDS = 0.1
Probing = Callable[[aiohttp.ClientSession], Awaitable[dict[str, Any] | None]]


async def until_started(files: RunFiles) -> None:
    """Return when the run has started everything that the gate asks, which may wait for others itself."""
    while not files.deployed.exists():
        await asyncio.sleep(START_SECONDS)


@dataclass
class Gate:
    """State of one passage through the gate."""

    plan: Plan
    logs: Path
    hosts: dict[str, str]
    say: Callable[[str], None]
    ready: set[str] = field(default_factory=set)
    waiting_for: str = "workers"
    wrong_model: int = 0
    missing: tuple[Step, ...] = ()

    def __post_init__(self) -> None:
        check = self.plan.resolved.health_check
        markers = FATAL_MARKERS if check.fatal_log_markers else ()
        self._fatal = FatalLines((*markers, *check.extra_fatal_log_patterns))

    async def open(self) -> dict[str, Any]:
        """Poll until all is well and return the verdict for health.json.

        Raises:
            UnhealthyError: on a fatal line in a log, or when patience is over.
        """
        return await self._until(self._probe)

    async def workers_ready(self) -> None:
        """Poll until every worker is ready: what a frontend waits for that does not wait for them itself.

        Raises:
            UnhealthyError: as `open`.
        """
        await self._until(self._probe_workers)

    async def _until(self, probe: Probing) -> dict[str, Any]:
        patience = self.plan.resolved.health_check
        began = time.monotonic()
        interval = min(FIRST_INTERVAL_SECONDS, patience.interval_seconds)
        async with http_session() as session:
            while True:
                self._look_for_fatal_lines()
                verdict = await probe(session)
                if verdict is not None:
                    return {**verdict, "waited_s": round(time.monotonic() - began, 3)}
                if time.monotonic() - began + interval > patience.timeout_seconds:
                    told = f"not healthy after {patience.timeout_seconds:g} s: {self.waiting_for}"
                    raise self._unhealthy(told, *self.missing[:1])
                await asyncio.sleep(interval)
                interval = min(interval * 1.2, patience.interval_seconds)

    async def _probe(self, session: aiohttp.ClientSession) -> dict[str, Any] | None:
        verdict = await self._probe_workers(session)
        return verdict if verdict is None or self.plan.public is None else await self._ask_frontend(session)

    async def _probe_workers(self, session: aiohttp.ClientSession) -> dict[str, Any] | None:
        workers = [step for step in self.plan.steps if step.kind == "worker" and step.probe]
        asked = [step for step in workers if step.name not in self.ready]
        await self._ask(session, asked, len(workers))
        early = [step for step in workers if step not in asked]
        if len(self.ready) == len(workers) and asked and early:
            # Who was ready long before the last one may be gone by now.
            await self._ask(session, early, len(workers))
        self.missing = tuple(step for step in workers if step.name not in self.ready)
        if self.missing:
            names = ", ".join(step.name for step in self.missing)
            self.waiting_for = f"{len(self.ready)} of {len(workers)} workers ready, missing {names}"
            return None
        return {"workers": sorted(self.ready)}

    async def _ask(self, session: aiohttp.ClientSession, steps: list[Step], of: int) -> None:
        """Note who of them is ready, and who is so no more."""
        before = set(self.ready)
        found = await asyncio.gather(*(self._ready(session, step) for step in steps))
        for step, is_ready in zip(steps, found, strict=True):
            if is_ready and step.name not in self.ready:
                self.ready.add(step.name)
                self.say(f"{step.name} is ready ({len(self.ready)}/{of})")
            elif not is_ready and step.name in self.ready:
                self.ready.discard(step.name)
                self.say(f"{step.name} is not ready any more ({len(self.ready)}/{of})")
        if self.ready != before:
            tell_ready(self.logs, self.ready)

    async def _ready(self, session: aiohttp.ClientSession, step: Step) -> bool:
        assert step.probe is not None
        if not await answers(session, self.plan.deployment.address(step.node), step.probe):
            return False
        # An engine binds its port minutes after its start: somebody else's server may have been quicker.
        if self._is_here(step) and foreign_listener(step.probe.port, self.logs.parent):
            told = f"port {step.probe.port} of {step.name} is held by a process that is not its own"
            raise self._unhealthy(told, step)
        return True

    def _is_here(self, step: Step) -> bool:
        """Whether the process can be looked at from here: every one on one machine, else the head's."""
        return self.plan.launcher == "local" or step.node == self.plan.nodes[0].name

    async def _ask_frontend(self, session: aiohttp.ClientSession) -> dict[str, Any] | None:
        frontend, expected = FRONTENDS[self.plan.frontend], self.plan.expected
        # Behind nginx each answer comes from another one, and every one of them must know all workers.
        for base in self._frontends() if frontend.census_path is not None else ():
            body = await _json(session, f"{base}{frontend.census_path}")
            known = frontend.census(body) if body is not None else Census()
            if known.prefill < expected.prefill or known.decode < expected.decode:
                self.waiting_for = f"the frontend {base} knows {_told(known)} workers of {_told(expected)}"
                return None
        listing = await _json(session, self._public("/v1/models"))
        models = [model.get("id") for model in listing.get("data", [])] if isinstance(listing, dict) else []
        if self.plan.served_model not in models:
            self.waiting_for = f"the public API serves {models}, and not {self.plan.served_model}"
            self.wrong_model = self.wrong_model + 1 if models else 0
            if self.wrong_model >= WRONG_MODEL_PROBES:
                raise UnhealthyError(self.waiting_for)
            return None
        answers = {base: await self._real_request(session, base) for base in self._bases()}
        if None in answers.values():
            return None
        return {"workers": sorted(self.ready), "models": models, "request": answers[self._public("")]}

    def _bases(self) -> list[str]:
        """Whom a real request is sent to: the public API, each frontend behind it, each whole worker."""
        deployment = self.plan.deployment
        whole = deployment.serving("agg") if deployment.transport == "http" else ()
        workers = [deployment.url(worker) for worker in whole]
        return list(dict.fromkeys([*self._frontends(), self._public(""), *workers]))

    def _frontends(self) -> list[str]:
        """Base URLs of the frontends themselves: those behind nginx, or the public one."""
        deployment = self.plan.deployment
        if all(one.port == deployment.public_port for one in deployment.frontends):
            return [self._public("")]
        return [f"http://{deployment.address(one.node)}:{one.port}" for one in deployment.frontends]

    async def _real_request(self, session: aiohttp.ClientSession, base: str) -> dict[str, Any] | None:
        """Ask for a few tokens; None, with the reason noted, where they do not come."""
        body = {"model": self.plan.served_model, "prompt": "ready?", "max_tokens": 4, "temperature": 0}
        timeout = aiohttp.ClientTimeout(total=REQUEST_SECONDS)
        try:
            async with session.post(f"{base}/v1/completions", json=body, timeout=timeout) as response:
                text = await response.text()
                if response.status != 200:
                    told = excerpt(text, LONGEST_EXCERPT)
                    self.waiting_for = f"a real request to {base} got HTTP {response.status}: {told}"
                    return None
                tokens = ((await response.json()).get("usage") or {}).get("completion_tokens", 0)
        except (OSError, aiohttp.ClientError, TimeoutError, ValueError) as error:
            self.waiting_for = f"a real request to {base} failed: {type(error).__name__} {error}"
            return None
        if not tokens:
            self.waiting_for = f"a real request to {base} was answered with no tokens"
            return None
        return {"completion_tokens": tokens}

    def _public(self, path: str) -> str:
        assert self.plan.public is not None
        return f"http://{self.plan.deployment.address(self.plan.public.node)}:{self.plan.public.port}{path}"

    def _look_for_fatal_lines(self) -> None:
        roles = self.plan.resolved.roles
        # Whoever exits after such a line is started again: its next life has a log of its own.
        again = {mode for mode, role in roles.items() if role.restart.policy != "never"} if roles else ()
        for step in self.plan.steps:
            if step.kind == "worker" and step.mode not in again:
                line = self._fatal.first(self.logs / step.log.format(host=self.hosts[step.node]))
                if line:
                    raise self._unhealthy(f"{step.name} printed a fatal line: {line}", step)

    def _unhealthy(self, message: str, step: Step | None = None) -> UnhealthyError:
        """With the evidence about the process that it is about."""
        if step is None or step.node not in self.hosts:
            return UnhealthyError(message)
        host = self.hosts[step.node]
        log = f"{self.logs.name}/{step.log.format(host=host)}"
        return UnhealthyError(message, step.name, host, log)


def verdict_record(plan: Plan, verdict: dict[str, Any]) -> dict[str, Any]:
    """The text of health.json."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return {
        "schema": 1,
        "open": True,
        "configuration": plan.configuration,
        "served_model": plan.served_model,
        "at": now,
        **verdict,
    }


async def _json(session: aiohttp.ClientSession, url: str) -> Any:
    try:
        async with session.get(url, timeout=aiohttp.ClientTimeout(total=10)) as response:
            return await response.json(content_type=None) if response.status == 200 else None
    except (OSError, aiohttp.ClientError, TimeoutError, ValueError):
        return None


def _told(census: Census) -> str:
    return f"{census.prefill} prefill and {census.decode} decode" if census.prefill else f"{census.decode}"

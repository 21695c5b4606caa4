"""The handler of both completion endpoints: reads a request and writes each token when it is due."""

from __future__ import annotations

import asyncio
import os
import time
from typing import Any

from aiohttp import web

from servesweep.simulator.answers import DONE, AnswerFormat, token_text, whole_text
from servesweep.simulator.engine import Engine
from servesweep.simulator.generation import Generation, count_prompt, handover, plan_generation
from servesweep.simulator.likelihoods import echoed
from servesweep.simulator.request_body import (
    CompletionRequest,
    Endpoint,
    GenerationRequest,
    RequestRefusedError,
    parse_request,
)
from servesweep.simulator.timetable import Timetable, timetable

_LONG_BODY_BYTES = 4096  # tokenizing a longer text in the loop would delay the other requests' tokens
_STREAM_HEADERS = {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"}


class GenerationHandler:
    """Answers the requests of one endpoint."""

    def __init__(self, engine: Engine, endpoint: Endpoint) -> None:
        self._engine = engine
        self._endpoint = endpoint

    async def __call__(self, http: web.Request) -> web.StreamResponse:
        """Answer one request; in the end every request has succeeded or failed."""
        arrival = asyncio.get_running_loop().time()
        counters, crash = self._engine.counters, self._engine.options.faults.crash_after
        ordinal = counters.requests_total
        counters.requests_total += 1
        try:
            response = await self._answer(http, arrival, ordinal)
        except RequestRefusedError as refusal:
            counters.requests_failed_total += 1
            return web.json_response(refusal.body(), status=refusal.status)
        except BaseException:  # a client that went away cancels this task
            counters.requests_failed_total += 1
            raise
        counters.requests_success_total += 1
        if crash is not None and counters.requests_success_total >= crash.requests:
            os._exit(crash.exit_code)
        return response

    async def _answer(self, http: web.Request, arrival: float, ordinal: int) -> web.StreamResponse:
        """Answer request number `ordinal`, or raise RequestRefusedError."""
        options = self._engine.options
        raw = await http.read()
        request = parse_request(self._endpoint, raw, options.model_name)
        if options.faults.refuses(ordinal, options.seed):
            raise RequestRefusedError(
                500, "The simulator was told to fail this request.", "InternalServerError"
            )
        prompt, completed = (
            await self._count_prompt(request, len(raw)),
            self._engine.counters.requests_success_total,
        )
        generation = plan_generation(options, request, prompt, completed)
        answer = AnswerFormat(
            endpoint=self._endpoint,
            id=http.headers.get("X-Request-ID") or f"simulator-{ordinal}",
            created=int(time.time()),
            model=options.faults.answering_model(completed) or options.model_name,
            include_usage=request.include_usage,
        )
        async with self._engine.admitted(arrival) as (admission, running):
            prompt_tokens = generation.prompt_tokens
            self._engine.counters.prompt_tokens_total += prompt_tokens
            due = timetable(options, admission, prompt_tokens, running, generation.prefilled)
            if request.stream:
                return await self._stream(http, answer, generation, due)
            for token in range(generation.output_tokens):
                await self._engine.produce(token, generation, due)
            text = whole_text(self._engine.words, generation.output_tokens)
            transfer = handover(options, request, ordinal, prompt_tokens)
            likely = self._likelihoods(request, generation)
            return await _send_whole(http, answer.whole(text, generation, transfer, likely))

    def _likelihoods(self, request: GenerationRequest, generation: Generation) -> dict[str, Any] | None:
        """Say how likely each token was, where that is asked for."""
        prompt = request.echoed_ids if isinstance(request, CompletionRequest) else None
        if prompt is None:
            return None
        words = self._engine.words
        return echoed(prompt, [token_text(words, token) for token in range(generation.output_tokens)])

    async def _count_prompt(self, request: GenerationRequest, body_bytes: int) -> int:
        """Count the prompt's tokens, beside the event loop when that takes long."""
        count_text = self._engine.count_text
        if self._engine.options.model_path is None or body_bytes < _LONG_BODY_BYTES:
            return count_prompt(request, count_text)
        return await asyncio.to_thread(count_prompt, request, count_text)

    async def _stream(
        self, http: web.Request, answer: AnswerFormat, generation: Generation, due: Timetable
    ) -> web.StreamResponse:
        """Send one event per token, each when it is due, then the usage if asked, then `[DONE]`."""
        response = web.StreamResponse(headers=_STREAM_HEADERS | {"Simulator-Timetable": due.header()})
        await response.prepare(http)
        words, last = self._engine.words, generation.output_tokens - 1
        before, after = answer.middle_token()
        for token in range(generation.output_tokens):
            text = token_text(words, token)
            if 0 < token < last:
                event = before + text.encode() + after
            else:
                reason = generation.finish_reason if token == last else None
                event = answer.token(text, first=token == 0, finish_reason=reason)
            await self._engine.produce(token, generation, due)
            await response.write(event)
        usage = answer.final_usage(generation) if answer.include_usage else b""
        await response.write_eof(usage + DONE)
        return response


async def _send_whole(http: web.Request, body: bytes) -> web.StreamResponse:
    """Send an unstreamed answer before the handler returns, so that it counts as answered only when it is."""
    response = web.Response(body=body, content_type="application/json")
    await response.prepare(http)
    await response.write_eof()
    return response

"""One simulator process: its web application, its ports, its life from start to SIGTERM."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from contextlib import ExitStack

from aiohttp import web
from aiohttp.http_exceptions import BadHttpMessage

from servesweep.simulator.engine import Engine
from servesweep.simulator.generation_handler import GenerationHandler
from servesweep.simulator.introspection import introspection_routes
from servesweep.simulator.options import SimulatorOptions
from servesweep.simulator.prompt_counter import text_counter
from servesweep.simulator.request_body import RequestRefusedError

_LARGEST_BODY_BYTES = 64 * 1024 * 1024
_BACKLOG = 4096  # a sweep opens all connections of a load level at once
_GRACE_S = 0.1  # open streams are cancelled after this long
_ALWAYS_SERVED = frozenset({"/metrics", "/version"})

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def application(engine: Engine) -> web.Application:
    """Make the web application that serves an engine."""

    @web.middleware
    async def refuse_until_ready(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path in _ALWAYS_SERVED or engine.is_ready(asyncio.get_running_loop().time()):
            return await handler(request)
        refusal = RequestRefusedError(503, "The server is starting up.", "ServiceUnavailableError")
        return web.json_response(refusal.body(), status=refusal.status)

    app = web.Application(middlewares=[refuse_until_ready], client_max_size=_LARGEST_BODY_BYTES)
    app.add_routes(introspection_routes(engine))
    app.router.add_post("/v1/completions", GenerationHandler(engine, "completion").__call__)
    app.router.add_post("/v1/chat/completions", GenerationHandler(engine, "chat").__call__)
    return app


def bootstrap_application() -> web.Application:
    """Make the listener of the bootstrap port: it holds the port and answers that it is there."""

    async def here(_: web.Request) -> web.Response:
        return web.json_response({})

    app = web.Application()
    app.add_routes([web.get("/health", here), web.get("/route", here)])
    return app


def _bound(host: str, port: int) -> socket.socket:
    """Bind a listening socket; raises OSError, which names the address, when that is not possible."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=_BACKLOG)


async def _serve_on(listener: socket.socket, app: web.Application) -> web.AppRunner:
    """Serve an application on a bound socket until the runner is cleaned up."""
    runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=_GRACE_S)
    await runner.setup()
    await web.SockSite(runner, listener, backlog=_BACKLOG).start()
    return runner


def _is_worth_a_line(record: logging.LogRecord) -> bool:
    """Drop aiohttp's traceback about clients that try HTTP/2 first, as SGLang's router does."""
    return not (record.exc_info and isinstance(record.exc_info[1], BadHttpMessage))


async def serve(options: SimulatorOptions) -> None:
    """Serve until SIGTERM or SIGINT.

    Raises OSError when a port cannot be bound, ValueError when the model path holds no tokenizer.
    """
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    logging.getLogger("aiohttp.server").addFilter(_is_worth_a_line)
    count_text = text_counter(options.model_path)
    with ExitStack() as sockets:
        listener = sockets.enter_context(_bound(options.host, options.port))
        real_ports = {"port": listener.getsockname()[1]}
        runners: list[web.AppRunner] = []
        if options.bootstrap_port is not None:
            bootstrap = sockets.enter_context(_bound(options.host, options.bootstrap_port))
            real_ports["bootstrap_port"] = bootstrap.getsockname()[1]
            runners.append(await _serve_on(bootstrap, bootstrap_application()))
        engine = Engine(options.model_copy(update=real_ports), count_text)
        runners.append(await _serve_on(listener, application(engine)))
        engine.start_up(loop.time())
        gc.freeze()  # what exists now lives as long as the process: later collections need not walk it
        _announce(engine.options)
        await stop.wait()
        await asyncio.gather(*(runner.cleanup() for runner in runners))


def _announce(options: SimulatorOptions) -> None:
    """Print the one line that says where and how the simulator listens."""
    told = options.model_dump_json(exclude={"host", "port"}, exclude_defaults=True)
    print(f"simulator listening on {base_url(options.host, options.port)} with {told}", flush=True)
    if options.faults.fatal_log is not None:
        print(options.faults.fatal_log, file=sys.stderr, flush=True)


def base_url(host: str, port: int) -> str:
    """Give the address of a server; an IPv6 address gets its brackets."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

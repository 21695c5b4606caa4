"""One request: post it, read the stream, say what came or why it failed."""

from __future__ import annotations

import errno
import socket
from time import perf_counter

import aiohttp

from servesweep.loadgen.record import OK, RequestRecord
from servesweep.loadgen.sse import EXCERPT, EventStream

# Python web servers close an idle connection after 5 s (uvicorn's default); one that is dropped here before
# can never be closed by the server in the moment a request is put on it.
KEEP_ALIVE_S = 3.0
QUICKACK = getattr(socket, "TCP_QUICKACK", None)
HEADERS = {"Content-Type": "application/json", "Accept": "text/event-stream", "Accept-Encoding": "identity"}


def open_session(timeout_s: float) -> aiohttp.ClientSession:
    """A session with as many keep-alive connections as requests; proxies of the environment are not used."""
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_ALIVE_S, ttl_dns_cache=None)
    return aiohttp.ClientSession(
        connector=connector,
        timeout=aiohttp.ClientTimeout(total=timeout_s, sock_connect=None),
        headers=HEADERS,
        auto_decompress=False,
        trust_env=False,
        cookie_jar=aiohttp.DummyCookieJar(),
    )


def _acknowledge_at_once(response: aiohttp.ClientResponse) -> None:
    """Send TCP acknowledgements without delay (tcp(7), TCP_QUICKACK; Linux takes it back by itself).

    A server that leaves Nagle's algorithm on (sglang-router 0.3.2) holds each token back until the one before
    is acknowledged. With the kernel's delay of 40 ms the tokens of a short answer would come in one piece.
    """
    transport = response.connection.transport if response.connection else None
    found = transport.get_extra_info("socket") if transport else None
    if found is not None and QUICKACK is not None:
        found.setsockopt(socket.IPPROTO_TCP, QUICKACK, 1)


async def send(
    session: aiohttp.ClientSession, url: str, body: bytes, record: RequestRecord, stream: EventStream
) -> None:
    """Send one request and fill in `record`; never raises for what the server or network does.

    Whatever happens between the call and the return counts as in flight.
    """
    record.sent = perf_counter()
    try:
        async with session.post(url, data=body) as response:
            if response.status == 200:
                read = response.content.readany
                _acknowledge_at_once(response)
                while data := await read():
                    stream.feed(data, perf_counter())
                    _acknowledge_at_once(response)
                stream.close()
                record.status, record.detail = outcome(stream)
            else:
                excerpt = (await response.content.read(4 * EXCERPT)).decode(errors="replace")
                record.status, record.detail = f"HTTP {response.status}", excerpt[:EXCERPT]
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        record.status, record.detail = category(error), str(error)[:EXCERPT]
    record.ended = perf_counter()
    record.arrivals = stream.arrivals
    record.model = stream.model
    record.usage_input = stream.usage_input
    record.usage_output = stream.usage_output


def outcome(stream: EventStream) -> tuple[str, str]:
    """Status and detail of an answer that was read to its end."""
    if stream.error is not None:
        return "error in stream", stream.error
    if stream.events == 0:
        return "not an event stream", stream.rest
    if not stream.done:
        return "stream ended early", f"no [DONE] after {len(stream.arrivals)} chunks"
    if not stream.arrivals or stream.usage_output == 0:
        return "empty answer", f"usage says {stream.usage_output} output tokens"
    return OK, ""


def category(error: BaseException) -> str:
    """Short, countable name of a network failure."""
    if isinstance(error, TimeoutError):
        return "timeout"
    if isinstance(error, aiohttp.ClientConnectorError):
        refused = error.os_error.errno == errno.ECONNREFUSED
        return "connection refused" if refused else "cannot connect"
    if isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientPayloadError | OSError):
        return "connection cut"
    return type(error).__name__

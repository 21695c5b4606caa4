"""One request: post it, read the stream, say what came or why it failed."""

from __future__ import annotations

import asyncio
import socket
import ssl
from time import perf_counter
from types import TracebackType
from urllib.parse import urlsplit

from servesweep.loadgen.connection import Backlog, Connection, ConnectionCutError, NotHttpError
from servesweep.loadgen.excerpt import EXCERPT, excerpt
from servesweep.loadgen.record import OK, RequestRecord
from servesweep.loadgen.sse import EventStream

# Python web servers close an idle connection after 5 s (uvicorn's default); one that is dropped here before
# can never be closed by the server in the moment a request is put on it.
KEEP_ALIVE_S = 3.0
HTTP_OK = 200
PORTS = {"http": 80, "https": 443}


class CannotConnectError(Exception):
    """No connection could be made."""


class Session:
    """As many keep-alive connections to one endpoint as requests; the environment's proxies are not used."""

    def __init__(self, url: str, timeout_s: float) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None  # the spec has seen to it
        self._host, self._port = parts.hostname, parts.port or PORTS[parts.scheme]
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None
        self._timeout_s = timeout_s
        self._head = (
            f"POST {parts.path} HTTP/1.1\r\nHost: {parts.netloc.rpartition('@')[2]}\r\n"
            "Content-Type: application/json\r\nAccept: text/event-stream\r\nAccept-Encoding: identity\r\n"
            "Content-Length: "
        ).encode()
        self._backlog = Backlog()
        self._idle: list[Connection] = []
        self._open: set[Connection] = set()
        self._addresses: list[str] = []

    async def __aenter__(self) -> Session:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        for connection in self._open:
            connection.close()

    async def post(self, body: bytes, stream: EventStream, refusal: Refusal) -> int:
        """Send one body; the answer goes to `stream` when its status is 200, else to `refusal`.

        Returns the status. Raises TimeoutError, CannotConnectError, ConnectionCutError or NotHttpError.
        """
        async with asyncio.timeout(self._timeout_s):
            connection = self._kept() or await self._connect()
            try:
                request = self._head + str(len(body)).encode() + b"\r\n\r\n" + body
                return await connection.exchange(request, stream, refusal)
            finally:
                self._put_back(connection)

    def _kept(self) -> Connection | None:
        oldest = perf_counter() - KEEP_ALIVE_S
        while self._idle:
            connection = self._idle.pop()
            if not connection.closed and connection.idle_since > oldest:
                return connection
            self._discard(connection)
        return None

    def _put_back(self, connection: Connection) -> None:
        if connection.reusable and not connection.closed:
            connection.idle_since = perf_counter()
            self._idle.append(connection)
        else:
            self._discard(connection)

    def _discard(self, connection: Connection) -> None:
        connection.close()
        self._open.discard(connection)

    async def _connect(self) -> Connection:
        """Connect to the first address of the host that answers, and ask that one first from then on."""
        loop = asyncio.get_running_loop()
        problem: OSError | None = None
        try:
            if not self._addresses:
                found = await loop.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
                self._addresses = list(dict.fromkeys(str(info[4][0]) for info in found))
            for address in list(self._addresses):
                try:
                    _, connection = await loop.create_connection(
                        lambda: Connection(self._backlog),
                        address,
                        self._port,
                        ssl=self._tls,
                        server_hostname=self._host if self._tls else None,
                    )
                except OSError as error:
                    problem = error
                    continue
                self._addresses.remove(address)
                self._addresses.insert(0, address)
                self._open.add(connection)
                return connection
        except OSError as error:  # the name is unknown
            problem = error
        raise CannotConnectError from problem


class Refusal:
    """Keeps the beginning of a body that is no stream."""

    def __init__(self) -> None:
        self._bytes = b""

    def feed(self, data: bytes, now: float) -> None:
        """Take the next bytes; those beyond an excerpt are dropped."""
        # A letter has four bytes at most, and one more than an excerpt's tells that it was cut.
        if len(self._bytes) <= 4 * EXCERPT:
            self._bytes += data

    @property
    def text(self) -> str:
        """The beginning of what came."""
        return excerpt(self._bytes.decode(errors="replace"))


async def send(session: Session, body: bytes, record: RequestRecord, stream: EventStream) -> None:
    """Send one request and fill in `record`; never raises for what the server or network does.

    Whatever happens between the call and the return counts as in flight.
    """
    record.sent = perf_counter()
    refusal = Refusal()
    try:
        status = await session.post(body, stream, refusal)
        if status == HTTP_OK:
            stream.close()
            record.status, record.detail = outcome(stream)
        else:
            record.status, record.detail = f"HTTP {status}", refusal.text
    except (CannotConnectError, ConnectionCutError, NotHttpError, TimeoutError) as error:
        record.status, record.detail = category(error), excerpt(str(error.__cause__ or error))
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
    if isinstance(error, CannotConnectError):
        refused = isinstance(error.__cause__, ConnectionRefusedError)
        return "connection refused" if refused else "cannot connect"
    return "connection cut" if isinstance(error, ConnectionCutError) else "not HTTP"

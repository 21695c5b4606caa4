"""One HTTP/1.1 connection, straight on asyncio's transport: each piece is stamped as the loop hands it over.

A client library between the socket and the clock costs several times as much for each token, and at some
tens of thousands of tokens a second on a core that cost is what would be measured.
"""

from __future__ import annotations

import asyncio
import socket
from time import perf_counter
from typing import Protocol, cast

import httptools

QUICKACK = getattr(socket, "TCP_QUICKACK", None)
FIRST_FINAL_STATUS = 200
NO_CONTENT, NOT_MODIFIED = 204, 304


class Sink(Protocol):
    """What takes the pieces of a body."""

    def feed(self, data: bytes, now: float) -> None:
        """Take bytes that arrived at clock `now`, seconds."""


class Backlog:
    """Pieces that have come and are stamped, and wait until all others of this turn of the loop are, too.

    When hundreds of tokens come at once, parsing each before the next one is stamped would add up to
    milliseconds that the server never took.
    """

    def __init__(self) -> None:
        self._pieces: list[tuple[Connection, bytes, float]] = []

    def add(self, connection: Connection, data: bytes, now: float) -> None:
        """Keep what came at clock `now`, seconds."""
        if not self._pieces:
            asyncio.get_running_loop().call_soon(self.work_off)
        self._pieces.append((connection, data, now))

    def work_off(self) -> None:
        """Parse all of it, in the order in which it came."""
        pieces, self._pieces = self._pieces, []
        for connection, data, now in pieces:
            connection.parse(data, now)


class ConnectionCutError(Exception):
    """The connection ended before the answer did."""


class NotHttpError(Exception):
    """What came is no answer of HTTP/1.1."""


class Connection(asyncio.Protocol):
    """Carries one request at a time; `closed` and `reusable` say whether it may carry another."""

    def __init__(self, backlog: Backlog) -> None:
        self._backlog = backlog
        self.closed = self.reusable = False
        self.idle_since = 0.0
        self.status = 0
        self._transport: asyncio.Transport | None = None
        self._socket: socket.socket | None = None
        self._parser: httptools.HttpResponseParser | None = None
        self._done: asyncio.Future[None] | None = None
        self._good = self._bad = _nothing
        self._take = _nothing
        self._now = 0.0
        self._until_close = False

    async def exchange(self, request: bytes, good: Sink, bad: Sink) -> int:
        """Send a request and read its whole answer, of status 200 into `good`, else into `bad`.

        Returns the status. Raises ConnectionCutError or NotHttpError; when cancelled, close the connection.
        """
        assert self._transport is not None  # asyncio calls connection_made before it hands the protocol over
        if self.closed:
            raise ConnectionCutError("the connection was closed")
        self._good, self._bad = good.feed, bad.feed
        self._done = asyncio.get_running_loop().create_future()
        self._parser = httptools.HttpResponseParser(self)
        self.reusable = False
        self._transport.write(request)
        await self._done
        return self.status

    def close(self) -> None:
        """Cut the connection."""
        self.closed = True
        if self._transport is not None:
            self._transport.abort()

    # asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's derives from no class of asyncio
        self._socket = transport.get_extra_info("socket") if QUICKACK is not None else None

    def data_received(self, data: bytes) -> None:
        """Stamp a piece."""
        self._backlog.add(self, data, perf_counter())

    def parse(self, data: bytes, now: float) -> None:
        """Parse a piece that came at clock `now`, seconds."""
        if self.closed:
            return
        self._now = now
        if self._parser is None:  # nobody asked
            self.close()
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self.close()
            self._fail(NotHttpError(str(error)))
        self._acknowledge_at_once()

    def connection_lost(self, exc: Exception | None) -> None:
        """The other side is gone: the end of an answer that only that ends, else of everything."""
        self._backlog.work_off()
        self.closed = True
        if self._until_close and exc is None:
            self._succeed()
        else:
            self._fail(ConnectionCutError(str(exc or "closed by the server before the end of its answer")))

    def _acknowledge_at_once(self) -> None:
        """Send TCP acknowledgements without delay (tcp(7), TCP_QUICKACK; Linux takes it back by itself).

        A server that leaves Nagle's algorithm on (sglang-router 0.3.2) holds each token back until the one
        before is acknowledged. With the kernel's delay of 40 ms the tokens of a short answer would come in
        one piece.
        """
        if self._socket is not None and QUICKACK is not None and not self.closed:
            self._socket.setsockopt(socket.IPPROTO_TCP, QUICKACK, 1)

    # the parser's side

    def on_message_begin(self) -> None:
        """An answer, perhaps a provisional one, begins."""
        self._until_close, self._take = True, _nothing

    def on_header(self, name: bytes, value: bytes) -> None:
        """Look whether something else than the end of the connection will end the body."""
        if name.lower() in (b"content-length", b"transfer-encoding"):
            self._until_close = False

    def on_headers_complete(self) -> None:
        """Choose who takes the body."""
        assert self._parser is not None
        self.status = self._parser.get_status_code()
        if self.status in (NO_CONTENT, NOT_MODIFIED):
            self._until_close = False
        self._take = self._good if self.status == FIRST_FINAL_STATUS else self._bad

    def on_body(self, body: bytes) -> None:
        """Hand on a piece of the body."""
        self._take(body, self._now)

    def on_message_complete(self) -> None:
        """The answer is whole; a provisional one (1xx) is not the answer."""
        assert self._parser is not None
        if self.status >= FIRST_FINAL_STATUS:
            self.reusable = self._parser.should_keep_alive()
            self._succeed()

    def _succeed(self) -> None:
        self._until_close = False
        if self._done is not None and not self._done.done():
            self._done.set_result(None)

    def _fail(self, error: Exception) -> None:
        if self._done is not None and not self._done.done():
            self._done.set_exception(error)


def _nothing(data: bytes, now: float) -> None:
    """Take a body that nobody wants."""

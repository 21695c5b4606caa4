"""`python metronome.py TTFT_MS ITL_MS PORT`: answers OpenAI-style streams at exact times, one token a packet.

The source for the question how truly a client measures. The simulator takes some tenths of a millisecond to
read a request; when hundreds come at once the last of them waits longer than its TTFT, and every client
rightly reports that. Here a request costs some microseconds, and its times count from when it was there.
"""

from __future__ import annotations

import heapq
import select
import socket
import sys
from time import perf_counter

from firehose import Stream, requested, step

SPIN_S = 0.0015
"""epoll waits whole milliseconds; the rest is waited for by asking again and again."""


class Metronome:
    """All connections, and the token that each one sends next."""

    def __init__(self, ttft_s: float, itl_s: float, port: int) -> None:
        self._ttft_s, self._itl_s = ttft_s, itl_s
        self._listener = socket.create_server(("127.0.0.1", port), backlog=4096)
        self._listener.setblocking(False)
        self._poll = select.epoll()
        self._poll.register(self._listener.fileno(), select.EPOLLIN)
        self._streams: dict[int, Stream] = {}
        self._due: list[tuple[float, int, Stream]] = []

    def serve(self) -> None:
        """Serve until killed."""
        while True:
            left = self._due[0][0] - perf_counter() if self._due else -1.0
            for number, _ in self._poll.poll(-1 if not self._due else max(0.0, left - SPIN_S)):
                if number == self._listener.fileno():
                    self._accept()
                else:
                    self._read(number)
            self._send_what_is_due()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except BlockingIOError:
                return
            client.setblocking(False)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._streams[client.fileno()] = Stream(client)
            self._poll.register(client.fileno(), select.EPOLLIN)

    def _read(self, number: int) -> None:
        stream = self._streams[number]
        try:
            data = stream.socket.recv(1 << 20)
        except OSError:
            data = b""
        now = perf_counter()
        if not data:
            self._poll.unregister(number)
            del self._streams[number]
            stream.left, stream.held, stream.tail = 0, b"", b""
            stream.socket.close()
            return
        stream.came += data
        requested(stream)
        if stream.held:
            step(stream)  # the head of the answer, or all of a short one
            if stream.left:
                heapq.heappush(self._due, (now + self._ttft_s, number, stream))

    def _send_what_is_due(self) -> None:
        while self._due and self._due[0][0] <= perf_counter():
            due, number, stream = self._due[0]
            more = step(stream)
            if more and not stream.held and not stream.left:
                more = step(stream)  # what follows the last token comes with it
            if more:
                heapq.heapreplace(self._due, (due + self._itl_s, number, stream))
            else:
                heapq.heappop(self._due)


if __name__ == "__main__":
    Metronome(float(sys.argv[1]) / 1e3, float(sys.argv[2]) / 1e3, int(sys.argv[3])).serve()

"""When a connection stamps what comes: before anything of it is parsed."""

from __future__ import annotations

import asyncio
import socket
from time import sleep

from servesweep.loadgen.connection import Backlog, Connection
from servesweep.loadgen.worker import run_on_loop

HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"


class Slow:
    """Takes its time over each piece, and keeps the clocks."""

    def __init__(self) -> None:
        self.clocks: list[float] = []

    def feed(self, data: bytes, now: float) -> None:
        self.clocks.append(now)
        sleep(0.05)


async def connected(listener: socket.socket, backlog: Backlog) -> tuple[Connection, socket.socket]:
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(lambda: Connection(backlog), *listener.getsockname())
    server, _ = listener.accept()
    server.settimeout(5)
    return connection, server


def test_what_comes_together_is_stamped_before_any_of_it_is_parsed() -> None:
    async def main() -> None:
        backlog, sink = Backlog(), Slow()
        with socket.create_server(("127.0.0.1", 0)) as listener:
            pairs = [await connected(listener, backlog) for _ in range(4)]
            exchanges = [
                asyncio.create_task(connection.exchange(b"x", sink, sink)) for connection, _ in pairs
            ]
            await asyncio.sleep(0)
            for _, server in pairs:
                server.recv(10)
                server.sendall(HEAD + b"ok")
            sleep(0.05)  # all of it is there when the loop looks
            await asyncio.gather(*exchanges)
            for connection, server in pairs:
                connection.close()
                server.close()
        assert len(sink.clocks) == 4
        # Each piece takes 50 ms to parse; had one been parsed before the next was stamped, that would show.
        assert max(sink.clocks) - min(sink.clocks) < 0.05

    run_on_loop(main())

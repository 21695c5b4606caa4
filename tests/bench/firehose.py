"""`python firehose.py PORT`: answers OpenAI-style streams as fast as one core can send, one token a packet.

The source for the question how many tokens a client takes in: nothing is computed, nothing waits, and each
token is one write of its own, as engines send them. Bodies are read only for `max_tokens`.
"""

from __future__ import annotations

import json
import re
import select
import socket
import sys
from dataclasses import dataclass, field

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
MOST = re.compile(rb'"max_(?:completion_)?tokens": ?(\d+)')
PROMPT_TOKENS = 16


def chunk(fields: dict[str, object] | str) -> bytes:
    """One event as one chunk of the body."""
    text = fields if isinstance(fields, str) else json.dumps({"id": "f", "model": "tiny", **fields})
    event = f"data: {text}\n\n".encode()
    return f"{len(event):x}\r\n".encode() + event + b"\r\n"


CHAT = chunk({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": " word"}}]})
PLAIN = chunk({"object": "text_completion", "choices": [{"index": 0, "text": " word"}]})


def ending(tokens: int) -> bytes:
    """What follows the last token: the reason, the usage, [DONE], and the end of the body."""
    usage = {
        "prompt_tokens": PROMPT_TOKENS,
        "completion_tokens": tokens,
        "total_tokens": PROMPT_TOKENS + tokens,
    }
    return chunk({"choices": [], "usage": usage}) + chunk("[DONE]") + b"0\r\n\r\n"


@dataclass(slots=True)
class Stream:
    """One connection: what has come of the next request, and what is still to be sent of this answer."""

    socket: socket.socket
    came: bytes = b""
    left: int = 0
    token: bytes = PLAIN
    tail: bytes = b""
    held: bytes = field(default=b"")
    """The rest of a write that the client's full buffer has cut."""


def requested(stream: Stream) -> None:
    """Begin the answer of a request that has come in whole."""
    head, _, body = stream.came.partition(b"\r\n\r\n")
    found = re.search(rb"(?i)content-length: *(\d+)", head)
    length = int(found[1]) if found else 0
    if not head or len(body) < length:
        return
    stream.came = b""
    if not head.startswith(b"POST"):
        answer = json.dumps({"object": "list", "data": [{"id": "tiny", "object": "model"}]}).encode()
        stream.held = (
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(answer)
        )
        stream.held += answer
        return
    asked = MOST.search(body)
    stream.left = int(asked[1]) if asked else 16
    stream.token = CHAT if b"/chat/" in head.split(b"\r\n", 1)[0] else PLAIN
    stream.held, stream.tail = HEAD, ending(stream.left)


def step(stream: Stream) -> bool:
    """Send the next piece, if the client takes it; returns whether more is to be sent."""
    piece = stream.held or (stream.token if stream.left else stream.tail)
    try:
        sent = stream.socket.send(piece)
    except BlockingIOError:
        return True
    except OSError:
        stream.left, stream.held, stream.tail = 0, b"", b""
        return False
    fresh = not stream.held
    stream.held = piece[sent:]
    if fresh:
        if stream.left:
            stream.left -= 1
        else:
            stream.tail = b""
    return bool(stream.held or stream.left or stream.tail)


def main(port: int) -> None:
    """Serve until killed."""
    listener = socket.create_server(("127.0.0.1", port), backlog=2048)
    listener.setblocking(False)
    poll = select.epoll()
    poll.register(listener.fileno(), select.EPOLLIN)
    streams: dict[int, Stream] = {}
    busy: list[Stream] = []
    print("ready", flush=True)
    while True:
        for number, _ in poll.poll(0 if busy else -1):
            if number == listener.fileno():
                client, _ = listener.accept()
                client.setblocking(False)
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                streams[client.fileno()] = Stream(client)
                poll.register(client.fileno(), select.EPOLLIN)
                continue
            stream = streams[number]
            try:
                data = stream.socket.recv(1 << 20)
            except OSError:
                data = b""
            if not data:
                poll.unregister(number)
                del streams[number]
                stream.socket.close()
                continue
            stream.came += data
            requested(stream)
            if stream.held:
                busy.append(stream)
        busy = [stream for stream in busy if step(stream)]


if __name__ == "__main__":
    main(int(sys.argv[1]))

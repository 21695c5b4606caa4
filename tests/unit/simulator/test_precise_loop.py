"""The event loop with exact timers."""

import asyncio
import socket

from servesweep.simulator.precise_loop import precise_event_loop, sleep_until


def run(coroutine: object) -> object:
    with asyncio.Runner(loop_factory=precise_event_loop) as runner:
        return runner.run(coroutine)  # type: ignore[arg-type]


def test_a_sleep_never_ends_early() -> None:
    async def ends() -> list[float]:
        loop = asyncio.get_running_loop()
        dues = [loop.time() + 0.0003 * step for step in range(1, 20)]
        late = []
        for due in dues:
            await sleep_until(due)
            late.append(loop.time() - due)
        return late

    late = run(ends())
    assert isinstance(late, list)
    assert min(late) >= 0


def test_a_sleep_whose_time_is_over_lets_others_have_one_turn() -> None:
    async def order() -> list[str]:
        seen: list[str] = []
        asyncio.get_running_loop().call_soon(seen.append, "another task")
        await sleep_until(asyncio.get_running_loop().time() - 1)
        seen.append("slept")
        return seen

    assert run(order()) == ["another task", "slept"]


def test_files_wake_the_loop_as_usual() -> None:
    async def received() -> bytes:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.setblocking(False)
            asyncio.get_running_loop().call_later(0.01, theirs.send, b"hello")
            return await asyncio.wait_for(asyncio.get_running_loop().sock_recv(ours, 10), 10)

    assert run(received()) == b"hello"

"""An event loop whose timers fire within microseconds instead of up to a millisecond late."""

from __future__ import annotations

import asyncio
import select
import selectors


class PreciseSelector(selectors.EpollSelector):
    """Epoll whose waiting is done by select(2) on the epoll descriptor.

    `EpollSelector.select` rounds its timeout up to whole milliseconds, and so every timer of the loop;
    select(2) takes microseconds, and an epoll descriptor can itself be waited for.
    """

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait at most `timeout` seconds (None: for ever) and return the ready files."""
        if timeout is None or timeout > 0:
            select.select([self.fileno()], [], [], timeout)
        return super().select(0)


def precise_event_loop() -> asyncio.AbstractEventLoop:
    """Make a new event loop on a `PreciseSelector`."""
    return asyncio.SelectorEventLoop(PreciseSelector())


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


async def sleep_until(due: float) -> None:
    """Return when the running loop's clock shows `due` seconds.

    When that is over already, other tasks get one turn: a stream that is behind must not make others late.
    """
    loop = asyncio.get_running_loop()
    if due <= loop.time():
        await asyncio.sleep(0)
        return
    waiter: asyncio.Future[None] = loop.create_future()
    handle = loop.call_at(due, _wake, waiter)
    try:
        await waiter
    finally:
        handle.cancel()

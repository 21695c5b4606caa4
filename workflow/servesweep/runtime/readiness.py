"""Whether a service is ready: its ports, its log, its file; and in words what is still missing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from servesweep.runtime.probing import answers
from servesweep.topology.deployment import Deployment, Probe, Readiness

if TYPE_CHECKING:
    import aiohttp


class Waited:
    """One instance that is waited for; what has been seen once is not asked again."""

    def __init__(self, readiness: Readiness, node: str, log: Path, deployment: Deployment) -> None:
        self._deployment, self._node, self._log = deployment, node, log
        self._probes = list(readiness.probes)
        self._pattern = re.compile(readiness.log) if readiness.log else None
        self._file = Path(readiness.file) if readiness.file else None
        self._read = 0

    async def missing(self, session: aiohttp.ClientSession) -> str | None:
        """One sentence about the first thing that is not there yet; None when all is."""
        while self._probes:
            probe = self._probes[0]
            address = self._deployment.address(probe.node or self._node)
            if not await answers(session, address, probe):
                return asked(probe, address)
            self._probes.pop(0)
        if self._pattern is not None:
            if not self._seen(self._pattern):
                return f"no line of its log matches {self._pattern.pattern!r}"
            self._pattern = None
        if self._file is not None and not _holds_something(self._file):
            return f"there is no file {self._file}, or it is empty"
        return None

    def _seen(self, pattern: re.Pattern[str]) -> bool:
        """Whether a whole line that was written since the last look matches."""
        try:
            with self._log.open("rb") as file:
                file.seek(self._read)
                text = file.read()
        except OSError:
            return False
        # The last line may be half written: it is read again.
        self._read += text.rfind(b"\n") + 1
        return any(pattern.search(line) for line in text.decode(errors="replace").splitlines())


def asked(probe: Probe, address: str) -> str:
    """In words what a probe that fails has found."""
    if probe.kind == "tcp":
        return f"TCP port {probe.port} of {address} does not accept"
    told = f"http://{address}:{probe.port}{probe.path} does not answer {probe.status}"
    return f"{told} with text that matches {probe.body!r}" if probe.body else told


def _holds_something(file: Path) -> bool:
    try:
        return file.is_file() and file.stat().st_size > 0
    except OSError:
        return False

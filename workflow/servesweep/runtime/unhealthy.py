"""What the health gate says where it stays shut."""

from __future__ import annotations

from typing import Any


class UnhealthyError(Exception):
    """The gate stays shut; its text is one sentence.

    `step` is the process that it is about, `node` its host, `log` its log within the configuration.
    """

    def __init__(
        self, message: str, step: str | None = None, node: str | None = None, log: str | None = None
    ) -> None:
        super().__init__(message)
        self.step, self.node, self.log = step, node, log

    def record(self) -> dict[str, Any]:
        """What unhealthy.json says."""
        told = {"step": self.step, "node": self.node, "log": self.log}
        return {"schema": 1, "message": str(self), **{key: value for key, value in told.items() if value}}

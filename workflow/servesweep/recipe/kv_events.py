"""`roles.<role>.kv_events` — cache events that workers publish for Dynamo's kv-aware routing."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from servesweep.recipe.problems import shown
from servesweep.recipe.section import Section


class KvEventsSection(Section):
    """How the events are published; the ports are given by the plan, from 5550."""

    publisher: str = Field(default="zmq", min_length=1, description="Transport of the events.")
    topic: str = Field(default="kv-events", min_length=1, description="Topic under which they are published.")


def _switch(value: Any) -> Any:
    """`true` means the defaults, `false` what leaving the key out means."""
    if isinstance(value, bool):
        return {} if value else None
    if value is None or isinstance(value, dict | KvEventsSection):
        return value
    raise ValueError(f"expected true, false, or a mapping with publisher and topic, got {shown(value)}")


KvEvents = Annotated[KvEventsSection | None, BeforeValidator(_switch)]

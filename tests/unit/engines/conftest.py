"""Workers of recipes that stand in the tests themselves, planned for symbolic nodes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from servesweep.plan.plan import Plan, Step


@pytest.fixture
def workers(plan: Callable[..., Plan]) -> Callable[..., dict[str, Step]]:
    """The workers' steps by name."""
    return lambda text, **site: {s.name: s for s in plan(text, **site).steps if s.kind == "worker"}

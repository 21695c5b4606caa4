"""`engine:` — which inference engine serves, with its engine-wide options."""

from __future__ import annotations

from servesweep.recipe.section import Choice


class EngineSection(Choice):
    """A bare name or a mapping with `type` and that engine's options."""

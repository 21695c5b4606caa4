"""`benchmark:` — which load is put on the deployment."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from servesweep.recipe.section import Choice, Section, unsaid


class BenchmarkPlacement(Section):
    """Where the client runs."""

    node: Literal["head", "last_decode", "dedicated"] = Field(
        default="head", description="`dedicated` reserves one more node; other values name an existing node."
    )


class BenchmarkSection(Choice):
    """Type of the benchmark, the place of its client, and the options of that type."""

    type: str = Field(
        default="manual", description="Registered benchmark type, such as sa-bench, custom, manual."
    )
    placement: BenchmarkPlacement = Field(
        default_factory=unsaid(BenchmarkPlacement), description="Where the client runs."
    )

"""`frontend:` — what takes the clients' requests and hands them to workers."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from servesweep.recipe.section import Environment, Section


class FrontendPlacement(Section):
    """Where the frontend runs."""

    node: Literal["head", "first_decode", "dedicated"] = Field(
        default="head", description="`dedicated` reserves one more node; other values name an existing node."
    )


class FrontendSection(Section):
    """Type, arguments and place of the frontend."""

    type: str = Field(
        default="dynamo", description="Registered frontend, such as dynamo, sglang-router, direct, none."
    )
    args: dict[str, Any] = Field(
        default_factory=dict, description="The frontend's own flags; true gives a bare flag."
    )
    env: Environment = Field(default_factory=dict, description="Environment of the frontend's process.")
    placement: FrontendPlacement = Field(
        default_factory=FrontendPlacement, description="Where the frontend runs."
    )

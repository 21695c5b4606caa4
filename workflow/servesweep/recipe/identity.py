"""`identity:` — what the recipe declares to be served, compared with what is found."""

from __future__ import annotations

from pydantic import Field

from servesweep.recipe.section import Section


class ModelIdentity(Section):
    """The declared model."""

    repo: str | None = Field(default=None, description="Repository of the weights.")
    revision: str | None = Field(default=None, description="Commit of the weights.")


class ContainerIdentity(Section):
    """The declared image."""

    image: str | None = Field(default=None, description="Registry name, perhaps with a digest.")


class IdentitySection(Section):
    """Declared model, image and versions of frameworks; recorded in the lockfile."""

    model: ModelIdentity | None = Field(default=None, description="The declared model.")
    container: ContainerIdentity | None = Field(default=None, description="The declared image.")
    frameworks: dict[str, str] = Field(default_factory=dict, description="Package to its declared version.")

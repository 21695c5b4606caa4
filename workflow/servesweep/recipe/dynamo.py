"""`dynamo:` — which Dynamo the workers and the frontend run, and how its parts talk."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator, model_validator

from servesweep.recipe.not_yet import NotYet
from servesweep.recipe.problems import listed
from servesweep.recipe.section import Section, Words, fault

MOVING = ("main", "master", "HEAD")


class DynamoSource(Section):
    """Exactly one of a git revision, a release and a wheel."""

    git: str | None = Field(default=None, description="Repository to build from; needs rev.")
    rev: str | None = Field(
        default=None, description="Commit, tag or refs/pull/<n>/head; a branch moves and is refused."
    )
    sha: str | None = Field(default=None, description="The commit that rev stood for when it was resolved.")
    patches: Words = Field(
        default=(),
        description="Cargo patches laid over the source; need git.",
        json_schema_extra=NotYet("patching the source"),
    )
    pypi: str | None = Field(default=None, description="Version of the release on the package index.")
    wheel: str | None = Field(default=None, description="Version, or file, of a wheel of the site's own.")

    @model_validator(mode="after")
    def _one_source(self) -> DynamoSource:
        given = [key for key in ("git", "pypi", "wheel") if getattr(self, key) is not None]
        if len(given) != 1:
            told = f"{listed(given)} are given" if given else "none is given"
            raise ValueError(f"a source is exactly one of git, pypi and wheel, and {told}")
        if self.git is None:
            for key in ("rev", "sha", "patches"):
                if getattr(self, key):
                    raise fault(f"{key} belongs to git: say git too, or remove it", key)
        elif self.rev is None:
            raise fault("git needs rev: a commit, a tag or refs/pull/<n>/head", "rev")
        elif self.rev in MOVING or self.rev.startswith("refs/heads/"):
            raise fault(
                f"{self.rev} moves, so two runs would build different sources: name a commit, a tag or"
                " refs/pull/<n>/head",
                "rev",
            )
        return self


class DynamoSection(Section):
    """Installation and planes of Dynamo; unused under another frontend."""

    install: bool = Field(
        default=True, description="Install Dynamo into the container before workers and frontend start."
    )
    source: DynamoSource | None = Field(
        default=None, description="What is installed; default: what the environment or the image holds."
    )
    top_of_tree: bool = Field(
        default=False,
        description="Build the newest source; results then cannot be repeated.",
        json_schema_extra=NotYet("building Dynamo"),
    )
    request_plane: Literal["tcp", "nats", "http"] = Field(
        default="tcp", description="How requests reach workers."
    )
    event_plane: Literal["nats", "zmq"] | None = Field(
        default=None, description="How events travel; default: Dynamo's own choice."
    )
    sidecar: bool | None = Field(
        default=None,
        description="Whether workers run beside a Dynamo sidecar; a role's own `sidecar` agrees.",
    )
    sidecar_port: int = Field(default=50051, ge=1, le=65535, description="First port of the sidecars.")
    sidecar_binary: str | None = Field(default=None, description="Program of the sidecar.")
    sidecar_startup_timeout: float = Field(
        default=3600, gt=0, description="Seconds that a sidecar waits for its engine."
    )
    sidecar_context_length: int | None = Field(
        default=None, ge=1, description="Context length that the sidecar tells, tokens."
    )
    sidecar_args: Words = Field(default=(), description="Further arguments of the sidecar.")

    @field_validator("source", mode="before")
    @classmethod
    def _nothing_left(cls, source: object) -> object:
        # Of a source whose keys a variant has removed nothing is left.
        return None if source == {} else source

    @property
    def needs_nats(self) -> bool:
        """Whether a plane goes over NATS."""
        return "nats" in (self.request_plane, self.event_plane)

    @model_validator(mode="after")
    def _one_source(self) -> DynamoSection:
        if self.top_of_tree and self.source is not None:
            raise fault("top_of_tree and source exclude each other: keep one", "top_of_tree")
        return self

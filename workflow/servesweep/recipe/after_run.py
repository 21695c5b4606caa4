"""`post_eval:`, `output:` and `reporting:` — what becomes of a run when the load is over."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from servesweep.recipe.section import Section, Words


class PostEvalSection(Section):
    """A command that evaluates the running deployment after the load."""

    command: Words = Field(default=(), description="Program and arguments.")
    passthrough_env: Words = Field(default=(), description="Variables of the submitter that it gets.")


class OutputSection(Section):
    """Where logs lie."""

    log_dir: str | None = Field(
        default=None, description="Read for compatibility: logs lie in results/<configuration>/logs."
    )


class StatusSection(Section):
    """A collector that is told the stages of the run."""

    endpoint: str | None = Field(default=None, description="Its address.")
    endpoints: Words = Field(default=(), description="Several addresses.")
    token_env: str | None = Field(default=None, description="Variable that holds its token.")


class ReportingSection(Section):
    """Who is told about the run."""

    status: StatusSection | None = Field(default=None, description="Collector of stages.")
    ai_analysis: dict[str, Any] | None = Field(default=None, description="Analysis of failures elsewhere.")
    s3: dict[str, Any] | None = Field(default=None, description="Bucket that gets the results.")

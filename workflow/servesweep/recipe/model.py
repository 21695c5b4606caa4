"""`model:` — which weights are served."""

from __future__ import annotations

from pydantic import Field, field_validator

from servesweep.recipe.not_yet import NotYet
from servesweep.recipe.section import Section
from servesweep.recipe.texts import Line


class ModelSection(Section):
    """The model, the image that serves it and its precision."""

    path: Line = Field(description="Alias from the cluster file, directory, or `hf:<repository>`.")
    container: Line | None = Field(
        default=None, description="Alias, image file or registry name; unused when container_runtime is none."
    )
    precision: Line = Field(
        description="Number format of the weights, such as fp8 or bf16; a label in the results."
    )
    served_name: Line | None = Field(
        default=None,
        description="Name that the model is served under; default: the engine's argument, the directory's.",
    )
    stage_dir: Line | None = Field(
        default=None,
        description="Directory on each node's own disk that the model is copied to first.",
        json_schema_extra=NotYet("copying a model of the hub", "hf:…"),
    )

    @field_validator("path")
    @classmethod
    def _names_something(cls, path: str) -> str:
        if path.startswith("hf:") and not path.removeprefix("hf:").strip("/ "):
            raise ValueError("the repository is missing: write hf:organisation/model")
        return path

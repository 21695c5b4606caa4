"""`model:` — which weights are served."""

from __future__ import annotations

from pydantic import Field

from servesweep.recipe.section import Section


class ModelSection(Section):
    """The model, the image that serves it and its precision."""

    path: str = Field(description="Alias from the cluster file, directory, or `hf:<repository>`.")
    container: str | None = Field(
        default=None, description="Alias, image file or registry name; unused when container_runtime is none."
    )
    precision: str = Field(
        description="Number format of the weights, such as fp8 or bf16; a label in the results."
    )
    served_name: str | None = Field(
        default=None,
        description="Name that the model is served under; default: the engine's argument, the directory's.",
    )
    stage_dir: str | None = Field(
        default=None, description="Directory on each node's own disk that the model is copied to first."
    )

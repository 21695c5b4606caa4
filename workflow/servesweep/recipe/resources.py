"""`resources:` — facts about the GPUs that the job runs on."""

from __future__ import annotations

from pydantic import Field

from servesweep.recipe.limits import MOST_GPUS_OF_A_NODE
from servesweep.recipe.section import NULL_IS_SAID, Section
from servesweep.recipe.texts import Line


class ResourcesSection(Section):
    """GPUs of a node; the layout of the workers stands under `roles`."""

    gpu_type: Line | None = Field(
        default=None, description="GPU model, free text; default: from the cluster file."
    )
    gpus_per_node: int | None = Field(
        default=None,
        ge=1,
        le=MOST_GPUS_OF_A_NODE,
        description="GPUs of a node; default: from the cluster file.",
    )
    spread_workers: bool = Field(
        default=False, description="One partial-node worker a node instead of packing several together."
    )
    het_jobs: bool | None = Field(
        default=None,
        description="A Slurm heterogeneous job for prefill and decode; null: the cluster's use_het_jobs.",
        json_schema_extra=NULL_IS_SAID,
    )

"""Engine-wide options of vLLM, and the sizes among a role's arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, field_validator

from servesweep.engines.engine import argument
from servesweep.engines.kv_connectors import checked
from servesweep.engines.mooncake import MooncakeFileStore
from servesweep.recipe.not_yet import NotYet
from servesweep.recipe.section import Section


class FailoverOptions(Section):
    """Standby engines on the GPUs of a worker."""

    shadow_engines: int = Field(default=1, ge=1, description="Standby engines of a worker.")
    shared_dir: str = Field(
        default="/dev/shm", pattern="^/.+", description="Directory on each node that its containers share."
    )


class VllmOptions(Section):
    """Engine-wide options of vLLM."""

    connector: str | None = Field(
        default="nixl",
        description="KV connector: nixl, lmcache, lmcache-mp, kvbm, mooncake, moriio, its JSON, or null.",
        json_schema_extra=NotYet("workers that register with their router", "moriio"),
    )
    dp_launch_mode: Literal["per_node", "per_gpu"] = Field(
        default="per_node", description="One process a node, or (old) one a data-parallel rank."
    )
    set_visible_devices: bool = Field(
        default=False, description="Name the GPUs by the variable instead of --device-ids (older vLLM)."
    )
    allow_prefill_decode_colocation: bool = Field(
        default=False, description="Pack prefill and decode on one node when all workers fit there."
    )
    allow_prefill_decode_colocation_across_nodes: bool = Field(
        default=False, description="Pack them on as few nodes as hold them, with the option above."
    )
    failover: FailoverOptions | None = Field(
        default=None,
        description="Engines that take over where a worker's own dies, under Dynamo.",
        json_schema_extra=NotYet("standby engines"),
    )
    mooncake_kv_store: MooncakeFileStore | None = Field(
        default=None, description="A Mooncake store whose master is started with the job."
    )
    distributed: Literal["ray", "native"] = Field(
        default="ray",
        description="Replicas over several nodes: a Ray cluster, or vLLM's own --nnodes and --node-rank.",
    )
    vllm_serve_binary: str = Field(
        default="vllm", min_length=1, description="Program that serves a worker without Dynamo."
    )

    @field_validator("connector")
    @classmethod
    def _known_connector(cls, connector: str | None) -> str | None:
        return connector if connector is None else checked(connector)


def options_of(options: Section) -> VllmOptions:
    """The options as vLLM's own; the defaults where there are none."""
    return options if isinstance(options, VllmOptions) else VllmOptions()


def size(args: Mapping[str, Any], name: str) -> int:
    """One degree of parallelism among the arguments; 1 where it is not given.

    Raises:
        ValueError: for a degree that is no whole number from 1.
    """
    value = argument(args, name)
    number = 1 if value is None else int(value) if str(value).isdigit() else 0
    if number < 1 or isinstance(value, bool):
        raise ValueError(f"{name} is a whole number from 1, and this one is {value!r}")
    return number

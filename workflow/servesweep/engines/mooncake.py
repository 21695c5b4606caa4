"""`mooncake_kv_store` of an engine: the Mooncake master that it implies, and what workers are told of it.

Meaning of the keys as in srt-slurm: https://github.com/NVIDIA/srt-slurm, `docs/mooncake-kv-store.md`.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field

from servesweep.recipe.section import Environment, Section, Words, option


class MooncakeStore(Section):
    """A store that the workers share; its master runs on the node of the discovery plane."""

    container: str | None = Field(
        default=None, description="Image of the master, or its alias; default: model.container."
    )
    env: Environment = Field(
        default_factory=dict,
        description="Environment of every worker; wins over a role's. The master's address is added.",
    )
    master_extra_args: Words = Field(default=(), description="Further arguments of the master.")


class MooncakeFileStore(MooncakeStore):
    """The same for engines that read it from a file."""

    store_config: dict[str, Any] = Field(
        default_factory=dict, description="Content of the store's JSON file; the master's address is added."
    )


def store_of(options: Section) -> MooncakeStore | None:
    """The store of an engine's options, if they have one."""
    store: MooncakeStore | None = option(options, "mooncake_kv_store")
    return store


def store_environment(options: Section) -> dict[str, str]:
    """What an engine's store says to every worker; nothing where it has none."""
    store = store_of(options)
    return dict(store.env) if store else {}

"""`mooncake-master`: the master that Mooncake's stores and the engines' clients register with."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from servesweep.recipe.recipe import Recipe
from servesweep.recipe.section import Section
from servesweep.services.instance import Instance
from servesweep.services.service import SharedService
from servesweep.topology.deployment import Binding, Command, Probe, Readiness
from servesweep.topology.ports import MOONCAKE_METADATA, MOONCAKE_METRICS, MOONCAKE_RPC


class MooncakeMasterOptions(Section):
    """What vLLM's workers are told of the store."""

    store_config: dict[str, Any] = Field(
        default_factory=dict,
        description="vLLM: content of the store's JSON file; the master's address is added.",
    )


class MooncakeMaster(SharedService):
    """One master with its metadata server and its metrics.

    Flags and ports as in srt-slurm: https://github.com/NVIDIA/srt-slurm, `services/mooncake_master.py`.
    """

    name = "mooncake-master"
    Options = MooncakeMasterOptions

    def command(self, instance: Instance, options: Section) -> Command:
        """Render the master."""
        return Command(
            argv=(
                "mooncake_master",
                f"--port={instance.port(MOONCAKE_RPC)}",
                "--enable_http_metadata_server=true",
                f"--http_metadata_server_port={instance.port(MOONCAKE_METADATA)}",
                "--eviction_high_watermark_ratio=0.9",
                "--default_kv_lease_ttl=10000",
                "--rpc_thread_num=16",
                "--enable_metric_reporting=true",
                f"--metrics_port={instance.port(MOONCAKE_METRICS)}",
            )
        )

    def readiness(self, instance: Instance, options: Section) -> Readiness:
        """All three ports."""
        ports = map(instance.port, (MOONCAKE_RPC, MOONCAKE_METADATA, MOONCAKE_METRICS))
        return Readiness(probes=tuple(Probe(kind="tcp", port=port) for port in ports))

    def url(self, node: str, binding: Binding) -> str:
        """Host and port of the master: its clients know no scheme."""
        return f"{binding.addresses[node]}:{binding.port(node, MOONCAKE_RPC)}"

    def external_url(self, address: str) -> str:
        """Host and port, as given or without a scheme; without a port it is the usual one."""
        bare = address.rpartition("://")[2].rstrip("/")
        return bare if ":" in bare else f"{bare}:{MOONCAKE_RPC}"

    def for_workers(self, url: str, address: str) -> tuple[dict[str, str], dict[str, str]]:
        """The worker's own name, which a recipe may change, and the master's places."""
        return {"MOONCAKE_LOCAL_HOSTNAME": address}, master_environment(url)


def master_environment(master: str, metadata: int = MOONCAKE_METADATA) -> dict[str, str]:
    """Where a client of Mooncake finds the master, given as host and port, and its metadata server."""
    host = master.rpartition(":")[0]
    return {
        "MOONCAKE_MASTER": master,
        "MOONCAKE_TE_META_DATA_SERVER": f"http://{host}:{metadata}/metadata",
    }


def has_master(recipe: Recipe) -> bool:
    """Whether a recipe declares a master, or an engine with a store that implies one."""
    roles = recipe.roles.items() if recipe.roles else ()
    engines = [recipe.engine, *(role.engine for _, role in roles)]
    implied = any(engine and engine.options.get("mooncake_kv_store") for engine in engines)
    return implied or any(one.enabled and one.type == MooncakeMaster.name for one in recipe.services)

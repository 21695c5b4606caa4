"""`mooncake-donor`: host memory of decode nodes for TensorRT-LLM's pool."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from servesweep.recipe.recipe import Recipe
from servesweep.recipe.section import Section
from servesweep.recipe.services import ServiceSection
from servesweep.services.instance import Instance
from servesweep.services.mooncake_master import has_master
from servesweep.services.service import Fault, Service
from servesweep.topology.deployment import Command, Readiness


class MooncakeDonorOptions(Section):
    """What each node gives."""

    size: str = Field(min_length=1, description="Memory of a node for the pool, such as 640GiB.")
    protocol: str = Field(default="rdma", description="How it is reached.")


class MooncakeDonor(Service):
    """One donor a decode node.

    Flags as in srt-slurm (https://github.com/NVIDIA/srt-slurm, `services/mooncake_donor.py`), which tells the
    master's address by a file; here it stands in the command.
    """

    name = "mooncake-donor"
    Options = MooncakeDonorOptions
    place = "decode"
    places = frozenset({"decode"})
    image_of = "mooncake-master"
    srun_options = {"mpi": "none"}  # noqa: RUF012

    def command(self, instance: Instance, options: Section) -> Command:
        """Render a donor."""
        assert isinstance(options, MooncakeDonorOptions)
        logs = instance.deployment.logs
        words = ["--master_server_address", instance.deployment.stores["MOONCAKE_MASTER"]]
        words += ["--segment_size", options.size, "--protocol", options.protocol]
        words += ["--ready_file", f"{logs}/{self._ready(instance)}"]
        env = {"TRTLLM_MOONCAKE_RUN_DIR": f"{logs}/mooncake/donor-{instance.node}", "TLLM_LOG_LEVEL": "INFO"}
        # An empty file makes the directory, in which it writes the one that says it is ready.
        files = {f"{instance.deployment.binding.logs}/mooncake/donor-{instance.node}/.keep": ""}
        return Command(argv=("trtllm-serve", "mooncake_donor", *words), env=env, files=files)

    def readiness(self, instance: Instance, options: Section) -> Readiness:
        """By the file that it writes."""
        return Readiness(file=f"{instance.deployment.binding.logs}/{self._ready(instance)}")

    def _ready(self, instance: Instance) -> str:
        return f"mooncake/donor-{instance.node}.ready"

    def refusals(self, section: ServiceSection, recipe: Recipe) -> Iterator[Fault]:
        """A donor needs a master."""
        yield from super().refusals(section, recipe)
        if not has_master(recipe):
            yield "type", "a donor registers with a mooncake-master: declare one too"

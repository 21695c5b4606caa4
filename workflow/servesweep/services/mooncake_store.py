"""`mooncake-store`: a store of its own beside workers that hold no memory for the pool."""

from __future__ import annotations

from collections.abc import Iterator

from servesweep.recipe.recipe import Recipe
from servesweep.recipe.section import Section
from servesweep.recipe.services import ServiceSection
from servesweep.services.instance import Instance
from servesweep.services.mooncake_master import has_master
from servesweep.services.service import Fault, Service
from servesweep.topology.deployment import Command


class MooncakeStore(Service):
    """One store an instance, registered with this job's master.

    As in srt-slurm: https://github.com/NVIDIA/srt-slurm, `services/mooncake_store.py`.
    """

    name = "mooncake-store"
    image_of = "mooncake-master"

    def command(self, instance: Instance, options: Section) -> Command:
        """Render a store; which of the node's names it has, the recipe may say."""
        argv = ("python3", "-m", "mooncake.mooncake_store_service")
        return Command(argv=argv, env={"MOONCAKE_LOCAL_HOSTNAME": instance.address})

    def owned_environment(self, instance: Instance) -> dict[str, str]:
        """Where the master is."""
        return dict(instance.deployment.stores)

    def refusals(self, section: ServiceSection, recipe: Recipe) -> Iterator[Fault]:
        """A store needs a master."""
        yield from super().refusals(section, recipe)
        if not has_master(recipe):
            yield "type", "a store registers with a mooncake-master: declare one too"

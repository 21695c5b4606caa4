"""`generic`: a user's own command."""

from __future__ import annotations

from servesweep.recipe.section import Section
from servesweep.services.instance import Instance
from servesweep.services.service import Service
from servesweep.topology.deployment import Command


class Generic(Service):
    """Whatever the recipe names; a helper whose end costs only itself, unless the recipe says more."""

    name = "generic"
    start = "after_frontend"
    critical = False
    own_command = False

    def command(self, instance: Instance, options: Section) -> Command:
        """Nothing of its own: the recipe's command takes its place."""
        return Command(argv=())

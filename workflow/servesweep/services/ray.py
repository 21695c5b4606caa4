"""`ray`: one Ray cluster over the nodes of the service."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from servesweep.recipe.recipe import Recipe
from servesweep.recipe.section import Section
from servesweep.recipe.services import ServiceSection
from servesweep.services.instance import Instance
from servesweep.services.service import Fault, Service
from servesweep.topology.deployment import Command, Probe, Readiness
from servesweep.topology.ports import RAY, RAY_AGENT, RAY_CLIENT, RAY_DASHBOARD

# The first `ray start` of a container reads gigabytes of Python packages.
PATIENCE_SECONDS = 600.0
STARTED = "Ray runtime started"


class RayOptions(Section):
    """Ports and size of the cluster."""

    port: int = Field(default=RAY, ge=1, le=65535, description="Port of the head, which the others join.")
    dashboard_port: int = Field(
        default=RAY_DASHBOARD, ge=1, le=65535, description="Port of the dashboard, where jobs are submitted."
    )
    num_gpus: int | None = Field(
        default=None, ge=0, description="GPUs of each node that Ray may use; default: all."
    )


class Ray(Service):
    """The first instance is the head, the others join it; jobs are submitted to its dashboard.

    Commands and gates as in srt-slurm: https://github.com/NVIDIA/srt-slurm, `services/ray.py`; the dashboard
    comes with `ray[default]`.
    """

    name = "ray"
    Options = RayOptions
    place = "workers"
    places = frozenset({"workers", "head", "all"})

    def command(self, instance: Instance, options: Section) -> Command:
        """Render `ray start` in the foreground, so that the step lives as long as its part of the cluster."""
        assert isinstance(options, RayOptions)
        port, dashboard = self._head(instance, options)
        gpus = instance.deployment.gpus_per_node if options.num_gpus is None else options.num_gpus
        words = ["ray", "start", f"--node-ip-address={instance.address}", f"--num-gpus={gpus}"]
        words += ["--disable-usage-stats", "--block"]
        if instance.index:
            words.append(f"--address={instance.first}:{port}")
        else:
            words += ["--head", f"--port={port}", "--dashboard-host=0.0.0.0"]
            words.append(f"--dashboard-port={dashboard}")
            # Another job on the node has its own files; the other instances do as the head does.
            words.append(f"--temp-dir={instance.deployment.binding.scratch}/ray")
        words += _of_a_window(instance)
        env = {
            instance.deployment.visible_devices: ",".join(map(str, range(gpus))),
            # A trainer that moves its state to host memory would be killed for it.
            "RAY_memory_monitor_refresh_ms": "0",
        }
        return Command(argv=tuple(words), env=env)

    def readiness(self, instance: Instance, options: Section) -> Readiness:
        """The head by its dashboard, the others by their log; the last by the head's list of nodes too.

        The dashboard answers before the head's own node is in that list.
        """
        (_, port), size = self._head(instance, options), len(instance.nodes)
        probes = [] if instance.index else [Probe(kind="http", port=port, path="/api/version")]
        if instance.index == size - 1:
            head = instance.nodes[0] if instance.index else None
            alive = rf'(?s)(?:"state":\s*"ALIVE".*?){{{size}}}'
            probes.append(Probe(kind="http", port=port, path="/nodes?view=summary", body=alive, node=head))
        log = STARTED if instance.index else None
        return Readiness(probes=tuple(probes), log=log, timeout_seconds=PATIENCE_SECONDS)

    def ports(self, instance: Instance, options: Section) -> tuple[int, ...]:
        """Those of the head; the others take free ones."""
        return () if instance.index else self._head(instance, options)

    def _head(self, instance: Instance, options: Section) -> tuple[int, int]:
        """Port and dashboard's port of the head; what the recipe names stays where it is."""
        assert isinstance(options, RayOptions)
        given, head = options.model_fields_set, instance.nodes[0]
        port, dashboard = (instance.deployment.port(head, one) for one in (RAY, RAY_DASHBOARD))
        return (
            options.port if "port" in given else port,
            options.dashboard_port if "dashboard_port" in given else dashboard,
        )

    def refusals(self, section: ServiceSection, recipe: Recipe) -> Iterator[Fault]:
        """The commands are its own."""
        yield from super().refusals(section, recipe)
        options = section.options
        if options.get("port", RAY) == options.get("dashboard_port", RAY_DASHBOARD):
            yield "options", "the head and its dashboard would listen on one port: give one of them another"
        if section.command:
            yield "command", "ray has a command for its head and one for the others: say args or options"


def _of_a_window(instance: Instance) -> list[str]:
    """The ports that Ray opens unasked, on a node that other jobs share: two of its clusters may be there."""
    if instance.node not in instance.deployment.binding.windows:
        return []
    # 0: free ones, instead of those from 10002 on that every cluster takes.
    words = ["--min-worker-port=0", "--max-worker-port=0"]
    words.append(f"--dashboard-agent-listen-port={instance.port(RAY_AGENT)}")
    return words if instance.index else [*words, f"--ray-client-server-port={instance.port(RAY_CLIENT)}"]

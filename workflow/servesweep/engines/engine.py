"""What an engine is: pure functions from a placed process to a command line."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, ClassVar

from servesweep.engines.argument_faults import SERVED, argument_faults, name_faults
from servesweep.engines.flags import flags, given, kebab
from servesweep.engines.sidecar import grpc_port
from servesweep.engines.vocabulary import NO_WORDS, Vocabulary, unless_named
from servesweep.engines.word_faults import word_faults
from servesweep.recipe.dynamo import DynamoSection
from servesweep.recipe.kv_events import KvEventsSection
from servesweep.recipe.section import Section
from servesweep.topology.deployment import Command, Deployment, Probe, Transport, registers
from servesweep.topology.processes import Parallelism
from servesweep.topology.shapes import ProcessPlace, RoleShape

NO_OPTIONS: Mapping[str, str] = {}


class NoOptions(Section):
    """For engines without engine-wide options."""


@dataclass(frozen=True)
class WorkerSpec:
    """What a recipe says about each worker of a role, beside its place.

    `observed`: the preset of `observability` asks engines for their statistics. `sidecar`: Dynamo's section,
    where the engine runs beside a sidecar of its.
    """

    args: Mapping[str, Any] = field(default_factory=dict)
    options: Section = field(default_factory=NoOptions)
    extra_args: tuple[str, ...] = ()
    kv_events: KvEventsSection | None = None
    observed: bool = False
    sidecar: DynamoSection | None = None

    @cached_property
    def flags_without(self) -> Callable[..., tuple[str, ...]]:
        """The arguments as flags, but for those of the given names; they are the same for all workers."""
        return cache(lambda *names: tuple(flags(without(self.args, *names))))

    @cached_property
    def args_text(self) -> str:
        """The arguments as JSON, in their order."""
        return json.dumps(self.args)


class Engine(ABC):
    """One inference engine.

    `reserved` names the arguments that the topology decides, `reserved_extra` those of the server's own
    flags, and `rank_flags` those of a replica over several nodes; in kebab case, and meant in any spelling.
    `vocabulary` is what else must be known of its flags. `model_flags` name the model, which is the recipe's.
    `several_names`: it serves a model under more than one name.
    `tells_events`: workers publish what they have cached without being told.
    `spans_nodes`: a worker may have several nodes. `one_step`: one launch starts all ranks of a worker, a
    task a GPU, with the srun options `step_options`; a frontend of the same image needs
    `frontend_step_options`. `exact_packing`: a worker of several nodes takes exactly its GPUs.
    `size_flag`: the argument without which it uses one GPU. `unprofiled_by`: types of profiling that do not
    see into it. `store_by_transfer`: it starts a Mooncake store's client only where a role transfers by it;
    `moves_by_mooncake`: it transfers without a store.
    """

    name: ClassVar[str]
    Options: ClassVar[type[Section]] = NoOptions
    transports: ClassVar[frozenset[Transport]]
    reserved: ClassVar[frozenset[str]] = frozenset()
    reserved_extra: ClassVar[frozenset[str]] = frozenset()
    rank_flags: ClassVar[frozenset[str]] = frozenset()
    vocabulary: ClassVar[Vocabulary] = NO_WORDS
    model_flags: ClassVar[frozenset[str]] = frozenset()
    several_names: ClassVar[bool] = False
    sidecars: ClassVar[bool] = False
    tells_events: ClassVar[bool] = False
    spans_nodes: ClassVar[bool] = False
    one_step: ClassVar[bool] = False
    exact_packing: ClassVar[bool] = False
    size_flag: ClassVar[str] = ""
    unprofiled_by: ClassVar[frozenset[str]] = frozenset()
    store_by_transfer: ClassVar[bool] = False
    moves_by_mooncake: ClassVar[bool] = False
    step_options: ClassVar[Mapping[str, str]] = NO_OPTIONS
    frontend_step_options: ClassVar[Mapping[str, str]] = NO_OPTIONS

    @abstractmethod
    def command(self, process: ProcessPlace, worker: WorkerSpec, deployment: Deployment) -> Command:
        """Render the command of one process of a worker."""

    def environment(
        self, process: ProcessPlace, worker: WorkerSpec, deployment: Deployment
    ) -> dict[str, str]:
        """Variables of one process that no environment of the recipe may replace, such as its ports."""
        return {}

    def together(self, options: Section) -> int:
        """How many workers that lead on one node start at once, each batch once the last is ready; 0: all."""
        return 0

    def standbys(self, options: Section) -> int:
        """Further engines on the GPUs of each worker, which take over where the first one dies."""
        return 0

    def registers(self, args: Mapping[str, Any], options: Section) -> bool:
        """Whether workers make themselves known to their router, which is then told no URLs."""
        return False

    def further_ports(
        self, process: ProcessPlace, worker: WorkerSpec, deployment: Deployment, *, replica: bool
    ) -> list[tuple[int, int]]:
        """Ports on its node that a process takes beside those of its place, as (first, how many)."""
        if worker.sidecar is None or not process.is_leader:
            return []
        return [(grpc_port(process, worker.sidecar, deployment), 1)]

    def connector(self, args: Mapping[str, Any], options: Section) -> str | None:
        """The short name of what hands the KV cache over, where the engine has such names."""
        return None

    def pins_devices(self, options: Section) -> bool:
        """Whether the command line itself names the GPUs, so that no variable has to."""
        return False

    def parallelism(self, args: Mapping[str, Any], options: Section) -> Parallelism:
        """How a worker is cut into data-parallel ranks, where that makes processes of their own.

        Raises:
            ValueError: for a degree that is no whole number from 1.
        """
        return Parallelism()

    def colocates(self, shapes: Sequence[RoleShape], gpus_per_node: int, options: Section) -> bool:
        """Whether prefill and decode share nodes without `nodes: colocate`."""
        return False

    def profiler_flags(self, start: int, stop: int) -> tuple[str, ...]:
        """Flags by which the engine opens the profiler's window itself, from one step to another."""
        return ()

    def notes(self, mode: str, args: Mapping[str, Any], options: Section) -> list[str]:
        """What a reader should know about a role's arguments."""
        return [
            f"roles.{mode}.args.{name} is not used: the model is the recipe's model.path"
            for name in args
            if self.vocabulary.full(name) in self.model_flags
        ]

    def unsupported(self, options: Section) -> list[str]:
        """What the options ask that a run of this version cannot do, as `engine.key: what`."""
        return []

    def sidecar_refusals(
        self, shape: RoleShape, per_node: int, args: Mapping[str, Any], options: Section
    ) -> list[tuple[str, str]]:
        """What a role cannot do beside sidecars, as (key below the role, sentence)."""
        if self.sidecars:
            return []
        return [("sidecar", f"the engine {self.name} has no sidecar: it registers with Dynamo itself")]

    def scheme(self, args: Mapping[str, Any]) -> str:
        """Scheme of the URL by which a router reaches a worker."""
        return "http"

    def replica(
        self, process: ProcessPlace, args: tuple[str, ...], options: Section, deployment: Deployment
    ) -> Command:
        """Render one rank of a replica, whose arguments are the user's own, free-form.

        Raises:
            ValueError: where the engine has no HTTP endpoint of its own.
        """
        raise ValueError(f"{self.name} has no HTTP endpoint of its own, so it cannot be a replica")

    def replica_words(self, args: tuple[str, ...], deployment: Deployment) -> tuple[str, ...]:
        """What a replica serves, and under which name, where the user's arguments do not say it."""
        return unless_named(args, {SERVED: deployment.served_model})

    def replica_name(self, args: tuple[str, ...]) -> str | None:
        """The served name that a replica's own arguments give, if they do."""
        return self.vocabulary.spelt_out(given(args)).get(SERVED) or None

    def gpus_of(self, args: Mapping[str, Any]) -> int | None:
        """GPUs that the parallel sizes in a worker's arguments take; None where they give none."""
        return None

    def replica_refusals(self, args: tuple[str, ...], nodes_per_replica: int) -> list[tuple[str, str]]:
        """Faults of a replica's free-form arguments as (top-level key, sentence)."""
        ranks = self.rank_flags if nodes_per_replica > 1 else frozenset()
        sentences = word_faults(args, self.reserved, ranks, self.vocabulary)
        faults = [("framework_args", sentence) for sentence in sentences]
        if not faults and nodes_per_replica > 1 and not self.spans_nodes:
            faults.append(("nodes_per_replica", f"a replica of the engine {self.name} runs on one node"))
        return faults

    def served_model(self, args: Mapping[str, Any], options: Section | None = None) -> str | None:
        """The served name that the arguments give, if they do; of several the first."""
        name = argument(args, SERVED)
        first = name[0] if isinstance(name, list) and name else name
        return str(first) if first is not None else None

    def refusals(self, mode: str, args: Mapping[str, Any], options: Section) -> list[tuple[str, str]]:
        """Faults of a role's arguments as (key below the role, sentence)."""
        faults = argument_faults(args, self.reserved, self.vocabulary)
        return faults + list(name_faults(args, several=self.several_names))

    def probe(self, process: ProcessPlace, options: Section, deployment: Deployment) -> Probe | None:
        """How the readiness of a process is asked; None for ranks without an endpoint of their own."""
        if deployment.transport == "dynamo":
            # Ranks that register no `generate` never become ready.
            return Probe(kind="http", port=process.system_port) if registers(process) else None
        return Probe(kind="http", port=process.http_port) if process.http_port else None


def argument(args: Mapping[str, Any], name: str) -> Any:
    """The value of an argument in either spelling; None where it is not given."""
    for spelling in (name, name.replace("-", "_")):
        if spelling in args:
            return args[spelling]
    if name.count("-") < 2:
        return None
    # Both signs in one name.
    return next((value for key, value in args.items() if kebab(key) == name), None)


def without(args: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The arguments but for some, in either spelling."""
    return {key: value for key, value in args.items() if kebab(key) not in names}

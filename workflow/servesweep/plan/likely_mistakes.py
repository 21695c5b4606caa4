"""What works and is probably not meant: idle GPUs, another site's facts, routers that see too little."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from servesweep.benchmarks.random_lengths import random_lengths
from servesweep.engines.engine import argument
from servesweep.engines.flags import given
from servesweep.frontends import FRONTENDS
from servesweep.plan.asked import asked
from servesweep.plan.parallel_sizes import where
from servesweep.plan.plan import Plan
from servesweep.plan.roles import Role
from servesweep.plan.unsupported import publishes
from servesweep.recipe.problems import dotted, listed

# The longest sequence that an engine takes, by the names of vLLM, SGLang and TensorRT-LLM.
LENGTHS = ("max-model-len", "context-length", "max-seq-len")
NO_EVENTS = ("no-router-kv-events", "no-kv-events")


def likely_mistakes(plan: Plan, roles: Sequence[Role]) -> Iterator[str]:
    """Yield a sentence for each."""
    if plan.launcher == "slurm":
        yield from _idle_gpus(plan)
        yield from _other_site(plan)
    yield from _blind_routers(plan)
    yield from _no_events(plan, roles)
    yield from _too_short(plan, roles)


def _idle_gpus(plan: Plan) -> Iterator[str]:
    """On nodes with workers; nodes without any are told where they are laid out."""
    asks_all = f"--gpus-per-node={plan.topology.gpus_per_node}" in plan.slurm.slurm_extra.split()
    if not asks_all and "--exclusive" not in plan.slurm.slurm_extra:
        return
    held: Counter[str] = Counter()
    for process in plan.deployment.processes:
        held[process.node] += len(process.gpus)
    total = plan.topology.gpus_per_node
    for idle in dict.fromkeys(total - count for count in held.values() if 0 < count < total):
        nodes = listed(node for node, count in held.items() if total - count == idle)
        yield f"{idle} of {total} GPUs of {nodes} are idle, and held by the job"


def _other_site(plan: Plan) -> Iterator[str]:
    """Facts about the GPUs that a recipe and the cluster file tell differently."""
    resources, cluster = plan.resolved.resources, plan.cluster
    own, sites = resources.gpu_type, cluster.default_gpu_type
    if own and sites and own.lower() != sites.lower():
        yield f"resources.gpu_type is {own}, and the cluster file's default_gpu_type {sites}"
    count = resources.gpus_per_node
    if count and "gpus_per_node" in cluster.model_fields_set and count != cluster.gpus_per_node:
        yield f"resources.gpus_per_node is {count}, and the cluster file's {cluster.gpus_per_node}"


def _blind_routers(plan: Plan) -> Iterator[str]:
    section, count = plan.resolved.frontend, len(plan.deployment.frontends)
    if section is None or count < 2 or section.nginx_session_affinity:
        return
    if FRONTENDS[plan.frontend].remembers_prompts(section.args):
        yield (
            f"each of {count} routers behind nginx sees a part of the prompts, and the cache-aware policy"
            " knows no other's: frontend.nginx_session_affinity keeps a session at one"
        )


def _no_events(plan: Plan, roles: Sequence[Role]) -> Iterator[str]:
    """The prefill workers' caches are those that are looked at, where there are some."""
    args = plan.resolved.frontend.args if plan.resolved.frontend else {}
    if plan.frontend != "dynamo" or argument(args, "router-mode") != "kv":
        return
    if any(argument(args, name) for name in NO_EVENTS):
        return
    mode = "prefill" if plan.topology.is_disaggregated else "agg"
    if any(role.mode == mode and not (role.engine.tells_events or publishes(plan, mode)) for role in roles):
        yield (
            f"router-mode is kv, and {mode} workers are not told to publish what they have cached:"
            f" roles.{mode}.kv_events: true"
        )


def _too_short(plan: Plan, roles: Sequence[Role]) -> Iterator[str]:
    """A prefill worker holds a prompt alone."""
    lengths = random_lengths(asked(plan.resolved.benchmark).options)
    if lengths is None:
        return
    prompt, answer = lengths
    for role in roles:
        args = role.args if role.framework_args is None else given(role.framework_args)
        needed, told = prompt + answer, "isl + osl are"
        if role.mode == "prefill":
            needed, told = prompt, "isl is"
        for name in LENGTHS:
            value = str(argument(args, name))
            if value.isdigit() and 0 < int(value) < needed:
                yield f"{name} in {dotted(where(role))} is {value}, and {told} {needed}"

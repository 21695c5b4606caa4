"""One point measured on the running deployment: the client is started where the recipe places it."""

from __future__ import annotations

from pathlib import Path

from servesweep.benchmarks import BENCHMARKS, BenchmarkContext
from servesweep.benchmarks.post_eval import POINT as POST_EVAL
from servesweep.benchmarks.post_eval import post_eval_command
from servesweep.evidence.files import RunFiles, write_atomically
from servesweep.evidence.points import open_points
from servesweep.plan.plan import Plan, PlannedPoint
from servesweep.plan.secrets import has_secrets
from servesweep.runtime.allocation import Allocation
from servesweep.runtime.client_start import keep_clients
from servesweep.runtime.launchers import Launch, launcher_of
from servesweep.runtime.secrets import hand_over, opened
from servesweep.topology.deployment import Command


class NoSuchPointError(Exception):
    """A point that the plan does not have; its text is one sentence."""


def client_words(files: RunFiles, plan: Plan, allocation: Allocation, point: str) -> list[str]:
    """Write the client's input files and return the words that start it.

    Raises:
        MissingSecretError: for a secret that has no value any more.
        NoSuchPointError: for a point that is not in the plan.
    """
    plan, values = opened(files, plan, Path(allocation.project))
    hand_over(values)
    planned = _point(plan, point)
    command = _command(plan, _context(files, plan, planned, Path(allocation.project)), point)
    for path, text in command.files.items():
        write_atomically(Path(path), text)
    files.result(point).parent.mkdir(parents=True, exist_ok=True)
    if allocation.launcher == "local" or plan.client == plan.nodes[0].name:
        return ["env", *(f"{key}={value}" for key, value in command.env.items()), *command.argv]
    srun = {**plan.cluster.srun_options, **plan.resolved.srun_options}
    launch = Launch(f"benchmark_{point}", (plan.client,), command.argv, command.env, srun)
    return launcher_of(allocation).words(launch)


def ready_clients(files: RunFiles, plan: Plan, allocation: Allocation) -> None:
    """Make the client of every open point ready, where none of them needs a secret."""
    if has_secrets(plan):
        return
    points = [point.id for point in open_points(files, plan)]
    words = {point: client_words(files, plan, allocation, point) for point in points}
    keep_clients(files, words, Path(allocation.project))


def _command(plan: Plan, context: BenchmarkContext, point: str) -> Command:
    if point == POST_EVAL and plan.resolved.post_eval is not None:
        return post_eval_command(plan.resolved.post_eval, context)
    benchmark = BENCHMARKS[plan.resolved.benchmark.type]
    options = benchmark.Options.model_validate(plan.resolved.benchmark.options)
    load = next(load for load in benchmark.loads(options) if load.id == point)
    return benchmark.command(load, options, context)


def _point(plan: Plan, point: str) -> PlannedPoint:
    for planned in plan.points:
        if planned.id == point:
            return planned
    raise NoSuchPointError(
        f"{plan.configuration} has no point {point}; it has {', '.join(p.id for p in plan.points)}"
    )


def _context(files: RunFiles, plan: Plan, planned: PlannedPoint, project: Path) -> BenchmarkContext:
    url = None
    if plan.public is not None:
        url = f"http://{plan.deployment.address(plan.public.node)}:{plan.public.port}"
    model = project / (plan.deployment.model_source or plan.deployment.model_path)
    return BenchmarkContext(
        configuration=plan.configuration,
        digest=planned.digest,
        url=url,
        deployment=plan.deployment,
        tokenizer=str(model) if (model / "tokenizer.json").is_file() else None,
        directory=str(files.point(planned.id)),
        output=str(files.result(planned.id)),
        environment={**plan.cluster.environment, **plan.resolved.environment},
    )

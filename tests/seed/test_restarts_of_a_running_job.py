"""Topology and Placement, "critical" and "restart": what happens while a job runs, with real processes.

The workers' commands are replaced by small shells: what is tested is who is started again, when and how.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from servesweep.evidence.files import RunFiles
from servesweep.evidence.lockfile import lock_section
from servesweep.plan.plan import Plan, Step
from servesweep.plan.render import rebind
from servesweep.runtime.allocation import find_allocation
from servesweep.runtime.launchers import launcher_of
from servesweep.runtime.restarting import Restarting
from servesweep.runtime.supervisor import Running, Supervisor
from servesweep.topology.deployment import Command, Probe

PATIENCE_S = 60
LASTING = "trap 'exit 0' TERM; echo a life; sleep 600 & wait"
FRONT = "engine: sglang\nfrontend: {type: sglang-router, enable_multiple_frontends: false}\n"
HEALTH = "health_check: {max_attempts: 600, interval_seconds: 0.1}\n"


@dataclass
class Job:
    """A running deployment of shells, and what was said about it."""

    plan: Plan
    logs: Path
    supervisor: Supervisor
    restarting: Restarting
    said: list[str] = field(default_factory=list)

    def life(self, worker: str) -> Running:
        """The process that a step is now."""
        return [one for one in self.supervisor.running if one.step.name == worker][-1]

    def kill(self, worker: str, number: int = signal.SIGKILL) -> None:
        os.kill(self.life(worker).process.pid, number)

    def record(self) -> dict[str, Any]:
        return dict(json.loads((self.logs / "worker_restarts.json").read_text()))

    def outcomes(self) -> list[str]:
        return [event["outcome"] for event in self.record()["events"]]

    async def until(self, condition: Callable[[], Any]) -> None:
        for _ in range(PATIENCE_S * 50):
            if condition():
                return
            await asyncio.sleep(0.02)
        raise AssertionError(f"it did not happen: {self.said}")


@pytest.fixture
def run(read: Any, tmp_path: Path) -> Callable[..., None]:
    """Start the workers of a recipe, and let a scene play with them."""

    def play(
        roles: str,
        scene: Callable[[Job], Awaitable[None]],
        shell: str = LASTING,
        probe: Probe | None = None,
        more: str = HEALTH,
    ) -> None:
        planned = read.plan(FRONT + more + roles)

        async def go() -> None:
            found = find_allocation("local", [node.name for node in planned.nodes])
            logs = tmp_path / "logs"
            logs.mkdir()
            plan = rebind(planned, found.binding(logs))
            plan = replace(plan, steps=tuple(_shell(step, shell, probe) for step in plan.steps))
            said: list[str] = []
            supervisor = Supervisor(launcher_of(found), logs, said.append)
            job = Job(plan, logs, supervisor, Restarting(supervisor, plan), said)
            try:
                for step in plan.steps:
                    if step.kind == "worker":
                        await supervisor.start(step)
                # The shells have set their traps.
                logs_of = [one.log for one in supervisor.running]
                await job.until(lambda: all(log.read_text() for log in logs_of))
                await scene(job)
            finally:
                await job.restarting.stop()
                await supervisor.stop()

        asyncio.run(go())

    return play


def served_again(job: Job, times: int) -> Callable[[], bool]:
    return lambda: job.outcomes() == ["ready"] * times


def _shell(step: Step, shell: str, probe: Probe | None) -> Step:
    return replace(step, command=Command(argv=("bash", "-c", shell)), probe=probe)


def agg(policy: str, more: str = "") -> str:
    return f"roles: {{agg: {{nodes: 1, workers: 2, gpus: 1, restart: {policy}{more}}}}}\n"


SOON = "{policy: on-failure, backoff_seconds: 0.1}"


class TestCritical:
    def test_when_one_exits_the_monitor_fails_the_run(self, run: Any) -> None:
        async def scene(job: Job) -> None:
            job.kill("agg_1", signal.SIGTERM)
            failure = await asyncio.wait_for(job.supervisor.failed, PATIENCE_S)
            assert failure.message == "worker agg_1 on n0 exited with code 0"

        run(agg("never"), scene)

    def test_of_a_role_that_is_not_critical_the_survivors_keep_serving(self, run: Any) -> None:
        async def scene(job: Job) -> None:
            job.kill("agg_1")
            await job.until(lambda: "worker agg_1 on n0 was ended by SIGKILL" in job.said)
            assert not job.supervisor.failed.done()
            assert not job.life("agg_0").ended.done()

        run(agg("never", ", critical: false"), scene)


class TestRestart:
    def test_it_is_off_by_default(self, run: Any) -> None:
        async def scene(job: Job) -> None:
            assert not (job.logs / "worker_restarts.json").exists()
            job.kill("agg_0")
            assert (await asyncio.wait_for(job.supervisor.failed, PATIENCE_S)).step == "agg_0"

        run("roles: {agg: {nodes: 1, workers: 2, gpus: 1}}\n", scene)

    def test_one_that_exits_is_relaunched_in_place_after_a_backoff(self, run: Any) -> None:
        async def scene(job: Job) -> None:
            first = job.life("agg_0")
            job.kill("agg_0")
            await job.until(lambda: job.outcomes() == ["ready"])
            second = job.life("agg_0")
            assert second is not first
            assert (second.step, second.host, second.log) == (first.step, first.host, first.log)
            assert not job.supervisor.failed.done()
            assert not job.life("agg_1").ended.done()

        run(agg(SOON), scene)

    def test_on_failure_is_a_non_zero_exit(self, run: Any) -> None:
        async def scene(job: Job) -> None:
            job.kill("agg_0", signal.SIGTERM)
            failure = await asyncio.wait_for(job.supervisor.failed, PATIENCE_S)
            assert failure.message == "worker agg_0 on n0 exited with code 0"
            assert job.outcomes() == []

        run(agg(SOON), scene)

    def test_always_is_any_exit(self, run: Any) -> None:
        async def scene(job: Job) -> None:
            job.kill("agg_0", signal.SIGTERM)
            await job.until(lambda: job.outcomes() == ["ready"])
            assert job.record()["events"][0]["exit_code"] == 0

        run(agg("{policy: always, backoff_seconds: 0.1}"), scene)

    def test_relaunches_are_counted_per_worker_over_the_whole_job(self, run: Any) -> None:
        async def scene(job: Job) -> None:
            for number, worker in enumerate(("agg_0", "agg_1"), 1):
                job.kill(worker)
                await job.until(served_again(job, number))
            job.kill("agg_0")
            assert (await asyncio.wait_for(job.supervisor.failed, PATIENCE_S)).step == "agg_0"
            used = {"policy": "on-failure", "restarts": 1, "max_restarts": 1}
            assert job.record()["endpoints"] == {
                "agg_0": {**used, "exhausted": True},
                "agg_1": {**used, "exhausted": False},
            }

        run(agg("{policy: on-failure, max_restarts: 1, backoff_seconds: 0.1}"), scene)

    def test_the_delay_doubles_on_each_further_relaunch_up_to_the_cap(self, run: Any) -> None:
        async def scene(job: Job) -> None:
            await job.until(lambda: job.supervisor.failed.done())
            events = [event for event in job.record()["events"] if event["worker"] == "agg_0"]
            assert [event["backoff_seconds"] for event in events[:4]] == [0.1, 0.2, 0.3, 0.3]

        policy = "{policy: always, max_restarts: 4, backoff_seconds: 0.1, max_backoff_seconds: 0.3}"
        run(
            f"roles: {{agg: {{nodes: 1, workers: 1, gpus: 1, restart: {policy}}}}}\n", scene, "echo a; exit 1"
        )

    def test_one_rank_s_exit_stops_the_others_by_sigterm_and_all_come_back_together(self, run: Any) -> None:
        async def scene(job: Job) -> None:
            leader, follower = job.life("agg_0"), job.life("agg_0_r1")
            job.kill("agg_0_r1")
            await job.until(lambda: job.outcomes() == ["ready"])
            # 0 is what the shell makes of SIGTERM.
            assert (leader.ended.result(), follower.ended.result()) == (0, -signal.SIGKILL)
            assert [one.name for one in job.supervisor.running] == ["agg_0_n0_r1", "agg_0_n1_r1"]
            (event,) = job.record()["events"]
            assert (event["worker"], event["node"], event["exit_code"]) == ("agg_0", "n1", 137)

        run(f"roles: {{agg: {{nodes: 2, workers: 1, gpus: 16, restart: {SOON}}}}}\n", scene)

    def test_the_step_has_a_name_of_its_own_and_the_canonical_log(self, run: Any) -> None:
        async def scene(job: Job) -> None:
            for number in (1, 2):
                job.kill("agg_1")
                await job.until(served_again(job, number))
                assert job.life("agg_1").name == f"agg_1_n0_r{number}"
                await job.until(lambda: job.life("agg_1").log.read_text())
            assert sorted(path.name for path in job.logs.glob("*.out*")) == [
                "n0_agg_w0.out", "n0_agg_w1.out", "n0_agg_w1.out.1", "n0_agg_w1.out.2",
            ]  # fmt: skip
            lives = [event["crash_log"] for event in job.record()["events"]]
            assert lives == ["logs/n0_agg_w1.out.1", "logs/n0_agg_w1.out.2"]
            assert (job.logs / "n0_agg_w1.out").read_text() == "a life\n"

        run(agg(SOON), scene)

    def test_one_that_never_answers_is_left_running(self, run: Any) -> None:
        async def scene(job: Job) -> None:
            job.kill("agg_0")
            await job.until(lambda: job.outcomes() == ["not_ready"])
            assert not job.life("agg_0").ended.done()
            assert not job.supervisor.failed.done()
            assert "agg_0 does not serve after 0.5 s: it is left running" in job.said

        silent = Probe(kind="http", port=1)
        short = "health_check: {max_attempts: 5, interval_seconds: 0.1}\n"
        run(agg(SOON), scene, probe=silent, more=short)

    @pytest.mark.parametrize(
        ("frontend", "port"),
        [("{type: dynamo}", "system_port"), ("{type: sglang-router}", "http_port")],
        ids=["dynamo", "another frontend"],
    )
    def test_what_is_polled(self, read: Any, workers: Any, frontend: str, port: str) -> None:
        """DYN_SYSTEM_PORT's /health under Dynamo, the engine's own port under the others."""
        plan = read.plan(f"engine: sglang\nfrontend: {frontend}\n" + agg(SOON))
        for step, process in zip(workers(plan, "agg"), plan.deployment.processes, strict=True):
            assert step.probe == Probe(kind="http", port=getattr(process, port))
            if port == "system_port":
                assert step.command.env["DYN_SYSTEM_PORT"] == str(step.probe.port)

    def test_the_record_is_copied_into_the_lockfile(self, run: Any) -> None:
        async def scene(job: Job) -> None:
            job.kill("agg_0")
            await job.until(lambda: job.outcomes() == ["ready"])
            lock = lock_section(RunFiles(job.logs.parent), job.plan)
            assert lock["worker_restarts"] == job.record()
            assert lock["worker_restarts"]["total_restarts"] == 1

        run(agg(SOON), scene)

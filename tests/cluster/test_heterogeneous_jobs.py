"""Prefill and decode as two components of one heterogeneous job, by `snakemake --profile cluster`."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

RECIPE = """
schema: 2
name: {name}
model: {{path: tiny, precision: fp16}}
engine: simulator
resources: {{gpus_per_node: 8, het_jobs: true}}
roles:
  prefill: {{nodes: 1, gpus: 8, args: {{ttft-ms: 20, itl-ms: {itl}}}}}
  decode: {{nodes: 2, workers: 2, gpus: 8, args: {{ttft-ms: 20, itl-ms: {itl}}}}}
frontend: {{type: sglang-router, args: {{policy: round_robin}}}}
host_setup: {{commands: ["echo $SLURM_JOB_ID"]}}
slurm: {{time_limit: "00:10:00"}}
health_check: {{max_attempts: 60, interval_seconds: 1}}
benchmark:
  {{type: sa-bench, isl: 32, osl: {osl}, concurrencies: "2", num_prompts_mult: {mult}, placement: {{node: last_decode}}}}
"""  # noqa: E501


@pytest.fixture(scope="module")
def ran(new_sweep: Any, cluster: Any) -> tuple[Any, subprocess.CompletedProcess[str]]:
    """One sweep with a job that finishes, then one that is cancelled in its point."""
    sweep = new_sweep("het")
    finishing = RECIPE.format(name="finishing", itl=5, osl=16, mult=4)
    sweep.project.write("config/recipes/finishing.yaml", finishing)
    done = sweep.run()
    assert done.returncode == 0, done.stdout + sweep.log("finishing")
    cancelled = RECIPE.format(name="cancelled", itl=50, osl=200, mult=30)
    sweep.project.write("config/recipes/cancelled.yaml", cancelled)
    process = sweep.start()
    sweep.wait_for_point("cancelled", "c2", timeout=180)
    cluster.cancel(int(sweep.project.json("cancelled/allocation.json")["job_id"]))
    output, _ = process.communicate(timeout=300)
    return sweep, subprocess.CompletedProcess(process.args, process.returncode, output, "")


def hosts(sweep: Any, name: str) -> list[str]:
    return [host["host"] for host in sweep.project.json(f"{name}/allocation.json")["hosts"]]


def test_the_job_has_two_components_with_the_nodes_of_one_role_each(ran: Any) -> None:
    sweep, _ = ran
    slurm = sweep.project.json("finishing/plan.json")["slurm"]
    assert slurm["nodes"] == 1
    assert " : -N2 " in slurm["slurm_extra"]
    allocation = sweep.project.json("finishing/allocation.json")
    assert [host["het_group"] for host in allocation["hosts"]] == [0, 1, 1]
    assert len(set(hosts(sweep, "finishing"))) == 3


def test_every_step_runs_on_its_node_in_its_component(ran: Any, cluster: Any) -> None:
    sweep, _ = ran
    head, first, second = hosts(sweep, "finishing")
    rows = cluster.accounting(int(sweep.project.json("finishing/run.json")["job_id"]))
    steps = ("prefill_0", "frontend_0", "decode_0", "decode_1", "benchmark_c2")
    assert {name: rows[name]["NodeList"] for name in steps} == {
        "prefill_0": head, "frontend_0": head,
        "decode_0": first, "decode_1": second, "benchmark_c2": second,
    }  # fmt: skip
    components = {name: rows[name]["JobID"].partition("+")[2].partition(".")[0] for name in steps}
    assert components == {
        "prefill_0": "0", "frontend_0": "0", "decode_0": "1", "decode_1": "1", "benchmark_c2": "1",
    }  # fmt: skip
    assert {f"host_setup_{host}" for host in (head, first, second)} <= set(rows)


def test_workers_are_asked_to_end_before_they_are_made_to(ran: Any, cluster: Any) -> None:
    sweep, _ = ran
    rows = cluster.accounting(int(sweep.project.json("finishing/run.json")["job_id"]))
    ends = {rows[name]["ExitCode"] for name in ("prefill_0", "decode_0", "decode_1")}
    assert ends <= {"0:0", "0:15"}


def test_the_point_is_valid(ran: Any) -> None:
    sweep, _ = ran
    result = sweep.project.json("finishing/points/c2/result.json")
    assert (result["valid"], result["requests"]["completed"]) == (True, 8)


def test_snakemake_notices_that_such_a_job_was_cancelled(ran: Any) -> None:
    sweep, done = ran
    assert done.returncode != 0
    assert "SLURM status is: 'CANCELLED'" in done.stdout
    job = sweep.project.json("cancelled/allocation.json")["job_id"]
    assert sweep.project.json("cancelled/failure.json")["message"] == (
        f"stopped by SIGTERM: job {job} was cancelled"
    )


def test_nothing_is_left_on_any_node(ran: Any, cluster: Any) -> None:
    cluster.nothing_is_left(ran[0].project.root)

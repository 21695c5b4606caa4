"""`sbatch_directives`: every one reaches Slurm, or is refused with the reason."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import asdict
from types import SimpleNamespace
from typing import Any

import pytest
from snakemake_executor_plugin_slurm.submit_string import get_submit_command
from snakemake_executor_plugin_slurm.utils import set_gres_string
from snakemake_executor_plugin_slurm.validation import validate_slurm_extra

from servesweep.plan.plan import Plan, SlurmRequest

Planner = Callable[..., Plan]

AGG = "engine: sglang\nroles: {agg: {nodes: 2}}\n"
FRAME = {"run_uuid": "u", "slurm_logfile": "log", "comment_str": "rule_run", "workdir": None}


class Resources(dict[str, Any]):
    """The executor reads resources as attributes and as a mapping."""

    def __getattr__(self, name: str) -> Any:
        return self.get(name)


def sbatch(slurm: SlurmRequest) -> list[str]:
    """The words that the executor plugin would call for a request, checked by its own rules."""
    resources = Resources({k: v for k, v in asdict(slurm).items() if v is not None and k != "comment"})
    resources["mpi"] = "srun"
    job = SimpleNamespace(resources=resources, threads=1)
    validate_slurm_extra(job)
    frame = {**FRAME, "account": f"-A {slurm.slurm_account}", "partition": f"-p {slurm.slurm_partition}"}
    return shlex.split(get_submit_command(job, frame) + set_gres_string(job))


@pytest.mark.parametrize(
    ("directive", "words"),
    [
        ('mail-user: "user@example.com"', ["--mail-user=user@example.com"]),
        ('mail-type: "END,FAIL"', ["--mail-type=END,FAIL"]),
        ('reservation: "my-reservation"', ["--reservation=my-reservation"]),
        ('reservation: "my-Job -p x --output=y"', ["--reservation=my-Job -p x --output=y"]),
        ("reservation: it's", ["--reservation=it's"]),
        ('constraint: "volta"', ["-C", "volta"]),
        ('exclusive: ""', ["--exclusive"]),
        ("exclusive: user", ["--exclusive=user"]),
        ('gres: "gpu:8"', ["--gpus-per-node=8"]),
        ('gres: "gpu:h100:4,nvme:1"', ["--gpus-per-node=h100:4", "--gres=nvme:1"]),
        ("gpus-per-node: 4", ["--gpus-per-node=4"]),
        ('dependency: "afterok:12345"', ["--dependency=afterok:12345"]),
        ('qos: "high"', ["--qos=high"]),
        ("account: team", ["-A", "team"]),
        ("partition: debug", ["-p", "debug"]),
        ("time: 02:00:00", ["-t", "120"]),
        ("mem: 64G", ["--mem", "65536"]),
        ("mem: 1000000000G", ["--mem", "1024000000000"]),
        ("mem: 0", ["--mem=0"]),
        ("cpus-per-task: 96", ["--cpus-per-task=48"]),  # two tasks a node
        ("cpus-per-gpu: 6", ["--cpus-per-task=24"]),
        ('nodelist: "n1,n2"', ["--nodelist=n1,n2"]),
        ("segment: 2", ["--segment=2"]),
        ("begin: now+1hour", ["--begin=now+1hour"]),
        ("requeue: ''", ["--requeue"]),
    ],
)
def test_a_directive_reaches_sbatch_as_the_executor_calls_it(
    plan: Planner, directive: str, words: list[str]
) -> None:
    called = sbatch(plan(AGG + f"sbatch_directives: {{{directive}}}\n").slurm)
    assert [word for word in called if word in words] == words


def test_the_comment_is_set_by_the_run_itself(plan: Planner) -> None:
    slurm = plan(AGG + "sbatch_directives: {comment: Benchmark run for paper}\n").slurm
    assert slurm.comment == "Benchmark run for paper"
    assert slurm.slurm_extra == "--gpus-per-node=8"


@pytest.mark.parametrize(
    ("directive", "sentence"),
    [
        ("job-name: x", "the workflow sets it: the executor finds its jobs by it;"
         " the recipe's name stands in the comment"),
        ("output: x.log", "the workflow sets it: the log of a run is results/<configuration>/run.log"),
        ("nodes: 4", "the nodes follow from the roles: change roles.<role>.nodes"),
        ("ntasks: 4", "every step says its own tasks; ask for CPUs with cpus-per-task or cpus-per-gpu"),
        ("gpus: 16", "GPUs are asked by node: write gpus-per-node"),
        ("N: 4", "write the long name, nodes"),
        ("--qos: high", "write the name without dashes: qos"),
        ("qos: ''", "qos needs a value"),
        ("nodelist: ''", "nodelist needs a value"),
        ("time: soon", "'soon' is not a time limit;"),
        ("mem: 99999999999999999999", "sbatch reads up to 9223372036854775807 (MB), got '9999999"),
        ("mem: lots", "expected memory of a node such as 64G or 64000 (MB), or 0 for all, got 'lots'"),
        ("gres: 'gpu:a:1,gpu:b:1'", "the executor asks for one kind of GPU and one other resource"),
        ("cpus-per-gpu: few", "expected a number of CPUs from 1, got 'few'"),
        ("array: 1-4", "one configuration is one job: write a sweep instead"),
    ],
)  # fmt: skip
def test_a_directive_that_cannot_reach_it_is_refused_with_the_reason(
    complaint: Callable[..., str], directive: str, sentence: str
) -> None:
    name = directive.partition(":")[0]
    found = complaint(AGG + f"sbatch_directives: {{{directive}}}\n")
    assert found.startswith(f"demo.yaml:6: sbatch_directives.{name}: {sentence}")


def test_what_is_asked_twice_is_refused(complaint: Callable[..., str]) -> None:
    found = complaint(AGG + "slurm: {account: a}\nsbatch_directives: {account: b}\n")
    assert found == (
        "demo.yaml:7: sbatch_directives.account: slurm.account says it already: keep one of them"
    )


def test_directives_of_the_cluster_file_lie_under_the_recipe_s(plan: Planner) -> None:
    slurm = plan(
        AGG + "sbatch_directives: {qos: high}\n",
        default_sbatch_directives={"qos": "low", "licenses": "x:1"},
        use_segment_sbatch_directive=True,
        use_exclusive_sbatch_directive=True,
    ).slurm
    assert (slurm.qos, slurm.slurm_extra) == (
        "high",
        "--gpus-per-node=8 --segment=2 --exclusive --licenses=x:1",
    )
    assert "--licenses=x:1" in sbatch(slurm)


def test_both_components_of_a_heterogeneous_job_ask_the_same(plan: Planner) -> None:
    slurm = plan(
        "engine: sglang\nroles: {prefill: {nodes: 1}, decode: {nodes: 2}}\nresources: {het_jobs: true}\n"
        'sbatch_directives: {constraint: "a100&ib", qos: high, mem: 64G, account: lab, exclusive: ""}\n'
    ).slurm
    words = sbatch(slurm)
    cut = words.index(":")
    assert words[cut + 1 :] == [
        "-N2", "-Alab", "-pbatch", "-Ca100&ib", "--qos=high", "--mem=65536", "-t60", "--ntasks-per-node=2",
        "-c4", "--gpus-per-node=8", "--exclusive",
    ]  # fmt: skip
    assert words[words.index("-C") + 1] == "a100&ib"
    assert "--nodes=1" in words[:cut]

"""Directives and step options that contradict each other or the plan, each refused with the reason."""

from collections.abc import Callable
from pathlib import Path

import pytest

from servesweep.plan.cluster_file import read_cluster
from servesweep.plan.plan import Plan
from servesweep.recipe.problems import RecipeError

AGG = "engine: sglang\nroles: {agg: {nodes: 1}}\n"
GPUS = "expected a number of GPUs from 1, or type:number, got"
TASKS = "every step says its own tasks; ask for CPUs with cpus-per-task or cpus-per-gpu"
OF_THE_JOB = "steps run inside the job, which alone has it: write it under sbatch_directives"


@pytest.mark.parametrize(
    ("directives", "sentence"),
    [
        ('gres: "gpu:8", gpus-per-node: 4',
         "gres: gpus-per-node asks for the same thing: keep one of them"),
        ("cpus-per-task: 4, cpus-per-gpu: 5",
         "cpus-per-gpu: cpus-per-task asks for the same thing: keep one of them"),
        ('gpus-per-node: "x"', f"gpus-per-node: {GPUS} 'x'"),
        ('gpus-per-node: ""', "gpus-per-node: gpus-per-node needs a value"),
        ("gpus-per-node: 0", f"gpus-per-node: {GPUS} '0'"),
        ("gpus-per-node: h100", f"gpus-per-node: {GPUS} 'h100'"),
        ("gpus-per-task: 1", "gpus-per-task: GPUs are asked by node: write gpus-per-node"),
        ("gpus-per-socket: 1", "gpus-per-socket: GPUs are asked by node: write gpus-per-node"),
        ("ntasks-per-socket: 1", f"ntasks-per-socket: {TASKS}"),
        ("ntasks-per-core: 1", f"ntasks-per-core: {TASKS}"),
        ("mem-per-gpu: 1G", "mem-per-gpu: memory is asked by node: write mem"),
        ("tres-per-task: gres/gpu=1",
         "tres-per-task: GPUs are asked by node: write gpus-per-node, or gres"),
        ("cpus-per-task: 9999999", "cpus-per-task: expected a number of CPUs from 1, got '9999999'"),
        ("account: a b",
         "account: 'a b' is no name of a Slurm account: letters, digits and _ . @ + : -"),
    ],
)  # fmt: skip
def test_a_directive_that_would_be_dropped_or_misread(
    complaint: Callable[..., str], directives: str, sentence: str
) -> None:
    found = complaint(AGG + f"sbatch_directives: {{{directives}}}\n")
    assert found == f"demo.yaml:6: sbatch_directives.{sentence}"


def test_a_resource_that_is_no_gpu_stands_beside_gpus(plan: Callable[..., Plan]) -> None:
    slurm = plan(AGG + 'sbatch_directives: {gres: "nvme:1", gpus-per-node: "h100:4"}\n').slurm
    assert (slurm.gres, slurm.slurm_extra) == ("nvme:1", "--gpus-per-node=h100:4")


def test_the_recipe_s_way_of_asking_takes_the_place_of_the_cluster_s(plan: Callable[..., Plan]) -> None:
    site = {"default_sbatch_directives": {"gres": "gpu:8,nvme:1", "cpus-per-task": "64"}}
    slurm = plan(AGG + "sbatch_directives: {gpus-per-node: 4, cpus-per-gpu: 3}\n", **site).slurm
    assert (slurm.gres, slurm.slurm_extra) == ("nvme:1", "--gpus-per-node=4")
    assert slurm.cpus_per_task * slurm.tasks_per_node == 24
    assert plan(AGG, **site).slurm.slurm_extra == "--gpus-per-node=8"


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        (
            "container-image: x",
            "the plan sets it: an image is named as container, of the model, a role or a service",
        ),
        ("container-mounts: /a:/b", "the plan sets it: write container_mounts, or extra_mount"),
        ('pty: ""', "a step has no terminal"),
        ('multi-prog: ""', "a step runs one program, which follows from the plan"),
        ('no-allocate: ""', "no step of a job can have it"),
        ('cpu-bind: ""', "cpu-bind needs a value"),
        ("account: lab", OF_THE_JOB),
        ("partition: batch", OF_THE_JOB),
        ("reservation: r", OF_THE_JOB),
    ],
)
def test_a_step_option_that_the_plan_sets_or_no_step_can_have(
    complaint: Callable[..., str], option: str, sentence: str
) -> None:
    name = option.partition(":")[0]
    assert complaint(AGG + f"srun_options: {{{option}}}\n") == f"demo.yaml:6: srun_options.{name}: {sentence}"


def test_faults_of_the_cluster_file_are_told_at_its_own_lines(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(
        "launcher: slurm\n"
        "srun_options:\n"
        "  mpi: pmix\n"
        '  pty: ""\n'
        "default_sbatch_directives:\n"
        "  qos: high\n"
        "  output: x\n"
    )
    with pytest.raises(RecipeError) as caught:
        read_cluster(str(file))
    assert str(caught.value).replace(f"{tmp_path}/", "").splitlines() == [
        "cluster.yaml:4: srun_options.pty: a step has no terminal",
        "cluster.yaml:7: default_sbatch_directives.output:"
        " the workflow sets it: the log of a run is results/<configuration>/run.log",
    ]

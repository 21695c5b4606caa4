"""Topology and Placement, "srun_options": what can be checked before a job runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from servesweep.evidence.files import RunFiles
from servesweep.plan.cluster_file import read_cluster
from servesweep.recipe.problems import RecipeError
from servesweep.runtime.allocation import Allocation, Host
from servesweep.runtime.measuring import client_words

AGG = "engine: sglang\nroles: {agg: {nodes: 1}}\n"
PD = "engine: sglang\nroles: {prefill: {nodes: 1}, decode: {nodes: 2}}\n"


class TestSrunOptions:
    def test_the_example_applies_to_every_step(self, read: Any) -> None:
        plan = read.plan(
            AGG + 'srun_options:\n  cpu-bind: "none"\n  mpi: "pmix"\n  overlap: ""\n  ntasks-per-node: "1"\n'
        )
        wanted = {"cpu-bind": "none", "mpi": "pmix", "overlap": "", "ntasks-per-node": "1"}
        assert {step.kind for step in plan.steps} == {"service", "worker", "frontend"}
        assert all(wanted.items() <= step.srun_options.items() for step in plan.steps)

    def test_a_role_overrides_single_keys_of_its_workers(self, read: Any, workers: Any) -> None:
        plan = read.plan(
            "engine: sglang\n"
            'srun_options: {mem: "0", cpu-bind: none}\n'
            "roles:\n"
            "  prefill:\n    nodes: 1\n    srun_options:\n"
            '      mem: "64G"                     # Host memory per node in each prefill step\n'
            "  decode:\n    nodes: 1\n    srun_options:\n"
            '      mem: "32G"                     # Host memory per node in each decode step\n'
        )
        memory = {step.name: step.srun_options["mem"] for step in plan.steps}
        assert (memory["prefill_0"], memory["decode_0"]) == ("64G", "32G")
        assert {memory[step.name] for step in plan.steps if step.kind != "worker"} == {"0"}
        assert all(step.srun_options["cpu-bind"] == "none" for step in plan.steps)

    @pytest.mark.parametrize(
        ("option", "word"),
        [
            ('cpu-bind: "none"', "--cpu-bind=none"),
            ('cpu-bind: "cores"', "--cpu-bind=cores"),
            ('mpi: "pmix"', "--mpi=pmix"),
            ('overlap: ""', "--overlap"),
            ('ntasks-per-node: "1"', "--ntasks-per-node=1"),
            ('gpus-per-task: "1"', "--gpus-per-task=1"),
            ('mem: "0"', "--mem=0"),
            ("mem: 0", "--mem=0"),
            ("uenv: prgenv-gnu/24", "--uenv=prgenv-gnu/24"),  # plugins of a site
            ("gpu_cmode: shared", "--gpu_cmode=shared"),
        ],
    )
    def test_each_of_the_table_stands_in_the_srun_of_every_step(
        self, command: Any, read: Any, option: str, word: str
    ) -> None:
        text = PD + f"srun_options: {{{option}}}\n"
        steps = [step.name for step in read.plan(text).steps]
        assert steps == ["etcd", "prefill_0", "decode_0", "decode_0_r1", "frontend_0"]
        shown = command(text, "plan", "recipe.yaml").stdout.splitlines()
        assert [line.split() for line in shown if line.startswith("    srun ")] == [["srun", word]] * 5

    def test_the_benchmark_s_step_has_them_and_no_role_s(self, read: Any, tmp_path: Path) -> None:
        plan = read.plan(
            "engine: sglang\nroles: {prefill: {nodes: 1}, decode: {nodes: 1, srun_options: {mem: 32G}}}\n"
            "srun_options: {mem: 0, overcommit: ''}\n"
            "benchmark: {type: custom, command: 'true', placement: {node: last_decode}}\n"
        )
        host = Allocation(
            launcher="slurm", job_id="7", supervisor_host="h0", supervisor_pid=1, started_at="now",
            hosts=tuple(Host(name=f"n{n}", host=f"h{n}", address=f"10.0.0.{n}") for n in (0, 1)),
        )  # fmt: skip
        words = client_words(RunFiles(tmp_path), plan, host, "custom")
        assert words[0] == "srun"
        assert {"--nodelist=h1", "--mem=0", "--overcommit"} <= set(words)
        assert "--mem=32G" not in words

    def test_steps_of_all_ranks_of_a_worker_have_the_role_s(self, read: Any) -> None:
        plan = read.plan(
            "engine: sglang\nsrun_options: {mem: 0, mpi: pmix}\n"
            "roles: {prefill: {nodes: 1}, decode: {nodes: 2, srun_options: {mem: 32G}}}\n"
        )
        assert {step.name: step.srun_options for step in plan.steps} == {
            "etcd": {"mem": "0", "mpi": "pmix"},
            "prefill_0": {"mem": "0", "mpi": "pmix"},
            "decode_0": {"mem": "32G", "mpi": "pmix"},
            "decode_0_r1": {"mem": "32G", "mpi": "pmix"},
            "frontend_0": {"mem": "0", "mpi": "pmix"},
        }

    def test_a_role_may_add_keys_of_its_own(self, read: Any, workers: Any) -> None:
        plan = read.plan(AGG.replace("nodes: 1", "nodes: 1, srun_options: {cpu-bind: cores}"))
        assert workers(plan, "agg")[0].srun_options == {"cpu-bind": "cores"}
        assert all("cpu-bind" not in step.srun_options for step in plan.steps if step.kind != "worker")

    @pytest.mark.parametrize(
        ("option", "sentence"),
        [
            ("mpi: true", 'write "" for a flag without a value'),
            ("overlap: null", 'write "" for a flag without a value'),
            ("mem: [1]", "expected text, got a list"),
            ("--mem: 0", "write the name without dashes: mem"),
            ("cpu_bind: none", "write the name as cpu-bind"),
            ("N: 2", "write the long name, nodes"),
            ("requeue: ''", "an option of sbatch: write it under sbatch_directives"),
            ("a b: 1", "no option of Slurm has such a name: letters, digits and -"),
            ("cpu-bnd: none", "no option of Slurm has such a name; did you mean cpu-bind?"),
            ("gpu-per-task: 1", "no option of Slurm has such a name; did you mean gpus-per-task?"),
            ("nodelist: n3", "where a step runs follows from the plan: change the nodes of its role,"
             " or a placement"),
            ("ntasks: 4", "how many processes a step starts follows from its engine"),
            ("jobid: 3", "the plan sets it: steps run in the configuration's own job"),
            ("output: x", "the plan sets it: every step has its log below results/<configuration>/logs"),
            ("het-group: 1", "the plan sets it: a role's component follows from resources.het_jobs"),
            ("export: NONE", "the plan sets it: variables of the run stand under environment"),
        ],
    )  # fmt: skip
    @pytest.mark.parametrize("place", ["recipe", "role"])
    def test_what_no_step_can_take(self, read: Any, option: str, sentence: str, place: str) -> None:
        name = option.partition(":")[0]
        if place == "recipe":
            said = read.complaint(AGG + f"srun_options:\n  {option}\n")
            assert said == f"recipe.yaml:7: srun_options.{name}: {sentence}"
        else:
            said = read.complaint(
                f"engine: sglang\nroles:\n  agg:\n    nodes: 1\n    srun_options:\n      {option}\n"
            )
            assert said == f"recipe.yaml:9: roles.agg.srun_options.{name}: {sentence}"

    def test_the_cluster_file_s_are_told_at_its_own_line(self, tmp_path: Path) -> None:
        file = tmp_path / "cluster.yaml"
        file.write_text("launcher: slurm\nsrun_options:\n  mpi: pmix\n  ntasks: 4\n")
        with pytest.raises(RecipeError) as caught:
            read_cluster(str(file))
        assert str(caught.value) == (
            f"{file}:4: srun_options.ntasks: how many processes a step starts follows from its engine"
        )

    def test_they_are_a_mapping(self, read: Any) -> None:
        assert read.complaint(AGG + "srun_options: --mpi=pmix\n") == (
            "recipe.yaml:6: srun_options: expected a mapping, got '--mpi=pmix'"
        )

"""Topology and Placement, "sbatch_directives": what can be checked before a job runs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from servesweep.plan.slurm_options import KNOWN
from servesweep.recipe.problems import RecipeError

AGG = "engine: sglang\nroles: {agg: {nodes: 1}}\n"


class TestSbatchDirectives:
    def test_the_example(self, read: Any) -> None:
        slurm = read.plan(
            AGG + "sbatch_directives:\n"
            '  mail-user: "user@example.com"\n'
            '  mail-type: "END,FAIL"\n'
            '  comment: "Benchmark run for paper"\n'
            '  reservation: "my-reservation"\n'
            '  constraint: "volta"\n'
            '  exclusive: ""                       # Flag without value\n'
            '  gres: "gpu:8"\n'
        ).slurm
        assert slurm.slurm_extra == (
            "--gpus-per-node=8 --mail-user=user@example.com --mail-type=END,FAIL"
            " --reservation=my-reservation --exclusive"
        )
        assert (slurm.constraint, slurm.comment) == ("volta", "Benchmark run for paper")

    @pytest.mark.parametrize(
        ("directive", "words"),
        [
            ('mail-user: "user@example.com"', ["--mail-user=user@example.com"]),
            ('mail-type: "END,FAIL"', ["--mail-type=END,FAIL"]),
            ('reservation: "my-reservation"', ["--reservation=my-reservation"]),
            ('constraint: "volta"', ["-C", "volta"]),  # a word of the executor's own
            ('exclusive: ""', ["--exclusive"]),
            ('gres: "gpu:8"', ["--gpus-per-node=8"]),  # by node: as gres it would multiply tasks
            ('gres: "gpu:8,nvme:1"', ["--gpus-per-node=8", "--gres=nvme:1"]),
            ('dependency: "afterok:12345"', ["--dependency=afterok:12345"]),
            ('qos: "high"', ["--qos=high"]),
        ],
    )
    def test_each_of_the_table_reaches_sbatch(
        self, read: Any, sbatch: Any, directive: str, words: list[str]
    ) -> None:
        called = sbatch(read.plan(AGG + f"sbatch_directives: {{{directive}}}\n"))
        assert [word for word in called if word in words] == words
        for word in words:
            assert called.count(word) == 1

    def test_the_comment_is_kept_for_the_run_which_sets_it(self, read: Any, sbatch: Any) -> None:
        plan = read.plan(AGG + 'sbatch_directives: {comment: "My job description"}\n')
        assert plan.slurm.comment == "My job description"
        assert not any("My job description" in word for word in sbatch(plan))

    def test_the_printed_plan_has_them_as_written_and_as_asked(self, command: Any) -> None:
        text = AGG + 'sbatch_directives: {exclusive: "", constraint: volta, comment: hello}\n'
        slurm = json.loads(command(text, "plan", "recipe.yaml", "--json").stdout)["slurm"]
        assert slurm["directives"] == {"exclusive": "", "constraint": "volta", "comment": "hello"}
        assert slurm["comment"] == "hello"
        assert "-C volta" in " ".join(slurm["sbatch"])
        assert {"--gpus-per-node=8", "--exclusive"} <= set(slurm["sbatch"])

    @pytest.mark.parametrize(
        ("directive", "word"),
        [
            ("begin: now+1hour", "--begin=now+1hour"),
            ("nice: 100", "--nice=100"),
            ('requeue: ""', "--requeue"),
            ('exclusive: "user"', "--exclusive=user"),
            ("uenv: prgenv-gnu/24", "--uenv=prgenv-gnu/24"),  # plugins of a site
            ("gpu_cmode: shared", "--gpu_cmode=shared"),
        ],
    )
    def test_any_other_becomes_key_and_value_or_a_bare_key(
        self, read: Any, sbatch: Any, directive: str, word: str
    ) -> None:
        assert word in sbatch(read.plan(AGG + f"sbatch_directives: {{{directive}}}\n"))

    @pytest.mark.parametrize(
        ("directive", "sentence"),
        [
            ("job-name: mine", "the workflow sets it: the executor finds its jobs by it;"
             " the recipe's name stands in the comment"),
            ("output: x.log", "the workflow sets it: the log of a run is results/<configuration>/run.log"),
            ("error: x.log", "the workflow sets it: the log of a run is results/<configuration>/run.log"),
            ("nodes: 4", "the nodes follow from the roles: change roles.<role>.nodes"),
            ("ntasks: 8", "every step says its own tasks; ask for CPUs with cpus-per-task or cpus-per-gpu"),
            ("gpus: 16", "GPUs are asked by node: write gpus-per-node"),
            ("gres: gpu:a:b:c", "expected name:number or name:type:number, got 'gpu:a:b:c'"),
            ("exclusive: true", 'write "" for a flag without a value'),
            ("exclusive: null", 'write "" for a flag without a value'),
            ("mail-type: [END, FAIL]", "expected text, got a list"),
            ("comment: ''", "comment needs a value"),
            ("mail_user: a@b", "write the name as mail-user"),
            ("Exclusive: ''", "write the name as exclusive"),
            ("--qos: high", "write the name without dashes: qos"),
            ("C: volta", "write the long name, constraint"),
            ("mail-usr: a@b", "no option of Slurm has such a name; did you mean mail-user?"),
            ("reservaton: a", "no option of Slurm has such a name; did you mean reservation?"),
            ("overlap: ''", "an option of srun: write it under srun_options"),
            ("cpu-bind: none", "an option of srun: write it under srun_options"),
            ("a b: 1", "no option of Slurm has such a name: letters, digits and -"),
        ],
    )  # fmt: skip
    def test_what_cannot_reach_slurm_is_refused_with_the_reason(
        self, read: Any, directive: str, sentence: str
    ) -> None:
        name = directive.partition(":")[0]
        said = read.complaint(AGG + f"sbatch_directives:\n  {directive}\n")
        assert said == f"recipe.yaml:7: sbatch_directives.{name}: {sentence}"

    @pytest.mark.parametrize("name", KNOWN)
    def test_every_option_of_slurm_is_refused_here_or_accepted_by_the_executor(
        self, read: Any, sbatch: Any, name: str
    ) -> None:
        told: set[str] = set()
        for value in ("", "2", "my-Job --output=x"):
            try:
                plan = read.plan(AGG + f"sbatch_directives: {{{name}: '{value}'}}\n")
            except RecipeError as refused:
                told.update(problem.key for problem in refused.problems)
            else:
                sbatch(plan)  # raises where the executor would refuse it
        assert told <= {f"sbatch_directives.{name}"}

    def test_they_are_a_mapping(self, read: Any) -> None:
        said = read.complaint(AGG + "sbatch_directives: [exclusive]\n")
        assert said == "recipe.yaml:6: sbatch_directives: expected a mapping, got a list"
        said = read.complaint(AGG + "sbatch_directive: {qos: a}\n")
        assert said == "recipe.yaml:6: sbatch_directive: unknown key; did you mean sbatch_directives?"

    @pytest.mark.parametrize(("directive", "key"), [("account", "account"), ("time", "time_limit")])
    def test_what_slurm_says_already_is_not_said_twice(self, read: Any, directive: str, key: str) -> None:
        said = read.complaint(AGG + f"slurm: {{{key}: '60'}}\nsbatch_directives: {{{directive}: '90'}}\n")
        assert said == (
            f"recipe.yaml:7: sbatch_directives.{directive}: slurm.{key} says it already: keep one of them"
        )

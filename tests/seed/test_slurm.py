"""Topology and Placement, "slurm": what can be checked before a job runs."""

from __future__ import annotations

from typing import Any

import pytest

AGG = "engine: sglang\nroles: {agg: {nodes: 1}}\n"
SITE = {"default_account": "site", "default_partition": "p", "default_time_limit": "02:00:00"}


class TestSlurm:
    def test_the_example_overrides_the_cluster_file(self, read: Any) -> None:
        text = (
            'slurm:\n  time_limit: "04:00:00"    # Job time limit\n  account: "my-account"\n'
            '  partition: "batch"\n'
        )
        slurm = read.plan(AGG + text, **SITE).slurm
        assert (slurm.runtime, slurm.slurm_account, slurm.slurm_partition) == (240, "my-account", "batch")

    def test_unset_values_come_from_the_cluster_file(self, read: Any) -> None:
        slurm = read.plan(AGG, **SITE).slurm
        assert (slurm.runtime, slurm.slurm_account, slurm.slurm_partition) == (120, "site", "p")

    @pytest.mark.parametrize(
        ("written", "minutes"),
        [
            ("90", 90),  # minutes
            ('"90"', 90),
            ('"90:00"', 90),  # minutes:seconds
            ("90:30", 91),  # a begun minute counts
            ("04:00:00", 240),  # hours:minutes:seconds, never a number to base 60
            ('"04:00:00"', 240),
            ("12:00:00", 720),
            ("1-12", 2160),  # days-hours
            ("1-12:30", 2190),  # days-hours:minutes
            ("1-12:30:00", 2190),  # days-hours:minutes:seconds
        ],
    )
    def test_every_form_of_a_time_limit(self, read: Any, sbatch: Any, written: str, minutes: int) -> None:
        plan = read.plan(AGG + f"slurm: {{time_limit: {written}}}\n")
        assert plan.slurm.runtime == minutes
        words = sbatch(plan)
        assert words[words.index("-t") + 1] == str(minutes)
        assert read.plan(AGG, default_time_limit=written.strip('"')).slurm.runtime == minutes

    @pytest.mark.parametrize("key", ["default_time_limit", "default_account", "default_partition"])
    def test_each_default_is_the_cluster_file_s_own(self, read: Any, key: str) -> None:
        slurm = read.plan(AGG, **{key: SITE[key]}).slurm
        assert {
            "default_time_limit": slurm.runtime, "default_account": slurm.slurm_account,
            "default_partition": slurm.slurm_partition,
        } == {"default_time_limit": 60, "default_account": None, "default_partition": None, key: {
            "default_time_limit": 120, "default_account": "site", "default_partition": "p"}[key],
        }  # fmt: skip

    def test_one_value_of_the_recipe_leaves_the_other_defaults(self, read: Any) -> None:
        slurm = read.plan(AGG + "slurm: {partition: batch}\n", **SITE).slurm
        assert (slurm.runtime, slurm.slurm_account, slurm.slurm_partition) == (120, "site", "batch")

    def test_they_reach_sbatch(self, read: Any, sbatch: Any) -> None:
        words = sbatch(read.plan(AGG + "slurm: {time_limit: 4:00:00, account: a, partition: b}\n"))
        for option, value in (("-A", "a"), ("-p", "b"), ("-t", "240")):
            assert words[words.index(option) + 1] == value

    FORMS = '"90" or 90 (minutes), "90:00", "01:30:00", "1-12", "1-12:30" or "1-12:30:00"'

    @pytest.mark.parametrize(
        ("key", "sentence"),
        [
            ("time_limit: soon", f"time_limit: 'soon' is not a time limit; write {FORMS}"),
            ("time_limit: 4h", f"time_limit: '4h' is not a time limit; write {FORMS}"),
            ("time_limit: 1.5", f"time_limit: expected a time limit such as {FORMS}, got 1.5"),
            ("time_limit: 0", "time_limit: '0' leaves no time: a time limit is at least one minute"),
            ("time_limit: unlimited", "time_limit: unlimited is refused: the run must end by itself before"
             " the limit, so it needs a finite one"),
            ("time_limit: ", "time_limit: the key has no value: write one, or remove the key"),
            ("time_limt: 4", "time_limt: unknown key; did you mean time_limit?"),
            ("account: ''", "account: the text is empty"),
            ("account: 12", 'account: expected text, got the number 12: write it in quotes, "12"'),
            ("partition: ''", "partition: the text is empty"),
            ("partition: [a, b]", "partition: expected text, got a list"),
            ("queue: a", "queue: unknown key; known here: account, partition, time_limit"),
        ],
    )  # fmt: skip
    def test_a_wrong_value(self, read: Any, key: str, sentence: str) -> None:
        assert read.complaint(AGG + f"slurm:\n  {key}\n") == f"recipe.yaml:7: slurm.{sentence}"

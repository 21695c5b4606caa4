"""Topology and Placement: every fault is told before anything is submitted, in one form."""

from __future__ import annotations

import re
from typing import Any

import pytest

OWN = "roles:\n  prefill: {nodes: 1, engine: %s}\n  decode: {nodes: 1, engine: %s}\n"
LINE = re.compile(r"recipe\.yaml:\d+: [a-z_]+(\.[\w-]+|\[\d+\])*: \S.*[^.]")

# One of each kind of fault that the page names, by the heading that names it.
FAULTS = {
    "roles: both forms": "engine: sglang\nroles: {prefill: {nodes: 1}, agg: {nodes: 1}}\n",
    "roles: engines mixed": "engine: sglang\n" + OWN % ("sglang", "sglang"),
    "roles: engine missing": "roles: {prefill: {nodes: 1, engine: sglang}, decode: {nodes: 1}}\n",
    "roles: own engines under Dynamo": OWN % ("sglang", "sglang"),
    "roles: required engine": OWN % ("vllm", "sglang") + "frontend: {type: sglang-router}\n",
    "roles: topology flag": "engine: sglang\nroles: {agg: {nodes: 1, args: {port: 1}}}\n",
    "roles: extra_args": "engine: vllm\nroles: {agg: {nodes: 1, extra_args: [--a]}}\n",
    "colocate: no gpus": "engine: sglang\nroles: {prefill: {nodes: 1}, decode: {nodes: colocate}}\n",
    "colocate: no room": (
        "engine: sglang\nroles: {prefill: {nodes: 1, gpus: 8}, decode: {nodes: colocate, gpus: 1}}\n"
    ),
    "kv_events: another frontend": (
        "engine: sglang\nroles: {agg: {nodes: 1, kv_events: true}}\nfrontend: {type: sglang-router}\n"
    ),
    "restart: policy": "engine: sglang\nroles: {agg: {nodes: 1, restart: sometimes}}\n",
    "placement: no decode": (
        "engine: sglang\nroles: {agg: {nodes: 1}}\nfrontend: {placement: {node: first_decode}}\n"
    ),
    "placement: telemetry": (
        "engine: sglang\nroles: {agg: {nodes: 1}}\ntelemetry: {enabled: true, dcgm_exporter: {}}\n"
        "benchmark: {type: sa-bench, isl: 8, osl: 8, concurrencies: 1, placement: {node: dedicated}}\n"
    ),
    "resources: het_jobs": "engine: sglang\nroles: {agg: {nodes: 1}}\nresources: {het_jobs: true}\n",
    "slurm: time": "engine: sglang\nroles: {agg: {nodes: 1}}\nslurm: {time_limit: soon}\n",
    "sbatch_directives": "engine: sglang\nroles: {agg: {nodes: 1}}\nsbatch_directives: {output: x}\n",
    "srun_options": "engine: sglang\nroles: {agg: {nodes: 1}}\nsrun_options: {ntasks: 4}\n",
    "replicas: port": "engine: sglang\nreplicas: 1\nframework_args: --port 1\n",
}


@pytest.mark.parametrize("fault", FAULTS)
class TestEveryCommand:
    def test_plan_refuses_it(self, command: Any, fault: str) -> None:
        result = command(FAULTS[fault], "plan", "recipe.yaml")
        assert (result.exit_code, result.stdout) == (1, "")
        assert all(LINE.fullmatch(line) for line in result.stderr.splitlines()), result.stderr

    def test_validation_refuses_it_in_the_same_words_and_leaves_no_plan(
        self, command: Any, tmp_path: Any, fault: str
    ) -> None:
        told = command(FAULTS[fault], "plan", "recipe.yaml").stderr
        result = command(
            FAULTS[fault], "validate", "recipe.yaml", "--results", "results", "--record", "record.json"
        )
        assert result.exit_code == 1
        assert result.stderr == told
        assert not (tmp_path / "record.json").exists()
        assert not list(tmp_path.rglob("plan.json"))


def test_faults_of_all_sections_are_told_at_once(command: Any) -> None:
    result = command(
        "engine: sglang\nroles:\n  agg: {nodes: 1, args: {port: 1}, extra_args: [--a]}\n"
        "frontend: {placement: {node: first_decode}, type: sglang-router}\n"
        "sbatch_directives: {output: x}\nsrun_options: {ntasks: 4}\n",
        "plan", "recipe.yaml",
    )  # fmt: skip
    keys = [line.split(": ")[1] for line in result.stderr.splitlines()]
    assert sorted(keys) == [
        "frontend.placement.node", "roles.agg.args.port", "roles.agg.extra_args",
        "sbatch_directives.output", "srun_options.ntasks",
    ]  # fmt: skip

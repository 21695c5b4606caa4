"""Topology and Placement, "Computed Properties": what they are, and every place that shows them."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from servesweep.evidence.files import RunFiles, keep_plan
from servesweep.evidence.lockfile import write_lockfile
from servesweep.plan.plan import plan_text

DISAGGREGATED = (
    "engine: sglang\nroles: {prefill: {nodes: 2, workers: 4}, decode: {nodes: 2, workers: 1}}\n",
    {
        "is_disaggregated": True,
        "total_nodes": 4,
        "gpus_per_node": 8,
        "total_gpus": 32,
        "num_prefill": 4,
        "num_decode": 1,
        "num_agg": 0,
        "gpus_per_prefill": 4,
        "gpus_per_decode": 16,
        "gpus_per_agg": 0,
        "prefill_gpus": 16,
        "decode_gpus": 16,
        "agg_gpus": 0,
    },
)
AGGREGATED = (
    "engine: sglang\nroles: {agg: {nodes: 3, workers: 3}}\nfrontend: {placement: {node: dedicated}}\n",
    {
        "is_disaggregated": False,
        "total_nodes": 4,  # the frontend's own included
        "gpus_per_node": 8,
        "total_gpus": 24,
        "num_prefill": 0,
        "num_decode": 0,
        "num_agg": 3,
        "gpus_per_prefill": 0,
        "gpus_per_decode": 0,
        "gpus_per_agg": 8,
        "prefill_gpus": 0,
        "decode_gpus": 0,
        "agg_gpus": 24,
    },
)


@pytest.mark.parametrize(("text", "properties"), [DISAGGREGATED, AGGREGATED])
class TestComputedProperties:
    def test_in_the_plan_file(self, read: Any, text: str, properties: dict[str, Any]) -> None:
        assert json.loads(plan_text(read.plan(text)))["topology"] == properties

    def test_in_the_plan_as_json(self, command: Any, text: str, properties: dict[str, Any]) -> None:
        assert json.loads(command(text, "plan", "recipe.yaml", "--json").stdout)["topology"] == properties

    def test_in_the_plan_as_a_page(self, command: Any, text: str, properties: dict[str, Any]) -> None:
        page = command(text, "plan", "recipe.yaml").stdout.splitlines()
        # A page for people leaves out what is 0.
        some = {name: value for name, value in properties.items() if value is False or value}
        told = " ".join(f"{name}={json.dumps(value)}" for name, value in some.items())
        assert f"  layout  {told}" in page

    def test_in_the_lockfile(self, read: Any, tmp_path: Any, text: str, properties: dict[str, Any]) -> None:
        plan = read.plan(text)
        files = RunFiles(tmp_path / "results")
        files.root.mkdir()
        keep_plan(files, plan_text(plan), plan.recipe)
        lock = yaml.safe_load(write_lockfile(files.root, plan).read_text())["lock"]
        assert lock["topology"] == properties

"""`mooncake_kv_store` of an engine: its master, and what workers are told."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from servesweep.plan.plan import Plan, Step
from servesweep.recipe.problems import RecipeError

MASTER = (
    "mooncake_master --port=8700 --enable_http_metadata_server=true --http_metadata_server_port=8701"
    " --eviction_high_watermark_ratio=0.9 --default_kv_lease_ttl=10000 --rpc_thread_num=16"
    " --enable_metric_reporting=true --metrics_port=8702"
)
ADDRESS = {
    "MOONCAKE_MASTER": "ip-n0:8700",
    "MOONCAKE_TE_META_DATA_SERVER": "http://ip-n0:8701/metadata",
}
SGLANG = "args: {disaggregation-transfer-backend: mooncake}"
PD = f"roles: {{prefill: {{nodes: 1, {SGLANG}}}, decode: {{nodes: 1, {SGLANG}, env: {{MC_TE_METRIC: 0}}}}}}\n"


def told(step: Step) -> dict[str, str]:
    return {name: value for name, value in step.command.env.items() if name.startswith(("MOONCAKE", "MC_"))}


def test_sglang_is_told_by_its_environment(plan: Callable[..., Plan]) -> None:
    found = plan(
        "engine:\n"
        "  type: sglang\n"
        "  mooncake_kv_store:\n"
        "    container: mooncake\n"
        "    env: {MOONCAKE_PROTOCOL: rdma, MC_TE_METRIC: 1, MOONCAKE_MASTER: elsewhere}\n"
        "    master_extra_args: [--nof_eviction_high_watermark_ratio=0.9]\n" + PD,
        container_runtime="pyxis",
        containers={"mooncake": "mooncake:1"},
    )
    steps = {step.name: step for step in found.steps}
    assert " ".join(steps["mooncake-master"].command.argv) == (
        f"{MASTER} --nof_eviction_high_watermark_ratio=0.9"
    )
    assert (steps["mooncake-master"].node, steps["mooncake-master"].image) == ("n0", "mooncake:1")
    own = {"MOONCAKE_PROTOCOL": "rdma", "MC_TE_METRIC": "1", **ADDRESS}
    assert told(steps["prefill_0"]) == {"MOONCAKE_LOCAL_HOSTNAME": "ip-n0", **own}
    assert told(steps["decode_0"]) == {"MOONCAKE_LOCAL_HOSTNAME": "ip-n1", **own}


def test_vllm_is_told_by_a_file(plan: Callable[..., Plan]) -> None:
    found = plan(
        "engine:\n"
        "  type: vllm\n"
        "  mooncake_kv_store:\n"
        "    env: {MOONCAKE_LOCAL_HOSTNAME: 10.1.1.1}\n"
        "    store_config: {protocol: rdma, global_segment_size: 100GB, port: 7}\n"
        "roles: {prefill: {nodes: 1}, decode: {nodes: 1}}\n"
    )
    steps = {step.name: step for step in found.steps}
    file = "<LOGS>/mooncake_store_config.json"
    assert told(steps["decode_0"]) == {
        "MOONCAKE_LOCAL_HOSTNAME": "10.1.1.1", "MOONCAKE_CONFIG_PATH": file, **ADDRESS,
    }  # fmt: skip
    assert json.loads(steps["prefill_0"].command.files[file]) == {
        "protocol": "rdma",
        "global_segment_size": "100GB",
        "port": 7,
        "master_server_address": "ip-n0:8700",
    }


def test_a_store_that_no_role_transfers_by_is_refused(plan: Callable[..., Plan]) -> None:
    with pytest.raises(RecipeError) as caught:
        plan(
            "engine: {type: sglang, mooncake_kv_store: {}}\n"
            "roles: {prefill: {nodes: 1}, decode: {nodes: 1}}\n"
        )
    assert "engine.mooncake_kv_store: no role transfers by Mooncake" in str(caught.value)


def test_roles_with_engines_of_their_own_share_none(plan: Callable[..., Plan]) -> None:
    with pytest.raises(RecipeError) as caught:
        plan(
            "roles:\n"
            "  prefill: {engine: {type: vllm, mooncake_kv_store: {}}, nodes: 1}\n"
            "  decode: {engine: tilert, nodes: 1}\n"
            "frontend: {type: tilert-router}\n"
        )
    assert "roles.prefill.engine.mooncake_kv_store: roles with engines of their own share no" in str(
        caught.value
    )

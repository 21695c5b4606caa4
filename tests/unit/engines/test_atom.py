"""ATOM's servers behind AToMesh."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from servesweep.plan.plan import Plan
from servesweep.recipe.problems import RecipeError

SERVER = (
    "python3 -m atom.entrypoints.openai_server --model /models/tiny --served-model-name tiny --host 0.0.0.0"
    " --server-port"
)


def commands(found: Plan) -> dict[str, str]:
    return {step.name: " ".join(step.command.argv) for step in found.steps}


def test_prefill_and_decode(plan: Callable[..., Plan]) -> None:
    found = plan(
        "engine: {type: atom, mooncake_protocol: rdma}\n"
        "roles:\n"
        "  prefill:\n"
        "    nodes: 1\n"
        "    gpus: 4\n"
        "    args: {kv_cache_dtype: fp8, extra-kv-connectors: [{kv_connector: lmcache_mp}]}\n"
        "  decode: {nodes: 1, args: {gpu-memory-utilization: 0.9, trust-remote-code: true, off: false}}\n"
        "frontend: {type: atomesh, args: {policy: round_robin}}\n",
        visible_devices_env="ROCR_VISIBLE_DEVICES",
    )
    mooncake = (
        '{"kv_role":"%s","kv_connector":"mooncake","proxy_ip":"%s","handshake_port":%d,"protocol":"rdma"}'
    )
    lmcache = '{"kv_connector":"lmcache_mp","kv_connector_extra_config":{"lmcache.mp.port":8750}}'
    both = f'{{"kv_connector":"multi","connectors":[{mooncake % ("kv_producer", "ip-n0", 5400)},{lmcache}]}}'
    assert commands(found) == {
        "prefill_0": f"{SERVER} 6100 -tp 4 --kv-transfer-config {both} --kv_cache_dtype fp8",
        "decode_0": (
            f"{SERVER} 6100 -tp 8 --kv-transfer-config {mooncake % ('kv_consumer', 'ip-n1', 5401)}"
            " --gpu-memory-utilization 0.9 --trust-remote-code"
        ),
        "frontend_0": (
            "atomesh launch --pd-disaggregation --prefill http://ip-n0:6100 --decode http://ip-n1:6100"
            " --host 0.0.0.0 --port 8000 --backend atom --policy round_robin"
        ),
    }
    assert [step.command.env for step in found.steps] == [
        {"HEAD_NODE_IP": "ip-n0", "ROCR_VISIBLE_DEVICES": "0,1,2,3", "ATOM_HOST_IP": "ip-n0"},
        {"HEAD_NODE_IP": "ip-n0", "ATOM_HOST_IP": "ip-n1"},
        {},
    ]
    assert found.steps[-1].after_workers


def test_servers_alone(plan: Callable[..., Plan]) -> None:
    found = plan("engine: atom\nroles: {agg: {nodes: 1, workers: 2}}\nfrontend: {type: atomesh}\n")
    assert commands(found) == {
        "agg_0": f"{SERVER} 6100 -tp 4",
        "agg_1": f"{SERVER} 6132 -tp 4",
        "frontend_0": (
            "atomesh launch --worker-urls http://ip-n0:6100 http://ip-n0:6132 --host 0.0.0.0 --port 8000"
            " --backend atom"
        ),
    }


@pytest.mark.parametrize(
    ("recipe", "fault"),
    [
        ("engine: atom\nroles: {agg: {nodes: 1}}\n", "the engine atom does not work under dynamo: use"),
        ("engine: atom\nroles: {agg: {nodes: 2}}\nfrontend: {type: atomesh}\n",
         "a worker of the engine atom runs on one node of 8 GPUs, and this one has 16"),
        ("engine: sglang\nroles: {agg: {nodes: 1}}\nfrontend: {type: atomesh}\n",
         "frontend.type: atomesh serves the engines atom, and roles.agg has sglang"),
        ("engine: atom\nroles: {agg: {nodes: 1, args: {extra_kv_connectors: nixl}}}\n"
         "frontend: {type: atomesh}\n",
         "roles.agg.args.extra_kv_connectors: expected a list of connectors, each a mapping"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused(plan: Callable[..., Plan], recipe: str, fault: str) -> None:
    with pytest.raises(RecipeError) as caught:
        plan(recipe)
    assert fault in str(caught.value)

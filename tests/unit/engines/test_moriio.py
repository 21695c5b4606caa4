"""vLLM's workers that register with their router: the connector MoRI-IO."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from servesweep.plan.plan import Plan
from servesweep.recipe.problems import RecipeError

ROUTER = "frontend: {type: vllm-router, enable_multiple_frontends: false, args: {policy: consistent_hash}}\n"
ROLES = "roles: {prefill: {nodes: 1, workers: 2, gpus: 2}, decode: {nodes: 1}}\n"


def transfer(role: str, address: str, http: int, number: int) -> str:
    place = {
        "proxy_ip": "ip-n0",
        "proxy_ping_port": "36367",
        "http_port": str(http),
        "host_ip": address,
        "handshake_port": str(26000 + number),
        "notify_port": str(27000 + number),
        "read_mode": True,
    }
    config = {"kv_connector": "MoRIIOConnector", "kv_role": role, "kv_connector_extra_config": place}
    return json.dumps(config, separators=(",", ":"))


def test_workers_are_told_their_place_and_the_router_no_workers(plan: Callable[..., Plan]) -> None:
    found = plan("engine: {type: vllm, connector: moriio}\n" + ROLES + ROUTER)
    serve = "vllm serve /models/tiny --host 0.0.0.0 --port {} --served-model-name tiny --kv-transfer-config"
    assert {step.name: " ".join(step.command.argv) for step in found.steps} == {
        "prefill_0": f"{serve.format(6100)} {transfer('kv_producer', 'ip-n0', 6100, 0)} --device-ids 0,1",
        "prefill_1": f"{serve.format(6132)} {transfer('kv_producer', 'ip-n0', 6132, 2)} --device-ids 2,3",
        "decode_0": (
            f"{serve.format(6100)} {transfer('kv_consumer', 'ip-n1', 6100, 4)} --device-ids 0,1,2,3,4,5,6,7"
        ),
        "frontend_0": (
            "python3 -m vllm_router.launch_router --vllm-pd-disaggregation --kv-connector moriio"
            " --vllm-discovery-address 0.0.0.0:36367 --host 0.0.0.0 --port 8000 --disable-retries"
            " --policy consistent_hash"
        ),
    }
    # Its further listeners take ports of the kernel's: VLLM_PORT would give all ranks one.
    assert [step.command.env for step in found.steps] == [{"HEAD_NODE_IP": "ip-n0"}] * 3 + [{}]


def test_each_role_may_name_it(plan: Callable[..., Plan]) -> None:
    args = "args: {connector: moriio}"
    found = plan(
        f"engine: vllm\nroles: {{prefill: {{nodes: 1, {args}}}, decode: {{nodes: 1, {args}}}}}\n{ROUTER}"
    )
    assert found.deployment.registering


@pytest.mark.parametrize(
    ("recipe", "fault"),
    [
        ("engine: {type: vllm, connector: moriio}\n" + ROLES,
         "engine.connector: workers with the connector moriio register with vllm-router, not with dynamo"),
        ("engine: {type: vllm, connector: moriio}\n" + ROLES + "frontend: {type: vllm-router}\n",
         "frontend.enable_multiple_frontends: workers register with one router"),
        ("engine: {type: vllm, connector: moriio}\nroles: {agg: {nodes: 1}}\n" + ROUTER,
         "engine.connector: the connector moriio joins prefill and decode: both have it, or none"),
        ("engine: vllm\n"
         "roles: {prefill: {nodes: 1, args: {connector: moriio}}, decode: {nodes: 1}}\n" + ROUTER,
         "engine.connector: the connector moriio joins prefill and decode: both have it, or none"),
        ("engine: {type: vllm, connector: moriio}\n"
         "roles: {prefill: {nodes: 1, args: {kv_transfer_config: '{}'}}, decode: {nodes: 1}}\n" + ROUTER,
         "roles.prefill.args.kv_transfer_config: the connector moriio needs the place of each worker"),
        ("engine: vllm\n" + ROLES + "frontend: {type: vllm-router, args: {vllm_discovery_address: x}}\n",
         "frontend.args.vllm_discovery_address: servesweep sets this argument itself"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused(plan: Callable[..., Plan], recipe: str, fault: str) -> None:
    with pytest.raises(RecipeError) as caught:
        plan(recipe)
    assert fault in str(caught.value)

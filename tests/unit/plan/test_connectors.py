"""A connector counts wherever it is named: by the engine, by a role's arguments, by the JSON of its class."""

from collections.abc import Callable

import pytest

from servesweep.plan.plan import Plan

ROLES = "roles: {prefill: {nodes: 1, args: %s}, decode: {nodes: 1, args: %s}}\n"
JSON = """'{"kv_connector":"LMCacheMPConnector","kv_role":"kv_both"}'"""


@pytest.mark.parametrize(
    "text",
    [
        "engine: {type: vllm, connector: lmcache-mp}\n" + ROLES % ("{}", "{}"),
        "engine: vllm\n" + ROLES % ("{connector: lmcache-mp}", "{connector: lmcache-mp}"),
        f"engine: {{type: vllm, connector: {JSON}}}\n" + ROLES % ("{}", "{}"),
    ],
)
def test_its_server_is_implied(plan: Callable[..., Plan], text: str) -> None:
    found = plan(text + "frontend: {type: vllm-router}\n")
    assert "lmcache-server" in [service.type for service in found.services]


@pytest.mark.parametrize(
    ("own", "key"),
    [
        ("engine: {type: vllm, connector: lmcache-mp}", "roles.decode.engine.connector"),
        (f"engine: {{type: vllm, connector: {JSON}}}", "roles.decode.engine.connector"),
        ("engine: vllm, args: {connector: lmcache-mp}", "roles.decode.args.connector"),
    ],
)
def test_roles_with_engines_of_their_own_have_none_that_discovers(
    complaint: Callable[..., str], own: str, key: str
) -> None:
    told = complaint(
        f"roles: {{prefill: {{engine: vllm, nodes: 1}}, decode: {{{own}, nodes: 1}}}}\n"
        "frontend: {type: vllm-router}\n"
    )
    assert f"{key}: roles with engines of their own cannot use the connector lmcache-mp" in told

"""What frontends answer about their workers, and how their arguments are rendered."""

from typing import Any

import pytest

from servesweep.frontends import FRONTENDS
from servesweep.frontends.frontend import frontend_flags
from servesweep.topology.deployment import Census


def test_flags_keep_the_order_in_which_they_were_written() -> None:
    assert frontend_flags({"z_a": 1, "a": True, "b": False, "c": None, "d": ["x", "y"]}) == [
        "--z-a", "1", "--a", "--d", "x", "y",
    ]  # fmt: skip


def instance(component: str, endpoint: str = "generate") -> dict[str, str]:
    return {"namespace": "dynamo", "component": component, "endpoint": endpoint}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"status": "healthy", "instances": []}, Census()),
        ({"instances": [instance("backend"), instance("backend")]}, Census(decode=2)),
        ({"instances": [instance("prefill"), instance("backend")]}, Census(prefill=1, decode=1)),
        ({"instances": [instance("backend"), instance("backend", "clear_kv_blocks")]}, Census(decode=1)),
        ({}, Census()),
        ([], Census()),
        (None, Census()),
    ],
)
def test_dynamo_counts_the_endpoints_that_generate(body: Any, expected: Census) -> None:
    assert FRONTENDS["dynamo"].census(body) == expected


def worker(kind: str | None, healthy: bool = True) -> dict[str, Any]:
    return {"url": "http://x", "is_healthy": healthy} | ({"worker_type": kind} if kind else {})


@pytest.mark.parametrize("router", ["sglang-router", "vllm-router", "atomesh"])
@pytest.mark.parametrize(
    ("workers", "expected"),
    [
        ([], Census()),
        ([worker("regular"), worker(None)], Census(decode=2)),
        ([worker("prefill"), worker("decode"), worker("decode")], Census(prefill=1, decode=2)),
        ([worker("prefill", healthy=False), worker("decode")], Census(decode=1)),
    ],
)
def test_routers_count_the_workers_that_they_found_healthy(
    router: str, workers: list[dict[str, Any]], expected: Census
) -> None:
    assert FRONTENDS[router].census({"workers": workers}) == expected
    assert FRONTENDS[router].census(["unexpected"]) == Census()


def test_who_keeps_a_census() -> None:
    assert {name: frontend.census_path for name, frontend in FRONTENDS.items()} == {
        "dynamo": "/health",
        "sglang-router": "/workers",
        "vllm-router": "/workers",
        "trtllm_serve": None,
        "tilert-router": None,
        "atomesh": "/workers",
        "sglang": None,
        "vllm": None,
        "direct": None,
        "none": None,
    }
    with pytest.raises(ValueError, match="direct keeps no census"):
        FRONTENDS["direct"].census({})


def test_who_may_stand_behind_nginx_and_who_waits_for_its_workers() -> None:
    assert [name for name, frontend in FRONTENDS.items() if frontend.scales] == [
        "dynamo", "sglang-router", "vllm-router", "atomesh",
    ]  # fmt: skip
    assert [name for name, frontend in FRONTENDS.items() if frontend.needs_workers] == [
        "trtllm_serve", "tilert-router", "atomesh",
    ]  # fmt: skip

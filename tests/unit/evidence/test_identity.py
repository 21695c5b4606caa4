"""What is declared is held against what every worker has found."""

from __future__ import annotations

from typing import Any

import pytest

from servesweep.evidence.identity import banner, verify
from servesweep.recipe.identity import IdentitySection

COMMIT = "0123456789abcdef0123456789abcdef01234567"
FOUND: dict[str, Any] = {
    "prefill_w0": {
        "model": {"path": "/model", "repo": "org/m", "revision": COMMIT},
        "frameworks": {"vllm": "0.10.0"},
        "pip_packages": ["torch==2.8.0", "vllm==0.10.0"],
    },
    "decode_w0": {
        "model": {"path": "/model", "repo": None, "revision": None},
        "frameworks": {"vllm": "0.10.1"},
        "pip_packages": ["torch==2.8.0", "vllm==0.10.1"],
    },
}


def section(**keys: Any) -> IdentitySection:
    return IdentitySection.model_validate(keys)


@pytest.mark.parametrize(
    ("declared", "status", "message"),
    [
        ({"model": {"repo": "org/m"}}, "OK", "org/m: found on prefill_w0"),
        ({"model": {"revision": "f" * 40}}, "FAIL",
         f"{'f' * 40} is declared, and there is {COMMIT} on prefill_w0"),
        ({"frameworks": {"torch": "2.8.0"}}, "OK", "2.8.0: found on prefill_w0, decode_w0"),
        ({"frameworks": {"vllm": "0.10.0"}}, "FAIL", "0.10.0 is declared, and there is 0.10.1 on decode_w0"),
        ({"frameworks": {"sglang": "0.5"}}, "DECLARED",
         "0.5 is declared; no worker has it among its packages"),
        ({"container": {"image": "docker://org/image:1"}}, "OK",
         "docker://org/image:1: workers are started from it"),
        ({"container": {"image": "org/image:2"}}, "FAIL",
         "org/image:2 is declared, and workers are started from org#image:1"),
    ],
)  # fmt: skip
def test_a_declared_fact(declared: dict[str, Any], status: str, message: str) -> None:
    found = verify(section(**declared), "org#image:1", FOUND)
    assert found is not None
    assert [(check["status"], check["message"]) for check in found["checks"]] == [(status, message)]
    assert found["result"] == status


def test_an_image_that_nobody_can_look_into_is_declared_only() -> None:
    declared = section(container={"image": "org/image:1"})
    for image in (None, "/images/x.sqsh"):
        found = verify(declared, image, FOUND)
        assert found is not None
        assert found["result"] == "DECLARED"


def test_nothing_declared_is_nothing_to_verify() -> None:
    assert verify(None, None, FOUND) is None
    assert banner(None) == []


def test_the_banner_tells_the_result_and_what_does_not_hold() -> None:
    found = verify(section(frameworks={"torch": "2.8.0", "vllm": "0.10.0"}), None, FOUND)
    assert banner(found) == [
        "identity: FAIL (1 verified, 0 declared only, 1 failed)",
        "identity: frameworks.vllm: 0.10.0 is declared, and there is 0.10.1 on decode_w0",
    ]

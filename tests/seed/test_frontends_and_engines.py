"""Topology and Placement, "roles": which engines a frontend serves, and which keys it owns."""

from __future__ import annotations

from typing import Any

import pytest

from servesweep.frontends import FRONTENDS

PD = "roles: {prefill: {nodes: 1}, decode: {nodes: 1}}\n"
SERVED = {
    "sglang-router": ["command", "sglang", "simulator"],
    "vllm-router": ["command", "simulator", "vllm"],
    "trtllm_serve": ["trtllm"],
    "tilert-router": ["tilert", "vllm"],
    "sglang": ["sglang"],
    "vllm": ["vllm"],
}


class TestFrontendsRequireEngines:
    """Every active role is held against what a frontend can serve, then the frontend has its own word."""

    @pytest.mark.parametrize("frontend", SERVED)
    @pytest.mark.parametrize("wrong", ["prefill", "decode"])
    def test_each_role_is_checked(self, read: Any, frontend: str, wrong: str) -> None:
        fits = SERVED[frontend]
        right = next(name for name in ("sglang", "vllm", "trtllm") if name in fits)
        other = "vllm" if right != "vllm" else "sglang"
        engines = {"prefill": right, "decode": right, wrong: other}
        roles = ", ".join(f"{mode}: {{nodes: 1, engine: {engine}}}" for mode, engine in engines.items())
        said = read.refusal(f"roles: {{{roles}}}\nfrontend: {{type: {frontend}}}\n").splitlines()
        told = ", ".join(fits[:-1]) + (" and " if fits[:-1] else "") + fits[-1]
        assert f"frontend.type: {frontend} serves the engines {told}, and roles.{wrong} has {other}" in said

    def test_a_shared_engine_is_held_against_it_as_well(self, read: Any) -> None:
        assert read.refusal("engine: vllm\n" + PD + "frontend: {type: sglang-router}\n").splitlines() == [
            "frontend.type: sglang-router serves the engines command, sglang and simulator,"
            f" and roles.{mode} has vllm"
            for mode in ("prefill", "decode")
        ]

    def test_an_engine_that_only_dynamo_reaches_names_dynamo(self, read: Any) -> None:
        said = read.refusal("engine: mocker\n" + PD + "frontend: {type: none}\n")
        assert said == "frontend.type: the engine mocker does not work under none: use dynamo"

    def test_the_frontend_s_own_rule_comes_on_top(self, read: Any) -> None:
        said = read.refusal(
            "engine: sglang\nroles: {agg: {nodes: 1, workers: 2}}\nfrontend: {type: sglang}\n"
        )
        assert said == (
            "frontend.type: sglang serves exactly one agg worker, and the recipe has 2 agg: use a router"
        )

    @pytest.mark.parametrize(
        ("frontend", "engine", "key"),
        [
            (name, engine, key)
            for name, engine in {
                "dynamo": "sglang",
                "sglang-router": "sglang",
                "vllm-router": "vllm",
                "trtllm_serve": "trtllm",
            }.items()
            for key in sorted(FRONTENDS[name].reserved)
        ],
    )
    def test_keys_that_a_frontend_owns_are_refused(
        self, read: Any, frontend: str, engine: str, key: str
    ) -> None:
        text = f"engine: {engine}\n{PD}frontend:\n  type: {frontend}\n  args: {{%s: 1}}\n"
        for spelling in (key, key.replace("-", "_")):
            assert read.complaint(text % spelling) == (
                f"recipe.yaml:8: frontend.args.{spelling}:"
                " servesweep sets this argument itself from the topology: remove it"
            )

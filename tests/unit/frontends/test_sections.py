"""Keys of the section `frontend` beside its arguments: what they add to the command, and its files."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from servesweep.frontends import FRONTENDS
from servesweep.plan.plan import Plan
from servesweep.recipe.problems import RecipeError

Planner = Callable[..., Plan]
AGG = "engine: sglang\nroles: {agg: {nodes: 1}}\n"
SELECTION = (
    "  worker_selection:\n"
    "    prefill: max-kv-overlap\n"
    "    decode: default\n"
    "    instances:\n"
    "      - name: max-kv-overlap\n"
    "        parameters: {cache_threshold: 0.0}\n"
)


def test_a_policy_of_the_router_is_a_file(plan: Planner) -> None:
    step = plan(AGG + "frontend:\n  args: {router-mode: kv}\n" + SELECTION).steps[-1]
    assert " ".join(step.command.argv) == (
        "python3 -m dynamo.frontend --http-port=8000 --router-policy-config"
        " <LOGS>/router_policy_config.yaml --router-mode kv"
    )
    assert step.command.files == {
        "<LOGS>/router_policy_config.yaml": (
            "prefill: max-kv-overlap\n"
            "decode: default\n"
            "instances:\n"
            "- name: max-kv-overlap\n"
            "  parameters:\n"
            "    cache_threshold: 0.0\n"
        )
    }


def test_in_containers_the_file_is_named_as_they_see_it(plan: Planner) -> None:
    step = plan(AGG + "frontend:\n" + SELECTION, container_runtime="pyxis").steps[-1]
    assert "/logs/router_policy_config.yaml" in step.command.argv
    assert list(step.command.files) == ["<LOGS>/router_policy_config.yaml"]


@pytest.mark.parametrize(
    ("more", "key"),
    [
        ("  args: {router_policy_config: f}\n", "frontend.args.router_policy_config"),
        ("  env: {DYN_ROUTER_POLICY_CONFIG: f}\n", "frontend.env.DYN_ROUTER_POLICY_CONFIG"),
    ],
)
def test_a_second_policy_is_refused(plan: Planner, more: str, key: str) -> None:
    with pytest.raises(RecipeError) as caught:
        plan(AGG + "frontend:\n" + more + SELECTION)
    assert f"{key}: worker_selection writes the router's policy" in str(caught.value)


def test_a_frontend_is_bound_to_numa_node_0(plan: Planner) -> None:
    step = plan(AGG + "frontend: {numa_bind: true}\n").steps[-1]
    assert " ".join(step.command.argv) == (
        "numactl --cpunodebind=0 --membind=0 python3 -m dynamo.frontend --http-port=8000"
    )


def test_an_argument_may_be_a_mapping(plan: Planner) -> None:
    step = plan(AGG + "frontend: {args: {config: {a: [1, true]}, many: [1, {b: 2}], on: true, off: null}}\n")
    assert step.steps[-1].command.argv[4:] == ("--config", '{"a":[1,true]}', "--many", "1", '{"b":2}', "--on")


RESERVED = {
    "dynamo": "http-port http-host request-plane event-plane",
    "sglang-router": "host port worker-urls prefill decode pd-disaggregation",
    "vllm-router": (
        "host port worker-urls prefill decode vllm-pd-disaggregation kv-connector vllm-discovery-address"
    ),
    "trtllm_serve": "config config-file c host port",
    "tilert-router": "vllm-url decode host port",
    "atomesh": "host port worker-urls prefill decode pd-disaggregation backend",
}


def test_the_table_names_every_argument_of_every_frontend() -> None:
    own = {name: frontend.reserved for name, frontend in FRONTENDS.items() if frontend.reserved}
    assert own == {name: frozenset(names.split()) for name, names in RESERVED.items()}


@pytest.mark.parametrize(
    ("name", "flag"), [(name, flag) for name, flags in RESERVED.items() for flag in flags.split()]
)
@pytest.mark.parametrize("spell", [str, lambda flag: flag.replace("-", "_")], ids=["kebab", "snake"])
def test_an_argument_of_the_topology_is_refused(name: str, flag: str, spell: Callable[[str], str]) -> None:
    engine = next(iter(FRONTENDS[name].required_engines or {"sglang"}))
    faults = FRONTENDS[name].refusals({"agg": 1}, {"agg": engine}, {spell(flag): 1, "policy": "x"})
    assert (
        f"args.{spell(flag)}", "servesweep sets this argument itself from the topology: remove it",
    ) in faults  # fmt: skip


@pytest.mark.parametrize("name", sorted(RESERVED))
def test_an_argument_in_both_spellings_is_refused(name: str) -> None:
    engine = next(iter(FRONTENDS[name].required_engines or {"sglang"}))
    faults = FRONTENDS[name].refusals({"agg": 1}, {"agg": engine}, {"max-x": 1, "max_x": 1})
    assert (
        "args.max_x", "this argument is given twice: max-x is the same one, so keep one",
    ) in faults  # fmt: skip


@pytest.mark.parametrize(
    ("name", "key", "value", "sentence"),
    [
        ("dynamo", "--router-mode", "kv", "write it without dashes: router-mode"),
        ("dynamo", "router-mode=kv", True, "a value stands behind a colon: write router-mode: kv"),
        ("dynamo", "http-port=1", True, "servesweep sets this argument itself from the topology: remove it"),
        ("dynamo", "http-p", 1,
         "this is short for http-port, which servesweep sets itself from the topology: remove it"),
        ("dynamo", "router-policy-c", "f", "this is short for router-policy-config: write the name in full"),
        ("vllm-router", "intra-node", 2,
         "this is short for intra-node-data-parallel-size: write the name in full"),
        ("sglang-router", "", 1, "the argument has no name"),
        ("sglang-router", "policy", [None],
         "nothing (null) within a list is no word of a command line: write text or numbers"),
        ("sglang-router", "policy", [],
         "the list is empty, and a flag without values means something else: remove it"),
        ("atomesh", "policy", "x\0", "no command line can carry the character '\\x00': remove it"),
    ],
)  # fmt: skip
def test_an_argument_that_is_none(name: str, key: str, value: object, sentence: str) -> None:
    engine = next(iter(FRONTENDS[name].required_engines or {"sglang"}))
    found = FRONTENDS[name].refusals({"agg": 1}, {"agg": engine}, {key: value})
    assert found == [(f"args.{key}", sentence)]

"""What is said twice with two meanings, or by the recipe and decided by the plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from servesweep.plan.plan import Plan

Planner = Callable[..., Plan]
Complaint = Callable[..., str]

GPUS = "servesweep sets this variable from the GPUs of each worker: remove it"
EVENTS = "kv_events of the role sets this flag, with a port of its own: keep one of them"
NAMED = "schema: 2\nname: demo\nmodel: {path: tiny, precision: fp8, served_name: mine}\n"
AGG = "roles: {agg: {nodes: 1}}\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        # A whole node, and a part of one.
        ("engine: sglang\nroles: {agg: {nodes: 1, env: {CUDA_VISIBLE_DEVICES: '0'}}}\n",
         f"5: roles.agg.env.CUDA_VISIBLE_DEVICES: {GPUS}"),
        ("engine: sglang\nroles: {agg: {nodes: 1, workers: 2, env: {CUDA_VISIBLE_DEVICES: '0'}}}\n",
         f"5: roles.agg.env.CUDA_VISIBLE_DEVICES: {GPUS}"),
        ("engine: vllm\n" + AGG + "environment: {CUDA_VISIBLE_DEVICES: '0'}\n",
         f"6: environment.CUDA_VISIBLE_DEVICES: {GPUS}"),
        ("engine: sglang\nreplicas: 1\nenvironment: {CUDA_VISIBLE_DEVICES: '0'}\n",
         f"6: environment.CUDA_VISIBLE_DEVICES: {GPUS}"),
        ("engine: {type: vllm, mooncake_kv_store: {env: {CUDA_VISIBLE_DEVICES: '0'}}}\n" + AGG,
         f"4: engine.mooncake_kv_store.env.CUDA_VISIBLE_DEVICES: {GPUS}"),
    ],
)  # fmt: skip
def test_the_plan_says_which_gpus_a_worker_sees(complaint: Complaint, text: str, told: str) -> None:
    assert complaint(text) == f"demo.yaml:{told}"


def test_also_by_the_clusters_own_variable_and_in_its_file(complaint: Complaint) -> None:
    text = "engine: sglang\n" + AGG + "environment: {ROCR_VISIBLE_DEVICES: '0'}\n"
    site = {"visible_devices_env": "ROCR_VISIBLE_DEVICES", "environment": {"CUDA_VISIBLE_DEVICES": "1"}}
    assert complaint(text, **site).splitlines() == [
        f"demo.yaml:6: environment.ROCR_VISIBLE_DEVICES: {GPUS}",
        f"demo.yaml:1: the cluster file's environment has CUDA_VISIBLE_DEVICES: {GPUS}",
    ]


def test_another_clusters_variable_is_like_any_other(plan: Planner) -> None:
    plan("engine: sglang\n" + AGG + "environment: {ROCR_VISIBLE_DEVICES: '0'}\n")


@pytest.mark.parametrize("engine", ["sglang", "vllm"])
@pytest.mark.parametrize("key", ["kv-events-config", "kv_events_config", "kv-events-config.topic"])
def test_events_are_set_up_once(complaint: Complaint, plan: Planner, engine: str, key: str) -> None:
    args = f"args: {{{key}: '{{}}'}}"
    told = complaint(f"engine: {engine}\nroles: {{agg: {{nodes: 1, kv_events: true, {args}}}}}\n")
    assert told == f"demo.yaml:5: roles.agg.args.{key}: {EVENTS}"
    plan(f"engine: {engine}\nroles: {{agg: {{nodes: 1, kv_events: false, {args}}}}}\n")


def test_the_recipes_name_wins_over_an_arguments_and_the_plan_says_so(plan: Planner) -> None:
    found = plan("engine: sglang\nroles: {agg: {nodes: 1, args: {served-model-name: other}}}\n", head=NAMED)
    assert found.served_model == "mine"
    assert "roles.agg.args.served-model-name is not used: model.served_name is mine" in found.notes
    same = plan("engine: sglang\nroles: {agg: {nodes: 1, args: {served-model-name: mine}}}\n", head=NAMED)
    assert not any("served-model-name" in note for note in same.notes)


def test_a_replicas_words_say_the_same_name(complaint: Complaint, plan: Planner) -> None:
    text = "engine: vllm\nreplicas: 1\nframework_args: --served_model_name={}\n"
    assert complaint(text.format("other"), head=NAMED) == (
        "demo.yaml:6: framework_args: --served-model-name is other, and model.served_name mine:"
        " keep one of them"
    )
    assert plan(text.format("mine"), head=NAMED).served_model == "mine"
    assert plan(text.format("other")).served_model == "other"


def test_roles_serve_one_name(complaint: Complaint, plan: Planner) -> None:
    def pair(prefill: Any, decode: Any, engine: str = "vllm") -> str:
        return (
            f"engine: {engine}\nroles:\n"
            f"  prefill: {{nodes: 1, args: {{served-model-name: {prefill}}}}}\n"
            f"  decode: {{nodes: 1, args: {{served_model_name: {decode}}}}}\n"
        )

    assert complaint(pair("a", "b")) == (
        "demo.yaml:7: roles.decode.args.served_model_name: the other role's name is a, and clients ask"
        " for one: write the same"
    )
    assert plan(pair("a", "[a, b]")).served_model == "a"
    assert plan(pair("a", "b"), head=NAMED).served_model == "mine"

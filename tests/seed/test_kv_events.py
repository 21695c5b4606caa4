"""Topology and Placement, "kv_events": what can be checked before a job runs."""

from __future__ import annotations

import json
from typing import Any

import pytest


class TestKvEvents:
    TEXT = (
        "engine: sglang\nroles:\n"
        "  prefill: {nodes: 1, workers: 2, kv_events: true}\n"
        '  decode: {nodes: 1, workers: 2, kv_events: {publisher: "zmq", topic: "decode-events"}}\n'
        "frontend: {type: dynamo, args: {router-mode: kv}}\n"
    )

    def test_each_worker_leader_gets_a_port_from_5550(self, read: Any, workers: Any) -> None:
        plan = read.plan(self.TEXT)
        found = {p.mode + f"_{p.index}": p.kv_events_port for p in plan.deployment.processes}
        assert found == {"prefill_0": 5550, "prefill_1": 5551, "decode_0": 5552, "decode_1": 5553}
        argv = " ".join(workers(plan, "decode")[1].command.argv)
        assert "--kv-events-config" in argv
        assert "5553" in argv
        assert "decode-events" in argv

    def test_followers_have_none(self, read: Any) -> None:
        plan = read.plan("engine: sglang\nroles: {agg: {nodes: 4, workers: 2, kv_events: true}}\n")
        ports = [p.kv_events_port for p in plan.deployment.processes]
        assert ports == [5550, None, 5551, None]

    def test_defaults(self, read: Any, workers: Any) -> None:
        plan = read.plan(self.TEXT)
        argv = " ".join(workers(plan, "prefill")[0].command.argv)
        assert "zmq" in argv
        assert "kv-events" in argv
        topic_alone = read.plan("engine: sglang\nroles: {agg: {nodes: 1, kv_events: {topic: t}}}\n")
        assert topic_alone.resolved.roles.agg.kv_events.publisher == "zmq"

    def test_false_publishes_nothing(self, read: Any, workers: Any) -> None:
        plan = read.plan("engine: sglang\nroles: {agg: {nodes: 1, kv_events: false}}\n")
        assert "--kv-events-config" not in workers(plan, "agg")[0].command.argv

    def test_they_are_a_feature_of_the_dynamo_frontend(self, read: Any) -> None:
        said = read.refusal(self.TEXT.replace("type: dynamo, args: {router-mode: kv}", "type: sglang-router"))
        assert "roles.prefill.kv_events: kv events feed Dynamo's router" in said

    def test_only_the_roles_that_ask_publish(self, read: Any, workers: Any) -> None:
        roles = "roles: {prefill: {nodes: 1}, decode: {nodes: 1, kv_events: true}}\n"
        plan = read.plan("engine: sglang\n" + roles)
        assert "--kv-events-config" not in workers(plan, "prefill")[0].command.argv
        assert "--kv-events-config" in workers(plan, "decode")[0].command.argv

    @pytest.mark.parametrize("engine", ["sglang", "vllm"])
    def test_the_engine_is_told_publisher_topic_and_port(self, read: Any, workers: Any, engine: str) -> None:
        plan = read.plan(self.TEXT.replace("engine: sglang", f"engine: {engine}"))
        configs = []
        for step in workers(plan, "prefill") + workers(plan, "decode"):
            argv = step.command.argv
            configs.append(json.loads(argv[argv.index("--kv-events-config") + 1]))
        told = [(one["publisher"], one["topic"], one["endpoint"]) for one in configs]
        assert told == [
            ("zmq", "kv-events", "tcp://*:5550"),
            ("zmq", "kv-events", "tcp://*:5551"),
            ("zmq", "decode-events", "tcp://*:5552"),
            ("zmq", "decode-events", "tcp://*:5553"),
        ]

    def test_the_ports_are_unique_over_all_nodes_and_in_the_printed_plan(self, command: Any) -> None:
        found = json.loads(command(self.TEXT, "plan", "recipe.yaml", "--json").stdout)
        ports = {
            f"{worker['role']}_{worker['index']}": worker["processes"][0]["ports"]["kv_events"]
            for worker in found["workers"]
        }
        assert ports == {"prefill_0": 5550, "prefill_1": 5551, "decode_0": 5552, "decode_1": 5553}

    def test_the_router_is_told_its_mode(self, read: Any) -> None:
        frontend = next(step for step in read.plan(self.TEXT).steps if step.kind == "frontend")
        argv = frontend.command.argv
        assert argv[argv.index("--router-mode") + 1] == "kv"

    @pytest.mark.parametrize("engine", ["sglang", "vllm", "mocker", "trtllm"])
    def test_an_engine_is_told_or_the_plan_says_that_it_is_not(
        self, read: Any, workers: Any, engine: str
    ) -> None:
        plan = read.plan(f"engine: {engine}\nroles: {{agg: {{nodes: 1, workers: 8, kv_events: true}}}}\n")
        told = all("--kv-events-config" in step.command.argv for step in workers(plan, "agg"))
        assert told != any(line.startswith("roles.agg.kv_events: ") for line in plan.unsupported)

    @pytest.mark.parametrize(
        ("written", "sentence"),
        [
            ("3", ": expected true, false, or a mapping with publisher and topic, got 3"),
            ("zmq", ": expected true, false, or a mapping with publisher and topic, got 'zmq'"),
            ("{topics: a}", ".topics: unknown key; did you mean topic?"),
            ("{port: 5550}", ".port: unknown key; known here: publisher, topic"),
            ("{topic: ''}", ".topic: the text is empty"),
            ("{topic: 3}", '.topic: expected text, got the number 3: write it in quotes, "3"'),
            ("", ": the key has no value: write one, or remove the key"),
        ],
    )
    def test_what_is_wrong(self, read: Any, written: str, sentence: str) -> None:
        said = read.complaint(f"engine: sglang\nroles:\n  agg:\n    nodes: 1\n    kv_events: {written}\n")
        assert said == f"recipe.yaml:8: roles.agg.kv_events{sentence}"

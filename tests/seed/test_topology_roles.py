"""Topology and Placement, "roles" to "restart": what can be checked before a job runs."""

from __future__ import annotations

from typing import Any

import pytest

ROLES = """\
engine: sglang
roles:
  prefill:
    nodes: 2          # nodes reserved for this role
    workers: 6        # number of workers
    gpus: 2           # GPUs per worker
    env:              # environment for every process of this role
      PYTHONUNBUFFERED: "1"
    args:             # the engine's CLI flags, as a mapping
      tensor-parallel-size: 2
  decode:
    nodes: colocate   # share the prefill nodes' spare GPUs
    workers: 2
    gpus: 2
    env:
      PYTHONUNBUFFERED: "1"
    args:
      tensor-parallel-size: 2
"""
PD = "roles: {prefill: {nodes: 1}, decode: {nodes: 1}}\n"
VLLM_SGLANG = "roles: {prefill: {nodes: 1, engine: vllm}, decode: {nodes: 1, engine: sglang}}\n"
OWN = "roles with engines of their own"


class TestRoles:
    def test_the_example(self, read: Any, workers: Any) -> None:
        plan = read.plan(ROLES)
        assert (plan.topology.num_prefill, plan.topology.num_decode, len(plan.nodes)) == (6, 2, 2)
        assert [step.gpus for step in workers(plan, "decode")] == [(4, 5), (6, 7)]
        for step in workers(plan, "prefill") + workers(plan, "decode"):
            assert step.command.env["PYTHONUNBUFFERED"] == "1"
            at = step.command.argv.index("--tensor-parallel-size")
            assert step.command.argv[at + 1] == "2"

    @pytest.mark.parametrize(
        "roles",
        [
            "{prefill: {nodes: 1}, decode: {nodes: 1}, agg: {nodes: 1}}",
            "{prefill: {nodes: 1}, agg: {nodes: 1}}",
            "{prefill: {nodes: 1}}",
            "{worker: {nodes: 1}}",
        ],
    )
    def test_names_are_prefill_decode_and_agg_and_never_both_forms(self, read: Any, roles: str) -> None:
        assert read.refusal(f"engine: sglang\nroles: {roles}\n").startswith("roles")

    @pytest.mark.parametrize("top", ["sglang", "vllm"])
    def test_a_shared_engine_or_one_on_every_role_never_both(self, read: Any, top: str) -> None:
        mixed = "roles: {prefill: {nodes: 1, engine: sglang}, decode: {nodes: 1}}\n"
        assert "keep that one, or one on every role" in read.refusal(f"engine: {top}\n{mixed}")

    def test_a_missing_role_engine_fails(self, read: Any) -> None:
        mixed = "roles: {prefill: {nodes: 1, engine: sglang}, decode: {nodes: 1}}\n"
        assert read.refusal(mixed).startswith("roles.decode.engine: the engine is missing")
        assert read.refusal(PD).startswith("engine: the engine is missing")

    def test_a_role_s_container_wins_over_the_models(self, read: Any, workers: Any) -> None:
        roles = "roles: {prefill: {nodes: 1, container: own}, decode: {nodes: 1}}\n"
        plan = read.plan(
            "engine: sglang\n" + roles, container_runtime="pyxis", containers={"own": "/own.sqsh"}
        )
        assert [workers(plan, mode)[0].image for mode in ("prefill", "decode")] == ["/own.sqsh", "image"]

    def test_options_on_one_role_never_become_anothers(self, read: Any, workers: Any) -> None:
        roles = (
            "roles: {prefill: {nodes: 1, engine: {type: simulator}, args: {ttft-ms: 9}, env: {A: 1}},"
            " decode: {nodes: 1, engine: simulator}}\nfrontend: {type: sglang-router}\n"
        )
        decode = workers(read.plan(roles), "decode")[0].command
        assert "--ttft-ms" not in decode.argv
        assert "A" not in decode.env

    @pytest.mark.parametrize(
        ("more", "sentence"),
        [
            ("", f"frontend.type: {OWN} do not run under Dynamo"),
            ("frontend: {type: sglang-router}\ndynamo: {sidecar: true}\n", f"{OWN} have no sidecars"),
            ("frontend: {type: sglang-router}\nresources: {het_jobs: true}\n",
             f"resources.het_jobs: {OWN} do not run in a heterogeneous job"),
            ("frontend: {type: sglang-router}\n"
             "profiling: {type: torch, prefill: {start_step: 1, stop_step: 2},"
             " decode: {start_step: 1, stop_step: 2}}\n", f"profiling.type: {OWN} cannot be profiled"),
            ("frontend: {type: sglang-router}\nservices: [{name: store, type: mooncake-master}]\n",
             f"services[0].type: {OWN} share no Mooncake store"),
        ],
    )  # fmt: skip
    def test_what_per_role_engines_exclude(self, read: Any, more: str, sentence: str) -> None:
        same = "roles: {prefill: {nodes: 1, engine: sglang}, decode: {nodes: 1, engine: sglang}}\n"
        assert sentence in read.refusal(same + more)

    @pytest.mark.parametrize(
        ("prefill", "sentence"),
        [
            ("engine: {type: vllm, failover: {shadow_engines: 1}}",
             f"roles.prefill.engine.failover: {OWN} have no failover"),
            ("engine: {type: vllm, connector: lmcache-mp}",
             f"roles.prefill.engine.connector: {OWN} cannot use the connector lmcache-mp,"
             " whose workers discover each other"),
            ("engine: sglang, args: {grpc-mode: true}",
             f"roles.prefill.args.grpc-mode: {OWN} are asked by HTTP: SGLang's gRPC is not supported"),
            ("engine: sglang, gpus: 12, workers: 1",
             "roles.prefill.gpus: with engines per role a worker of several nodes has whole nodes,"
             " and 12 GPUs are 1.5 nodes of 8"),
            ("engine: trtllm, gpus: 16, workers: 1",
             "roles.prefill.gpus: a trtllm worker beside another engine runs on one node of 8 GPUs"),
        ],
    )  # fmt: skip
    def test_what_an_engine_of_one_role_excludes(self, read: Any, prefill: str, sentence: str) -> None:
        text = f"roles: {{prefill: {{nodes: 2, {prefill}}}, decode: {{nodes: 1, engine: simulator}}}}\n"
        assert sentence in read.refusal(text + "frontend: {type: none}\n")

    def test_shared_engine_grpc_is_unchanged(self, read: Any) -> None:
        plan = read.plan(
            "engine: sglang\nroles: {agg: {nodes: 1, args: {grpc-mode: true}}}\n"
            "frontend: {type: sglang-router}\n"
        )
        assert any("grpc://" in word for step in plan.steps for word in step.command.argv)

    @pytest.mark.parametrize("frontend", ["dynamo", "sglang-router", "vllm-router"])
    def test_vllm_prefill_with_sglang_decode_is_rejected(self, read: Any, frontend: str) -> None:
        assert "frontend.type" in read.refusal(VLLM_SGLANG + f"frontend: {{type: {frontend}}}\n")

    def test_tilert_decode_with_vllm_prefill_is_the_permitted_pair(self, read: Any) -> None:
        plan = read.plan(
            "roles:\n  prefill: {nodes: 1, engine: vllm}\n"
            "  decode: {nodes: 1, engine: tilert, args: {model: glm5, model-weights-dir: /w}}\n"
            "frontend: {type: tilert-router, enable_multiple_frontends: false, args: {model-path: m}}\n"
        )
        assert plan.engine == "vllm+tilert"
        swapped = "roles: {prefill: {nodes: 1, engine: tilert}, decode: {nodes: 1, engine: vllm}}\n"
        assert read.refusal(swapped + "frontend: {type: tilert-router, enable_multiple_frontends: false}\n")

    @pytest.mark.parametrize("spelling", ["mem-fraction-static", "mem_fraction_static"])
    def test_args_in_kebab_or_snake_case(self, read: Any, workers: Any, spelling: str) -> None:
        plan = read.plan(f"engine: sglang\nroles: {{agg: {{nodes: 1, args: {{{spelling}: 0.8}}}}}}\n")
        argv = workers(plan, "agg")[0].command.argv
        assert argv[argv.index("--mem-fraction-static") + 1] == "0.8"

    @pytest.mark.parametrize(
        "argument",
        ["disaggregation-mode: prefill", "port: 1", "host: x", "node-rank: 0", "dist_init_addr: x"],
    )
    def test_topology_flags_are_the_products(self, read: Any, argument: str) -> None:
        said = read.refusal(f"engine: sglang\nroles: {{agg: {{nodes: 1, args: {{{argument}}}}}}}\n")
        assert "servesweep sets this argument itself from the topology: remove it" in said

    def test_extra_args_are_trtllms_only(self, read: Any, workers: Any) -> None:
        role = "roles: {agg: {nodes: 1, extra_args: [--tool_parser, qwen3]}}\n"
        assert "extra_args are flags of trtllm's server" in read.refusal("engine: sglang\n" + role)
        frontend = "frontend: {type: trtllm_serve, enable_multiple_frontends: false}\n"
        argv = workers(read.plan("engine: trtllm\n" + role + frontend), "agg")[0].command.argv
        assert "--tool_parser qwen3" in " ".join(argv)

    def test_boolean_flags_and_lists(self, read: Any, workers: Any) -> None:
        plan = read.plan(
            "engine: sglang\nroles:\n  agg:\n    nodes: 1\n    args:\n      trust-remote-code: true\n"
            "      disable-radix-cache: false\n      cuda-graph-bs: [1, 2, 4]\n"
        )
        argv = " ".join(workers(plan, "agg")[0].command.argv)
        assert "--cuda-graph-bs 1 2 4 --trust-remote-code" in argv
        assert "--disable-radix-cache" not in argv

    def test_gpus_fill_the_nodes_when_omitted(self, read: Any) -> None:
        plan = read.plan("engine: sglang\nroles: {agg: {nodes: 2, workers: 4}}\n")
        assert plan.topology.gpus_per_agg == 2 * 8 // 4
        lost = read.refusal("engine: sglang\nroles: {agg: {nodes: 1, workers: 3}}\n")
        assert "2 would be idle; set gpus" in lost
        none = read.refusal("engine: sglang\nroles: {agg: {nodes: 1, workers: 9}}\n")
        assert "1 get none" in none

    def test_spread_workers_puts_each_partial_worker_on_its_own_node(self, read: Any, workers: Any) -> None:
        text = "engine: sglang\nroles: {agg: {nodes: 2, workers: 2, gpus: 4}}\n"
        assert {step.node for step in workers(read.plan(text), "agg")} == {"n0"}
        spread = read.plan(text + "resources: {spread_workers: true}\n")
        assert {step.node for step in workers(spread, "agg")} == {"n0", "n1"}


COLOCATE = """\
resources:
  gpu_type: "h100"
  gpus_per_node: 8

engine: sglang
roles:
  prefill:
    nodes: 1
    workers: 2
    gpus: 2          # 4 of the node's 8 GPUs
    args:
      tensor-parallel-size: 2
  decode:
    nodes: colocate
    workers: 1
    gpus: 4          # the remaining 4 GPUs
    args:
      tensor-parallel-size: 4
"""


class TestColocatingDecode:
    def test_the_example(self, read: Any, workers: Any) -> None:
        plan = read.plan(COLOCATE)
        assert [node.name for node in plan.nodes] == ["n0"]
        assert [step.gpus for step in workers(plan, "prefill")] == [(0, 1), (2, 3)]
        assert [step.gpus for step in workers(plan, "decode")] == [(4, 5, 6, 7)]

    @pytest.mark.parametrize("mode", ["prefill", "decode"])
    def test_gpus_must_be_given_on_both_roles(self, read: Any, mode: str) -> None:
        text = COLOCATE.replace("gpus: 2 ", "#" if mode == "prefill" else "gpus: 2 ")
        text = text.replace("gpus: 4 ", "#" if mode == "decode" else "gpus: 4 ")
        assert f"colocate needs the GPUs of a worker: say roles.{mode}.gpus" in read.refusal(text)

    def test_a_split_that_does_not_fit_fails_by_real_packing(self, read: Any) -> None:
        # 3 + 3 GPUs leave 2, so that the sum fits and the packing does not.
        text = COLOCATE.replace("gpus: 2 ", "gpus: 3 ").replace("gpus: 4 ", "gpus: 3 ")
        assert read.refusal(text).startswith(
            "roles.decode.nodes: 2 prefill x 3 GPUs and 1 decode x 3 GPUs do not fit on 1 node of 8 GPUs"
        )

    def test_only_decode_colocates(self, read: Any) -> None:
        assert "only decode can colocate" in read.refusal(
            "engine: sglang\nroles: {prefill: {nodes: colocate, gpus: 1}, decode: {nodes: 1, gpus: 1}}\n"
        )


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


class TestCritical:
    def test_the_example_and_the_default(self, read: Any, workers: Any) -> None:
        plan = read.plan(
            "engine: sglang\nroles:\n  prefill: {nodes: 1}\n  decode:\n    nodes: 1\n    workers: 4\n"
            "    critical: false            # a decode worker exiting does not end the run\n"
        )
        assert {step.critical for step in workers(plan, "prefill")} == {True}
        assert {step.critical for step in workers(plan, "decode")} == {False}

    def test_the_health_gate_still_requires_every_worker(self, read: Any) -> None:
        plan = read.plan("engine: sglang\nroles: {agg: {nodes: 1, workers: 4, critical: false}}\n")
        assert plan.expected.decode == 4

    def test_it_is_a_boolean(self, read: Any) -> None:
        said = read.refusal("engine: sglang\nroles: {agg: {nodes: 1, critical: maybe}}\n")
        assert said == "roles.agg.critical: expected true or false, got 'maybe'"


class TestRestart:
    EXAMPLE = """\
engine: sglang
roles:
  decode:
    nodes: 1
    workers: 4
    restart: on-failure          # relaunch a decode worker that exits non-zero
  prefill:
    nodes: 1
    workers: 2
    restart:
      policy: always             # relaunch after any exit, clean or not
      max_restarts: 5            # per worker, over the whole job (default 3)
      backoff_seconds: 10        # first delay; doubles on each relaunch (default 10)
      max_backoff_seconds: 120   # cap on the doubled delay (default 300)
"""

    def test_the_example(self, read: Any) -> None:
        roles = read.plan(self.EXAMPLE).resolved.roles
        assert roles.decode.restart.model_dump() == {
            "policy": "on-failure", "max_restarts": 3, "backoff_seconds": 10, "max_backoff_seconds": 300,
        }  # fmt: skip
        assert roles.prefill.restart.model_dump() == {
            "policy": "always", "max_restarts": 5, "backoff_seconds": 10, "max_backoff_seconds": 120,
        }  # fmt: skip

    def test_it_is_off_by_default(self, read: Any) -> None:
        assert read.plan("engine: sglang\n" + PD).resolved.roles.decode.restart.policy == "never"

    def test_the_delay_doubles_up_to_its_cap(self, read: Any) -> None:
        restart = read.plan(self.EXAMPLE).resolved.roles.prefill.restart
        assert [restart.delay(attempt) for attempt in range(1, 7)] == [10, 20, 40, 80, 120, 120]

    @pytest.mark.parametrize(
        ("written", "sentence"),
        [
            ("on_failure", "restart: expected never, on-failure or always, got 'on_failure';"
             " did you mean on-failure?"),
            ("{policy: always, max_restarts: -1}", "restart.max_restarts: expected a number from 0, got -1"),
            ("{policy: always, retries: 1}", "restart.retries: unknown key"),
            ("{backoff_seconds: 400}",
             "restart.max_backoff_seconds: the cap of 300 s lies below the first delay"),
        ],
    )  # fmt: skip
    def test_what_is_wrong(self, read: Any, written: str, sentence: str) -> None:
        said = read.refusal(f"engine: sglang\nroles: {{agg: {{nodes: 1, restart: {written}}}}}\n")
        assert said.startswith(f"roles.agg.{sentence}")

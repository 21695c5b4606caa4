"""Topology and Placement, "roles": what can be checked before a job runs."""

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
        ("roles", "sentence"),
        [
            ("{prefill: {nodes: 1}, decode: {nodes: 1}, agg: {nodes: 1}}",
             "5: roles: prefill, decode and agg are mixed: a recipe has prefill and decode, or agg alone"),
            ("{prefill: {nodes: 1}, agg: {nodes: 1}}",
             "5: roles: prefill and agg are mixed: a recipe has prefill and decode, or agg alone"),
            ("{prefill: {nodes: 1}}",
             "5: roles: prefill alone serves nothing: the role decode is missing"),
            ("{decode: {nodes: 1}}",
             "5: roles: decode alone serves nothing: the role prefill is missing"),
            ("{}", "5: roles: at least one role is needed: prefill and decode, or agg"),
            ("{worker: {nodes: 1}}",
             "5: roles.worker: unknown key; known here: agg, decode, prefill"),
            ("{prefil: {nodes: 1}, decode: {nodes: 1}}",
             "5: roles.prefil: unknown key; did you mean prefill?"),
            ("{aggregated: {nodes: 1}}",
             "5: roles.aggregated: unknown key; known here: agg, decode, prefill"),
        ],
    )  # fmt: skip
    def test_a_recipe_is_prefill_and_decode_or_agg_alone(self, read: Any, roles: str, sentence: str) -> None:
        assert read.complaint(f"engine: sglang\nroles: {roles}\n") == f"recipe.yaml:{sentence}"

    def test_a_recipe_without_roles_has_no_workers(self, read: Any) -> None:
        assert read.complaint("engine: sglang\n").endswith(
            "roles: the workers are missing: say roles (prefill and decode, or agg) or replicas"
        )

    @pytest.mark.parametrize(
        ("key", "sentence"),
        [
            ("nodes: 0", "nodes: expected a number of nodes from 1, or `colocate` for decode, got 0"),
            ("nodes: two", "nodes: expected a number of nodes from 1, or `colocate` for decode, got 'two'"),
            ("workers: 3", "nodes: required key is missing"),
            ("nodes: 1, workers: 0", "workers: expected a number from 1, got 0"),
            ("nodes: 1, workers: 1.5", "workers: expected a whole number, got 1.5"),
            ("nodes: 1, worker: 2", "worker: unknown key; did you mean workers?"),
            ("nodes: 1, gpus: 0", "gpus: expected a number from 1, got 0"),
            ("nodes: 1, gpus: two", "gpus: expected a whole number, got 'two'"),
            ("nodes: 1, gpu: 2", "gpu: unknown key; did you mean gpus?"),
            ("nodes: 1, container: 3", 'container: expected text, got the number 3: write it in quotes, "3"'),
            ("nodes: 1, env: {A: true}",
             'env.A: programs read true and false in many spellings: write the text meant, "true" or "1"'),
            ("nodes: 1, env: {A-B: x}",
             "env.A-B: 'A-B' is no name of an environment variable: letters, digits and _, no digit first"),
        ],
    )  # fmt: skip
    def test_a_wrong_value_of_a_role(self, read: Any, key: str, sentence: str) -> None:
        said = read.complaint(f"engine: sglang\nroles:\n  agg: {{{key}}}\n")
        assert said == f"recipe.yaml:6: roles.agg.{sentence}"

    @pytest.mark.parametrize("key", ["env", "args"])
    @pytest.mark.parametrize(
        ("written", "shown"), [("'{\"A\": 1}'", "'{\"A\": 1}'"), ("[--a, 1]", "a list"), ("--a 1", "'--a 1'")]
    )
    def test_env_and_args_are_mappings_and_never_json_text(
        self, read: Any, key: str, written: str, shown: str
    ) -> None:
        said = read.refusal(f"engine: sglang\nroles: {{agg: {{nodes: 1, {key}: {written}}}}}\n")
        assert said == f"roles.agg.{key}: expected a mapping, got {shown}"

    def test_env_reaches_every_process_of_its_role_alone(self, read: Any, workers: Any) -> None:
        plan = read.plan(
            "engine: sglang\nroles: {prefill: {nodes: 2, env: {A: 1}}, decode: {nodes: 1, workers: 2}}\n"
        )
        assert [step.name for step in workers(plan, "prefill")] == ["prefill_0", "prefill_0_r1"]
        assert [step.name for step in plan.steps if step.command.env.get("A") == "1"] == [
            "prefill_0", "prefill_0_r1",
        ]  # fmt: skip

    def test_a_role_s_container_wins_over_the_models(self, read: Any, workers: Any) -> None:
        roles = "roles: {prefill: {nodes: 1, container: own}, decode: {nodes: 1}}\n"
        plan = read.plan(
            "engine: sglang\n" + roles, container_runtime="pyxis", containers={"own": "/own.sqsh"}
        )
        assert [workers(plan, mode)[0].image for mode in ("prefill", "decode")] == ["/own.sqsh", "image"]

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

    def test_the_image_of_the_model_stays_that_of_everything_but_workers(self, read: Any) -> None:
        roles = "roles: {prefill: {nodes: 1, container: a}, decode: {nodes: 1, container: b}}\n"
        plan = read.plan(
            "engine: sglang\n" + roles + "frontend: {enable_multiple_frontends: false}\n",
            container_runtime="pyxis",
        )
        images = {step.name: step.image for step in plan.steps}
        assert images == {"etcd": "image", "prefill_0": "a", "decode_0": "b", "frontend_0": "image"}

    def test_topology_flags_are_added(self, read: Any, workers: Any) -> None:
        plan = read.plan("engine: sglang\nroles: {prefill: {nodes: 2}, decode: {nodes: 1}}\n")
        leader, follower = (" ".join(step.command.argv) for step in workers(plan, "prefill"))
        for words in (leader, follower):
            assert "--disaggregation-mode prefill --disaggregation-bootstrap-port 7200" in words
            assert "--host 0.0.0.0" in words
        assert "--port 6100" in leader
        assert "--dist-init-addr ip-n0:8300 --nnodes 2 --node-rank 0" in leader
        assert "--dist-init-addr ip-n0:8300 --nnodes 2 --node-rank 1" in follower
        assert "--disaggregation-mode decode" in " ".join(workers(plan, "decode")[0].command.argv)

    def test_args_are_the_engine_s_file_under_trtllm(self, read: Any, workers: Any) -> None:
        text = (
            "engine: trtllm\nroles: {agg: {nodes: 1, args: {max_batch_size: 4, kv_cache_config: {a: b}}}}\n"
        )
        (step,) = workers(read.plan(text), "agg")
        assert step.command.files == {
            "<LOGS>/trtllm_config_agg.yaml": "max_batch_size: 4\nkv_cache_config:\n  a: b\n"
        }

    @pytest.mark.parametrize("spelling", ["num-gpu-blocks-override", "num_gpu_blocks_override"])
    def test_args_override_the_mocker_s_options(self, read: Any, workers: Any, spelling: str) -> None:
        text = f"engine: mocker\nroles: {{agg: {{nodes: 1, args: {{{spelling}: 3}}}}}}\n"
        argv = workers(read.plan(text), "agg")[0].command.argv
        assert argv.count("--num-gpu-blocks-override") == 1
        assert argv[argv.index("--num-gpu-blocks-override") + 1] == "3"

    def test_several_workers_share_a_node_by_their_gpus(self, read: Any, workers: Any) -> None:
        plan = read.plan("engine: sglang\nroles: {agg: {nodes: 1, workers: 3, gpus: 2}}\n")
        assert [step.gpus for step in workers(plan, "agg")] == [(0, 1), (2, 3), (4, 5)]
        visible = [step.command.env["CUDA_VISIBLE_DEVICES"] for step in workers(plan, "agg")]
        assert visible == ["0,1", "2,3", "4,5"]

    def test_a_role_may_leave_gpus_of_its_nodes_idle(self, read: Any) -> None:
        assert read.plan("engine: sglang\nroles: {agg: {nodes: 1, gpus: 4}}\n").topology.total_gpus == 4

    @pytest.mark.parametrize(
        ("role", "sentence"),
        [
            ("{nodes: 1, workers: 3}",
             "workers: 8 GPUs (1 x 8) do not divide among 3 workers, 2 would be idle; set gpus"),
            ("{nodes: 1, workers: 9}",
             "workers: 9 workers share 8 GPUs (1 x 8), so 1 get none; use fewer workers or more nodes"),
            ("{nodes: 1, workers: 3, gpus: 4}",
             "nodes: 3 agg x 4 GPUs do not fit on 1 node of 8 GPUs:"
             " agg worker 2 finds no place, 2 nodes are needed"),
            ("{nodes: 1, gpus: 16}",
             "nodes: 1 agg x 16 GPUs do not fit on 1 node of 8 GPUs:"
             " agg worker 0 finds no place, 2 nodes are needed"),
        ],
    )  # fmt: skip
    def test_gpus_that_do_not_work_out(self, read: Any, role: str, sentence: str) -> None:
        said = read.complaint(f"engine: sglang\nroles:\n  agg: {role}\n")
        assert said == f"recipe.yaml:6: roles.agg.{sentence}"

    def test_spread_workers_that_find_no_node(self, read: Any) -> None:
        text = "engine: sglang\nroles: {agg: {nodes: 1, workers: 2, gpus: 4}}\n"
        read.plan(text)
        assert "2 nodes are needed" in read.refusal(text + "resources: {spread_workers: true}\n")

"""Topology and Placement, "roles": one engine for all roles, or one for each, before a job runs."""

from __future__ import annotations

from typing import Any

import pytest

PD = "roles: {prefill: {nodes: 1}, decode: {nodes: 1}}\n"
VLLM_SGLANG = "roles: {prefill: {nodes: 1, engine: vllm}, decode: {nodes: 1, engine: sglang}}\n"
OWN = "roles with engines of their own"


class TestRoleEngines:
    @pytest.mark.parametrize("top", ["sglang", "vllm"])
    def test_a_shared_engine_or_one_on_every_role_never_both(self, read: Any, top: str) -> None:
        mixed = "roles: {prefill: {nodes: 1, engine: sglang}, decode: {nodes: 1}}\n"
        assert "keep that one, or one on every role" in read.refusal(f"engine: {top}\n{mixed}")

    def test_a_missing_role_engine_fails(self, read: Any) -> None:
        mixed = "roles: {prefill: {nodes: 1, engine: sglang}, decode: {nodes: 1}}\n"
        assert read.refusal(mixed).startswith("roles.decode.engine: the engine is missing")
        assert read.refusal(PD).startswith("engine: the engine is missing")

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
             f"roles.prefill.args.grpc-mode: {OWN} are asked by HTTP: gRPC of sglang is not supported"),
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

    @pytest.mark.parametrize("top", ["sglang", "vllm"])
    def test_mixing_fails_also_when_every_role_names_the_engine_of_the_top(self, read: Any, top: str) -> None:
        roles = "roles:\n  prefill: {nodes: 1, engine: sglang}\n  decode: {nodes: 1, engine: sglang}\n"
        assert read.complaint(f"engine: {top}\n{roles}") == (
            "recipe.yaml:6: roles.prefill.engine: the engine is given at the top too:"
            " keep that one, or one on every role"
        )

    def test_one_engine_written_on_every_role_is_no_shared_engine(self, read: Any) -> None:
        roles = "roles: {prefill: {nodes: 1, engine: sglang}, decode: {nodes: 1, engine: sglang}}\n"
        assert read.plan(roles + "frontend: {type: sglang-router}\n").engine == "sglang"
        assert read.refusal(roles).startswith(f"frontend.type: {OWN} do not run under Dynamo")
        assert read.plan("engine: sglang\n" + PD).frontend == "dynamo"

    def test_a_missing_role_engine_names_the_role_and_its_line(self, read: Any) -> None:
        roles = "roles:\n  prefill: {nodes: 1}\n  decode: {nodes: 1, engine: sglang}\n"
        assert read.complaint(roles) == (
            "recipe.yaml:5: roles.prefill.engine: the engine is missing:"
            " with engines per role, every role names its own"
        )

    def test_an_unknown_role_engine_names_the_nearest(self, read: Any) -> None:
        roles = "roles:\n  prefill: {nodes: 1, engine: vllm}\n  decode: {nodes: 1, engine: sglagn}\n"
        assert read.complaint(roles) == (
            "recipe.yaml:6: roles.decode.engine: unknown engine 'sglagn'; did you mean sglang?"
        )

    def test_arguments_belong_to_the_engine_of_their_role(self, read: Any) -> None:
        roles = (
            "roles:\n  prefill: {nodes: 1, engine: simulator, args: {node-rank: 1}}\n"
            "  decode: {nodes: 1, engine: sglang, args: {node-rank: 1}}\nfrontend: {type: sglang-router}\n"
        )
        assert read.complaint(roles) == (
            "recipe.yaml:6: roles.decode.args.node-rank:"
            " servesweep sets this argument itself from the topology: remove it"
        )

    def test_engine_wide_options_belong_to_their_role_too(self, read: Any) -> None:
        roles = (
            "roles:\n  prefill: {nodes: 1, engine: {type: vllm, connector: lmcache}}\n"
            "  decode: {nodes: 1, engine: {type: sglang, connector: lmcache}}\nfrontend: {type: none}\n"
        )
        assert read.complaint(roles).startswith("recipe.yaml:6: roles.decode.engine.connector: unknown key; ")

    @pytest.mark.parametrize("place", ["dynamo: {sidecar: true}", "roles"])
    def test_sidecars_are_refused_where_they_are_written_and_where_they_are_not(
        self, read: Any, place: str
    ) -> None:
        own = ", sidecar: true" if place == "roles" else ""
        one = f"{{nodes: 1, engine: sglang{own}}}"
        more = "" if place == "roles" else f"{place}\n"
        said = read.refusal(
            f"roles: {{prefill: {one}, decode: {one}}}\nfrontend: {{type: sglang-router}}\n{more}"
        )
        for mode in ("prefill", "decode"):
            assert f"roles.{mode}.sidecar: {OWN} have no sidecars" in said.splitlines()

    def test_het_jobs_of_the_cluster_leave_them_alone(self, read: Any) -> None:
        roles = "roles: {prefill: {nodes: 1, engine: sglang}, decode: {nodes: 1, engine: sglang}}\n"
        plan = read.plan(roles + "frontend: {type: sglang-router}\n", use_het_jobs=True)
        assert (plan.slurm.nodes, plan.slurm.slurm_extra) == (2, "--gpus-per-node=8")

    @pytest.mark.parametrize("kind", ["mooncake-master", "mooncake-donor", "mooncake-store"])
    def test_no_kind_of_mooncake_store_but_tilert_s_transfer_needs_none(self, read: Any, kind: str) -> None:
        store = f"services: [{{name: store, type: {kind}}}]\n"
        roles = "roles: {prefill: {nodes: 1, engine: vllm}, decode: {nodes: 1, engine: vllm}}\n"
        said = read.refusal(roles + "frontend: {type: vllm-router}\n" + store).splitlines()
        assert f"services[0].type: {OWN} share no Mooncake store" in said
        tilert = (
            "roles:\n  prefill: {nodes: 1, engine: {type: vllm, connector: mooncake}}\n"
            "  decode: {nodes: 1, engine: tilert, args: {model: glm5, model-weights-dir: /w}}\n"
            "frontend: {type: tilert-router, args: {model-path: m}}\n"
        )
        assert read.plan(tilert).engine == "vllm+tilert"

    @pytest.mark.parametrize("engine", ["sglang", "vllm"])
    def test_no_store_that_an_engine_implies(self, read: Any, engine: str) -> None:
        roles = (
            f"roles:\n  prefill: {{nodes: 1, engine: {{type: {engine}, mooncake_kv_store: {{}}}}}}\n"
            f"  decode: {{nodes: 1, engine: {engine}}}\nfrontend: {{type: {engine}-router}}\n"
        )
        assert read.complaint(roles) == (
            f"recipe.yaml:5: roles.prefill.engine.mooncake_kv_store: {OWN} share no Mooncake store"
        )

    @pytest.mark.parametrize("connector", ["moriio", "lmcache-mp"])
    def test_no_connector_whose_workers_discover_each_other(self, read: Any, connector: str) -> None:
        roles = (
            f"roles:\n  prefill: {{nodes: 1, engine: {{type: vllm, connector: {connector}}}}}\n"
            "  decode: {nodes: 1, engine: vllm}\nfrontend: {type: vllm-router}\n"
        )
        assert read.complaint(roles) == (
            f"recipe.yaml:5: roles.prefill.engine.connector: {OWN} cannot use the connector {connector},"
            " whose workers discover each other"
        )

    @pytest.mark.parametrize("connector", ["nixl", "lmcache", "mooncake"])
    def test_connectors_between_two_workers_are_fine(self, read: Any, connector: str) -> None:
        own = f"{{nodes: 1, engine: {{type: vllm, connector: {connector}}}}}"
        plan = read.plan(f"roles: {{prefill: {own}, decode: {own}}}\nfrontend: {{type: vllm-router}}\n")
        assert plan.engine == "vllm"

    @pytest.mark.parametrize("spelling", ["grpc-mode", "grpc_mode"])
    def test_sglang_by_grpc_is_refused_in_both_spellings(self, read: Any, spelling: str) -> None:
        roles = (
            "roles:\n  prefill: {nodes: 1, engine: sglang}\n"
            f"  decode: {{nodes: 1, engine: sglang, args: {{{spelling}: true}}}}\n"
            "frontend: {type: sglang-router}\n"
        )
        assert read.complaint(roles) == (
            f"recipe.yaml:6: roles.decode.args.{spelling}: {OWN} are asked by HTTP:"
            " gRPC of sglang is not supported"
        )
        assert read.plan(roles.replace("true", "false")).engine == "sglang"

    def test_a_worker_of_several_whole_nodes_is_fine(self, read: Any, workers: Any) -> None:
        plan = read.plan(
            "roles: {prefill: {nodes: 2, gpus: 16, engine: sglang}, decode: {nodes: 1, engine: simulator}}\n"
            "frontend: {type: sglang-router}\n"
        )
        assert [step.gpus for step in workers(plan, "prefill")] == [tuple(range(8))] * 2

    def test_a_worker_of_a_part_of_one_node_is_fine(self, read: Any) -> None:
        plan = read.plan(
            "roles: {prefill: {nodes: 1, gpus: 2, workers: 2, engine: sglang},"
            " decode: {nodes: 1, engine: simulator}}\nfrontend: {type: sglang-router}\n"
        )
        assert plan.topology.prefill_gpus == 4

    def test_a_shared_trtllm_may_span_nodes(self, read: Any) -> None:
        plan = read.plan("engine: trtllm\nroles: {prefill: {nodes: 2}, decode: {nodes: 1}}\n")
        assert plan.topology.gpus_per_prefill == 16

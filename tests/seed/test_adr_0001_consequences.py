"""ADR-0001, "The replica is the orchestration unit": consequences and alternatives."""

from __future__ import annotations

import json
import shlex
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest
import yaml

from servesweep.evidence.files import RunFiles, keep_plan
from servesweep.evidence.lockfile import write_lockfile
from servesweep.plan.plan import plan_text
from servesweep.plan.render import rebind
from servesweep.plan.replicas import reserve_opentela
from servesweep.topology.deployment import Binding
from servesweep.topology.port_book import PortBook
from servesweep.topology.ports import OPENTELA, PortError
from servesweep.topology.shapes import NodeGpus, WorkerPlace


class TestSupported:
    def test_multi_node_single_replica_by_sglang(self, read: Any) -> None:
        plan = read.plan("engine: sglang\nreplicas: 1\nnodes_per_replica: 2\n")
        argv = [" ".join(step.command.argv) for step in plan.steps]
        assert all("--dist-init-addr ip-n0:" in words and "--nnodes 2" in words for words in argv)
        assert ["--node-rank 0" in words for words in argv] == [True, False]

    def test_multi_node_single_replica_by_vllm_is_a_ray_cluster(self, read: Any) -> None:
        plan = read.plan("engine: vllm\nreplicas: 1\nnodes_per_replica: 2\n")
        head, follower = (" ".join(step.command.argv) for step in plan.steps)
        assert "ray start --head" in head
        assert "vllm serve /models/m --port 8080 --distributed-executor-backend ray" in head
        assert follower.startswith("ray start --address=ip-n0:6379")

    def test_the_engine_starts_once_ray_has_the_gpus_of_every_node_and_both_end_together(
        self, read: Any
    ) -> None:
        """Run on real nodes by a real Ray in tests/cluster/test_replicas.py."""
        plan = read.plan("engine: vllm\nreplicas: 1\nnodes_per_replica: 4\n")
        script = plan.steps[0].command.argv[2]
        waiting, starting, ending = (
            script.index(words) for words in ('.get("GPU", 0) < 32', '"$0" "$@" &', "wait -n $engine $ray")
        )
        assert waiting < starting < ending
        assert all("--block" in " ".join(step.command.argv) for step in plan.steps)

    def test_multi_replica_fanout_is_one_router_over_the_port_8080_of_each(self, read: Any) -> None:
        """Run on real nodes by the real router in tests/cluster/test_replicas.py."""
        plan = read.plan("engine: vllm\nreplicas: 3\nnodes_per_replica: 2\nrouter: sglang\n")
        (router,) = [step for step in plan.steps if step.kind == "frontend"]
        words = " ".join(router.command.argv)
        assert "--worker-urls http://ip-n0:8080 http://ip-n2:8080 http://ip-n4:8080 " in words
        assert router.probe.port == 30000

    @pytest.mark.parametrize("said", ['{"a": "b c"}', "$(hostname)", "`id`", "it's", "a;b", "a\\ b"])
    def test_what_opentela_runs_has_the_words_as_they_were(self, read: Any, said: str) -> None:
        """Run on real nodes in tests/cluster/test_replicas.py."""
        arguments = json.dumps("--name " + shlex.quote(said))
        plan = read.plan(
            f"engine: sglang\nreplicas: 1\nrouter: opentela\nframework_args: {arguments}\n",
            otela_binary="/otela",
        )
        words = plan.steps[0].command.argv
        inner = shlex.split(words[words.index("--subprocess") + 1])
        assert inner[inner.index("--name") + 1] == said

    def test_a_replica_keeps_its_port_where_other_jobs_share_the_node(self, read: Any) -> None:
        plan = read.plan("engine: sglang\nreplicas: 2\nrouter: sglang\n")
        addresses = {"n0": "10.0.0.1", "n1": "10.0.0.2"}
        bound = rebind(plan, Binding(addresses=addresses, windows={"n0": 4, "n1": 4}))
        assert [step.probe.port for step in bound.steps] == [8080, 8080, 30000]


class TestDeliberatelyNotSupported:
    def test_one_host_carries_one_opentela(self, read: Any) -> None:
        text = "engine: simulator\nreplicas: 2\nrouter: opentela\n"
        said = read.refusal(text, launcher="local", otela_binary="/otela")
        assert said == (
            "router: every OpenTela wants the same ports of its host, so one machine carries one replica"
        )

    def test_the_ports_of_opentela_are_reserved_on_every_head(self) -> None:
        assert OPENTELA == (8092, 8093, 43905)
        head = WorkerPlace("agg", 0, (NodeGpus("n0", (0,)), NodeGpus("n1", (0,))))
        for port in OPENTELA:
            book = PortBook()
            reserve_opentela(book, [head])
            book.claim("n1", port, "a follower's process")
            book.check()
            book.claim("n0", port, "another process")
            with pytest.raises(PortError, match=f"both need port {port} of n0"):
                book.check()

    def test_a_process_that_would_get_one_of_them_is_refused(self, read: Any) -> None:
        text = "engine: vllm\nreplicas: %d\nrouter: opentela\n"
        read.plan(text % 478, otela_binary="/otela")
        said = read.refusal(text % 479, otela_binary="/otela")
        assert said.startswith("replicas: ")
        assert "OpenTela around replica 478 both need port 43905 of n478" in said

    def test_no_port_of_a_replica_is_opentela_s(self, read: Any) -> None:
        plan = read.plan(
            "engine: vllm\nreplicas: 16\nnodes_per_replica: 2\nrouter: opentela\n", otela_binary="/otela"
        )
        for process in plan.deployment.leaders("agg"):
            assert not set(OPENTELA) & set(filter(lambda port: isinstance(port, int), astuple(process)))

    @pytest.mark.parametrize("key", ["processes_per_node", "replicas_per_node", "gpus_per_replica"])
    def test_multiple_framework_processes_on_a_single_node(self, read: Any, key: str) -> None:
        said = read.refusal(f"engine: sglang\nreplicas: 4\n{key}: 4\n")
        assert said.startswith(
            f"{key}: multiple framework processes on a single node are deliberately not supported"
        )

    def test_half_a_node_is_no_replica(self, read: Any) -> None:
        assert read.refusal("engine: sglang\nreplicas: 4\nnodes_per_replica: 0.5\n").startswith(
            "nodes_per_replica: expected a whole number"
        )

    def test_a_port_of_the_users_own_is_refused(self, read: Any) -> None:
        said = read.refusal("engine: vllm\nreplicas: 1\nframework_args: --port 9000\n")
        assert said == (
            "framework_args: every replica serves on port 8080, which servesweep sets: remove --port"
        )

    @pytest.mark.parametrize("engine", ["sglang", "vllm"])
    @pytest.mark.parametrize("words", ["--port 9000", "--port=9000", "--tp 8 --port 8080", "--port 8092"])
    def test_no_framework_argument_moves_the_port(self, read: Any, engine: str, words: str) -> None:
        said = read.complaint(f"engine: {engine}\nreplicas: 2\nframework_args: {words}\n")
        assert said == (
            "recipe.yaml:6: framework_args: every replica serves on port 8080, which servesweep sets:"
            " remove --port"
        )

    def test_the_port_is_no_key_either(self, read: Any) -> None:
        assert read.refusal("engine: sglang\nreplicas: 2\nframework_port: 9000\n") == (
            "framework_port: every replica serves on port 8080, so that its address is known without asking"
        )

    def test_scaling_inside_a_node_is_the_framework_s(self, read: Any) -> None:
        plan = read.plan("engine: sglang\nreplicas: 1\nframework_args: --dp-size 8\n")
        (step,) = plan.steps
        assert "--dp-size 8" in " ".join(step.command.argv)
        assert "CUDA_VISIBLE_DEVICES" not in step.command.env

    def test_the_router_that_is_left_out_is_told_in_the_lockfile(self, read: Any, tmp_path: Path) -> None:
        plan = read.plan("engine: sglang\nreplicas: 1\nrouter: sglang\nframework_args: --host 0.0.0.0\n")
        files = RunFiles(tmp_path / "results")
        files.root.mkdir()
        keep_plan(files, plan_text(plan), plan.recipe)
        lock = yaml.safe_load(write_lockfile(files.root, plan).read_text())["lock"]
        note = "router: sglang is left out: one replica has nothing to balance, and is served directly"
        assert note in lock["notes"]

    def test_it_is_told_on_the_page_and_in_the_json(self, command: Any) -> None:
        text = "engine: vllm\nreplicas: 1\nrouter: sglang\n"
        note = "router: sglang is left out: one replica has nothing to balance, and is served directly"
        assert f"  note    {note}" in command(text, "plan", "recipe.yaml").stdout.splitlines()
        assert json.loads(command(text, "plan", "recipe.yaml", "--json").stdout)["warnings"][:1] == [note]

    def test_a_router_over_one_replica_degrades_to_none_and_the_plan_says_so(self, read: Any) -> None:
        plan = read.plan("engine: vllm\nreplicas: 1\nrouter: sglang\n")
        assert [step.kind for step in plan.steps] == ["worker"]
        assert (plan.public.node, plan.public.port) == ("n0", 8080)
        note = "router: sglang is left out: one replica has nothing to balance, and is served directly"
        assert note in plan.notes


class TestAlternatives:
    @pytest.mark.parametrize("key", ["tp", "pp", "dp", "ep", "tensor_parallel_size", "expert_parallel_size"])
    def test_parallelism_is_no_field_of_the_topology(self, read: Any, key: str) -> None:
        said = read.refusal(f"engine: sglang\nreplicas: 1\n{key}: 8\n")
        assert said == (
            f"{key}: sharding is the framework's own concern: write its flags in framework_args;"
            " none is inferred"
        )

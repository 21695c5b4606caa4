"""`tokenspeed`: TokenSpeed under Dynamo.

Source of the flags: `dynamo.tokenspeed` of ai-dynamo 1.6.1, whose arguments are TokenSpeed's own, and
srt-slurm, https://github.com/NVIDIA/srt-slurm, `docs/tokenspeed.md`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from servesweep.engines.dynamo_worker import dynamo_environment
from servesweep.engines.engine import Engine, WorkerSpec, without
from servesweep.engines.flags import flags
from servesweep.engines.vocabulary import Vocabulary, sizes
from servesweep.topology.deployment import Command, Deployment
from servesweep.topology.shapes import ProcessPlace


class Tokenspeed(Engine):
    """One process a node of a worker; the leader registers."""

    name = "tokenspeed"
    transports = frozenset({"dynamo"})
    reserved = frozenset(
        {"host", "port", "dist-init-addr", "nnodes", "node-rank", "disaggregation-mode",
         "disaggregation-bootstrap-port", "request-plane"}
    )  # fmt: skip
    vocabulary = Vocabulary(
        read=frozenset({"model", "served-model-name", "world-size", "tensor-parallel-size"}),
        aliases={"model-path": "model", "tp": "tensor-parallel-size"},
    )
    model_flags = frozenset({"model"})
    spans_nodes = True

    def gpus_of(self, args: Mapping[str, Any]) -> int | None:
        """Its world, where it is told: each part of a model is cut within it in a way of its own."""
        return sizes(self.vocabulary.spelt_out(args), "world-size")

    def command(self, process: ProcessPlace, worker: WorkerSpec, deployment: Deployment) -> Command:
        """Render one rank.

        It tells the other side its host for the transfer of caches, so that must be an address. From the
        port where ranks meet it takes further ones upwards: vLLM's range of the leader is free, and wide.
        """
        leader = deployment.ranks(process)[0]
        words = ["python3", "-m", "dynamo.tokenspeed", "--model", deployment.model]
        words += ["--served-model-name", deployment.served_model]
        words += ["--host", deployment.address(process.node), "--port", str(process.nccl_port)]
        words += ["--dist-init-addr", f"{deployment.address(process.leader)}:{leader.vllm_port}"]
        words += ["--nnodes", str(len(process.worker_nodes)), "--node-rank", str(process.rank)]
        if process.mode != "agg":
            words += ["--disaggregation-mode", process.mode]
        if process.mode == "prefill":
            words += ["--disaggregation-bootstrap-port", str(process.bootstrap_port)]
        own = without(worker.args, "model", "model-path", "served-model-name")
        return Command(argv=(*words, *flags(own)), env=dynamo_environment(process, deployment))

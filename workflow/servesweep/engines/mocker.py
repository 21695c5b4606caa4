"""`mocker`: Dynamo's own engine simulator, behind the real Dynamo frontend.

Source of the flags: `python3 -m dynamo.mocker --help`, ai-dynamo 1.6.1.
"""

from __future__ import annotations

from pydantic import Field

from servesweep.engines.dynamo_worker import dynamo_environment
from servesweep.engines.engine import Engine, WorkerSpec, without
from servesweep.engines.flags import flags
from servesweep.recipe.section import Section
from servesweep.topology.deployment import Command, Deployment
from servesweep.topology.shapes import ProcessPlace


class MockerOptions(Section):
    """Engine-wide options of the mocker; the defaults are the reference's."""

    engine_type: str = Field(default="vllm", description="Engine whose scheduler is imitated.")
    speedup_ratio: float = Field(
        default=100.0, gt=0, description="How many times faster than the modelled GPU."
    )
    num_gpu_blocks_override: int = Field(default=16384, ge=1, description="KV cache blocks.")
    max_num_seqs: int = Field(default=256, ge=1, description="Sequences in a batch.")
    max_num_batched_tokens: int = Field(default=8192, ge=1, description="Tokens in a batch.")
    data_parallel_size: int = Field(default=1, ge=1, description="Data-parallel ranks in the process.")
    block_size: int | None = Field(default=None, ge=1, description="Tokens in a KV cache block.")
    startup_time: float | None = Field(default=None, ge=0, description="Seconds that start-up takes.")
    decode_speedup_ratio: float | None = Field(
        default=None, gt=0, description="A further speed-up of decode alone."
    )


class Mocker(Engine):
    """A process a worker, registered with Dynamo."""

    name = "mocker"
    Options = MockerOptions
    transports = frozenset({"dynamo"})
    tells_events = True
    reserved = frozenset(
        {"model-path", "model-name", "disaggregation-mode", "is-prefill-worker", "is-decode-worker",
         "bootstrap-ports"}
    )  # fmt: skip

    def command(self, process: ProcessPlace, worker: WorkerSpec, deployment: Deployment) -> Command:
        """Render one mocker."""
        words = ["python3", "-m", "dynamo.mocker", "--model-path", deployment.model]
        words += ["--model-name", deployment.served_model]
        if process.mode != "agg":
            words += ["--disaggregation-mode", process.mode]
        if process.mode == "prefill":
            words += ["--bootstrap-ports", str(process.bootstrap_port)]
        own = {
            name.replace("-", "_"): value for name, value in without(worker.args, "served-model-name").items()
        }
        merged = {**worker.options.model_dump(), **own}
        return Command(argv=tuple(words + flags(merged)), env=dynamo_environment(process, deployment))

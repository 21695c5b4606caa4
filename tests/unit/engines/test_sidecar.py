"""Engines beside Dynamo's sidecar: the command lines, and that both live and end together."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from servesweep.engines.sidecar import together
from servesweep.plan.plan import Plan, Step
from servesweep.recipe.dynamo import DynamoSection
from servesweep.recipe.problems import RecipeError

Planner = Callable[..., Plan]
Workers = Callable[..., dict[str, Step]]
SCRIPT = """\
{} &
engine=$! sidecar=
finish() {{
  trap - TERM INT
  kill $engine $sidecar 2> /dev/null
  (sleep 10; kill -KILL $engine $sidecar) > /dev/null 2>&1 &
  wait $engine $sidecar
  kill $! 2> /dev/null
  exit "$1"
}}
trap 'finish 143' TERM INT
{}seconds=0
until (exec 3<> /dev/tcp/127.0.0.1/{}) 2> /dev/null; do
  kill -0 $engine 2> /dev/null || {{ echo "the engine ended before its port {} answered" >&2; finish 1; }}
  [ $((seconds += 1)) -le {} ] || {{ echo "the engine's port {} stays silent" >&2; finish 1; }}
  sleep 1
done
{} &
sidecar=$!
while kill -0 $engine && kill -0 $sidecar; do sleep 1; done 2> /dev/null
finish 1"""


def pair(step: Step) -> tuple[str, str]:
    """The command lines of an engine and its sidecar."""
    assert step.command.argv[:2] == ("bash", "-c")
    lines = [line.removesuffix(" &") for line in step.command.argv[2].splitlines() if line.endswith(" &")]
    return lines[0], lines[-1]


def words(step: Step) -> str:
    return " ".join(step.command.argv)


def test_the_whole_command(workers: Workers) -> None:
    (step,) = workers(
        "engine: sglang\n"
        "roles: {agg: {nodes: 1, sidecar: true, args: {tp-size: 8}}}\n"
        "dynamo:\n"
        "  {sidecar_port: 40000, sidecar_startup_timeout: 60, sidecar_args: [--grpc-connections, '4']}\n"
    ).values()
    engine = (
        "python3 -m sglang.launch_server --model-path /models/tiny --served-model-name tiny --host 0.0.0.0"
        " --port 6100 --nccl-port 17500 --tp-size 8 --incremental-streaming-output --grpc-port 40000"
    )
    sidecar = "python3 -m dynamo.sglang.sidecar --grpc-endpoint 127.0.0.1:40000 --grpc-connections 4"
    script = SCRIPT.format(engine, "", 40000, 40000, 60, 40000, sidecar)
    assert step.command.argv == ("bash", "-c", script)
    assert step.command.env["SGLANG_RUST_BUILD_MODE"] == "never"
    # Ready is what the sidecar registered.
    assert step.probe is not None
    assert (step.probe.port, step.probe.path) == (7500, "/health")


def test_sglang_over_nodes_has_a_sidecar_on_its_leader(workers: Workers) -> None:
    steps = workers(
        "engine: sglang\n"
        "roles: {prefill: {nodes: 1}, decode: {nodes: 2, args: {incremental_streaming_output: true}}}\n"
        "dynamo: {sidecar: true, sidecar_binary: /opt/sidecar}\n"
    )
    server = "python3 -m sglang.launch_server --model-path /models/tiny --served-model-name tiny"
    decode = "--disaggregation-mode decode --dist-init-addr ip-n1:8300 --nnodes 2 --node-rank"
    assert {name: pair(steps[name]) for name in ("prefill_0", "decode_0")} == {
        "prefill_0": (
            f"{server} --host 0.0.0.0 --port 6100 --nccl-port 17500 --disaggregation-mode prefill"
            " --disaggregation-bootstrap-port 7200 --incremental-streaming-output --grpc-port 50051",
            "/opt/sidecar --grpc-endpoint 127.0.0.1:50051 --bootstrap-host ip-n0",
        ),
        "decode_0": (
            f"{server} --host 0.0.0.0 --port 6100 --nccl-port 17501 {decode} 0"
            " --incremental-streaming-output --grpc-port 50052",
            "/opt/sidecar --grpc-endpoint 127.0.0.1:50052",
        ),
    }
    assert words(steps["decode_0_r1"]) == (
        f"{server} --host 0.0.0.0 --port 0 --nccl-port 17502 {decode} 1 --incremental-streaming-output"
    )
    assert steps["decode_0_r1"].probe is None


def test_vllm_on_one_node(workers: Workers) -> None:
    steps = workers(
        "engine: vllm\n"
        "roles:\n"
        "  prefill: {nodes: 1, gpus: 2, sidecar: true, kv_events: true, env: {VLLM_PLUGINS: mine}}\n"
        "  decode: {nodes: 1, sidecar: true, args: {data-parallel-size: 8, max-model-len: 4096}}\n"
    )
    server = "vllm-rs serve /models/tiny --served-model-name tiny --host 127.0.0.1 --port 6100 --grpc-port"
    nixl = """--kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"kv_both"}'"""
    events = (
        '{"publisher":"zmq","topic":"kv-events","enable_kv_cache_events":true,"endpoint":"tcp://ip-n0:5550"}'
    )
    assert {name: pair(step) for name, step in steps.items()} == {
        "prefill_0": (
            f"{server} 50051 {nixl} --kv-events-config '{events}'",
            "python3 -m dynamo.vllm.sidecar --grpc-endpoint 127.0.0.1:50051 --disaggregation-mode prefill"
            " --component prefill",
        ),
        "decode_0": (
            f"{server} 50052 --data-parallel-size-local 8 --data-parallel-address ip-n1"
            f" --data-parallel-rpc-port 8400 {nixl} --data-parallel-size 8 --max-model-len 4096",
            "python3 -m dynamo.vllm.sidecar --grpc-endpoint 127.0.0.1:50052 --disaggregation-mode decode",
        ),
    }
    env = steps["prefill_0"].command.env
    # Its server takes no --device-ids, so the variable names the GPUs.
    assert (env["VLLM_PLUGINS"], env["CUDA_VISIBLE_DEVICES"]) == ("mine", "0,1")
    assert steps["decode_0"].command.env["VLLM_PLUGINS"] == ""


def test_vllm_over_nodes(workers: Workers) -> None:
    """Data-parallel ranks are served on each node; ranks of one replica by its leader alone."""
    steps = workers(
        "engine: {type: vllm, connector: null}\n"
        "roles:\n"
        "  prefill: {nodes: 2, args: {data-parallel-size: 16}}\n"
        "  decode: {nodes: 2, args: {tensor-parallel-size: 16, api-server-count: 1}}\n"
        "dynamo: {sidecar: true}\n"
    )
    server = (
        "env VLLM_USE_RUST_FRONTEND=1 python3 -m vllm.entrypoints.cli.main serve /models/tiny"
        " --served-model-name tiny"
    )
    listening = "--host 127.0.0.1 --port 6100 --grpc-port"
    meeting = "--data-parallel-address ip-n0 --data-parallel-rpc-port 8400"
    ranks = (
        "--distributed-executor-backend mp --nnodes 2 --node-rank {} --master-addr ip-n2 --master-port 20100"
    )
    engines = {name: pair(steps[name])[0] for name in ("prefill_0", "prefill_0_r8", "decode_0")}
    assert engines == {
        "prefill_0": (
            f"{server} {listening} 50051 --data-parallel-size-local 8 {meeting}"
            " --data-parallel-start-rank 0 --data-parallel-hybrid-lb --data-parallel-size 16"
        ),
        "prefill_0_r8": (
            f"{server} {listening} 50052 --data-parallel-size-local 8 {meeting}"
            " --data-parallel-start-rank 8 --data-parallel-hybrid-lb --data-parallel-size 16"
        ),
        "decode_0": (
            f"{server} {listening} 50053 {ranks.format(0)} --api-server-count 1 --tensor-parallel-size 16"
        ),
    }
    assert words(steps["decode_0_r1"]) == (f"{server} {ranks.format(1)} --headless --tensor-parallel-size 16")


def test_trtllm_has_one_on_its_first_rank(workers: Workers) -> None:
    (step,) = workers(
        "engine: trtllm\n"
        "roles: {agg: {nodes: 1, sidecar: true, args: {max_seq_len: 4096}}}\n"
        "dynamo: {sidecar: true, sidecar_context_length: 2048}\n"
    ).values()
    engine = (
        "trtllm-llmapi-launch python3 -m tensorrt_llm.commands.serve /models/tiny --grpc --host 127.0.0.1"
        " --port 50051 --extra_llm_api_options '<LOGS>/trtllm_config_agg.yaml'"
    )
    sidecar = (
        "python3 -m dynamo.trtllm.sidecar --grpc-endpoint 127.0.0.1:50051 --model-path /models/tiny"
        " --context-length 2048"
    )
    first = '[ "${SLURM_PROCID:-0}" = 0 ] || { wait $engine; finish 1; }\n'
    script = SCRIPT.format(engine, first, 50051, 50051, 3600, 50051, sidecar)
    assert step.command.argv == ("bash", "-c", script)
    assert step.tasks == 8


@pytest.mark.parametrize(
    ("recipe", "fault"),
    [
        ("engine: mocker\nroles: {agg: {nodes: 1, sidecar: true}}\n",
         "roles.agg.sidecar: the engine mocker has no sidecar: it registers with Dynamo itself"),
        ("engine: trtllm\nroles: {prefill: {nodes: 1, sidecar: true}, decode: {nodes: 1, sidecar: true}}\n",
         "roles.prefill.sidecar: beside sidecars trtllm runs agg workers alone: remove it, or the roles"),
        ("engine: {type: vllm, dp_launch_mode: per_gpu}\nroles: {agg: {nodes: 1, sidecar: true}}\n",
         "roles.agg.sidecar: beside sidecars vLLM runs a process a node: say dp_launch_mode: per_node"),
        ("engine: vllm\nroles: {agg: {nodes: 1, sidecar: true, args: {api_server_count: 4}}}\n",
         "roles.agg.args.api_server_count: beside a sidecar one Rust server answers: remove it"),
        ("engine: vllm\nroles:\n  agg: {nodes: 4, sidecar: true,"
         " args: {data-parallel-size: 2, tensor-parallel-size: 16}}\n",
         "roles.agg.args.data-parallel-size: beside sidecars a rank over several nodes is a worker"),
        ("engine: sglang\nroles: {prefill: {nodes: 1, sidecar: true}, decode: {nodes: 1}}\n",
         "roles.prefill.sidecar: all roles run beside a sidecar, or none: decode has none"),
        ("engine: sglang\nroles: {agg: {nodes: 1, sidecar: true}}\ndynamo: {request_plane: http}\n",
         "dynamo.request_plane: sidecars talk by tcp or nats: say one of them"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused(plan: Planner, recipe: str, fault: str) -> None:
    with pytest.raises(RecipeError) as caught:
        plan(recipe)
    assert fault in str(caught.value)


LISTEN = (
    "import socket, sys, time; s = socket.create_server(('127.0.0.1', int(sys.argv[1])));"
    " time.sleep(float(sys.argv[2]))"
)


def start(engine: list[str], sidecar: list[str], port: int, **env: str) -> subprocess.Popen[str]:
    command = together(engine, sidecar, port, DynamoSection(sidecar_startup_timeout=30), first_rank=True)
    return subprocess.Popen(command, env={**os.environ, **env}, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def listening(port: int, seconds: float = 300) -> list[str]:
    return [sys.executable, "-c", LISTEN, str(port), str(seconds)]


def marking(path: Path, *then: str) -> list[str]:
    return ["bash", "-c", f"echo $$ > {shlex.quote(str(path))}; {' '.join(then)}"]


def appears(path: Path) -> bool:
    for _ in range(600):
        if path.exists() and path.read_text():
            return True
        time.sleep(0.1)
    return False


def test_the_end_of_the_sidecar_ends_the_engine(port: int, tmp_path: Path) -> None:
    running = start(listening(port), marking(tmp_path / "sidecar", "exit 0"), port)
    assert running.wait(60) == 1
    assert (tmp_path / "sidecar").exists()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


def test_an_engine_that_never_listens_gets_no_sidecar(port: int, tmp_path: Path) -> None:
    running = start(["bash", "-c", "exit 3"], marking(tmp_path / "sidecar"), port)
    assert running.wait(60) == 1
    assert running.stderr is not None
    assert running.stderr.read() == f"the engine ended before its port {port} answered\n"
    assert not (tmp_path / "sidecar").exists()


def test_a_signal_ends_both(port: int, tmp_path: Path) -> None:
    running = start(listening(port), marking(tmp_path / "sidecar", "exec sleep 300"), port)
    assert appears(tmp_path / "sidecar")
    running.send_signal(signal.SIGTERM)
    assert running.wait(60) == 143
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "sidecar").read_text()), 0)


def test_further_ranks_have_none(port: int, tmp_path: Path) -> None:
    running = start(listening(port, 0), marking(tmp_path / "sidecar"), port, SLURM_PROCID="1")
    assert running.wait(60) == 1
    assert not (tmp_path / "sidecar").exists()

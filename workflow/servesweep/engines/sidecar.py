"""An engine and Dynamo's sidecar beside it, as one command: they live and end together.

Source of the sidecars' flags: `python3 -m dynamo.<engine>.sidecar --help`, ai-dynamo 1.6.1; how they are
started follows srt-slurm: https://github.com/NVIDIA/srt-slurm, `docs/sidecars.md`.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from servesweep.recipe.dynamo import DynamoSection
from servesweep.topology.deployment import Deployment
from servesweep.topology.ports import SIDECAR
from servesweep.topology.shapes import ProcessPlace

# Whichever ends first ends the other, and either end is a failure of the worker.
TOGETHER = """\
{engine} &
engine=$! sidecar=
finish() {{
  trap - TERM INT
  kill $engine $sidecar 2> /dev/null
  (sleep {patience}; kill -KILL $engine $sidecar) > /dev/null 2>&1 &
  wait $engine $sidecar
  kill $! 2> /dev/null
  exit "$1"
}}
trap 'finish 143' TERM INT
{alone}seconds=0
until (exec 3<> /dev/tcp/127.0.0.1/{port}) 2> /dev/null; do
  kill -0 $engine 2> /dev/null || {{ echo "the engine ended before its port {port} answered" >&2; finish 1; }}
  [ $((seconds += 1)) -le {timeout} ] || {{ echo "the engine's port {port} stays silent" >&2; finish 1; }}
  sleep 1
done
{sidecar} &
sidecar=$!
while kill -0 $engine && kill -0 $sidecar; do sleep 1; done 2> /dev/null
finish 1"""
PATIENCE = 10  # seconds between asking a process to end and ending it
# Of a launch over all ranks, the first alone answers by gRPC.
FIRST_RANK = '[ "${SLURM_PROCID:-0}" = 0 ] || { wait $engine; finish 1; }\n'


def grpc_port(process: ProcessPlace, dynamo: DynamoSection, deployment: Deployment) -> int:
    """The port between an engine and its sidecar: a number of its own for each process."""
    number = deployment.process_number(process)
    if dynamo.sidecar_port != SIDECAR.base:
        return dynamo.sidecar_port + number
    return deployment.port(process.node, SIDECAR, number)


def sidecar_words(module: str, port: int, dynamo: DynamoSection) -> list[str]:
    """The sidecar's program, and where its engine listens."""
    program = [dynamo.sidecar_binary] if dynamo.sidecar_binary else ["python3", "-m", f"{module}.sidecar"]
    return [*program, "--grpc-endpoint", f"127.0.0.1:{port}"]


def together(
    engine: Sequence[str],
    sidecar: Sequence[str],
    port: int,
    dynamo: DynamoSection,
    *,
    first_rank: bool = False,
) -> tuple[str, ...]:
    """One command that starts an engine, and its sidecar once the engine listens on a port.

    `first_rank`: the command is started for each rank, and only the first has a sidecar.
    """
    script = TOGETHER.format(
        engine=shlex.join(engine),
        sidecar=shlex.join([*sidecar, *dynamo.sidecar_args]),
        port=port,
        patience=PATIENCE,
        timeout=int(dynamo.sidecar_startup_timeout),
        alone=FIRST_RANK if first_rank else "",
    )
    return ("bash", "-c", script)

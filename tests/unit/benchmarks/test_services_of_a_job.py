"""How a user's own client finds services, and how a job without load ends with its terminal ones."""

from __future__ import annotations

import json
from dataclasses import replace

from servesweep.benchmarks import BENCHMARKS, BenchmarkContext
from servesweep.benchmarks.benchmark import services_environment
from servesweep.topology.deployment import Binding, Deployment

POOL = Deployment(
    model_path="/models/llama",
    served_model="llama",
    transport="http",
    gpus_per_node=8,
    processes=(),
    head="n0",
    frontend="n0",
    infra="n0",
    public_port=8000,
    binding=Binding(
        addresses={"n0": "10.0.0.1", "n1": "10.0.0.2"}, hosts={"n1": "rack2"}, logs="/my runs/logs"
    ),
    services={"train": ("n1", "n0"), "log-shipper": ("n0",)},
)


def test_services_are_found_first_instance_first() -> None:
    assert services_environment(POOL) == {
        "SRT_SERVICE_TRAIN_NODES": "rack2,n0",
        "SRT_SERVICE_TRAIN_IPS": "10.0.0.2,10.0.0.1",
        "SRT_SERVICE_TRAIN_NODE_COUNT": "2",
        "SRT_SERVICE_LOG_SHIPPER_NODES": "n0",
        "SRT_SERVICE_LOG_SHIPPER_IPS": "10.0.0.1",
        "SRT_SERVICE_LOG_SHIPPER_NODE_COUNT": "1",
    }


def test_a_job_with_terminal_services_waits_for_their_end_and_not_for_ever() -> None:
    manual = BENCHMARKS["manual"]
    options = manual.Options()
    (load,) = manual.loads(options)
    commands = []
    for deployment in (POOL, replace(POOL, terminal=("train",))):
        context = BenchmarkContext(
            configuration="demo", digest="0", url=None, deployment=deployment, directory="/p", output="/p/r"
        )
        (text,) = manual.command(load, options, context).files.values()
        commands.append(json.loads(text)["command"])
    assert commands == [
        "exec sleep infinity",
        "until [ -e '/my runs/logs/terminal_services.ended' ]; do sleep 0.5; done",
    ]

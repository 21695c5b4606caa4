"""Arguments of the simulator that are more than flags."""

from collections.abc import Mapping
from typing import Any

import pytest

from servesweep.engines.engine import WorkerSpec
from servesweep.engines.simulator import Simulator
from servesweep.topology.deployment import Binding, Deployment
from servesweep.topology.shapes import ProcessPlace

PLACE = ProcessPlace("decode", 0, 0, "n0", (0,), ("n0",), 7500, 5400, 17500, 20000, http_port=6100)
DEPLOYMENT = Deployment(
    model_path="/m",
    served_model="llama",
    transport="http",
    gpus_per_node=8,
    processes=(PLACE,),
    head="n0",
    frontend="n0",
    infra="n0",
    public_port=8000,
    binding=Binding(addresses={"n0": "ip-n0"}),
)


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({}, []),
        ({"ttft-ms": 5, "served_model_name": "llama"}, ["--ttft-ms", "5"]),
        ({"fault": "exit:after=3"}, ["--fault", "exit:after=3"]),
        ({"fault": ["a", "b"], "itl_ms": 1}, ["--itl-ms", "1", "--fault", "a", "--fault", "b"]),
    ],
)
def test_words_of_a_worker(args: Mapping[str, Any], expected: list[str]) -> None:
    argv = Simulator().command(PLACE, WorkerSpec(args), DEPLOYMENT).argv
    assert " ".join(argv[:13]) == (
        "python3 -m servesweep.simulator --model-path /m --host 0.0.0.0 --port 6100"
        " --model-name llama --mode decode"
    )
    assert list(argv[13:]) == expected

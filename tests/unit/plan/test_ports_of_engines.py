"""Ports that only an engine knows of, beside those of other processes and of services."""

from collections.abc import Callable

import pytest

AGG = "roles: {agg: {nodes: 1, workers: 8, gpus: 1%s}}\n"
RAY = (
    'engine: vllm\nreplicas: 1\nnodes_per_replica: 2\nframework_args: "--tensor-parallel-size 16"\n'
    "services: [{name: ray, type: ray, placement: {node: all}}]\n"
)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("engine: {type: vllm, connector: kvbm}\nroles: {agg: {nodes: 25, workers: 200, gpus: 1}}\n",
         "both listen on port 6"),
        ("engine: vllm\ndynamo: {sidecar: true, sidecar_port: 6098}\n" + AGG % "",
         "agg_0 and agg_2 both listen on port 6100 of n0"),
        ("engine: vllm\ndynamo: {sidecar: true, sidecar_port: 65533}\n" + AGG % "",
         "would listen on port 65536, beyond 65535"),
        (RAY, "ray_n0 and agg_0 both listen on port 6379 of n0"),
        ("engine: sglang\nroles: {agg: {nodes: 2, workers: 1}}\n"
         "services: [{name: own, command: [x], readiness: {port: 8300}}]\n",
         "own and agg_0 both listen on port 8300 of n0"),
        ("engine: vllm\nroles: {agg: {nodes: 1, workers: 1, kv_events: true,"
         " args: {data-parallel-size: 8}}}\n"
         "services: [{name: own, command: [x], readiness: {port: 5553}}]\n",
         "both listen on port 5553 of n0"),
        ("engine: vllm\n" + AGG % "" + "services: [{name: own, command: [x], readiness: {port: 20060}}]\n",
         "own and agg_1 both listen on port 20060 of n0"),
    ],
)  # fmt: skip
def test_none_is_used_twice(complaint: Callable[..., str], text: str, sentence: str) -> None:
    assert sentence in complaint(text)

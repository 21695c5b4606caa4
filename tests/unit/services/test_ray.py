"""A Ray cluster: a head on the first node, the others join it."""

import re
from collections.abc import Callable

from servesweep.services.instance import Instance
from servesweep.services.ray import Ray, RayOptions
from servesweep.topology.deployment import Probe, Readiness

TWO = ("n1", "n0")


def test_the_first_instance_is_the_head(instance: Callable[..., Instance]) -> None:
    command = Ray().command(instance("n1", nodes=TWO), RayOptions())
    assert command.argv == (
        "ray", "start", "--node-ip-address=10.0.0.2", "--num-gpus=4", "--disable-usage-stats", "--block",
        "--head", "--port=6379", "--dashboard-host=0.0.0.0", "--dashboard-port=8265",
        "--temp-dir=/scratch/servesweep-job-17/ray",
    )  # fmt: skip
    assert command.env == {"CUDA_VISIBLE_DEVICES": "0,1,2,3", "RAY_memory_monitor_refresh_ms": "0"}


def test_the_others_join_it(instance: Callable[..., Instance]) -> None:
    command = Ray().command(instance("n0", nodes=TWO), RayOptions(port=7000, num_gpus=0))
    assert command.argv == (
        "ray", "start", "--node-ip-address=10.0.0.1", "--num-gpus=0", "--disable-usage-stats", "--block",
        "--address=10.0.0.2:7000",
    )  # fmt: skip
    assert command.env["CUDA_VISIBLE_DEVICES"] == ""


def test_it_is_ready_when_the_head_counts_every_member(instance: Callable[..., Instance]) -> None:
    ray, options = Ray(), RayOptions()
    version = Probe(kind="http", port=8265, path="/api/version")
    assert ray.readiness(instance("n1", nodes=TWO), options) == Readiness(
        probes=(version,), timeout_seconds=600
    )
    last = ray.readiness(instance("n0", nodes=TWO), options)
    (members,) = last.probes
    assert (last.log, members.node, members.path) == ("Ray runtime started", "n1", "/nodes?view=summary")
    one = '{"data": {"summary": [{"raylet": {"state": "ALIVE"}}, {"raylet": {"state": "DEAD"}}'
    assert members.body is not None
    assert not re.search(members.body, one)
    assert re.search(members.body, one + ', {"raylet": {"nodeId": "a", "state": "ALIVE"}}]}}')


def test_a_cluster_of_one_is_ready_by_its_dashboard_alone(instance: Callable[..., Instance]) -> None:
    found = Ray().readiness(instance("n1"), RayOptions())
    assert [(probe.path, probe.node) for probe in found.probes] == [
        ("/api/version", None), ("/nodes?view=summary", None),
    ]  # fmt: skip
    assert found.log is None


def test_only_the_head_has_ports_of_its_own(instance: Callable[..., Instance]) -> None:
    assert Ray().ports(instance("n1", nodes=TWO), RayOptions()) == (6379, 8265)
    assert Ray().ports(instance("n0", nodes=TWO), RayOptions()) == ()

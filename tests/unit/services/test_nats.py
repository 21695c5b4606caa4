"""The message bus of Dynamo's planes."""

from collections.abc import Callable

from servesweep.services.etcd import Etcd
from servesweep.services.instance import Instance
from servesweep.services.nats import Nats, NatsOptions
from servesweep.topology.deployment import Binding, Command, Probe, Readiness

STORE = "/scratch/servesweep-job-17/nats"


def test_it_keeps_its_data_in_the_scratch_directory(instance: Callable[..., Instance]) -> None:
    assert Nats().command(instance(), NatsOptions()) == Command(
        argv=("nats-server", "-js", "-sd", STORE, "-p", "4222")
    )


def test_the_size_of_messages_is_told_by_a_file_where_the_server_sees_it(
    instance: Callable[..., Instance],
) -> None:
    assert Nats().command(instance(logs="/logs"), NatsOptions(max_payload_mb=32)) == Command(
        argv=("nats-server", "-js", "-sd", STORE, "-p", "4222", "-c", "/logs/nats.conf"),
        files={"/runs/7/logs/nats.conf": "max_payload: 33554432\n"},
    )


def test_it_is_asked_and_found_at_its_client_port(
    instance: Callable[..., Instance], binding: Binding
) -> None:
    nats = Nats()
    assert nats.readiness(instance(), NatsOptions()) == Readiness(
        probes=(Probe(kind="tcp", port=4222),), timeout_seconds=300
    )
    assert nats.discovery(nats.url("n0", binding)) == {"NATS_SERVER": "nats://10.0.0.1:4222"}


def test_one_that_runs_elsewhere_is_named_by_its_url_or_by_host_and_port() -> None:
    assert Nats().external_url("bus.lab:4222") == "nats://bus.lab:4222"
    assert Etcd().external_url("http://etcd.lab:2379") == "http://etcd.lab:2379"

"""The message bus of Dynamo's planes."""

from servesweep.services import SERVICES
from servesweep.services.nats import NatsOptions
from servesweep.topology.deployment import Binding, Command, Probe

BINDING = Binding(addresses={"n0": "10.0.0.1"}, logs="/runs/7/logs", scratch="/scratch/17")


def test_it_keeps_its_data_in_the_scratch_directory() -> None:
    assert SERVICES["nats"].command("n0", BINDING) == Command(
        argv=("nats-server", "-js", "-sd", "/scratch/17/nats", "-p", "4222")
    )


def test_the_size_of_messages_is_told_by_a_file() -> None:
    assert SERVICES["nats"].command("n0", BINDING, NatsOptions(max_payload_mb=32)) == Command(
        argv=(
            "nats-server", "-js", "-sd", "/scratch/17/nats", "-p", "4222", "-c", "/runs/7/logs/nats.conf",
        ),
        files={"/runs/7/logs/nats.conf": "max_payload: 33554432\n"},
    )  # fmt: skip


def test_it_is_asked_and_found_at_its_client_port() -> None:
    nats = SERVICES["nats"]
    assert nats.probe() == Probe(kind="tcp", port=4222)
    assert nats.discovery(nats.url("n0", BINDING)) == {"NATS_SERVER": "nats://10.0.0.1:4222"}


def test_one_that_runs_elsewhere_is_named_by_its_url_or_by_host_and_port() -> None:
    assert SERVICES["nats"].external_url("bus.lab:4222") == "nats://bus.lab:4222"
    assert SERVICES["etcd"].external_url("http://etcd.lab:2379") == "http://etcd.lab:2379"

"""The discovery plane of Dynamo."""

from servesweep.services import SERVICES
from servesweep.topology.deployment import Binding, Probe

BINDING = Binding(addresses={"n0": "10.0.0.1", "n1": "10.0.0.2"}, scratch="/scratch/17")


def test_a_single_member_listens_for_the_other_nodes_and_keeps_its_data_in_the_scratch_directory() -> None:
    assert SERVICES["etcd"].command("n1", BINDING).argv == (
        "etcd",
        "--name", "servesweep",
        "--data-dir", "/scratch/17/etcd",
        "--listen-client-urls", "http://0.0.0.0:2379",
        "--advertise-client-urls", "http://10.0.0.2:2379",
        "--listen-peer-urls", "http://10.0.0.2:2380",
        "--initial-advertise-peer-urls", "http://10.0.0.2:2380",
        "--initial-cluster", "servesweep=http://10.0.0.2:2380",
    )  # fmt: skip


def test_it_is_asked_and_found_at_its_client_port() -> None:
    assert SERVICES["etcd"].probe() == Probe(kind="http", port=2379)
    url = SERVICES["etcd"].url("n0", BINDING)
    assert SERVICES["etcd"].discovery(url) == {
        "ETCD_ENDPOINTS": "http://10.0.0.1:2379",
        "DYN_DISCOVERY_BACKEND": "etcd",
    }

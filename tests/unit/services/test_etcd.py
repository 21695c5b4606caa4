"""The discovery plane of Dynamo."""

from collections.abc import Callable

from servesweep.services import SERVICES
from servesweep.services.etcd import Etcd
from servesweep.services.instance import Instance
from servesweep.services.service import NoServiceOptions
from servesweep.topology.deployment import Binding, Probe, Readiness

NONE = NoServiceOptions()


def test_a_single_member_listens_for_the_other_nodes_and_keeps_its_data_in_the_scratch_directory(
    instance: Callable[..., Instance],
) -> None:
    assert SERVICES["etcd"].command(instance("n1"), NONE).argv == (
        "etcd",
        "--name", "servesweep",
        "--data-dir", "/scratch/servesweep-job-17/etcd",
        "--listen-client-urls", "http://0.0.0.0:2379",
        "--advertise-client-urls", "http://10.0.0.2:2379",
        "--listen-peer-urls", "http://10.0.0.2:2380",
        "--initial-advertise-peer-urls", "http://10.0.0.2:2380",
        "--initial-cluster", "servesweep=http://10.0.0.2:2380",
    )  # fmt: skip


def test_it_is_asked_and_found_at_its_client_port(
    instance: Callable[..., Instance], binding: Binding
) -> None:
    etcd = Etcd()
    probe = Probe(kind="http", port=2379)
    assert etcd.readiness(instance(), NONE) == Readiness(probes=(probe,), timeout_seconds=300)
    assert etcd.ports(instance(), NONE) == (2379, 2380)
    assert etcd.discovery(etcd.url("n0", binding)) == {
        "ETCD_ENDPOINTS": "http://10.0.0.1:2379",
        "DYN_DISCOVERY_BACKEND": "etcd",
    }


def test_it_starts_before_everything_else_and_the_run_depends_on_it() -> None:
    assert (Etcd.start, Etcd.place, Etcd.critical) == ("infra", "infra", True)

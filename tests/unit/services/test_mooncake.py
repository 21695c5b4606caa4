"""Mooncake's master, its stores, and the donors of TensorRT-LLM."""

from collections.abc import Callable

from servesweep.services.instance import Instance
from servesweep.services.mooncake_donor import MooncakeDonor, MooncakeDonorOptions
from servesweep.services.mooncake_master import MooncakeMaster, MooncakeMasterOptions, master_environment
from servesweep.services.mooncake_store import MooncakeStore
from servesweep.services.service import NoServiceOptions
from servesweep.topology.deployment import Binding, Command, Probe, Readiness


def test_the_master_has_its_three_ports_and_is_ready_when_all_accept(
    instance: Callable[..., Instance],
) -> None:
    options = MooncakeMasterOptions()
    assert MooncakeMaster().command(instance(), options).argv == (
        "mooncake_master", "--port=8700",
        "--enable_http_metadata_server=true", "--http_metadata_server_port=8701",
        "--eviction_high_watermark_ratio=0.9", "--default_kv_lease_ttl=10000", "--rpc_thread_num=16",
        "--enable_metric_reporting=true", "--metrics_port=8702",
    )  # fmt: skip
    assert MooncakeMaster().readiness(instance(), options).probes == (
        Probe(kind="tcp", port=8700), Probe(kind="tcp", port=8701), Probe(kind="tcp", port=8702),
    )  # fmt: skip


def test_workers_are_told_where_the_master_is(binding: Binding) -> None:
    master = MooncakeMaster()
    assert master.for_workers(master.url("n0", binding), "10.0.0.2") == (
        {"MOONCAKE_LOCAL_HOSTNAME": "10.0.0.2"},
        {
            "MOONCAKE_MASTER": "10.0.0.1:8700",
            "MOONCAKE_TE_META_DATA_SERVER": "http://10.0.0.1:8701/metadata",
        },
    )


def test_a_master_elsewhere_may_be_named_without_its_port() -> None:
    assert MooncakeMaster().external_url("store.lab") == "store.lab:8700"
    assert MooncakeMaster().external_url("http://store.lab:99/") == "store.lab:99"
    assert master_environment("store.lab:99")["MOONCAKE_MASTER"] == "store.lab:99"


def test_a_store_knows_the_master_and_its_own_name(instance: Callable[..., Instance]) -> None:
    store, at = MooncakeStore(), instance("n1")
    assert store.command(at, NoServiceOptions()) == Command(
        argv=("python3", "-m", "mooncake.mooncake_store_service"),
        env={"MOONCAKE_LOCAL_HOSTNAME": "10.0.0.2"},
    )
    assert store.owned_environment(at) == {"MOONCAKE_MASTER": "10.0.0.1:8700"}


def test_a_donor_is_ready_when_its_file_is_there(instance: Callable[..., Instance]) -> None:
    donor, options = MooncakeDonor(), MooncakeDonorOptions(size="640GiB")
    command = donor.command(instance("n1", logs="/logs"), options)
    assert command.argv == (
        "trtllm-serve", "mooncake_donor", "--master_server_address", "10.0.0.1:8700",
        "--segment_size", "640GiB", "--protocol", "rdma", "--ready_file", "/logs/mooncake/donor-n1.ready",
    )  # fmt: skip
    assert donor.readiness(instance("n1"), options) == Readiness(file="/runs/7/logs/mooncake/donor-n1.ready")

"""LMCache beside the workers, and what a scraper asks on every node."""

from __future__ import annotations

from collections.abc import Callable

import yaml

from servesweep.services.dcgm_exporter import DcgmExporter, DcgmExporterOptions
from servesweep.services.exporter import ExporterOptions
from servesweep.services.gms import Gms, GmsOptions
from servesweep.services.instance import Instance
from servesweep.services.lmcache_server import LmcacheServer
from servesweep.services.node_exporter import NodeExporter
from servesweep.services.process_exporter import ProcessExporter, ProcessExporterOptions
from servesweep.services.service import NoServiceOptions
from servesweep.topology.deployment import Probe, Readiness


def test_lmcache_serves_the_engines_and_answers_by_http(instance: Callable[..., Instance]) -> None:
    server, none = LmcacheServer(), NoServiceOptions()
    assert server.command(instance(), none).argv == (
        "lmcache", "server", "--host", "0.0.0.0", "--port", "8750",
        "--http-host", "0.0.0.0", "--http-port", "8751",
    )  # fmt: skip
    probe = Probe(kind="http", port=8751, path="/healthcheck")
    assert server.readiness(instance(), none) == Readiness(probes=(probe,), timeout_seconds=300)
    assert server.ports(instance(), none) == (8750, 8751)


def test_dcgm_exporter(instance: Callable[..., Instance]) -> None:
    options = DcgmExporterOptions(port=9400, collect_interval_ms=250)
    assert DcgmExporter().command(instance(), options).argv == (
        "dcgm-exporter", "--collect-interval=250", "--address", ":9400",
    )  # fmt: skip
    assert DcgmExporter().ports(instance(), DcgmExporterOptions()) == (9401,)


def test_node_exporter(instance: Callable[..., Instance]) -> None:
    argv = NodeExporter().command(instance(), ExporterOptions()).argv
    assert argv == (
        "node_exporter", "--web.listen-address=:9101", "--collector.disable-defaults",
        "--collector.cpu", "--collector.infiniband", "--collector.meminfo", "--collector.processes",
        "--collector.stat", "--collector.vmstat", "--collector.pressure", "--collector.meminfo_numa",
        "--collector.vmstat.fields=^(oom_kill|pgpg|pswp|pgsteal|pg.*fault).*",
    )  # fmt: skip


def test_process_exporter_is_told_its_groups_by_a_file(instance: Callable[..., Instance]) -> None:
    command = ProcessExporter().command(instance(), ProcessExporterOptions(binary="/opt/px"))
    assert command.argv == (
        "/opt/px", "-config.path", "/runs/7/logs/process-exporter.yml", "-web.listen-address=:9256",
        "-threads=true", "-children=false", "-recheck=false",
    )  # fmt: skip
    (text,) = command.files.values()
    assert [group["name"] for group in yaml.safe_load(text)["process_names"]] == [
        "frontend", "router", "worker", "etcd", "nats", "client",
    ]  # fmt: skip


def test_the_end_of_an_exporter_costs_only_its_numbers() -> None:
    for kind in (DcgmExporter, NodeExporter, ProcessExporter):
        assert (kind.critical, kind.start) == (False, "after_frontend")


def test_gms_runs_a_server_for_each_gpu_of_its_worker(instance: Callable[..., Instance]) -> None:
    command = Gms().command(instance("n1", worker=True), GmsOptions())
    assert command.env == {"GMS_SOCKET_DIR": "/dev/shm/servesweep-job-17/decode_3"}
    assert command.argv[:2] == ("bash", "-c")
    assert "for gpu in $(seq 0 $((2 - 1))); do" in command.argv[2]
    assert "-ge 4 ]" in command.argv[2]
    assert Gms().readiness(instance("n1", worker=True), GmsOptions()).log == "GMS ready:"

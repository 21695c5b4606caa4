"""Services beside the workers, one file each; adding one is a file and a line here."""

from __future__ import annotations

from servesweep.services.dcgm_exporter import DcgmExporter
from servesweep.services.etcd import Etcd
from servesweep.services.generic import Generic
from servesweep.services.gms import Gms
from servesweep.services.lmcache_server import LmcacheServer
from servesweep.services.mooncake_donor import MooncakeDonor
from servesweep.services.mooncake_master import MooncakeMaster
from servesweep.services.mooncake_store import MooncakeStore
from servesweep.services.nats import Nats
from servesweep.services.node_exporter import NodeExporter
from servesweep.services.process_exporter import ProcessExporter
from servesweep.services.ray import Ray
from servesweep.services.service import Service

SERVICES: dict[str, Service] = {
    service.name: service
    for service in (
        Generic(),
        Etcd(),
        Nats(),
        MooncakeMaster(),
        MooncakeDonor(),
        MooncakeStore(),
        DcgmExporter(),
        NodeExporter(),
        ProcessExporter(),
        LmcacheServer(),
        Ray(),
        Gms(),
    )
}

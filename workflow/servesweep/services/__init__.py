"""Services beside the workers, one file each; adding one is a file and a line here."""

from __future__ import annotations

from servesweep.services.etcd import Etcd
from servesweep.services.nats import Nats
from servesweep.services.service import Service

SERVICES: dict[str, Service] = {service.name: service for service in (Etcd(), Nats())}

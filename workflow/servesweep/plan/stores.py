"""What workers are told of the Mooncake master, where a job has one."""

from __future__ import annotations

import json
from collections.abc import Sequence

from servesweep.plan.plan import Step
from servesweep.plan.service_steps import Placed
from servesweep.recipe.variants import Variant
from servesweep.services.mooncake_master import MooncakeMasterOptions
from servesweep.services.service import SharedService
from servesweep.topology.deployment import Deployment, changed

CONFIG = "mooncake_store_config.json"


def with_stores(
    workers: Sequence[Step], services: Sequence[Placed], deployment: Deployment, variant: Variant
) -> list[Step]:
    """The workers' steps with the variables of services that every worker has to find.

    Names as in srt-slurm (https://github.com/NVIDIA/srt-slurm, `docs/services.md`): the worker's host name
    may be changed by the recipe, the master's address may not.
    """
    steps = list(workers)
    for service in services:
        kind, url = service.wanted.kind, service.url(deployment.binding)
        if not isinstance(kind, SharedService) or url is None:
            continue
        options = service.wanted.options(variant) if service.nodes else None
        config = options.store_config if isinstance(options, MooncakeMasterOptions) else {}
        for at, step in enumerate(steps):
            may, must = kind.for_workers(url, deployment.address(step.node))
            if not (may or must):
                break
            must |= deployment.stores
            if config:
                must["MOONCAKE_CONFIG_PATH"] = f"{deployment.logs}/{CONFIG}"
            command = changed(step.command, env={**may, **step.command.env, **must})
            if config and at == 0:
                text = json.dumps({**config, "master_server_address": url}, indent=1) + "\n"
                files = {**command.files, f"{deployment.binding.logs}/{CONFIG}": text}
                command = changed(command, files=files)
            steps[at] = changed(step, command=command)
    return steps

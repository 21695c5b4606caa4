"""A Ray cluster over the nodes of one replica, as ADR-0001 of swiss-ai/model-launch starts vLLM over nodes.

Source of the commands: https://docs.ray.io, `ray start --help`, and vLLM's page on multi-node serving.
"""

from __future__ import annotations

from servesweep.topology.deployment import Deployment
from servesweep.topology.ports import RAY
from servesweep.topology.shapes import ProcessPlace

# The engine starts once every GPU of the replica has joined; how long that may take the health gate says.
HEAD = """\
ray start --head --node-ip-address={address} --port={port} --num-gpus={gpus} --disable-usage-stats
until python3 -c 'import ray, sys; ray.init(address="auto"); \
sys.exit(ray.cluster_resources().get("GPU", 0) < {all_gpus})' > /dev/null 2>&1
do sleep 2; done
exec "$0" "$@\""""


def ray_command(process: ProcessPlace, deployment: Deployment, engine: list[str]) -> tuple[str, ...]:
    """The command of one rank: the first starts the cluster and the engine, the others join it.

    Args:
        process: the rank.
        deployment: the deployment around it.
        engine: words of the engine, which only the first rank runs.
    """
    ranks = deployment.ranks(process)
    head = deployment.address(ranks[0].node)
    if process.rank:
        words = ("ray", "start", f"--address={head}:{RAY}", f"--num-gpus={len(process.gpus)}")
        return (*words, "--disable-usage-stats", "--block")
    script = HEAD.format(
        address=head, port=RAY, gpus=len(process.gpus), all_gpus=sum(len(rank.gpus) for rank in ranks)
    )
    return ("bash", "-c", script, *engine)

"""A Ray cluster over the nodes of one replica, as ADR-0001 of swiss-ai/model-launch starts vLLM over nodes.

Source of the commands: https://docs.ray.io, `ray start --help`, and vLLM's page on multi-node serving.
"""

from __future__ import annotations

from servesweep.topology.deployment import Command, Deployment
from servesweep.topology.ports import RAY
from servesweep.topology.shapes import ProcessPlace

# How often a node looks for the head, every 2 s: a head's first start may read gigabytes. Ray looks 20 times.
LOOKS = "300"
# The engine starts once every GPU of the replica has joined; how long that may take the health gate says.
# Whichever ends first, engine or cluster, ends the other: neither is of use alone.
HEAD = """\
ray start --head --node-ip-address={address} --port={port} --num-gpus={gpus} --include-dashboard=false \\
  --disable-usage-stats --block &
ray=$! engine=
finish() {{
  trap - TERM INT
  kill $engine $ray 2> /dev/null
  wait $engine $ray
  exit "$1"
}}
trap 'finish 143' TERM INT
export RAY_ADDRESS={address}:{port}
until python3 -c 'import ray, time; ray.init()
while ray.cluster_resources().get("GPU", 0) < {all_gpus}: time.sleep(1)' > /dev/null 2>&1
do kill -0 $ray || finish 1; sleep 1; done
"$0" "$@" &
engine=$!
wait -n $engine $ray
finish $?"""


def ray_command(process: ProcessPlace, deployment: Deployment, engine: list[str]) -> Command:
    """The command of one rank: the first starts the cluster and the engine, the others join it.

    Args:
        process: the rank.
        deployment: the deployment around it.
        engine: words of the engine, which only the first rank runs.
    """
    ranks = deployment.ranks(process)
    head = deployment.address(ranks[0].node)
    env = {"RAY_NUM_REDIS_GET_RETRIES": LOOKS}
    if deployment.log_mount is None:
        # Ray's own place is /tmp/ray, which belongs to whoever was first on the node.
        env["RAY_TMPDIR"] = deployment.binding.scratch
    if process.rank:
        words = ("ray", "start", f"--address={head}:{RAY}", f"--num-gpus={len(process.gpus)}")
        own = f"--node-ip-address={deployment.address(process.node)}"
        return Command(argv=(*words, own, "--disable-usage-stats", "--block"), env=env)
    script = HEAD.format(
        address=head,
        port=RAY,
        gpus=len(process.gpus),
        all_gpus=sum(len(rank.gpus) for rank in ranks),
    )
    return Command(argv=("bash", "-c", script, *engine), env=env)

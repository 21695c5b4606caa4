"""Every fixed port."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PortBlock:
    """A range of ports: the number k gets `base + k * stride` and owns `stride` ports from there."""

    name: str
    base: int
    stride: int = 1


# Worker processes. Bases and strides as in srt-slurm (https://github.com/NVIDIA/srt-slurm, `ports.py`),
# except for kv events, where its documentation and not its code is followed.
NIXL = PortBlock("NIXL side channel", 5400)  # each process, one number over the deployment
KV_EVENTS = PortBlock(
    "kv events", 5550
)  # each worker leader, one number over the deployment, in order of role
WORKER_HTTP = PortBlock("worker HTTP", 6100, 32)  # each worker leader, by address
BOOTSTRAP = PortBlock("prefill bootstrap", 7200)  # each prefill worker, by its leader's address
DYNAMO_SYSTEM = PortBlock("Dynamo system", 7500)  # each process, one number over the deployment
DIST_INIT = PortBlock("SGLang dist-init", 8300)  # each worker of several nodes, by its leader's address
DP_RPC = PortBlock("vLLM data-parallel RPC", 8400)  # each data-parallel worker, by its leader's address
NCCL = PortBlock("SGLang NCCL", 17500)  # follows the Dynamo system port
KVBM = PortBlock("KVBM leader", 5800, 2)  # publishing and acknowledging; follows the Dynamo system port
VLLM = PortBlock("VLLM_PORT", 20000, 50)  # follows the Dynamo system port; vLLM takes further ports upwards
# MoRI-IO's own listeners of each process: one for each of its GPUs, one row over the deployment.
MORIIO_HANDSHAKE = PortBlock("MoRI-IO handshake", 26000)
MORIIO_NOTIFY = PortBlock("MoRI-IO notify", 27000)
MASTER = PortBlock("meeting of ranks", 29500, 100)  # each engine on the GPUs of a worker of several nodes
SIDECAR = PortBlock("sidecar", 50051)  # follows the Dynamo system port, where the recipe names no other

# Replicas (swiss-ai/model-launch ADR-0001): one a node set, so 8080 on every head.
REPLICA_HTTP = PortBlock("replica HTTP", 8080)
REPLICA_ROUTER = 30000  # the in-job router over replicas
OPENTELA = (8092, 8093, 43905)  # OpenTela around a replica's head, one a host
RAY = 6379  # head of the Ray cluster of a replica over several nodes, or of a service

# Frontends.
PUBLIC = 8000  # where clients ask
DIRECT = PortBlock("public worker", PUBLIC)  # the one worker that clients ask without a frontend
VLLM_DISCOVERY = 36367  # where vLLM's workers register with their router, if they do
ROUTER_METRICS = 29000  # where the Rust routers tell their metrics, unasked
INTERNAL = PortBlock("frontend behind nginx", 8180)  # each frontend, by address

# Services.
ETCD_CLIENT = 2379
ETCD_PEER = 2380
NATS = 4222
MOONCAKE_RPC = 8700
MOONCAKE_METADATA = 8701
MOONCAKE_METRICS = 8702
LMCACHE_SERVER = 8750
LMCACHE_CONTROL = 8751
RAY_DASHBOARD = 8265
RAY_CLIENT = 10001
RAY_AGENT = 52365
NODE_EXPORTER = 9101
PROCESS_EXPORTER = 9256
DCGM_EXPORTER = 9401

HIGHEST = 65535


class PortError(ValueError):
    """Two things want the same port of an address, or a port is beyond 65535."""

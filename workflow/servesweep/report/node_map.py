"""The node map of a configuration: each node, and which worker has which of its GPUs."""

from dataclasses import dataclass, field

from servesweep.report.sweep import Configuration

LETTERS = {"prefill": "P", "decode": "D", "agg": "A"}


@dataclass
class Gpu:
    """One GPU: the worker that has it, such as role decode and label D1; both empty where none has."""

    role: str = ""
    label: str = ""


@dataclass
class MappedNode:
    """One node with its GPUs in order, and what else stands on it."""

    name: str
    host: str
    address: str
    gpus: list[Gpu]
    others: list[str]
    workers: list[str] = field(default_factory=list)


def node_map(configuration: Configuration) -> list[MappedNode]:
    """Return the nodes of a configuration in the plan's order; none where there is no plan.

    A GPU that several processes share, such as prefill and decode on one device, has both labels.
    """
    plan, run = configuration.plan, configuration.run
    if plan is None:
        return []
    hosts = {node.name: node for node in run.nodes} if run else {}
    nodes = {
        node.name: MappedNode(
            name=node.name,
            host=hosts[node.name].host if node.name in hosts else "",
            address=hosts[node.name].address if node.name in hosts else "",
            gpus=[Gpu() for _ in range(plan.topology.gpus_per_node or 0)],
            others=[held for held in node.holds if held.split("_")[0] not in LETTERS],
            workers=[held for held in node.holds if held.split("_")[0] in LETTERS],
        )
        for node in plan.nodes
    }
    for process in plan.deployment.processes:
        label = f"{LETTERS.get(process.mode, process.mode[:1].upper())}{process.index}"
        gpus = nodes[process.node].gpus if process.node in nodes else []
        for place in process.gpus:
            if 0 <= place < len(gpus) and label not in gpus[place].label.split("/"):
                taken = gpus[place].label
                gpus[place] = Gpu(process.mode, f"{taken}/{label}" if taken else label)
    return list(nodes.values())

"""Every command of every real recipe against the reference's: workers, frontends, services, and the gate.

A v1 recipe is migrated, read and planned for a cluster with containers, and each command line, environment
and expectation is compared with what the reference makes of the same v1 recipe. Flags are compared without
their order, with `_` for `-`, and JSON by its value.

`DIFFERENCES` are all the places where this project differs on purpose. Each is applied to the reference's
answer, and counted; nowhere else may anything differ, and each row must be needed.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from servesweep.plan.plan import Plan, Step

Row = dict[str, Any]
Flags = dict[str, list[list[str]]]

DIFFERENCES = {
    "address": "ETCD_ENDPOINTS and NATS_SERVER name a node by its address, as everything else does",
    "nats": "NATS is started, and named, only where a plane goes over it",
    "no Dynamo": "under another frontend nothing of Dynamo is started, or told to workers",
    "health": "workers tell whether they generate, for the health gate, and that discovery goes by etcd",
    "kv ports": "KV events start at 5550 and count worker leaders (the corpus's README)",
    "unset": "VLLM_PORT of a worker over several nodes: never set, where the reference sets and unsets it",
    "unique name": "the name of shared memory is each worker's own; the corpus has zeros in its place",
    "own files": "configurations and traces are files a process, in the log directory of the container",
    "topology flags": "flags that v1 recipes repeat, and the plan sets, stand once, with the plan's value",
    "served name": "the served name stands once; the mocker is told it too, as the gate looks for it",
    "python": "the router runs under python3, as everything else does",
    "retries": "routers do not retry: that would hide a worker that fails, and slow the answer of another",
    "mpi": "a frontend is started by pmix only where its image needs MPI: not every Slurm has it",
    "install": "variables that the reference's own installation of Dynamo reads; ours is planned elsewhere",
}  # fmt: skip

PLAN_SETS = {
    "disaggregation-mode", "disaggregation-bootstrap-port", "host", "port", "nnodes", "node-rank",
    "dist-init-addr", "nccl-port",
}  # fmt: skip
OF_DYNAMO = {
    "ETCD_ENDPOINTS", "NATS_SERVER", "DYN_SYSTEM_PORT", "DYN_REQUEST_PLANE", "DYN_LOG",
    "DYN_SKIP_SGLANG_LOG_FORMATTING",
}  # fmt: skip
INSTALLATION = {"DYNAMO_WHEEL_NAME", "DYNAMO_VERSION"}
OWN_HEALTH = {
    "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS": '["generate"]', "DYN_DISCOVERY_BACKEND": "etcd",
}  # fmt: skip


class Case:
    """One configuration with its plan and the reference's row; counts the differences that are applied."""

    def __init__(self, planned: Any, applied: Counter[str]) -> None:
        self.name: str = planned.name
        self.plan: Plan = planned.plan
        self.row: Row = planned.row
        self.applied = applied

    @property
    def dynamo(self) -> bool:
        return self.plan.frontend == "dynamo"

    @property
    def nats(self) -> bool:
        return self.plan.deployment.request_plane == "nats"

    def differs(self, difference: str) -> None:
        assert difference in DIFFERENCES
        self.applied[difference] += 1


@pytest.fixture(scope="module")
def cases(planned: list[Any]) -> list[Case]:
    applied = Counter(dict.fromkeys(DIFFERENCES, 0))
    return [Case(one, applied) for one in planned]


def command_line(words: list[str]) -> tuple[list[str], Flags]:
    """The words before the first long flag, and the values of every flag in the order of its repetitions."""
    words = [part for word in words for part in (word.split("=", 1) if word.startswith("--") else [word])]
    first = next((at for at, word in enumerate(words) if word.startswith("--")), len(words))
    flags: Flags = {}
    for word in words[first:]:
        if word.startswith("--"):
            name = word[2:].replace("_", "-")
            flags.setdefault(name, []).append([])
        else:
            flags[name][-1].append(canonical(word))
    return words[:first], flags


def canonical(word: str) -> str:
    """JSON without its spelling."""
    try:
        return json.dumps(json.loads(word), sort_keys=True) if word.startswith(("{", "[")) else word
    except json.JSONDecodeError:
        return word


class Comparison:
    """Counts what is equal, and keeps what is not."""

    def __init__(self) -> None:
        self.equal = 0
        self.different: list[str] = []

    def of(self, case: Case, what: str, *pairs: tuple[Any, Any]) -> None:
        wrong = [unlike(ours, theirs) for ours, theirs in pairs if ours != theirs]
        if wrong:
            self.different.append(f"{case.name}: {what}: {'; '.join(wrong)}")
        else:
            self.equal += 1

    def conclude(self, what: str, expected: int) -> None:
        total = self.equal + len(self.different)
        print(f"\n{what}: {self.equal} of {total} equal")
        assert not self.different, "\n".join([f"{len(self.different)} {what} differ", *self.different[:20]])
        assert total == expected


def unlike(ours: Any, theirs: Any) -> str:
    """Both values, of mappings only what differs."""
    if isinstance(ours, tuple) and isinstance(theirs, tuple):
        return ", ".join(unlike(one, two) for one, two in zip(ours, theirs, strict=True) if one != two)
    if isinstance(ours, dict) and isinstance(theirs, dict):
        keys = sorted(key for key in {*ours, *theirs} if ours.get(key) != theirs.get(key))
        return ", ".join(f"{key}: {ours.get(key)!r}, reference {theirs.get(key)!r}" for key in keys)
    return f"{ours!r}, reference {theirs!r}"


def reference_worker(case: Case, worker: Row, step: Step) -> tuple[list[str], Flags]:
    words = worker["command"]
    if words[0] == "nsys":
        case.differs("own files")
        at = words.index("-o") + 1
        gpus = "-".join(map(str, step.gpus))
        words = [*words[:at], f"/logs/profiles/{step.mode}/{step.name}_profile_gpu{gpus}", *words[at + 1 :]]
    program, flags = command_line(words)
    for name in PLAN_SETS & flags.keys():
        # Once by the plan, and by the recipe; a bootstrap port only by the recipe where there is no prefill.
        wanted = 0 if name == "disaggregation-bootstrap-port" and step.mode != "prefill" else 1
        if len(flags[name]) > wanted:
            case.differs("topology flags")
            flags[name] = flags[name][:wanted]
    flags = {name: values for name, values in flags.items() if values}
    if len(flags.get("served-model-name", [])) > 1:
        case.differs("served name")
        assert flags["served-model-name"][0] == flags["served-model-name"][1]
        flags["served-model-name"] = flags["served-model-name"][:1]
    if "dynamo.mocker" in program:
        case.differs("served name")
        flags["model-name"] = [[case.plan.served_model]]
    if "dump-config-to" in flags:
        case.differs("own files")
        flags["dump-config-to"] = [[f"/logs/{step.name}_config.json"]]
    if "kv-events-config" in flags:
        case.differs("kv ports")
        process = next(
            p for p in case.plan.deployment.processes if p.node == step.node and p.gpus == step.gpus
        )
        config = json.loads(flags["kv-events-config"][0][0])
        config["endpoint"] = f"tcp://*:{process.kv_events_port}"
        assert process.kv_events_port == 5550 + leaders(case).index((step.mode, step.index))
        flags["kv-events-config"] = [[json.dumps(config, sort_keys=True)]]
    return program, flags


def leaders(case: Case) -> list[tuple[str | None, int]]:
    return [(p.mode, p.index) for p in case.plan.deployment.processes if p.rank == 0]


def reference_environment(case: Case, worker: Row, step: Step) -> dict[str, str]:
    env = discovery_environment(case, dict(worker["env_to_set"]))
    for name in worker.get("env_to_unset", []):
        case.differs("unset")
        env.pop(name, None)
    if case.dynamo:
        case.differs("health")
        env |= OWN_HEALTH
    if "TRTLLM_EPLB_SHM_NAME" in env:
        case.differs("unique name")
        env["TRTLLM_EPLB_SHM_NAME"] = step.command.env["TRTLLM_EPLB_SHM_NAME"]
    if "DYN_VLLM_KV_EVENT_PORT" in env:
        env.update(kv_port(case, step)) if kv_port(case, step) else env.pop("DYN_VLLM_KV_EVENT_PORT")
    if "SGLANG_TORCH_PROFILER_DIR" in env:
        case.differs("own files")
        env["SGLANG_TORCH_PROFILER_DIR"] = f"/logs/profiles/{step.mode}"
    return env


def kv_port(case: Case, step: Step) -> dict[str, str]:
    """The port that the rule gives: after those of all earlier processes that publish."""
    case.differs("kv ports")
    publishing = [p for p in case.plan.deployment.processes if p.http_port is not None]
    port = 5550
    for process in publishing:
        if (process.mode, process.index, process.rank) == (step.mode, step.index, step.rank):
            return {"DYN_VLLM_KV_EVENT_PORT": str(port)}
        port += len(process.gpus) if process.dp_rpc_port else 1
    return {}


def discovery_environment(case: Case, env: dict[str, str]) -> dict[str, str]:
    """Variables of Dynamo, for a worker or a frontend."""
    for name in INSTALLATION & env.keys():
        case.differs("install")
        del env[name]
    if not case.dynamo:
        case.differs("no Dynamo")
        return {name: value for name, value in env.items() if name not in OF_DYNAMO}
    if not case.nats and env.pop("NATS_SERVER", None):
        case.differs("nats")
    for name in {"ETCD_ENDPOINTS", "NATS_SERVER"} & env.keys():
        case.differs("address")
        env[name] = env[name].replace("//n", "//ip-n")
    return env


def srun_of(row: Row) -> dict[str, Any]:
    """What the reference asks of a step's srun."""
    options = {key: row[key] for key in ("mpi",) if key in row}
    options |= {"oversubscribe": ""} if row.get("oversubscribe") else {}
    options |= {"cpu-bind": row["cpu_bind"]} if "cpu_bind" in row else {}
    options |= row.get("srun_options", {})
    return {"nodes": row["nodelist"], "tasks": row.get("ntasks", 1), "options": options}


def step_srun(step: Step) -> dict[str, Any]:
    return {
        "nodes": list(step.nodes or (step.node,)),
        "tasks": step.tasks,
        "options": dict(step.srun_options),
    }


def log_of(step: Step) -> str:
    return "<LOGS>/" + step.log.format(host=step.node)


def frontend_words(step: Step) -> tuple[list[str], Flags]:
    """A frontend's command; nginx replaces its shell, which is no difference to anybody."""
    argv = [word.replace("exec nginx -c", "nginx -c") for word in step.command.argv]
    return command_line(argv)


def reference_frontend(case: Case, row: Row) -> tuple[list[str], Flags]:
    words = list(row["command"])
    if words[0] == "python":
        case.differs("python")
        words[0] = "python3"
    if any("launch_router" in word for word in words) and not any("retr" in word for word in words):
        case.differs("retries")
        words.append("--disable-retries")
    return command_line(words)


def reference_frontend_environment(case: Case, row: Row) -> dict[str, str]:
    env = discovery_environment(case, dict(row.get("env_to_set", {})))
    if case.dynamo and env:
        case.differs("health")
        env["DYN_DISCOVERY_BACKEND"] = "etcd"
    return env


def test_workers(cases: list[Case]) -> None:
    compared = Comparison()
    for case in cases:
        steps = [step for step in case.plan.steps if step.kind == "worker"]
        assert len(steps) == len(case.row["workers"]), case.name
        for step, row in zip(steps, case.row["workers"], strict=True):
            compared.of(
                case,
                step.name,
                (command_line(list(step.command.argv)), reference_worker(case, row, step)),
                (step.command.env, reference_environment(case, row, step)),
                (step_srun(step), srun_of(row)),
                ((step.image, log_of(step)), (row["container_image"], row["output"])),
            )
    compared.conclude("workers", 3168)


def test_frontends(cases: list[Case]) -> None:
    compared = Comparison()
    for case in cases:
        steps = [step for step in case.plan.steps if step.kind == "frontend"]
        assert len(steps) == len(case.row["frontend"]), case.name
        for step, row in zip(steps, case.row["frontend"], strict=True):
            srun = srun_of(row)
            if case.plan.engine != "trtllm" and srun["options"].pop("mpi", None):
                case.differs("mpi")
            compared.of(
                case,
                step.name,
                (frontend_words(step), reference_frontend(case, row)),
                (step.command.env, reference_frontend_environment(case, row)),
                (step_srun(step), srun),
                (step.image, row["container_image"]),
            )
    compared.conclude("frontends and nginx", 2173)


def test_services(cases: list[Case]) -> None:
    """The reference starts etcd and NATS together on the infra node, whatever a recipe needs."""
    compared = Comparison()
    for case in cases:
        steps = {step.name: step.node for step in case.plan.steps if step.kind == "service"}
        expected = {name: row["nodelist"][0] for row in case.row["infra"] for name in ("etcd", "nats")}
        if not case.dynamo:
            case.differs("no Dynamo")
            expected = {}
        elif not case.nats:
            case.differs("nats")
            del expected["nats"]
        compared.of(case, "services", (steps, expected))
    compared.conclude("discovery planes", 492)


def test_health_expectations(cases: list[Case]) -> None:
    compared = Comparison()
    for case in cases:
        told = case.row["health"]
        compared.of(
            case,
            "the gate",
            ((case.plan.expected.prefill, case.plan.expected.decode), (told["prefill"], told["decode"])),
        )
    compared.conclude("expectations of the health gate", 492)


def test_every_difference_is_needed(cases: list[Case]) -> None:
    """Runs last: the other tests have counted how often each row of the table was applied."""
    applied = cases[0].applied
    print()
    for name, reason in DIFFERENCES.items():
        print(f"{applied[name]:6} x {name}: {reason}")
    assert all(applied.values()), [name for name, count in applied.items() if not count]

"""Worker processes: argv, environment, srun options, image and log."""

from __future__ import annotations

import json
import re

from comparing.case import Case, Row
from comparing.words import Flags, command_line, log_of, srun_of, step_srun

from servesweep.plan.plan import Step

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
UNIQUE = "TRTLLM_EPLB_SHM_NAME"


def compare_workers(case: Case) -> None:
    steps = [step for step in case.plan.steps if step.kind == "worker"]
    assert len(steps) == len(case.row["workers"]), case.name
    for step, row in zip(steps, case.row["workers"], strict=True):
        case.tally.compare(
            case,
            "workers: argv, env, srun, image, setup, log",
            step.name,
            (command_line(list(step.command.argv)), reference_worker(case, row, step)),
            (step.command.env, reference_environment(case, row, step)),
            (step_srun(step), reference_srun(case, row)),
            (prepared(case, step), reference_preparation(case, row)),
            ((step.image, log_of(step)), (row["container_image"], row["output"])),
        )
    # The reference's are random, and zeros in the corpus.
    names = [step.command.env[UNIQUE] for step in steps if UNIQUE in step.command.env]
    assert len(set(names)) == len(names), case.name
    assert all(re.fullmatch(r"moe_shared_[0-9a-f]{32}", name) for name in names), case.name


def reference_srun(case: Case, row: Row) -> Row:
    srun = srun_of(row)
    if case.plan.resolved.dynamo.top_of_tree and "srun_export_env" in row:
        case.differs("top of tree")
        del srun["options"]["container-remap-root"]
    return srun


def prepared(case: Case, step: Step) -> Row:
    """What runs in the container before the process."""
    script = case.plan.resolved.setup_script
    text = step.preamble or ""
    return {"setup": bool(script) and f"/configs/{script}" in text, "dynamo": "pip install" in text}


def reference_preparation(case: Case, row: Row) -> Row:
    words = row.get("bash_preamble", "").split(";")
    if case.plan.resolved.dynamo.top_of_tree and "DYNAMO_INSTALL" in words:
        case.differs("top of tree")
        words.remove("DYNAMO_INSTALL")
    return {"setup": "SETUP" in words, "dynamo": "DYNAMO_INSTALL" in words}


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
            case.differs("once")
            flags[name] = flags[name][:wanted]
    flags = {name: values for name, values in flags.items() if values}
    if len(flags.get("served-model-name", [])) > 1:
        case.differs("once")
        assert flags["served-model-name"][0] == flags["served-model-name"][1]
        flags["served-model-name"] = flags["served-model-name"][:1]
    if "dynamo.mocker" in program:
        case.differs("mocker's name")
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
    # The reference sets and then unsets these.
    env = {name: value for name, value in env.items() if name not in worker.get("env_to_unset", [])}
    if case.dynamo:
        case.differs("health")
        env |= OWN_HEALTH
    if UNIQUE in env:
        env[UNIQUE] = step.command.env[UNIQUE]
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
        case.differs("scripts")
        del env[name]
    if not case.dynamo:
        case.differs("discovery")
        return {name: value for name, value in env.items() if name not in OF_DYNAMO}
    if not case.nats and env.pop("NATS_SERVER", None):
        case.differs("discovery")
    for name in {"ETCD_ENDPOINTS", "NATS_SERVER"} & env.keys():
        case.differs("address")
        env[name] = env[name].replace("//n", "//ip-n")
    return env

"""Frontends and nginx, the discovery plane, and what the health gate expects."""

from __future__ import annotations

import re

from comparing.case import Case, Row
from comparing.words import Flags, command_line, log_of, step_srun
from comparing.workers import discovery_environment, prepared, reference_preparation, reference_srun

from servesweep.plan.plan import Step


def compare_frontends(case: Case) -> None:
    steps = [step for step in case.plan.steps if step.kind == "frontend"]
    assert len(steps) == len(case.row["frontend"]), case.name
    for step, row in zip(steps, case.row["frontend"], strict=True):
        srun = reference_srun(case, row)
        if case.plan.engine != "trtllm" and srun["options"].pop("mpi", None):
            case.differs("mpi")
        case.tally.compare(
            case,
            "frontends and nginx: argv, env, srun, image, setup, log",
            step.name,
            (frontend_words(step), reference_frontend(case, row)),
            (step.command.env, reference_frontend_environment(case, row)),
            (step_srun(step), srun),
            (prepared(case, step), reference_preparation(case, row)),
            ((step.image, log_of(step)), (row["container_image"], reference_log(case, row, step))),
        )


def frontend_words(step: Step) -> tuple[list[str], Flags]:
    """A frontend's command; nginx replaces its shell, which is no difference to anybody."""
    return command_line([word.replace("exec nginx -c", "nginx -c") for word in step.command.argv])


def reference_frontend(case: Case, row: Row) -> tuple[list[str], Flags]:
    words = list(row["command"])
    if words[0] == "python":
        case.differs("python")
        words[0] = "python3"
    if any("launch_router" in word for word in words) and not any("retr" in word for word in words):
        case.differs("retries")
        words.append("--disable-retries")
    return command_line(words)


def reference_log(case: Case, row: Row, step: Step) -> str:
    """Routers' logs are named by their kind there, and by the plan's step here."""
    output = str(row["output"])
    other = re.sub(r"_router_|_trtllm_serve_orchestrator", f"_{step.name.rstrip('0123456789')}", output)
    if other == output:
        return output
    case.differs("own files")
    return other if "orchestrator" not in output else other.replace(".out", f"{step.index}.out")


def reference_frontend_environment(case: Case, row: Row) -> dict[str, str]:
    env = discovery_environment(case, dict(row.get("env_to_set", {})))
    if case.dynamo and env:
        case.differs("health")
        env["DYN_DISCOVERY_BACKEND"] = "etcd"
    return env


def compare_discovery(case: Case) -> None:
    """The reference starts etcd and NATS together on the infra node, whatever a recipe needs."""
    steps = {step.name: step for step in case.plan.steps if step.kind == "service"}
    ours = {name: (steps[name].node, steps[name].image) for name in ("etcd", "nats") if name in steps}
    theirs = {
        name: (row["nodelist"][0], row["container_image"])
        for row in case.row["infra"]
        for name in ("etcd", "nats")
    }
    if not case.dynamo:
        case.differs("discovery")
        theirs = {}
    elif not case.nats:
        case.differs("discovery")
        del theirs["nats"]
    case.tally.compare(case, "discovery planes: node, image", "services", (ours, theirs))


def compare_gate(case: Case) -> None:
    told, expected = case.row["health"], case.plan.expected
    case.tally.compare(
        case,
        "expectations of the health gate",
        "the gate",
        ((expected.prefill, expected.decode), (told["prefill"], told["decode"])),
        (expected.prefill + expected.decode, told["total"]),
    )

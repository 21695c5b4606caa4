"""What is done on the bare nodes: host_setup and its teardown, the setup script, the model's copy."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

NAMES = ("prepared", "broken", "slow", "ignoring", "uncopied")


def recipe(name: str, more: str, nodes: int = 1, model: str = "") -> str:
    """A recipe of one simulator on each node, with a frontend; `more` are further keys."""
    return f"""
schema: 2
name: {name}
model: {{path: tiny, precision: fp16{model}}}
engine: simulator
resources: {{gpus_per_node: 8}}
roles: {{agg: {{nodes: {nodes}, workers: {nodes}, gpus: 8}}}}
frontend: {{type: sglang-router}}
slurm: {{time_limit: "00:10:00"}}
health_check: {{max_attempts: 60, interval_seconds: 1}}
benchmark: {{type: sa-bench, isl: 32, osl: 16, concurrencies: "2", num_prompts_mult: 4}}
{more}
"""


@pytest.fixture(scope="module")
def ran(new_sweep: Any, cluster: Any) -> tuple[Any, subprocess.CompletedProcess[str]]:
    sweep = new_sweep("hosts")
    sweep.project.write("configs/setup.sh", 'echo "set up for $MODEL_LABEL"\necho done >> marks/set-up\n')
    (sweep.project.root / "marks").mkdir()
    texts = {
        "prepared": recipe(
            "prepared",
            "setup_script: setup.sh\nenvironment: {MODEL_LABEL: 'a b'}\nhost_setup:\n"
            "  commands: ['cd marks', 'echo up > $(hostname)', 'echo \"$MODEL_LABEL\"']\n"
            "  teardown: ['echo down >> marks/$(hostname)']\n",
            nodes=2,
            model=f", stage_dir: {sweep.project.root}/nvme",
        ),
        "broken": recipe(
            "broken",
            "host_setup:\n  commands: ['echo about to fail', 'ls /no/such/file', 'touch marks/too-far']\n"
            "  teardown: ['touch marks/torn-down']\n",
        ),
        "slow": recipe("slow", "host_setup: {commands: [sleep 100], timeout_seconds: 1}\n"),
        "ignoring": recipe(
            "ignoring",
            "host_setup: {ignore_failure: true, commands: ['false', 'touch marks/went-on', 'exit 3']}\n",
        ),
        "uncopied": recipe("uncopied", "", model=", stage_dir: /proc/nowhere"),
    }
    for name, text in texts.items():
        sweep.project.write(f"config/recipes/{name}.yaml", text)
    return sweep, sweep.run()


def hosts(sweep: Any, name: str) -> list[str]:
    return [host["host"] for host in sweep.project.json(f"{name}/allocation.json")["hosts"]]


def text(sweep: Any, path: str) -> str:
    return str((sweep.project.root / path).read_text())


def test_commands_run_on_each_node_in_one_shell_and_the_teardown_after_them(ran: Any) -> None:
    sweep, done = ran
    assert sweep.project.exists("prepared/run.json"), done.stdout + sweep.log("prepared")
    assert len(hosts(sweep, "prepared")) == 2
    for host in hosts(sweep, "prepared"):
        assert text(sweep, f"marks/{host}") == "up\ndown\n"
        assert text(sweep, f"results/prepared/logs/host_setup_{host}.out") == "a b\n"
        assert text(sweep, f"results/prepared/logs/host_teardown_{host}.out") == ""


def test_each_is_one_step_a_node(ran: Any, cluster: Any) -> None:
    sweep, _ = ran
    rows = cluster.accounting(int(sweep.project.json("prepared/run.json")["job_id"]))
    for host in hosts(sweep, "prepared"):
        for what in ("host_setup", "stage_model", "host_teardown"):
            assert rows[f"{what}_{host}"]["NodeList"] == host
            assert rows[f"{what}_{host}"]["State"] == "COMPLETED"


def test_the_setup_script_runs_before_every_worker(ran: Any) -> None:
    """A router is no part of the engine's image, and goes without it; Dynamo's frontends do not."""
    sweep, _ = ran
    assert text(sweep, "marks/set-up") == "done\n" * 2
    for index, host in enumerate(hosts(sweep, "prepared")):
        log = text(sweep, f"results/prepared/logs/{host}_agg_w{index}.out")
        assert log.startswith("set up for a b\nsimulator listening")


def test_the_model_is_served_from_its_copy_and_tokenized_from_the_original(ran: Any) -> None:
    sweep, _ = ran
    copy = sweep.project.root / "nvme/tiny"
    original = sweep.project.root / "config/models/tiny"
    assert {p.name: p.read_bytes() for p in copy.iterdir()} == {
        p.name: p.read_bytes() for p in original.iterdir()
    }
    steps = sweep.project.json("prepared/deployment.json")["steps"]
    assert str(copy) in steps[0]["command"]["argv"]
    # The nodes of this cluster share their disks: one of them copies, the other finds the copy.
    logs = [text(sweep, f"results/prepared/logs/stage_model_{h}.out") for h in hosts(sweep, "prepared")]
    assert sorted(log.partition(" ")[0] for log in logs) == sorted(["copied", str(copy)])
    assert sweep.project.json("prepared/points/c2/result.json")["valid"] is True


def test_a_command_that_fails_ends_the_run_with_its_node_and_log(ran: Any) -> None:
    sweep, done = ran
    assert done.returncode != 0
    (host,) = hosts(sweep, "broken")
    failure = sweep.project.json("broken/failure.json")
    assert failure["message"] == f"host_setup on {host} exited with code 2"
    assert (failure["stage"], failure["node"]) == ("hosts", host)
    assert failure["log"] == f"logs/host_setup_{host}.out"
    # srun's own word on it may stand anywhere: it is not written by the node.
    said = [line for line in failure["tail"] if not line.startswith("srun: ")]
    assert said[0] == "about to fail"
    assert "/no/such/file" in said[1]
    marks = sweep.project.root / "marks"
    assert not (marks / "too-far").exists()
    assert (marks / "torn-down").exists()


def test_a_command_out_of_time_ends_the_run(ran: Any) -> None:
    sweep, _ = ran
    (host,) = hosts(sweep, "slow")
    assert sweep.project.json("slow/failure.json")["message"] == f"host_setup on {host} took longer than 1 s"


def test_where_failures_are_ignored_the_next_command_runs_and_so_does_the_load(ran: Any) -> None:
    sweep, _ = ran
    (host,) = hosts(sweep, "ignoring")
    assert (sweep.project.root / "marks/went-on").exists()
    assert f"host_setup on {host} exited with code 3: ignored" in sweep.log("ignoring")
    assert sweep.project.exists("ignoring/run.json")


def test_a_model_that_cannot_be_copied_ends_the_run_with_the_reason(ran: Any) -> None:
    sweep, _ = ran
    (host,) = hosts(sweep, "uncopied")
    failure = sweep.project.json("uncopied/failure.json")
    model = sweep.project.root / "config/models/tiny"
    assert failure["message"] == (
        f"stage_model on {host} exited with code 1: {model} could not be copied:"
        " /proc/nowhere: No such file or directory"
    )


def test_nothing_is_left(ran: Any, cluster: Any) -> None:
    cluster.nothing_is_left(ran[0].project.root)

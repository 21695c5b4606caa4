"""On the cluster too, secrets reach the processes and nothing else: neither files nor Slurm's accounting."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from tests.cluster.conftest import run

pytestmark = pytest.mark.long

TOKEN, FLAG, SHELL = "planted-hf-0001-of-the-recipe", "planted-sk-0002-in-argv", "planted-0003-of-the-shell"
# It notes what it was given by digest alone, and becomes the simulator.
SERVER = """\
import hashlib, json, os, sys
from pathlib import Path

digests = {hashlib.sha256(text.encode()).hexdigest() for text in [*sys.argv, *os.environ.values()]}
Path("engine.seen").write_text(json.dumps(sorted(digests)))
os.execvp("python3", ["python3", "-m", "servesweep.simulator", *sys.argv[1:sys.argv.index("--api-key")]])
"""
RECIPE = f"""\
schema: 2
name: secretive
model: {{path: tiny, precision: fp16}}
engine:
  type: command
  argv: [python3, server.py, --host, "{{host}}", --port, "{{port}}", --model-path, "{{model}}",
    --model-name, "{{name}}", --api-key, {FLAG}]
  health: /health
environment: {{HF_TOKEN: {TOKEN}}}
resources: {{gpus_per_node: 8}}
roles: {{agg: {{nodes: 1, workers: 1, gpus: 8}}}}
host_setup: {{commands: ['echo "$HF_TOKEN"']}}
frontend: {{type: direct}}
slurm: {{time_limit: "00:10:00"}}
health_check: {{max_attempts: 60, interval_seconds: 1}}
benchmark: {{type: sa-bench, isl: 8, osl: 4, concurrencies: "1", num_prompts_mult: 2, num_warmup_mult: 0}}
"""


@pytest.fixture(scope="module")
def ran(new_sweep: Any) -> Any:
    sweep = new_sweep("secretive")
    sweep.project.write("server.py", SERVER)
    sweep.project.write("config/recipes/secretive.yaml", RECIPE)
    sweep.project.environment["WANDB_API_KEY"] = SHELL
    done = sweep.run()
    assert sweep.project.exists("secretive/run.json"), done.stdout + sweep.log("secretive")
    return sweep


def test_the_engine_got_them(ran: Any) -> None:
    seen = json.loads((ran.project.root / "engine.seen").read_text())
    assert {hashlib.sha256(text.encode()).hexdigest() for text in (TOKEN, FLAG, SHELL)} <= set(seen)


def test_no_file_and_no_record_of_slurm_holds_one(ran: Any) -> None:
    job = ran.project.json("secretive/allocation.json")["job_id"]
    lines = run("sacct", "-n", "-P", "-j", job, "-o", "JobName,SubmitLine")
    # The words of each step are recorded, and the engine's are among them.
    assert "agg_0|srun " in lines
    assert "server.py" in lines
    assert "SERVESWEEP_SECRET_" in lines
    held = [secret for secret in (TOKEN, FLAG, SHELL) if secret in lines]
    files = [path for part in ("results", ".snakemake") for path in (ran.project.root / part).rglob("*")]
    held += [
        str(path)
        for path in files
        if path.is_file() and any(secret.encode() in path.read_bytes() for secret in (TOKEN, FLAG, SHELL))
    ]
    assert held == []
    (setup,) = (ran.project.root / "results/secretive/logs").glob("host_setup_*.out")
    assert setup.read_text() == "***REDACTED***\n"


def test_every_worker_left_its_fingerprint(ran: Any) -> None:
    found = ran.project.json("secretive/logs/fingerprint_agg_w0.json")
    assert found["env"]["HF_TOKEN"] == "***REDACTED***"
    assert found["pip_packages"]

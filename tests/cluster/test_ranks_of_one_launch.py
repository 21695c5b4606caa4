"""TensorRT-LLM's way on real nodes: one srun for all ranks of a worker, its orchestrator after its workers.

Slurm's steps are real. TensorRT-LLM's programs are not installed here: three stand-ins of the same names on
the path do what matters to the launch. `trtllm-llmapi-launch` notes its rank and lets rank 0 alone serve,
`trtllm-serve` serves by the simulator, and its orchestrator ends at once where a server of its file is not
ready, as the real one gives up; the routing itself is SGLang's router over the generation servers.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

LAUNCH = """#!/bin/bash
echo "rank $SLURM_PROCID of $SLURM_NTASKS on $SLURMD_NODENAME gpus ${CUDA_VISIBLE_DEVICES:-none}"
[ "$SLURM_PROCID" = 0 ] && exec "$@"
[ "$SLURM_PROCID" = "$GONE_RANK" ] && exit 0
exec sleep 600
"""
SERVE = """#!/bin/bash
if [ "$1" = disaggregated ]; then exec python3 "$(dirname "$0")/orchestrator.py" "$3"; fi
model=$1; shift
while [ $# -gt 0 ]; do
  case $1 in --port) port=$2;; --config) config=$2;; esac
  shift
done
case $config in *prefill*) slow=4;; *) slow=0;; esac
exec python3 -m servesweep.simulator --model-path "$model" --model-name "$(basename "$model")" \
  --host 0.0.0.0 --port "$port" --startup-s "$slow"
"""
ORCHESTRATOR = """
import os, sys, urllib.request, yaml
servers = yaml.safe_load(open(sys.argv[1]))
for kind in ("context_servers", "generation_servers"):
    for url in servers[kind]["urls"]:
        print(kind, url, urllib.request.urlopen(f"http://{url}/health", timeout=5).status, flush=True)
urls = [f"http://{url}" for url in servers["generation_servers"]["urls"]]
words = ["python3", "-m", "sglang_router.launch_router", "--worker-urls", *urls]
words += ["--host", servers["hostname"], "--port", str(servers["port"])]
os.execvp(words[0], words)
"""
# pmi2 is part of Slurm; PMIx, the plan's own choice, is a package of its own that a site may lack.
RECIPE = """
schema: 2
name: {name}
environment: {{GONE_RANK: "{gone}"}}
model: {{path: tiny, precision: fp8}}
engine: trtllm
resources: {{gpus_per_node: 8}}
roles:
  prefill: {{nodes: 2, workers: 1, gpus: 16, args: {{tensor_parallel_size: 16}}}}
  decode: {{nodes: 1, workers: 2, gpus: 4, args: {{tensor_parallel_size: 4}}}}
frontend: {{type: trtllm_serve, enable_multiple_frontends: false}}
srun_options: {{mpi: pmi2}}
slurm: {{time_limit: "00:10:00"}}
health_check: {{max_attempts: 60, interval_seconds: 1}}
benchmark: {{type: sa-bench, isl: 32, osl: 16, concurrencies: "2", num_prompts_mult: {mult}}}
"""


@pytest.fixture(scope="module")
def ran(new_sweep: Any, cluster: Any) -> Any:
    sweep = new_sweep("ranks")
    programs = {"trtllm-llmapi-launch": LAUNCH, "trtllm-serve": SERVE, "orchestrator.py": ORCHESTRATOR}
    for name, text in programs.items():
        sweep.project.write(f"bin/{name}", text).chmod(0o755)
    sweep.on_path(sweep.project.root / "bin")
    sweep.project.write("config/recipes/ranks.yaml", RECIPE.format(name="ranks", gone="", mult=4))
    # Rank 9 stands on the worker's second node; the load would go on for minutes.
    sweep.project.write("config/recipes/gone.yaml", RECIPE.format(name="gone", gone="9", mult=2000))
    done = sweep.run()
    assert sweep.project.exists("ranks/run.json"), done.stdout + sweep.log("ranks")
    cluster.nothing_is_left(sweep.project.root)
    return sweep


def hosts(ran: Any) -> list[str]:
    return [node["host"] for node in ran.project.json("ranks/run.json")["nodes"]]


def ranks(ran: Any, log: str) -> list[tuple[int, int, str, str]]:
    """Rank, number of ranks, node and GPUs of each task that wrote to a worker's log."""
    text = (ran.project.root / "results/ranks/logs" / log).read_text()
    found = re.findall(r"rank (\d+) of (\d+) on (\S+) gpus (\S+)", text)
    return sorted((int(rank), int(count), node, gpus) for rank, count, node, gpus in found)


def test_every_point_is_valid(ran: Any) -> None:
    assert ran.project.json("ranks/points/c2/result.json")["valid"] is True


def test_a_worker_over_two_nodes_is_one_step_with_a_task_a_gpu_in_the_plan_s_order(
    ran: Any, cluster: Any
) -> None:
    first, second, _ = hosts(ran)
    row = cluster.accounting(int(ran.project.json("ranks/run.json")["job_id"]))["prefill_0"]
    # Slurm writes neighbours in another way than nodes that are none.
    named = subprocess.check_output(["scontrol", "show", "hostnames", row["NodeList"]], text=True)
    assert named.split() == [first, second]
    every = "0,1,2,3,4,5,6,7"
    assert ranks(ran, f"{first}_prefill_w0.out") == [
        (rank, 16, first if rank < 8 else second, every) for rank in range(16)
    ]


def test_workers_that_share_a_node_have_four_ranks_and_four_gpus_each(ran: Any) -> None:
    third = hosts(ran)[2]
    for index, gpus in enumerate(("0,1,2,3", "4,5,6,7")):
        assert ranks(ran, f"{third}_decode_w{index}.out") == [(r, 4, third, gpus) for r in range(4)]


def test_the_orchestrator_starts_once_every_worker_is_ready(ran: Any) -> None:
    story = ran.log("ranks")
    started = story.index("started frontend_0")
    for worker in ("prefill_0", "decode_0", "decode_1"):
        assert story.index(f"{worker} is ready") < started
    log = (ran.project.root / f"results/ranks/logs/{hosts(ran)[0]}_frontend_0.out").read_text()
    assert re.findall(r"(context|generation)_servers \S+ (\d+)", log) == [
        ("context", "200"), ("generation", "200"), ("generation", "200"),
    ]  # fmt: skip


def test_the_options_of_the_steps_are_the_engine_s_with_the_recipe_s_over_them(ran: Any) -> None:
    steps = {step["name"]: step for step in ran.project.json("ranks/plan.json")["steps"]}
    assert steps["prefill_0"]["srun_options"] == {
        "mpi": "pmi2", "oversubscribe": "", "cpu-bind": "verbose,none",
    }  # fmt: skip
    assert (steps["prefill_0"]["tasks"], steps["prefill_0"]["shares"]) == (16, [8, 8])
    assert steps["frontend_0"]["srun_options"] == {"mpi": "pmi2"}
    text = json.dumps(steps["prefill_0"]["command"]["argv"])
    assert "trtllm-llmapi-launch" in text
    assert Path(steps["prefill_0"]["log"]).name == "{host}_prefill_w0.out"


def test_a_rank_that_ends_takes_its_worker_with_it_and_the_run_says_so(ran: Any) -> None:
    """A clean end too: a worker that has lost a rank waits for it for ever, and so would its srun."""
    failure = ran.project.json("gone/failure.json")
    head = ran.project.json("gone/allocation.json")["hosts"][0]["host"]
    assert failure["step"] == "prefill_0"
    assert failure["message"].startswith(f"worker prefill_0 on {head} ")
    assert any("First task exited" in line for line in failure["tail"])
    assert not ran.project.exists("gone/run.json")

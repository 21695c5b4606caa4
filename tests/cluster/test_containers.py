"""Steps in containers: what srun is asked for, and what a process finds inside.

pyxis itself needs its plugin in Slurm and enroot; a stand-in for both is found on the path as `srun`
(pyxis_stand_in.py), reads their options, and starts each task through Slurm's real srun in a root directory
that holds nothing of the host but what is mounted.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

STAND_IN = Path(__file__).with_name("pyxis_stand_in.py")
REPOSITORY = Path(__file__).resolve().parents[2]
SITE = """
container_runtime: pyxis
containers: {engine: images/engine.sqsh}
default_mounts: {"$SITE_DATA": /data, config: "/site/config:ro"}
default_bash_preamble: |
  export SITE=$(cat /data/site)
"""
RECIPE = """
schema: 2
name: contained
model: {path: tiny, precision: fp16, container: ./images/engine.sqsh}
engine: simulator
resources: {gpus_per_node: 8}
roles: {agg: {nodes: 2, workers: 2, gpus: 8}}
frontend: {type: sglang-router}
setup_script: setup.sh
extra_mount: ["images:/images:ro"]
container_mounts: {"kept-{job_id}": /kept}
environment: {WORDS: "two words, $HOME and 'quotes'"}
host_setup: {commands: ["mkdir -p kept-$SLURM_JOB_ID"]}
slurm: {time_limit: "00:10:00"}
health_check: {max_attempts: 60, interval_seconds: 1}
benchmark: {type: sa-bench, isl: 32, osl: 16, concurrencies: "2", num_prompts_mult: 4}
"""
SETUP = """
echo "in $PWD of $SITE with $WORDS"
ls / | tr '\\n' ' ' > /kept/$SLURM_JOB_ID-$SLURM_STEP_ID
"""


@pytest.fixture(scope="module")
def ran(new_sweep: Any, cluster: Any) -> Any:
    sweep = new_sweep("contained")
    root = sweep.project.root
    (root / "bin").mkdir()
    (root / "calls").mkdir()
    (root / "roots").mkdir()
    shutil.copy(STAND_IN, root / "bin/srun.py")
    sweep.project.write("bin/srun", f'#!/bin/sh\nexec {sys.executable} {root}/bin/srun.py "$@"\n').chmod(
        0o755
    )
    sweep.on_path(root / "bin")
    sweep.project.write("data/site", "the lab\n")
    sweep.project.write("images/engine.sqsh", "")
    sweep.project.environment |= {
        "SITE_DATA": str(root / "data"),
        "PYXIS_CALLS": str(root / "calls"),
        "PYXIS_IMAGES": str(root / "roots"),
        "PYXIS_SOURCE": str(REPOSITORY),
    }
    site = root / "config/cluster.yaml"
    site.write_text(site.read_text() + SITE)
    sweep.project.write("configs/setup.sh", SETUP)
    sweep.project.write("config/recipes/contained.yaml", RECIPE)
    done = sweep.run()
    logs = [p.read_text()[-2000:] for p in root.glob("results/contained/logs/*.out")]
    assert done.returncode == 0, "\n".join([done.stdout, sweep.log("contained"), *logs])
    return sweep


def job(ran: Any) -> str:
    return str(ran.project.json("contained/run.json")["job_id"])


def asked(ran: Any, step: str) -> list[str]:
    words: list[str] = json.loads((ran.project.root / f"calls/{step}.json").read_text())
    return words


def mounted(ran: Any) -> str:
    root = ran.project.root
    return ",".join(
        [
            f"{root}/results/contained/logs:/logs",
            f"{root}/config/models/tiny:/model",
            f"{root}/configs:/configs",
            f"{root}/data:/data",
            f"{root}/config:/site/config:ro",
            f"{root}/images:/images:ro",
            f"{root}/kept-{job(ran)}:/kept",
        ]
    )


@pytest.mark.parametrize("step", ["agg_0", "agg_1", "frontend_0"])
def test_a_step_asks_for_its_image_and_its_mounts(ran: Any, step: str) -> None:
    assert asked(ran, step) == [
        f"--container-image={ran.project.root}/images/engine.sqsh",
        f"--container-mounts={mounted(ran)}",
        "--no-container-entrypoint",
        "--no-container-mount-home",
    ]


def test_nginx_has_an_image_of_its_own_and_is_root_in_it(ran: Any) -> None:
    words = asked(ran, "nginx")
    assert words[0] == "--container-image=nginx:1.27.4"
    assert words[-1] == "--container-remap-root"


def test_bare_steps_ask_for_nothing(ran: Any) -> None:
    contained = {path.stem for path in (ran.project.root / "calls").iterdir()}
    assert contained == {"agg_0", "agg_1", "nginx", "frontend_0"}


def test_the_preambles_run_inside_before_each_worker_with_its_environment(ran: Any) -> None:
    for index, node in enumerate(ran.project.json("contained/run.json")["nodes"]):
        log = ran.project.root / f"results/contained/logs/{node['host']}_agg_w{index}.out"
        assert log.read_text().startswith("in / of the lab with two words, $HOME and 'quotes'\n")


def test_nothing_of_the_host_is_inside_but_what_is_mounted(ran: Any) -> None:
    found = [path.read_text().split() for path in (ran.project.root / f"kept-{job(ran)}").iterdir()]
    assert len(found) == 2
    for names in found:
        assert {"logs", "model", "configs", "data", "site", "images", "kept"} <= set(names)
        assert not {"boot", "home", "srv"} & set(names)


def test_the_load_goes_through_nginx_to_the_frontend_on_the_other_node(ran: Any) -> None:
    assert ran.project.json("contained/points/c2/result.json")["valid"] is True
    addresses = [node["address"] for node in ran.project.json("contained/run.json")["nodes"]]
    conf = (ran.project.root / "results/contained/logs/nginx.conf").read_text()
    assert f"server {addresses[1]}:8180;" in conf
    steps = {step["name"]: step for step in ran.project.json("contained/deployment.json")["steps"]}
    assert steps["agg_0"]["command"]["argv"][3:5] == ["--model-path", "/model"]


def test_nothing_is_left(ran: Any, cluster: Any) -> None:
    cluster.nothing_is_left(ran.project.root)

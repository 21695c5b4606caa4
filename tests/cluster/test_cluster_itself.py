"""The test cluster is what other tests take it for: several hosts, accounting, nothing left behind."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

# Every node listens on port 7000 and answers with its host name: so the nodes are separate hosts.
ANSWER = (
    "import socket\n"
    "server = socket.create_server(('0.0.0.0', 7000))\n"
    "while True:\n"
    "    peer, _ = server.accept()\n"
    "    peer.sendall(socket.gethostname().encode())\n"
    "    peer.close()\n"
)
ASK = (
    "import socket, sys, time\n"
    "for address in sys.argv[1:]:\n"
    "    for _ in range(300):\n"
    "        try:\n"
    "            peer = socket.create_connection((address, 7000), timeout=5)\n"
    "            break\n"
    "        except ConnectionRefusedError:\n"
    "            time.sleep(0.1)\n"
    "    print(address, peer.recv(100).decode(), flush=True)\n"
)


Submit = Callable[..., int]


def submit(directory: Path, script: str, *options: str) -> int:
    """Submit a bash script from a directory; the id of its job."""
    done = subprocess.run(
        ["sbatch", "--parsable", "--output=job.log", "--time=5", *options],
        input=f"#!/bin/bash\n{script}",
        cwd=directory,
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


@pytest.fixture
def sbatch(cluster: Any, tmp_path: Path) -> Any:
    """Submit from `tmp_path`; whatever still runs when the test ends is cancelled."""
    submitted: list[int] = []

    def submit_here(script: str, *options: str) -> int:
        submitted.append(submit(tmp_path, script, *options))
        return submitted[-1]

    yield submit_here
    for job in submitted:
        if job in cluster.jobs():
            cluster.cancel(job)
            cluster.wait_gone(job, timeout=60)


def test_every_node_is_a_host_of_its_own(cluster: Any) -> None:
    assert [cluster.execute(node, "hostname").strip() for node in cluster.nodes] == list(cluster.nodes)
    addresses = [cluster.execute(node, "hostname", "-I").split() for node in cluster.nodes]
    assert addresses == [[f"10.78.0.{i}"] for i in range(1, len(cluster.nodes) + 1)]


def test_steps_on_chosen_nodes_talk_by_address(cluster: Any, sbatch: Submit, tmp_path: Path) -> None:
    (tmp_path / "answer.py").write_text(ANSWER)
    (tmp_path / "ask.py").write_text(ASK)
    job = sbatch(
        """
        nodes=($(scontrol show hostnames "$SLURM_JOB_NODELIST"))
        for node in "${nodes[@]}"; do
          srun --overlap --nodes=1 --ntasks=1 --nodelist="$node" --job-name="answer-$node" python3 answer.py &
        done
        addresses=$(scontrol -o show node "$SLURM_JOB_NODELIST" | grep -oP 'NodeAddr=\\K\\S+')
        srun --overlap --nodes=1 --ntasks=1 --nodelist="${nodes[2]}" python3 ask.py $addresses >asked
        touch done
        wait
        """,
        "--nodes=3",
        "--gpus-per-node=8",
    )
    cluster.wait_until((tmp_path / "done").exists, 60, "answers of three nodes")
    held = [row["nodes"] for row in cluster.squeue() if row["job_id"] == job]
    answers = [line.split() for line in (tmp_path / "asked").read_text().splitlines()]
    assert len(answers) == 3
    assert all(cluster.nodes.index(name) + 1 == int(address.rsplit(".", 1)[1]) for address, name in answers)
    assert len(held) == 1
    assert sorted(cluster.steps(job).values()) == sorted(f"answer-{name}" for _, name in answers)
    for _, name in answers:
        assert any("answer.py" in command for _, command in cluster.processes(name))

    cluster.cancel(job)
    cluster.wait_gone(job, timeout=60)
    assert not any("answer.py" in command for found in cluster.leftovers().values() for _, command in found)
    cluster.wait_until(lambda: cluster.state(job).startswith("CANCELLED"), 30, "the cancelled job in sacct")


def test_gpus_are_handed_out_and_counted(cluster: Any, sbatch: Submit, tmp_path: Path) -> None:
    job = sbatch('echo "$CUDA_VISIBLE_DEVICES"', "--nodes=1", f"--gpus-per-node={cluster.gpus_per_node}")
    cluster.wait_gone(job, timeout=60)
    assert (tmp_path / "job.log").read_text().strip() == "0,1,2,3,4,5,6,7"
    cluster.wait_until(lambda: cluster.state(job) == "COMPLETED", 30, "the job in sacct")


def test_more_gpus_than_a_node_has_are_refused(cluster: Any, tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        submit(tmp_path, "true", "--nodes=1", f"--gpus-per-node={cluster.gpus_per_node + 1}")


def test_a_drained_node_gets_no_job(cluster: Any, sbatch: Submit) -> None:
    node = cluster.nodes[-1]
    cluster.drain(node)
    try:
        # `drng` while a job of another test still runs there.
        assert cluster.node_states()[node] in ("drain", "drng")
        job = sbatch("sleep 60", f"--nodelist={node}")
        cluster.wait_until(
            lambda: any(
                row["job_id"] == job and row["state_reason"].startswith("ReqNodeNotAvail")
                for row in cluster.squeue()
            ),
            60,
            "the job being held back from the drained node",
        )
    finally:
        cluster.resume(node)
    cluster.wait_until(
        lambda: any(row["job_id"] == job and row["job_state"] == "RUNNING" for row in cluster.squeue()),
        180,
        "the start of the job on the resumed node",
    )

"""Which host stands for which node, by what Slurm tells; and why a signal came."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from servesweep.runtime.allocation import AllocationError, find_allocation, stopped_by, what_ends

JOB = (
    "JobId=7 JobState=RUNNING Reason=None TimeLimit=00:20:00"
    " ReqNodeList=(null) NodeList={nodes} BatchHost={batch}"
)
SCONTROL = """#!/bin/sh
case "$*" in
"show job 7 -o" | "show job --detail 7 -o") echo "{job}" ;;
"show hostnames gpu[1-3]") printf 'gpu1\\ngpu2\\ngpu3\\n' ;;
"show node gpu1 -o") echo "NodeName=gpu1 NodeAddr=127.0.0.1 NodeHostName=gpu1" ;;
"show node gpu2 -o") echo "NodeName=gpu2 NodeAddr=127.0.0.2 NodeHostName=gpu2" ;;
"show node gpu3 -o") echo "NodeName=gpu3 NodeAddr=127.0.0.3 NodeHostName=gpu3" ;;
*) echo "unexpected: $*" >&2; exit 1 ;;
esac
"""


@pytest.fixture(autouse=True)
def inside_a_job(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")


def slurm_tells(directory: Path, job: str = JOB, batch: str = "gpu1") -> None:
    """Put a scontrol in the way that answers so."""
    text = SCONTROL.format(job=job.format(nodes="gpu[1-3]", batch=batch))
    (directory / "scontrol").write_text(text)
    (directory / "scontrol").chmod(0o755)


def test_the_first_nodes_of_the_job_are_used_in_order(tmp_path: Path) -> None:
    slurm_tells(tmp_path)
    found = find_allocation("slurm", ["n0", "n1"])
    assert [(host.name, host.host, host.address) for host in found.hosts] == [
        ("n0", "gpu1", "127.0.0.1"),
        ("n1", "gpu2", "127.0.0.2"),
    ]
    assert found.job_id == "7"


def test_the_batch_host_is_n0_wherever_it_stands_in_the_list(tmp_path: Path) -> None:
    slurm_tells(tmp_path, batch="gpu3")
    found = find_allocation("slurm", ["n0", "n1", "n2"])
    assert [host.host for host in found.hosts] == ["gpu3", "gpu1", "gpu2"]


def test_the_components_of_a_heterogeneous_job_follow_each_other(tmp_path: Path) -> None:
    component = "JobId={job} HetJobId=7 HetJobOffset={at} NodeList={nodes} BatchHost={batch}"
    lines = [
        component.format(job=7, at=0, nodes="gpu3", batch="gpu3"),
        component.format(job=8, at=1, nodes="gpu[1-2]", batch="gpu1"),
    ]
    script = SCONTROL.format(job="\n".join(lines)).replace(
        '"show hostnames', """"show hostnames gpu3") echo gpu3 ;;
"show hostnames gpu[1-2]") printf 'gpu1\\ngpu2\\n' ;;
"show hostnames""", 1
    )  # fmt: skip
    (tmp_path / "scontrol").write_text(script)
    (tmp_path / "scontrol").chmod(0o755)
    found = find_allocation("slurm", ["n0", "n1", "n2"])
    assert [(h.name, h.host, h.het_group) for h in found.hosts] == [
        ("n0", "gpu3", 0), ("n1", "gpu1", 1), ("n2", "gpu2", 1),
    ]  # fmt: skip
    assert found.job_ids == ("7", "8")


def test_too_few_nodes_are_told(tmp_path: Path) -> None:
    slurm_tells(tmp_path)
    with pytest.raises(AllocationError, match="job 7 has 3 nodes, and the plan needs 4"):
        find_allocation("slurm", ["n0", "n1", "n2", "n3"])


def test_outside_of_a_job_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLURM_JOB_ID")
    with pytest.raises(AllocationError, match="this is not a Slurm job"):
        find_allocation("slurm", ["n0"])


def test_on_one_machine_every_node_is_this_one() -> None:
    found = find_allocation("local", ["n0", "n1"])
    assert [(host.host, host.address) for host in found.hosts] == [("n0", "127.0.0.1"), ("n1", "127.0.0.1")]


@pytest.mark.parametrize(
    ("job", "sentence"),
    [
        (JOB, "stopped by SIGTERM"),
        (JOB.replace("RUNNING", "COMPLETING"), "stopped by SIGTERM: job 7 was cancelled"),
        # The signs of Slurm 22.05, each seen on a cluster.
        (
            JOB.replace("RUNNING", "COMPLETING") + " RunTime=00:03:12 PreemptTime=2026-11-29T21:58:10",
            "stopped by SIGTERM: job 7 was preempted",
        ),
        (
            JOB.replace("RUNNING", "COMPLETING") + " Requeue=1 Restarts=1 RunTime=00:00:00 PreemptTime=None",
            "stopped by SIGTERM: job 7 goes back into the queue",
        ),
        (
            JOB.replace("RUNNING Reason=None", "NODE_FAIL Reason=NodeDown"),
            "stopped by SIGTERM: a node of job 7 has failed",
        ),
        (
            JOB.replace("RUNNING Reason=None", "COMPLETING Reason=TimeLimit"),
            "stopped by SIGTERM: the time limit of job 7, 00:20:00, is over",
        ),
    ],
)
def test_the_reason_of_a_signal_is_what_slurm_does_to_the_job(
    tmp_path: Path, job: str, sentence: str
) -> None:
    slurm_tells(tmp_path, job=job)
    assert stopped_by("SIGTERM", "slurm") == sentence
    assert stopped_by("SIGTERM", "local") == "stopped by SIGTERM"


@pytest.mark.parametrize(
    ("job", "what"),
    [
        (JOB, None),
        (JOB.replace("RUNNING Reason=None", "COMPLETING Reason=TimeLimit"), None),
        (JOB.replace("RUNNING", "CANCELLED"), "job 7 was cancelled"),
    ],
)
def test_a_job_that_has_ended_before_its_time_is_not_out_of_time(
    tmp_path: Path, job: str, what: str | None
) -> None:
    slurm_tells(tmp_path, job=job)
    assert what_ends("7") == what


def test_a_web_proxy_is_not_asked_for_the_hosts_of_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slurm_tells(tmp_path)
    found = find_allocation("slurm", ["n0", "n1"])
    for name in (
        "http_proxy",
        "HTTP_PROXY",
        "https_proxy",
        "HTTPS_PROXY",
        "all_proxy",
        "ALL_PROXY",
        "NO_PROXY",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("no_proxy", ".site.example")
    assert found.past_the_proxy() == {}
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.site.example:3128")
    told = ".site.example,localhost,127.0.0.1,gpu1,127.0.0.1,gpu2,127.0.0.2"
    assert found.past_the_proxy() == {"no_proxy": told, "NO_PROXY": told}

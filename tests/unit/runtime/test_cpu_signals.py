"""CPUs of the allocation, from Slurm itself although the executor hides its variables from the rule."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from servesweep.runtime.cpu_signals import batch_environment, detailed_cpus, is_cpu_variable

# `scontrol show job -d` of Slurm 22.05 for a heterogeneous job, shortened.
SHOWN = """\
JobId=4 HetJobId=4 HetJobOffset=0 JobName=het.sh
   ReqNodeList=(null) ExcNodeList=(null)
   NodeList=ssnode1
   NumNodes=1 NumCPUs=64 NumTasks=2 CPUs/Task=4 ReqB:S:C:T=0:0:*:*
     Nodes=ssnode1 CPU_IDs=0-63 Mem=512000 GRES=gpu:h100:8(IDX:0-7)
   MinCPUsNode=8 MinMemoryNode=0 MinTmpDiskNode=0

JobId=5 HetJobId=4 HetJobOffset=1 JobName=het.sh
   NodeList=ssnode[2-3]
   NumNodes=2 NumCPUs=4 NumTasks=4 CPUs/Task=1 ReqB:S:C:T=0:0:*:*
     Nodes=ssnode[2-3] CPU_IDs=0-1 Mem=512000 GRES=
"""


def test_every_component_of_a_job_tells_its_cpus() -> None:
    assert detailed_cpus(SHOWN) == [("ssnode1", 64), ("ssnode[2-3]", 2)]
    assert detailed_cpus("slurm_load_jobs error: Invalid job id specified") == []


def test_the_variables_are_found_with_an_ancestor_that_still_has_them(tmp_path: Path) -> None:
    asked = (
        "import json; from servesweep.runtime.cpu_signals import batch_environment as b; "
        "print(json.dumps([b('17').get('SLURM_CPUS_ON_NODE'), b('18').get('SLURM_CPUS_ON_NODE')]))"
    )
    clean = f'env -u SLURM_CPUS_ON_NODE -u SLURM_JOB_CPUS_PER_NODE {sys.executable} -c "{asked}"; true'
    slurm = {"SLURM_JOB_ID": "17", "SLURM_JOB_CPUS_PER_NODE": "8(x2)", "SLURM_CPUS_ON_NODE": "8"}
    done = subprocess.run(
        ["sh", "-c", clean], env={**os.environ, **slurm}, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == ["8", None]


def test_outside_of_a_job_there_is_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLURM_JOB_CPUS_PER_NODE", raising=False)
    assert dict(batch_environment("no such job")) == {}


def test_only_slurms_cpu_variables_are_kept() -> None:
    told = [
        "SLURM_CPUS_ON_NODE",
        "SLURM_JOB_CPUS_PER_NODE",
        "SLURM_CPUS_PER_TASK",
        "SLURM_JOB_CPUS_PER_NODE_HET_GROUP_0",
    ]
    assert all(map(is_cpu_variable, told))
    untold = ["SLURM_JOB_ID", "HF_TOKEN", "CPU_SECRET", "SLURM_JOB_CPUS_PER_NODE_PACK_GROUP_0"]
    assert not any(map(is_cpu_variable, untold))

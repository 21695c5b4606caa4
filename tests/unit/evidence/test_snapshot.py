"""The hardware that a run had."""

import json
import os
from pathlib import Path

from servesweep.evidence.files import RunFiles
from servesweep.evidence.snapshot import write_snapshot
from servesweep.plan.plan import Plan


def test_what_was_planned_and_what_is_there(plan: Plan, files: RunFiles) -> None:
    path = files.logs / "resource_snapshot.json"
    write_snapshot(path, plan, "17")
    snapshot = json.loads(path.read_text())
    assert snapshot["gpus"] == {
        "type": None, "configured_per_node": 8, "configured_total": 8, "backend_total": 8,
    }  # fmt: skip
    assert (snapshot["job_id"], snapshot["nodes"]) == ("17", {"count": 1})
    assert snapshot["hardware"]["host_logical_cpus"] == os.cpu_count()
    assert snapshot["cpus"]["process_affinity_list"] == sorted(os.sched_getaffinity(0))
    assert Path("/proc/cpuinfo").exists() == (snapshot["hardware"]["cpu_model"] is not None)

"""Two jobs on one node, half of its GPUs each: what the one measures is never the other one's server."""

from __future__ import annotations

from typing import Any

TAKEN = (
    "another process already listens on port",
    "ddress already in use",
    "is held by a process that is not of this run",
)


def test_each_job_measures_its_own_server_or_says_why_not(sweep: Any, cluster: Any) -> None:
    site = sweep.project.root / "config/cluster.yaml"
    site.write_text(site.read_text().replace("directive: true", "directive: false"))
    for name, ttft in (("left", 40), ("right", 120)):
        sweep.recipe(name, gpus=4, args={"ttft-ms": ttft, "itl-ms": 1}, num_prompts_mult=10)
    done = sweep.run()
    finished = [name for name in ("left", "right") if sweep.project.exists(f"{name}/run.json")]
    assert finished
    assert (done.returncode == 0) is (len(finished) == 2)
    for name in finished:
        result = sweep.project.json(f"{name}/points/c1/result.json")
        least = {"left": 40, "right": 120}[name]
        assert least <= result["metrics"]["median_ttft_ms"] < least + 60
    for name in {"left", "right"} - set(finished):
        failure = sweep.project.json(f"{name}/failure.json")
        told = " ".join([failure["message"], *failure["tail"]])
        assert any(sentence in told for sentence in TAKEN)
    cluster.nothing_is_left(sweep.project.root)

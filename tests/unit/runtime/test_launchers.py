"""The words that start a process, word by word."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from servesweep.runtime.allocation import Allocation, Host
from servesweep.runtime.launchers import Launch, LaunchError, launcher_of
from servesweep.runtime.launchers.whole import SHELL
from servesweep.runtime.processes import MARK, marked

ARGV = ("python3", "-m", "server", "--name", "two words")
ENV = {"CUDA_VISIBLE_DEVICES": "2,3", "TEXT": "a=b c"}
HOSTS = tuple(Host(name=f"n{i}", host=f"gpu1{7 + i}", address=f"10.0.0.1{7 + i}") for i in range(2))


def allocation(launcher: str, job: str | None = None, hosts: tuple[Host, ...] = HOSTS) -> Allocation:
    return Allocation.model_validate(
        {
            "launcher": launcher,
            "job_id": job,
            "hosts": hosts,
            "project": "/project",
            "supervisor_host": "gpu17",
            "supervisor_pid": 1,
            "started_at": "2025-01-01T00:00:00+00:00",
        }
    )


def test_local_sets_variables_by_env() -> None:
    words = launcher_of(allocation("local")).words(Launch("agg_0", ("n0",), ARGV, ENV, {"mpi": "pmix"}))
    assert words == [
        "env", "CUDA_VISIBLE_DEVICES=2,3", "TEXT=a=b c", "python3", "-m", "server", "--name", "two words",
    ]  # fmt: skip


def test_slurm_starts_one_overlapping_step_on_the_host() -> None:
    options = {"mpi": "pmix", "oversubscribe": ""}
    launch = Launch("agg_0", ("n0",), ARGV, ENV, options, Path("/r/agg.out"))
    words = launcher_of(allocation("slurm", "42")).words(launch)
    assert words == [
        "srun", "--jobid=42", "--overlap", "--nodes=1", "--ntasks=1", "--nodelist=gpu17", "--job-name=agg_0",
        "--export=ALL", "--output=/r/agg.out", "--open-mode=append", "--mpi=pmix", "--oversubscribe",
        "env", "CUDA_VISIBLE_DEVICES=2,3", "TEXT=a=b c", "python3", "-m", "server", "--name", "two words",
    ]  # fmt: skip


def test_a_process_of_the_deployment_takes_all_along_that_it_has_started() -> None:
    words = launcher_of(allocation("slurm", "42")).words(Launch("agg_0", ("n0",), ARGV, ENV, whole=True))
    at = words.index("--export=ALL") + 1
    assert words[at:] == ["sh", "-c", SHELL, "agg_0", "env", *(f"{k}={v}" for k, v in ENV.items()), *ARGV]
    local = launcher_of(allocation("local")).words(Launch("agg_0", ("n0",), ARGV, whole=True))
    assert local == ["env", *ARGV]


def test_without_a_log_the_step_s_output_is_inherited() -> None:
    words = launcher_of(allocation("slurm", "42")).words(Launch("b", ("n0",), ("true",)))
    assert words == [
        "srun", "--jobid=42", "--overlap", "--nodes=1", "--ntasks=1", "--nodelist=gpu17", "--job-name=b",
        "--export=ALL", "env", "true",
    ]  # fmt: skip


def test_one_launch_over_two_nodes_has_a_place_for_each_task_in_the_order_of_ranks() -> None:
    launch = Launch("agg_0", ("n1", "n0"), ("serve",), tasks=3, shares=(2, 1), options={"mpi": "pmix"})
    assert launcher_of(allocation("slurm", "42")).words(launch) == [
        "srun", "--jobid=42", "--overlap", "--nodes=2", "--ntasks=3", "--kill-on-bad-exit=1", "--wait=10",
        "--distribution=arbitrary", "--nodelist=gpu18,gpu18,gpu17", "--job-name=agg_0", "--export=ALL",
        "--mpi=pmix", "env", "serve",
    ]  # fmt: skip


def test_a_distribution_of_the_recipe_s_own_is_left_to_slurm() -> None:
    options = {"distribution": "cyclic", "ntasks-per-node": "2"}
    launch = Launch("agg_0", ("n0", "n1"), ("serve",), tasks=4, shares=(2, 2), options=options)
    words = launcher_of(allocation("slurm", "42")).words(launch)
    assert "--nodelist=gpu17,gpu18" in words
    assert "--distribution=arbitrary" not in words


def test_in_a_heterogeneous_job_a_step_names_its_component() -> None:
    hosts = tuple(host.model_copy(update={"het_group": group}) for group, host in enumerate(HOSTS))
    found = allocation("slurm", "42", hosts)
    words = launcher_of(found).words(Launch("decode_0", ("n1",), ("serve",)))
    assert words[:5] == ["srun", "--jobid=42", "--overlap", "--het-group=1", "--nodes=1"]
    assert found.job_ids == ("42", "43")
    with pytest.raises(LaunchError, match="its nodes belong to two components of the heterogeneous job"):
        launcher_of(found).words(Launch("agg_0", ("n0", "n1"), ("serve",), tasks=2, shares=(1, 1)))
    assert allocation("slurm", "42").job_ids == ("42",)


def test_locally_ranks_of_one_launch_and_containers_are_refused() -> None:
    local = launcher_of(allocation("local"))
    with pytest.raises(LaunchError, match="its 8 ranks are one launch, which needs launcher: slurm"):
        local.words(Launch("agg_0", ("n0",), ARGV, tasks=8))
    with pytest.raises(LaunchError, match="container_runtime: pyxis needs launcher: slurm"):
        local.words(Launch("agg_0", ("n0",), ARGV, image="nginx"))


def test_pyxis_gets_image_and_mounts_before_the_recipe_s_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SITE_DATA", "/lustre/data")
    launch = Launch(
        "agg_0", ("n0",), ("serve",), {"A": "b c"}, {"container-remap-root": ""}, image="./sglang.sqsh",
        mounts={"results/x/logs": "/logs", "$SITE_DATA/w": "/w:ro"},
        preamble="source /opt/env.sh",
    )  # fmt: skip
    assert launcher_of(allocation("slurm", "42")).words(launch) == [
        "srun", "--jobid=42", "--overlap", "--nodes=1", "--ntasks=1", "--nodelist=gpu17", "--job-name=agg_0",
        "--export=ALL", "--container-image=/project/sglang.sqsh",
        "--container-mounts=/project/results/x/logs:/logs,/lustre/data/w:/w:ro",
        "--no-container-entrypoint", "--no-container-mount-home", "--container-remap-root",
        "env", "A=b c", "bash", "-c", 'source /opt/env.sh\nexec "$@"', "agg_0", "serve",
    ]  # fmt: skip


def test_what_runs_before_a_command_leaves_its_words_alone() -> None:
    words = ("printf", "%s|", "two words", "$HOME", "it's", '{"a": 1}', "")
    launch = Launch("agg_0", ("n0",), words, {"X": "1"}, preamble="X=$((X + 1))\necho $X")
    argv = launcher_of(allocation("local")).words(launch)
    assert subprocess.run(argv, capture_output=True, text=True, check=True).stdout == (
        """2\ntwo words|$HOME|it's|{"a": 1}||"""
    )


def test_a_command_is_not_started_where_what_runs_before_it_fails() -> None:
    launch = Launch("agg_0", ("n0",), ("echo", "started"), preamble="set -e\nfalse")
    argv = launcher_of(allocation("local")).words(launch)
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")


def test_the_local_sweep_ends_a_process_that_left_its_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MARK, str(tmp_path))
    words = [sys.executable, "-c", "import time; time.sleep(60)"]
    daemon = subprocess.Popen(words, start_new_session=True)
    monkeypatch.setenv(MARK, str(tmp_path / "other"))
    stranger = subprocess.Popen(words)
    try:
        monkeypatch.setenv(MARK, str(tmp_path))
        assert set(marked(tmp_path)) >= {daemon.pid}
        monkeypatch.setitem(os.environ, MARK, str(tmp_path / "nobody"))
        asyncio.run(launcher_of(allocation("local")).sweep_up())
        assert daemon.poll() is None
        monkeypatch.setitem(os.environ, MARK, str(tmp_path / "other"))
        asyncio.run(launcher_of(allocation("local")).sweep_up())
        assert stranger.wait(10) == -9
        assert daemon.poll() is None
    finally:
        for process in (daemon, stranger):
            process.kill()
            process.wait()

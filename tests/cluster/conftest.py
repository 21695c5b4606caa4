"""The `cluster` fixture: a real Slurm cluster on this machine, and what a test wants to ask of it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import brought_up

SCRIPT = Path(__file__).with_name("slurm-cluster")
SLURMD_PORT = 6818
# Two lines of tests run side by side, each with sweeps over up to four nodes.
NODES = 8
COMPONENTS = ("slurmctld", "slurmd", "slurmdbd", "munged", "mariadbd", "srun", "ip", "nsenter")


def run(*argv: str | Path, timeout: float = 120) -> str:
    """Standard output of a command, given `timeout` seconds; a failure raises with all it printed."""
    done = subprocess.run(argv, capture_output=True, text=True, timeout=timeout, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, argv))}: rc {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


@dataclass(frozen=True)
class Cluster:
    """The running cluster; every method asks Slurm or the kernel anew."""

    nodes: tuple[str, ...]
    gpus_per_node: int

    def squeue(self) -> list[dict[str, Any]]:
        """Every job that is pending, running or completing, as `squeue --json` tells it."""
        jobs: list[dict[str, Any]] = json.loads(run("squeue", "--json"))["jobs"]
        # `--json` also lists what ended within MinJobAge.
        return [job for job in jobs if job["job_state"] in {"PENDING", "RUNNING", "COMPLETING", "SUSPENDED"}]

    def jobs(self) -> list[int]:
        """Ids of the jobs in the queue."""
        return sorted(job["job_id"] for job in self.squeue())

    def steps(self, job: int) -> dict[str, str]:
        """Step id (`12.3`) to step name of a job's running steps, the batch step left out."""
        rows = run("squeue", "--steps", "--noheader", "--jobs", str(job), "--format", "%i %j").splitlines()
        steps = dict(row.split(maxsplit=1) for row in rows)
        return {step: name for step, name in steps.items() if not step.endswith(".batch")}

    def state(self, job: int) -> str:
        """The job's state in the accounting, for example `COMPLETED` or `CANCELLED by 0`."""
        return run("sacct", "-X", "-n", "-P", "-j", str(job), "-o", "State").strip()

    def processes(self, node: str) -> list[tuple[int, str]]:
        """Pid and command line of every process on a node, Slurm's own left out."""
        rows = run(SCRIPT, "processes", node).splitlines()
        return [(int(pid), command) for pid, _, command in (row.partition("\t") for row in rows)]

    def leftovers(self) -> dict[str, list[tuple[int, str]]]:
        """The processes of every node that has any: what must be empty after a job."""
        return {node: found for node in self.nodes if (found := self.processes(node))}

    def execute(self, node: str, *argv: str, timeout: float = 120) -> str:
        """Standard output of a command run on a node, outside any job."""
        return run(SCRIPT, "exec", node, *argv, timeout=timeout)

    def drain(self, node: str) -> None:
        """Let no new job start on the node."""
        run("scontrol", "update", f"nodename={node}", "state=drain", "reason=test")

    def resume(self, node: str) -> None:
        """Undo `drain`."""
        run("scontrol", "update", f"nodename={node}", "state=resume")

    def node_states(self) -> dict[str, str]:
        """Node name to Slurm's short state: `idle`, `mix`, `alloc`, `drain`, …"""
        return dict(row.split() for row in run("sinfo", "-h", "-N", "-o", "%N %t").splitlines())

    def cancel(self, job: int) -> None:
        """`scancel` the job; it may need up to `KillWait` (30 s) to be gone."""
        run("scancel", str(job))

    def jobs_of(self, directory: Path) -> dict[str, dict[str, Any]]:
        """Configuration to its queued job, of the sweep in a directory; the last one submitted counts."""
        prefix = "rule_run_wildcards_"
        rows = [row for row in self.squeue() if row["current_working_directory"] == str(directory)]
        rows.sort(key=lambda row: row["job_id"])
        # Behind the executor's comment stand the recipe's name and its own.
        comments = {row["comment"].partition(" ")[0]: row for row in rows}
        return {
            first.removeprefix(prefix): row for first, row in comments.items() if first.startswith(prefix)
        }

    def accounting(self, job: int) -> dict[str, dict[str, str]]:
        """Step name to its row of sacct, for every step of a job; the job itself is called `job`."""
        fields = ("JobID", "JobName", "State", "ExitCode", "NodeList", "AllocTRES", "TimelimitRaw", "Account")
        rows = [
            dict(zip(fields, line.split("|"), strict=True))
            for line in run("sacct", "-n", "-P", "-j", str(job), "-o", ",".join(fields)).splitlines()
        ]
        return {("job" if row["JobID"] == str(job) else row["JobName"]): row for row in rows}

    def left_of(self, directory: Path) -> list[str]:
        """Command lines of the processes on any node whose working directory is a project, or below it."""
        return [
            f"{node}: {command}"
            for node, found in self.leftovers().items()
            for pid, command in found
            if (_working_directory(pid) or Path("/")).is_relative_to(directory)
        ]

    def listening(self, node: str) -> set[int]:
        """Ports on which something listens on a node, slurmd's own left out."""
        rows = self.execute(node, "ss", "-Hltn").splitlines()
        return {int(row.split()[3].rpartition(":")[2]) for row in rows} - {SLURMD_PORT}

    def nothing_is_left(self, directory: Path, timeout: float = 60) -> None:
        """Fail unless, in seconds, a project has no job, no process and no port on any node any more."""
        self.wait_until(lambda: not self.jobs_of(directory), timeout, "the last job of the sweep to end")
        # What a job's step leaves behind ends a moment after the job, or never.
        self.wait_until(lambda: not self.left_of(directory), timeout, f"the end of {self.left_of(directory)}")
        others = {name for row in self.squeue() for name in hostnames(row["nodes"])}
        for node in set(self.nodes) - others:
            self.wait_until(lambda n=node: not self.listening(n), timeout, f"closed ports on {node}")

    def wait_until(self, condition: Callable[[], bool], timeout: float, what: str) -> None:
        """Poll until the condition holds; fails with `what` and the queue after `timeout` seconds."""
        end = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > end:
                pytest.fail(f"{what}: not within {timeout:.0f} s\n{run('squeue', '-l')}{run('sinfo', '-N')}")
            time.sleep(0.1)

    def wait_gone(self, job: int, timeout: float) -> None:
        """Wait until the job has left the queue, completing included; in seconds at most."""
        self.wait_until(lambda: job not in self.jobs(), timeout, f"end of job {job}")


def hostnames(nodes: str) -> list[str]:
    """Expand `ssnode[1-3]`; empty for a job that holds no nodes."""
    return run("scontrol", "show", "hostnames", nodes).split() if nodes else []


def _working_directory(pid: int) -> Path | None:
    try:
        return Path(f"/proc/{pid}/cwd").readlink()
    except OSError:
        return None


def missing_component() -> str | None:
    """The first thing that this machine lacks for a cluster, or None."""
    if os.geteuid() != 0:
        return "root"
    search = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
    return next((name for name in COMPONENTS if shutil.which(name, path=search) is None), None)


@pytest.fixture(scope="session")
def cluster() -> Cluster:
    """Nodes with eight GPUs each; brought up, and taken down with the session, unless it was up already.

    A missing component skips the test and is named; in CI, where nothing may go untested, it fails.
    """
    if missing := missing_component():
        reason = f"missing real component: {missing} (tests/cluster/slurm-cluster up --install)"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    if subprocess.run([SCRIPT, "status"], capture_output=True, check=False).returncode != 0:
        brought_up().touch()
    run(SCRIPT, "up", "--nodes", str(NODES), "--gpus", "8", timeout=300)
    return Cluster(nodes=tuple(f"ssnode{i}" for i in range(1, NODES + 1)), gpus_per_node=8)


@dataclass(frozen=True)
class Sweep:
    """A project whose sweep runs on the cluster: `snakemake --profile cluster`, and what it does there."""

    cluster: Cluster
    project: Any
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def recipe(self, name: str, **changes: Any) -> None:
        """Write config/recipes/<name>.yaml: one simulator on one node, one quick point, changed by `changes`.

        `args` are the simulator's, `gpus` those of node and worker; all others are keys of the benchmark,
        but `time_limit` and `partition` of slurm and `patience`, the attempts of the health gate.
        """
        gpus, args = changes.pop("gpus", 8), {"ttft-ms": 20, "itl-ms": 5, **changes.pop("args", {})}
        slurm = {"time_limit": changes.pop("time_limit", "00:10:00")}
        if "partition" in changes:
            slurm["partition"] = changes.pop("partition")
        patience = changes.pop("patience", 40)
        recipe = {
            "schema": 2,
            "name": name,
            "model": {"path": "tiny", "precision": "fp16"},
            "engine": "simulator",
            "resources": {"gpus_per_node": gpus},
            "roles": {"agg": {"nodes": 1, "workers": 1, "gpus": gpus, "args": args}},
            "frontend": {"type": "direct"},
            "slurm": slurm,
            "health_check": {"max_attempts": patience, "interval_seconds": 1},
            "benchmark": {
                **{"type": "sa-bench", "isl": 32, "osl": 16, "concurrencies": "1"},
                **{"num_prompts_mult": 4, "num_warmup_mult": 1, **changes},
            },
        }
        # JSON is YAML.
        self.project.write(f"config/recipes/{name}.yaml", json.dumps(recipe, indent=1))

    def on_path(self, directory: Path) -> None:
        """Let the programs of a directory be found first, on the nodes too: Slurm passes the path on."""
        self.project.environment["PATH"] = f"{directory}{os.pathsep}{os.environ['PATH']}"

    def log(self, configuration: str) -> str:
        """What a run said; empty where it has not begun."""
        path = self.project.root / "results" / configuration / "run.log"
        return path.read_text() if path.exists() else ""

    def words(self) -> list[str]:
        """What is typed after `snakemake`."""
        return ["--profile", "cluster", "--config", "recipes=config/recipes"]

    def run(self, *more: str) -> subprocess.CompletedProcess[str]:
        """`snakemake --profile cluster` to its end."""
        done: subprocess.CompletedProcess[str] = self.project.snakemake(*self.words(), *more)
        return done

    def start(self) -> subprocess.Popen[str]:
        """The same in the background."""
        self.started.append(self.project.start(*self.words()))
        return self.started[-1]

    def jobs(self) -> dict[str, dict[str, Any]]:
        """Configuration to its job in the queue."""
        return self.cluster.jobs_of(self.project.root)

    def requests_done(self, configuration: str, point: str) -> int:
        """How many requests of a point are answered, warm-up left out; 0 before it began."""
        try:
            now = self.project.json(f"{configuration}/points/{point}/progress.json")
        except (OSError, ValueError):
            return 0
        return int(now.get("done") or 0) if now.get("phase") == "measure" else 0

    def wait_for_point(self, configuration: str, point: str, timeout: float = 120) -> None:
        """Return in the middle of a point."""
        what = f"the first answers of {point} of {configuration}"
        self.wait_until(lambda: self.requests_done(configuration, point) > 0, timeout, what)

    def wait_until(self, condition: Callable[[], bool], timeout: float, what: str) -> None:
        """Poll until the condition holds, in seconds; the end of the controlling Snakemake fails at once."""

        def holds() -> bool:
            if condition():
                return True
            if self.started[-1].poll() is not None:
                pytest.fail(f"{what}: Snakemake has ended before\n{self.started[-1].communicate()[0]}")
            return False

        self.cluster.wait_until(holds, timeout, what)

    def results(self) -> dict[str, tuple[bytes, int]]:
        """Every point's result and the records of finished runs: content and time in nanoseconds."""
        found = [
            *self.project.files("*/points/*/result.json"),
            *self.project.files("*/run.json"),
        ]
        paths = {name: self.project.root / "results" / name for name in found}
        return {name: (path.read_bytes(), path.stat().st_mtime_ns) for name, path in paths.items()}

    def submitted(self, output: str) -> list[int]:
        """Ids of the jobs that a Snakemake's output says were submitted."""
        return [int(job) for job in re.findall(r"has been submitted with SLURM jobid (\d+)", output)]

    def end(self) -> None:
        """End what is still there of a test that failed in its middle."""
        for process in self.started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        for row in self.jobs().values():
            self.cluster.cancel(row["job_id"])


@pytest.fixture(scope="session")
def new_sweep(cluster: Cluster, new_project: Callable[[str], Any]) -> Iterator[Callable[[str], Sweep]]:
    """Make sweeps, each in a project of its own; jobs that are still there in the end are cancelled."""
    made: list[Sweep] = []

    def make(name: str) -> Sweep:
        made.append(Sweep(cluster, new_project(name)))
        return made[-1]

    yield make
    for sweep in made:
        sweep.end()


@pytest.fixture
def sweep(new_sweep: Callable[[str], Sweep]) -> Iterator[Sweep]:
    """A sweep for one test, which leaves nothing on the cluster."""
    made = new_sweep("sweep")
    yield made
    made.end()

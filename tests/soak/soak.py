"""`make soak`: a large sweep on a cluster where something dies every few seconds, run again until it is done.

200 configurations of 3 points; the faults come from a seeded list and hit whatever runs at their moment: a
worker, a router, a client, a supervisor, a job, a node's link, the controlling Snakemake. At the end every
point has to be there, valid, once, with the numbers that its simulator was told. What is done stays in
`--directory`, so that a soak may be cut into pieces of `--minutes`; exit code 3: not done yet.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY))

from tests.cluster.conftest import SCRIPT, Cluster, Sweep, run  # noqa: E402
from tests.conftest import SNAKEMAKE, Project, make_project  # noqa: E402

CONFIGURATION = "/var/lib/servesweep-cluster-2/etc/slurm.conf"
CONCURRENCIES, OUTPUT_TOKENS, PROMPTS_MULT = (1, 2, 4), 16, 3
ITL_MS = (5, 10)
FAULTS = {
    "worker": 6, "router": 3, "client": 4, "supervisor": 3, "job": 4, "link": 1, "controller": 1, "ctrl_c": 1,
}  # fmt: skip
NOT_DONE = 3
# Around the processes that are meant.
SHELLS = ("srun", "sh ", "/bin/sh", "/usr/bin/sh", "bash", "/usr/bin/bash")
# A link that is out for shorter than this is a hiccup, and a node that is lost for longer costs a whole node.
LINK_OUT_SECONDS = 15.0


@dataclass
class Soak:
    """A sweep, the faults so far, and what is still to be undone."""

    sweep: Sweep
    dice: random.Random
    log: Path
    undo: list[tuple[float, Callable[[], None]]] = field(default_factory=list)

    def strike(self) -> None:
        """The next fault of the list, on something that it can hit."""
        kind = self.dice.choices(list(FAULTS), list(FAULTS.values()))[0]
        told = getattr(self, kind)()
        if told:
            with self.log.open("a") as log:
                log.write(json.dumps({"at": time.time(), "fault": kind, "hit": told}) + "\n")

    def settle(self, force: bool = False) -> None:
        """Undo what has been out for long enough."""
        due = [entry for entry in self.undo if force or entry[0] <= time.monotonic()]
        for entry in due:
            self.undo.remove(entry)
            entry[1]()

    def worker(self) -> str:
        return self._kill("servesweep.simulator")

    def router(self) -> str:
        return self._kill("sglang::router")  # it renames itself

    def client(self) -> str:
        return self._kill("servesweep.loadgen")

    def supervisor(self) -> str:
        return self._kill("servesweep run ")

    def job(self) -> str:
        jobs = [row["job_id"] for row in self.sweep.jobs().values() if row["job_state"] == "RUNNING"]
        if not jobs:
            return ""
        job = self.dice.choice(sorted(jobs))
        # It may have ended in the meantime.
        subprocess.run(["scancel", str(job)], check=False, capture_output=True)
        return f"job {job}"

    def link(self) -> str:
        """A node is gone, as far as Slurm can tell, and comes back after a while."""
        node = self.dice.choice(self.sweep.cluster.nodes)
        run(SCRIPT, "link", node, "down")
        run("scontrol", "update", f"nodename={node}", "state=down", "reason=Not responding")

        def back() -> None:
            run(SCRIPT, "link", node, "up")
            subprocess.run(["scontrol", "update", f"nodename={node}", "state=resume"], check=False)

        self.undo.append((time.monotonic() + LINK_OUT_SECONDS, back))
        return node

    def controller(self) -> str:
        return self._end_controller(signal.SIGKILL)

    def ctrl_c(self) -> str:
        return self._end_controller(signal.SIGINT)

    def _end_controller(self, number: signal.Signals) -> str:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.sweep.started[-1].pid, number)
        return number.name

    def _kill(self, word: str) -> str:
        """SIGKILL to one process whose command line has the word; srun and shells around it are not it."""
        found = [
            (pid, command)
            for node in self.sweep.cluster.nodes
            for pid, command in self.sweep.cluster.processes(node)
            if word in command and not command.startswith(SHELLS)
        ]
        if not found:
            return ""
        pid, command = self.dice.choice(sorted(found))
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        return command[:120]


def write_recipes(sweep: Sweep, count: int) -> None:
    """Two grids: servers reached directly, and servers behind a router."""
    if list((sweep.project.root / "config/recipes").iterdir()):
        return
    per_recipe = math.ceil(count / 2 / len(ITL_MS))
    for name, frontend in (("direct", "direct"), ("routed", "sglang-router")):
        sweep.recipe(
            name, concurrencies=list(CONCURRENCIES), osl=OUTPUT_TOKENS, num_prompts_mult=PROMPTS_MULT,
            random_range_ratio=1.0, num_warmup_mult=0,
        )  # fmt: skip
        path = sweep.project.root / f"config/recipes/{name}.yaml"
        recipe = json.loads(path.read_text())
        recipe["sweep"] = {"ttft": list(range(10, 10 + per_recipe)), "itl": list(ITL_MS)}
        recipe["roles"]["agg"]["args"] = {"ttft-ms": "{ttft}", "itl-ms": "{itl}"}
        recipe["frontend"] = {"type": frontend}
        path.write_text(json.dumps(recipe, indent=1))


def wrong(project: Project, count: int) -> list[str]:
    """What is not right in the table: empty after a good soak."""
    with (project.root / "results/summary.csv").open() as table:
        rows = list(csv.DictReader(table))
    places = Counter((row["configuration"], row["point"]) for row in rows)
    problems = [f"{place}: {times} rows" for place, times in places.items() if times > 1]
    names = {name for name, _ in places}
    problems += [f"{len(names)} configurations of {count}"] if len(names) != count else []
    if len(rows) != count * len(CONCURRENCIES):
        problems.append(f"{len(rows)} rows of {count * len(CONCURRENCIES)}")
    for row in rows:
        place = f"{row['configuration']} {row['point']}"
        if row["status"] != "valid":
            problems.append(f"{place}: {row['status']}: {row['reason']}")
            continue
        problems += [f"{place}: {told}" for told in _wrong_numbers(project, row)]
    return problems


def _wrong_numbers(project: Project, row: dict[str, str]) -> list[str]:
    """A point's result against what its simulator was told by the configuration's name."""
    result = project.json(f"{row['configuration']}/points/{row['point']}/result.json")
    parts = row["configuration"].split("_")
    ttft, itl = (
        int(next(p for p in parts if p.startswith(key)).removeprefix(key)) for key in ("ttft", "itl")
    )
    asked = PROMPTS_MULT * int(row["point"].removeprefix("c"))
    found = (result["requests"]["completed"], result["tokens"]["output"], result["model"])
    metrics = result["metrics"]
    problems = []
    if found != (asked, asked * OUTPUT_TOKENS, "tiny"):
        problems.append(f"{found} instead of {(asked, asked * OUTPUT_TOKENS, 'tiny')}")
    # A busy machine answers late, never early.
    if metrics["median_ttft_ms"] < ttft - 1:
        problems.append(f"TTFT {metrics['median_ttft_ms']:.1f} ms instead of {ttft}")
    # Behind a first token that is seen late the others come faster; the last one keeps to the timetable.
    last = ttft + itl * (OUTPUT_TOKENS - 1)
    if metrics["mean_e2el_ms"] < last - 1:
        problems.append(f"E2E latency {metrics['mean_e2el_ms']:.1f} ms instead of {last}")
    return problems


def start(soak: Soak) -> subprocess.Popen[str]:
    """`snakemake`, which tells more than a pipe that nobody reads would hold."""
    project = soak.sweep.project
    with soak.log.with_name("controllers.log").open("a") as said:
        controller = subprocess.Popen(
            [str(SNAKEMAKE), *soak.sweep.words()],
            cwd=project.root,
            env={**os.environ, **project.environment},
            stdout=said,
            stderr=said,
            text=True,
            start_new_session=True,
        )
    soak.sweep.started.append(controller)
    return controller


def soak_for(soak: Soak, seconds: float, pause: float) -> bool:
    """Run and hit the sweep until it is done (true), or the time is over."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        controller = start(soak)
        strike_at = time.monotonic() + soak.dice.uniform(0.5, 2.0) * pause
        while controller.poll() is None and time.monotonic() < deadline:
            soak.settle()
            if time.monotonic() > strike_at:
                strike_at = time.monotonic() + soak.dice.uniform(0.5, 1.5) * pause
                soak.strike()
            time.sleep(0.5)
        if controller.poll() is None:
            os.killpg(controller.pid, signal.SIGINT)
        controller.wait(timeout=120)
        if controller.returncode == 0:
            break
    soak.settle(force=True)
    return controller.returncode == 0


def main() -> None:
    """One piece of a soak, and its figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--configurations", type=int, default=200)
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pause", type=float, default=20.0, help="seconds between two faults")
    parser.add_argument("--minutes", type=float, default=600.0)
    parser.add_argument("--directory", type=Path, default=REPOSITORY / "results" / ".soak")
    options = parser.parse_args()
    os.environ["SLURM_CONF"] = CONFIGURATION
    run(SCRIPT, "up", "--nodes", str(options.nodes), "--no-accounting", timeout=300)
    directory = options.directory.absolute()
    root = directory / "project"
    project = Project(root) if root.exists() else make_project(root)
    cluster = Cluster(tuple(f"ssother{i}" for i in range(1, options.nodes + 1)), 8)
    sweep = Sweep(cluster, project)
    write_recipes(sweep, options.configurations)
    log = directory / "faults.jsonl"
    pieces = len(list(directory.glob("piece-*")))
    (directory / f"piece-{pieces}").touch()
    began = time.monotonic()
    soak = Soak(sweep, random.Random(f"{options.seed} {pieces}"), log)
    # Also of a soak in the background, where a shell lets interrupts be ignored, nothing is left behind.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, interrupted)
    try:
        done = soak_for(soak, 60 * options.minutes, options.pause)
    finally:
        sweep.end()
        cluster.wait_until(lambda: not sweep.jobs(), 120, "the end of all jobs")
        run(SCRIPT, "down", timeout=300)
    report(project, log, options.configurations, time.monotonic() - began, done)


def interrupted(number: int, _: object) -> NoReturn:
    """End by way of `finally`."""
    sys.exit(128 + number)


def report(project: Project, log: Path, count: int, seconds: float, done: bool) -> None:
    """Print the figures; exit with 3 where it is not done, with 1 where the table is wrong."""
    faults = (
        Counter(json.loads(line)["fault"] for line in log.read_text().splitlines()) if log.exists() else {}
    )
    finished = len(project.files("*/run.json"))
    points = len(project.files("*/points/*/result.json"))
    print(f"{seconds / 60:.1f} minutes; {finished} of {count} configurations, {points} points")
    print(f"faults so far: {sum(faults.values())}: {dict(faults)}")
    if not done:
        print("not done yet: the same command goes on")
        sys.exit(NOT_DONE)
    problems = wrong(project, count)
    print("\n".join(problems) or f"the table is right: {count} configurations, {points} points, each once")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()

"""`make bench`: how long planning takes, each figure beside its goal.

Not a test: it times, and so it only prints. Figures are those of the quickest of some runs, on one core where
nothing else is said, of cold processes whose bytecode is cached, as an installation's is. What other programs
of the machine slow down shows as more time than CPU. The corpus is found through SERVESWEEP_CORPUS.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from projects import REPOSITORY, SNAKEMAKE, bare, grid, job_words, project, with_plan_of

PYTHON = sys.executable
SERVESWEEP = [PYTHON, "-m", "servesweep"]
CORPUS = Path(os.environ.get("SERVESWEEP_CORPUS", REPOSITORY.parent / "shared" / "corpus"))
CONFIG = ["--config", "recipes=config/recipes"]

READING = """
import pathlib, sys, yaml
for file in pathlib.Path(sys.argv[1]).rglob("*.yaml"):
    yaml.load(file.read_bytes(), yaml.CSafeLoader)
"""
# Some recipes of the corpus are refused, after all of them are planned.
PLANNING = """
import contextlib, pathlib, sys
from servesweep.plan.recipe_files import find_recipes
from servesweep.plan.cluster_file import read_cluster
from servesweep.plan.sweep import read_sweep
from servesweep.recipe.problems import RecipeError
with contextlib.suppress(RecipeError):
    read_sweep(find_recipes(sys.argv[1]), read_cluster(sys.argv[2]), pathlib.Path(sys.argv[1]))
"""


@dataclass(frozen=True)
class Cost:
    """What one process took: seconds by the clock and of CPU, and its peak of memory in GiB."""

    wall: float
    cpu: float
    peak: float


def cost(words: list[str], cwd: Path, repeats: int = 1, one_core: bool = True) -> Cost:
    """The quickest of some runs, after one that fills the caches where there are several."""
    runs = [_run(words, cwd, one_core) for _ in range(repeats + (repeats > 1))]
    return min(runs, key=lambda run: run.wall)


def _run(words: list[str], cwd: Path, one_core: bool) -> Cost:
    pinned = ["taskset", "-c", "0", *words] if one_core else words
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryFile() as told:
        began = time.perf_counter()
        process = subprocess.Popen(pinned, cwd=cwd, env=environment, stdout=subprocess.DEVNULL, stderr=told)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            told.seek(0)
            sys.exit(f"{' '.join(words)} failed:\n{told.read().decode()[-2000:]}")
    return Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024**2)


def tell(what: str, measured: float, goal: float, unit: str, more: str = "") -> None:
    """One line: the figure, its goal, how much of the goal it takes."""
    print(f"{what:<44}{measured:8.2f}{unit:<4} goal {goal:5.2f}{unit:<4} {measured / goal:5.0%}  {more}")


def planning_the_corpus(work: Path) -> None:
    """Read and plan all of its recipes, migrated."""
    if not CORPUS.is_dir():
        print(f"corpus not found: {CORPUS}")
        return
    migrated, site = work / "migrated", work / "site.yaml"
    words = [*SERVESWEEP, "migrate", str(CORPUS / "recipes"), "--output", str(migrated)]
    subprocess.run(words, check=False, capture_output=True)
    site.write_text('launcher: slurm\ncontainer_runtime: pyxis\ndefault_time_limit: "24:00:00"\n')
    count = sum(1 for _ in migrated.rglob("*.yaml"))
    reading = cost([PYTHON, "-c", READING, str(migrated)], work, 3)
    planning = cost([PYTHON, "-c", PLANNING, str(migrated), str(site)], work, 3)
    ratio = planning.wall / reading.wall
    more = f"CPU {planning.cpu:.2f} s; {ratio:.1f} x the C YAML loader's {reading.wall:.2f} s"
    tell(f"planning the corpus, {count} recipes", planning.wall, 1.5, " s", more)


def commands(work: Path) -> None:
    """The command line alone: its help, and the largest grid."""
    told = cost([*SERVESWEEP, "--help"], work, 5)
    tell("servesweep --help", told.wall, 0.3, " s", f"CPU {told.cpu:.2f} s")
    file = work / "grid.yaml"
    file.write_text(grid(10, 100, 10))
    cluster = str(REPOSITORY / "config/cluster.yaml")
    told = cost([*SERVESWEEP, "plan", str(file), "--cluster", cluster, "--json"], REPOSITORY, 2)
    tell("servesweep plan, 10,000 of one grid", told.wall, 10, " s", f"CPU {told.cpu:.2f} s")
    tell("  its memory", told.peak, 1, " GiB")


def dry_run(work: Path) -> None:
    """`snakemake -n` over 1,000 configurations."""
    words = [SNAKEMAKE, "-n", "--quiet", "all"]
    ours = cost([*words, *CONFIG], project(work / "dry", {"grid.yaml": grid(10, 10, 10)}), 3)
    theirs = cost(words, bare(work / "bare-dry", 1000, 1), 3)
    more = f"{ours.wall:.2f} s to {theirs.wall:.2f} s; by CPU {ours.cpu / theirs.cpu:.2f} x"
    tell("snakemake -n, 1,000, to a bare Snakefile's", ours.wall / theirs.wall, 1.5, " x", more)


def start_of_a_job(work: Path) -> None:
    """What the Slurm executor runs in a job, up to the end of a shell that does nothing."""
    root = project(work / "job", {"grid.yaml": grid(10, 50, 10)}, shell="touch {output}")
    name = with_plan_of(root, "config/cluster.yaml")
    place = [*CONFIG, "cluster=config/cluster.yaml"]
    ours = cost([*job_words(root, f"run:configuration={name}"), *place], root, 3)
    theirs_root = bare(work / "bare-job", 5000, 1)
    record = theirs_root / "results/.validated/r0.json"
    record.parent.mkdir(parents=True)
    record.touch()
    theirs = cost(job_words(theirs_root, "run:c=c0"), theirs_root, 3)
    more = f"{ours.wall:.2f} s to {theirs.wall:.2f} s; by CPU {ours.cpu / theirs.cpu:.2f} x"
    tell("a job's start in 5,000, to a bare one's", ours.wall / theirs.wall, 1.2, " x", more)


def validation(work: Path) -> None:
    """1,000 configurations from 50 files, through Snakemake, on all cores."""
    files = project(work / "files", {f"grid{n}.yaml": grid(1, 4, 5) for n in range(50)})
    told = cost([SNAKEMAKE, "plan", "--quiet", "all", *CONFIG], files, one_core=False)
    tell(
        f"snakemake plan, 1,000 of 50 files, {os.cpu_count()} cores",
        told.wall,
        30,
        " s",
        f"CPU {told.cpu:.2f} s",
    )


def main() -> None:
    """Print every figure."""
    work = Path(tempfile.mkdtemp(prefix="servesweep-bench-"))
    try:
        for figure in (planning_the_corpus, commands, dry_run, start_of_a_job, validation):
            figure(work)
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()

"""Directories to measure Snakemake in: this checkout's workflow over large grids, and bare Snakefiles."""

from __future__ import annotations

import contextlib
import shutil
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
SNAKEMAKE = str(Path(sys.executable).with_name("snakemake"))

GRID = """
schema: 2
name: grid
sweep:
{axes}
model: {{path: tiny, precision: fp16}}
engine: simulator
roles:
  agg: {{nodes: 1, workers: 2, gpus: 4, args: {{ttft-ms: "{{a}}", itl-ms: "{{b}}", seed: "{{c}}"}}}}
frontend: {{type: sglang-router}}
benchmark: {{type: sa-bench, isl: 32, osl: 8, concurrencies: [1, 2, 4, 8]}}
"""

# The same jobs without any of our code: what Snakemake itself takes for them. With `mpi` the Slurm executor
# runs the shell in the batch step, as it does ours.
BARE = """
IDS = [f"c{{n}}" for n in range({count})]
rule all:
    input:
        expand("results/{{c}}/run.json", c=IDS),
        expand("results/{{c}}/recipe.lock.yaml", c=IDS),
        "results/summary.csv",
rule validate:
    output: "results/.validated/{{r}}.json"
    log: "results/.validated/{{r}}.log"
    shell: "touch {{output}}"
rule run:
    input: lambda w: f"results/.validated/r{{int(w.c[1:]) % {recipes}}}.json"
    output: "results/{{c}}/run.json"
    log: "results/{{c}}/run.log"
    params: digest=lambda w: w.c
    resources: mpi="srun", tasks_per_node=2, runtime=lambda w: 10, nodes=lambda w: 1
    shell: "touch {{output}}"
rule lockfile:
    input: rules.run.output
    output: "results/{{c}}/recipe.lock.yaml"
    log: "results/{{c}}/lockfile.log"
    shell: "touch {{output}}"
rule summarize:
    input: expand("results/{{c}}/recipe.lock.yaml", c=IDS)
    output: "results/summary.csv"
    log: "results/summarize.log"
    shell: "touch {{output}}"
"""
RUN = '"servesweep run results/{wildcards.configuration} --launcher {params.launcher} --log {log}"'


def grid(a: int, b: int, c: int) -> str:
    """A recipe of a x b x c configurations."""
    axes = "\n".join(
        f"  {name}: [{', '.join(map(str, range(1, size + 1)))}]"
        for name, size in zip("abc", (a, b, c), strict=True)
    )
    return GRID.format(axes=axes)


def project(root: Path, recipes: dict[str, str], shell: str | None = None) -> Path:
    """A checkout's workflow with other recipes, and perhaps another shell command in the rule `run`."""
    root.mkdir(parents=True)
    shutil.copy(REPOSITORY / "Snakefile", root)
    for part in ("workflow/rules", "workflow/report", "profiles", "config/models"):
        shutil.copytree(REPOSITORY / part, root / part)
    for part in ("config/config.yaml", "config/local.yaml", "config/cluster.yaml"):
        shutil.copy(REPOSITORY / part, root / part)
    (root / "config/recipes").mkdir()
    for name, text in recipes.items():
        (root / "config/recipes" / name).write_text(text)
    if shell is not None:
        rules = root / "workflow/rules/submission.smk"
        text = rules.read_text()
        if RUN not in text:
            raise ValueError(f"{rules}: the rule `run` has another command now: change RUN")
        rules.write_text(text.replace(RUN, f'"{shell}"'))
    return root


def bare(root: Path, count: int, recipes: int) -> Path:
    """A directory with the bare Snakefile."""
    root.mkdir(parents=True)
    (root / "Snakefile").write_text(BARE.format(count=count, recipes=recipes))
    return root


def with_plan_of(root: Path, cluster: str) -> str:
    """Write what validation writes for one configuration of the project's grid, and name it."""
    from servesweep.plan.cluster_file import read_cluster
    from servesweep.plan.plan import plan_text
    from servesweep.plan.recipe_files import find_recipes
    from servesweep.plan.sweep import read_recipe_file

    with contextlib.chdir(root):
        recipes = Path("config/recipes")
        file = find_recipes([str(recipes / "grid.yaml")])[0]
        _, plan = read_recipe_file(file, read_cluster(cluster), recipes)[0]
        written = {f"{plan.configuration}/plan.json": plan_text(plan), ".validated/grid.json": "{}"}
        for name, text in written.items():
            path = Path("results") / name
            path.parent.mkdir(parents=True)
            path.write_text(text)
    return plan.configuration


def job_words(root: Path, target: str) -> list[str]:
    """The Snakemake of a Slurm job, as snakemake-executor-plugin-slurm 2.8 calls it (`format_job_exec`)."""
    words = f"--target-jobs {target} --allowed-rules run --cores 1 --attempt 1 --force-use-threads --force"
    words += " --target-files-omit-workdir-adjustment --max-inventory-time 0 --retries 0 --nocolor --no-hooks"
    words += " --nolock --ignore-incomplete --rerun-triggers mtime params input"
    words += " --executor slurm-jobstep --jobs 1 --mode remote"
    return [SNAKEMAKE, "--snakefile", str(root / "Snakefile"), *words.split()]

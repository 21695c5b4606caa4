"""`make bench`: how long planning takes, in ratios measured side by side on this machine.

Not a test: it times, and so it only prints. The corpus is found through SERVESWEEP_CORPUS.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PYTHON = sys.executable
SNAKEMAKE = str(Path(sys.executable).with_name("snakemake"))
CORPUS = Path(os.environ.get("SERVESWEEP_CORPUS", REPOSITORY.parent / "shared" / "corpus"))

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

# The same jobs without any of our code: what Snakemake itself takes for them.
BARE = """
IDS = [f"c{{n}}" for n in range({count})]
RECIPES = [f"r{{n}}" for n in range({recipes})]
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
    resources: runtime=lambda w: 10, nodes=lambda w: 1
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


def timed(words: list[str], cwd: Path, repeats: int = 1) -> float:
    """Seconds of the quickest of some runs, on one core."""
    best = float("inf")
    for _ in range(repeats):
        began = time.perf_counter()
        done = subprocess.run(
            ["taskset", "-c", "0", *words], cwd=cwd, capture_output=True, text=True, check=False
        )
        best = min(best, time.perf_counter() - began)
        if done.returncode:
            sys.exit(f"{' '.join(words)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return best


def grid(a: int, b: int, c: int) -> str:
    """A recipe of a x b x c configurations."""
    axes = "\n".join(
        f"  {name}: [{', '.join(map(str, range(1, size + 1)))}]"
        for name, size in zip("abc", (a, b, c), strict=True)
    )
    return GRID.format(axes=axes)


def project(root: Path, recipes: dict[str, str]) -> Path:
    """A checkout's workflow with other recipes."""
    root.mkdir(parents=True)
    shutil.copy(REPOSITORY / "Snakefile", root)
    for part in ("workflow/rules", "profiles", "config/models"):
        shutil.copytree(REPOSITORY / part, root / part)
    for part in ("config/config.yaml", "config/local.yaml", "config/cluster.yaml"):
        shutil.copy(REPOSITORY / part, root / part)
    (root / "config/recipes").mkdir()
    for name, text in recipes.items():
        (root / "config/recipes" / name).write_text(text)
    return root


def bare(root: Path, count: int, recipes: int) -> Path:
    """A directory with the bare Snakefile."""
    root.mkdir(parents=True)
    (root / "Snakefile").write_text(BARE.format(count=count, recipes=recipes))
    return root


def planning_the_corpus(work: Path) -> None:
    """Cold processes: reading the files alone, and planning them."""
    if not CORPUS.is_dir():
        print(f"corpus not found: {CORPUS}")
        return
    migrated = work / "migrated"
    words = [PYTHON, "-m", "servesweep", "migrate", str(CORPUS / "recipes"), "--output", str(migrated)]
    subprocess.run(words, check=False, capture_output=True)
    reading = (
        "import sys, yaml, pathlib\n"
        "for f in pathlib.Path(sys.argv[1]).rglob('*.yaml'): yaml.load(f.read_bytes(), yaml.CSafeLoader)"
    )
    planning = (
        "import sys\nfrom pathlib import Path\n"
        "from servesweep.plan.sweep import find_recipes, read_cluster, read_recipe_file\n"
        "from servesweep.recipe.problems import RecipeError\n"
        "cluster = read_cluster(sys.argv[2]); n = bad = 0\n"
        "for recipe in find_recipes(sys.argv[1]):\n"
        "    try: n += len(read_recipe_file(recipe, cluster, Path(sys.argv[1])))\n"
        "    except RecipeError: bad += 1\n"
        "print(n, 'planned', bad, 'refused', file=sys.stderr)"
    )
    site = work / "site.yaml"
    site.write_text('launcher: slurm\ncontainer_runtime: pyxis\ndefault_time_limit: "24:00:00"\n')
    read = timed([PYTHON, "-c", reading, str(migrated)], work, 3)
    plan = timed([PYTHON, "-c", planning, str(migrated), str(site)], work, 3)
    print(f"planning the corpus      {plan:6.2f} s   reading its YAML {read:.2f} s   ratio {plan / read:.1f}")


def main() -> None:
    """Print every figure."""
    work = Path(tempfile.mkdtemp(prefix="servesweep-bench-"))
    try:
        planning_the_corpus(work)
        print(f"servesweep --help        {timed([PYTHON, '-m', 'servesweep', '--help'], work, 5):6.2f} s")
        file = work / "grid.yaml"
        file.write_text(grid(10, 100, 10))
        words = [
            PYTHON,
            "-m",
            "servesweep",
            "plan",
            str(file),
            "--cluster",
            str(REPOSITORY / "config/cluster.yaml"),
            "--json",
        ]
        seconds = timed(words, work)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024**2
        print(f"10,000 configurations    {seconds:6.2f} s   at most {peak:.2f} GiB")

        ours = project(work / "ours", {"grid.yaml": grid(10, 10, 10)})
        theirs = bare(work / "bare", 1000, 1)
        our, their = (
            timed([SNAKEMAKE, "-n", "--quiet", "all", "--config", "recipes=config/recipes"], ours, 2),
            timed([SNAKEMAKE, "-n", "--quiet", "all"], theirs, 2),
        )
        print(f"snakemake -n, 1,000      {our:6.2f} s   bare {their:.2f} s   ratio {our / their:.2f}")

        many = {f"grid{n}.yaml": grid(1, 4, 5) for n in range(50)}
        files = project(work / "files", many)
        began = time.perf_counter()
        words = [SNAKEMAKE, "plan", "--quiet", "all", "--config", "recipes=config/recipes"]
        subprocess.run(words, cwd=files, check=True, capture_output=True)
        print(f"validating 1,000 from 50 {time.perf_counter() - began:6.2f} s   on {os.cpu_count()} cores")
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()

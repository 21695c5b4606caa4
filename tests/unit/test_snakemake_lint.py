"""`snakemake --lint` finds nothing but the one finding that does not apply here."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]

# servesweep runs in the environment it is installed in; engines have containers of their own, as recipe data.
NOT_APPLICABLE = "Specify a conda environment or container for each rule."


@pytest.mark.parametrize("snakefile", ["Snakefile", "workflow/allocation/Snakefile"])
def test_lint_has_no_finding(snakefile: str, tmp_path: Path) -> None:
    directory = REPOSITORY
    if snakefile != "Snakefile":
        directory = tmp_path
        _write_deployment(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--lint", "--snakefile", str(REPOSITORY / snakefile)],
        cwd=directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    findings = re.findall(r"^ +\* (.+?):?$", done.stdout, flags=re.MULTILINE)
    assert findings, f"the linter said nothing at all: has its output changed?\n{done.stdout}"
    assert set(findings) == {NOT_APPLICABLE}, done.stdout


def _write_deployment(directory: Path) -> None:
    """The nested workflow reads its points from the deployment."""
    from servesweep.plan.cluster_file import read_cluster
    from servesweep.plan.plan import plan_text
    from servesweep.plan.recipe_files import RecipeFile
    from servesweep.plan.sweep import read_recipe_file

    cluster = read_cluster(str(REPOSITORY / "config/local.yaml"))
    recipe = RecipeFile(str(REPOSITORY / "config/recipes/demo.yaml"))
    _, plan = read_recipe_file(recipe, cluster, REPOSITORY / "config/recipes")[0]
    (directory / "deployment.json").write_text(plan_text(plan))

"""The seed pages' examples, planned without a cluster."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result
from snakemake_executor_plugin_slurm.submit_string import get_submit_command
from snakemake_executor_plugin_slurm.utils import set_gres_string
from snakemake_executor_plugin_slurm.validation import validate_slurm_extra

from servesweep.cli import main
from servesweep.plan.plan import Plan, Step
from servesweep.plan.recipe_files import RecipeFile
from servesweep.plan.sweep import read_recipe_file
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.problems import RecipeError

HEAD = "schema: 2\nname: demo\nmodel: {path: /models/m, precision: fp8, container: image}\n"
FRAME = {"run_uuid": "u", "slurm_logfile": "log", "comment_str": "rule_run", "workdir": None}


class Reader:
    """Plans recipe texts, or tells what is said about them; further keywords are the cluster file's."""

    def __init__(self, directory: Path) -> None:
        self.file = directory / "recipe.yaml"
        self.root = directory

    def plans(self, text: str, settings: tuple[str, ...] = (), head: str = HEAD, **site: Any) -> list[Plan]:
        """Every configuration of a text below `schema`, `name` and `model`."""
        self.file.write_text(head + text)
        cluster = Cluster.model_validate({"launcher": "slurm", **site})
        return [p for _, p in read_recipe_file(RecipeFile(str(self.file)), cluster, self.root, settings)]

    def plan(self, text: str, **options: Any) -> Plan:
        """Its one configuration."""
        (plan,) = self.plans(text, **options)
        return plan

    def refusal(self, text: str, **options: Any) -> str:
        """The sentences that refuse it, without the file."""
        return "\n".join(f"{p.key}: {p.message}" for p in self._caught(text, **options).problems)

    def complaint(self, text: str, **options: Any) -> str:
        """All that a user reads: `recipe.yaml:5: key: sentence`, where line 4 is the text's first."""
        return str(self._caught(text, **options)).replace(f"{self.root}/", "")

    def _caught(self, text: str, **options: Any) -> RecipeError:
        with pytest.raises(RecipeError) as caught:
            self.plans(text, **options)
        return caught.value


@pytest.fixture
def read(tmp_path: Path) -> Reader:
    """A reader of recipe texts."""
    return Reader(tmp_path)


@pytest.fixture
def workers() -> Callable[[Plan, str], list[Step]]:
    """The steps of a role's workers."""
    return lambda plan, mode: [s for s in plan.steps if s.kind == "worker" and s.mode == mode]


class _Resources(dict[str, Any]):
    """The executor reads resources as attributes and as a mapping."""

    def __getattr__(self, name: str) -> Any:
        return self.get(name)


@pytest.fixture
def sbatch() -> Callable[[Plan], list[str]]:
    """The words with which the Slurm executor would call sbatch for a plan, checked by its own rules."""

    def call(plan: Plan) -> list[str]:
        slurm = plan.slurm
        known = {k: v for k, v in asdict(slurm).items() if v is not None and k != "comment"}
        job = SimpleNamespace(resources=_Resources(known, mpi="srun"), threads=1)
        validate_slurm_extra(job)
        frame = {
            **FRAME, "account": f"-A {slurm.slurm_account}", "partition": f"-p {slurm.slurm_partition}",
        }  # fmt: skip
        return shlex.split(get_submit_command(job, frame) + set_gres_string(job))

    return call


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run `servesweep` in a directory where the text is recipe.yaml, and the cluster file has a model."""
    (tmp_path / "weights").mkdir()
    (tmp_path / "cluster.yaml").write_text("launcher: slurm\nmodel_paths: {/models/m: weights}\n")
    monkeypatch.chdir(tmp_path)

    def run(text: str, *words: str) -> Result:
        Path("recipe.yaml").write_text(HEAD + text)
        return CliRunner().invoke(main, [*words, "--cluster", "cluster.yaml"])

    return run

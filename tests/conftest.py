"""A scratch project for tests: this checkout's workflow with recipes and results of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.faults import recorder

REPOSITORY = Path(__file__).resolve().parents[1]
SNAKEMAKE = Path(sys.executable).with_name("snakemake")


# What shares ports or the cores must run one after the other; these lines run side by side.
LINES = {"e2e_local": "this machine", "browser": "this machine", "cluster": "the cluster"}
# Sweeps on the cluster wait for Slurm most of the time, so its tests are two lines.
SECOND_LINE = frozenset(
    f"test_{name}.py"
    for name in (
        "bare_nodes",
        "containers",
        "frontends_and_places",
        "gpu_quota",
        "heterogeneous_jobs",
        "replicas",
        "secrets",
        "services",
        "worker_restarts",
    )
)
# It has nothing to share with the others.
SECOND_CLUSTER = frozenset({"test_kinds_of_cluster.py", "test_other_tracking.py"})


# First: pytest-xdist reads the groups in the same hook.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep each line of tests on one worker of pytest-xdist."""
    for item in items:
        line = LINES.get(item.path.relative_to(REPOSITORY / "tests").parts[0])
        if line == "the cluster" and item.path.name in SECOND_LINE:
            line = "the cluster, too"
        if item.path.name in SECOND_CLUSTER:
            line = "the second cluster"
        if line is not None:
            item.add_marker(pytest.mark.xdist_group(line))


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--faults rows.jsonl`: record the rows of docs/faults.md."""
    parser.addoption(
        "--faults", type=lambda path: Path(path).absolute(), help="file for rows of docs/faults.md"
    )


@pytest.fixture(scope="session")
def fault_row(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Record one row of docs/faults.md: fault, injected, outcome, kept, and noticed in seconds."""
    return recorder(request.config.getoption("--faults"))


def brought_up() -> Path:
    """The mark of a session that has brought up a Slurm cluster, also in a worker of pytest-xdist."""
    session = os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()
    return Path(tempfile.gettempdir(), f"servesweep-tests-{session}-brought-up-a-cluster")


def pytest_unconfigure() -> None:
    """End a cluster that this session has brought up: a worker may end before the others have."""
    if "PYTEST_XDIST_WORKER" not in os.environ and brought_up().exists():
        brought_up().unlink()
        subprocess.run([REPOSITORY / "tests/cluster/slurm-cluster", "down"], timeout=300, check=True)


@dataclass
class Project:
    """A directory in which `snakemake` is typed as a user does."""

    root: Path
    environment: dict[str, str] = field(default_factory=dict)

    def write(self, path: str, text: str) -> Path:
        """Write a file of the project, such as `config/recipes/demo.yaml`."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        return target

    def snakemake(self, *words: str, timeout: float = 300) -> subprocess.CompletedProcess[str]:
        """Run to the end; stdout and stderr come together in stdout."""
        process = self.start(*words)
        try:
            out, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, _ = process.communicate()
            pytest.fail(f"snakemake {' '.join(words)} did not end within {timeout} s:\n{out}")
        return subprocess.CompletedProcess(process.args, process.returncode, out, "")

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start in the background, in a session of its own."""
        return subprocess.Popen(
            [str(SNAKEMAKE), *words],
            cwd=self.root,
            env={**os.environ, **self.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def servesweep(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run the command line in the project."""
        return subprocess.run(
            [sys.executable, "-m", "servesweep", *words],
            cwd=self.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )

    def json(self, path: str) -> dict[str, Any]:
        """Read a JSON file below results/."""
        data: dict[str, Any] = json.loads((self.root / "results" / path).read_text())
        return data

    def exists(self, path: str) -> bool:
        """Whether a file below results/ is there."""
        return (self.root / "results" / path).exists()

    def files(self, pattern: str) -> list[str]:
        """Files below results/ that match, sorted."""
        results = self.root / "results"
        return sorted(str(path.relative_to(results)) for path in results.glob(pattern))


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project without recipes; its configuration is the checkout's."""
    return make_project(tmp_path / "project")


@pytest.fixture(scope="session")
def new_project(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Project]:
    """Make further projects, also for fixtures that several tests share."""
    return lambda name: make_project(tmp_path_factory.mktemp(name) / "project")


def make_project(root: Path) -> Project:
    """Copy what makes a checkout a project; the package itself is the installed one."""
    root.mkdir(parents=True)
    shutil.copy(REPOSITORY / "Snakefile", root)
    for part in ("workflow/rules", "workflow/report", "profiles", "config/models"):
        shutil.copytree(REPOSITORY / part, root / part)
    for part in ("config/config.yaml", "config/local.yaml", "config/cluster.yaml"):
        shutil.copy(REPOSITORY / part, root / part)
    (root / "config/recipes").mkdir()
    (root / "cluster").symlink_to("profiles/cluster")
    return Project(root)


def require(component: str, present: bool, install: str) -> None:
    """Skip by name where a real component is missing; in CI that is a failure."""
    if present:
        return
    message = f"missing real component: {component} ({install})"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)

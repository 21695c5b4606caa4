"""The commands that the README and the manual show, and which test types each."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
PAGES = ("README.md", *sorted(f"docs/{path.name}" for path in (REPOSITORY / "docs").glob("*.md")))
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
YAML = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HERE = "test_commands_of_documents.py"
PAGES_OF_RESULTS = "test_lockfile_and_compare_pages.py"
# Where other commands are run, and the words that run them there.
ELSEWHERE = {
    ("README.md", "make install"): ("Makefile", "--editable ."),
    ("README.md", "make demo"): ("tests/e2e_local/test_demo_sweep.py", "config/recipes/demo.yaml"),
    ("README.md", "make test"): (".ci/run", "make test"),
    ("README.md", "snakemake --profile cluster"): ("tests/cluster/conftest.py", '"--profile", "cluster"'),
    ("README.md", "uv pip install -c pins.txt -e '.[sglang-router]'"): ("Makefile", "sglang-router"),
    ("docs/benchmarks.md", ".venv/bin/uv pip install --constraint pins.txt --editable '.[aiperf]'"): (
        "Makefile", "aiperf",
    ),
    ("docs/benchmarks.md", ".venv/bin/uv pip install --constraint pins.txt --editable '.[lm-eval]'"): (
        "Makefile", "lm-eval",
    ),
    ("docs/client-fidelity.md", "make fidelity"): ("Makefile", "tests/bench/client.py"),
    ("docs/status.md", "servesweep status"): ("tests/e2e_local/test_status.py", '"status"'),
    ("docs/status.md", "servesweep status /scratch/me/project/results"): (
        "tests/e2e_local/test_status.py", '"status"',
    ),
    ("docs/tutorial.md", "snakemake --profile cluster"): (
        "tests/cluster/conftest.py", '"--profile", "cluster"',
    ),
    ("docs/tutorial.md", "servesweep status --once"): ("tests/e2e_local/test_status.py", '"status"'),
}  # fmt: skip


def commands(page: str) -> list[str]:
    """The commands of a page in their order, without what is said about them."""
    text = (REPOSITORY / page).read_text()
    lines = [line for block in CONSOLE.findall(text) for line in block.splitlines()]
    return [re.sub(r"\s+# .*$", "", line.removeprefix("$ ")) for line in lines if line.startswith("$ ")]


def shell(root: Path, command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Type a command in a project; stdout and stderr come together in stdout."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-c", command],
        cwd=root,
        env={**os.environ, "PATH": path, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def yaml_blocks(page: str) -> list[str]:
    """The YAML that a page shows."""
    return YAML.findall((REPOSITORY / page).read_text())


def _typed() -> dict[tuple[str, str], str]:
    whole = {"docs/lockfile.md": PAGES_OF_RESULTS, "docs/compare.md": PAGES_OF_RESULTS}
    found = {(page, command): whole.get(page, HERE) for page in PAGES for command in commands(page)}
    return found | {key: where for key, (where, _) in ELSEWHERE.items()}


TYPED = _typed()

"""A tokenizer's directory in the form of a Hugging Face cache, for programs that look nowhere else."""

from __future__ import annotations

from pathlib import Path

NAME = "local/tokenizer"
SNAPSHOT = "0" * 40


def as_hub_cache(directory: Path, cache: Path) -> str:
    """Make in `cache` one repository whose files are links to those of `directory`; returns its name.

    The form is huggingface_hub's: `models--OWNER--NAME/{refs/main,snapshots/COMMIT/…}`.
    """
    repository = cache / f"models--{NAME.replace('/', '--')}"
    snapshot = repository / "snapshots" / SNAPSHOT
    snapshot.mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs/main").write_text(SNAPSHOT)
    for file in directory.resolve().iterdir():
        (snapshot / file.name).symlink_to(file)
    return NAME

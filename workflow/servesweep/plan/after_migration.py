"""What of migrated recipes this version cannot run: planned at once, and counted by reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from servesweep.plan.recipe_files import RecipeFile
from servesweep.plan.sweep import rare_collections, read_recipe_file
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.problems import RecipeError


def unrunnable_lines(files: Sequence[Path]) -> Iterator[str]:
    """How many of the files cannot be run, each reason with how many have it, and who tells more.

    They are planned for a cluster with containers, as those of srt-slurm are.
    """
    cluster = Cluster(container_runtime="pyxis")
    reasons: Counter[str] = Counter()
    hindered = 0
    with rare_collections():
        for file in files:
            try:
                planned = read_recipe_file(RecipeFile(str(file)), cluster, Path())
            except RecipeError:
                # What such a file still needs is among the notes of its migration.
                continue
            found = {feature for _, plan in planned for feature in plan.unsupported}
            hindered += bool(found)
            reasons.update(found)
    if hindered:
        told = "; ".join(f"{times} x {reason}" for reason, times in reasons.most_common())
        yield f"of {len(files)} files {hindered} use what this version cannot run yet: {told}"
        yield "`servesweep plan` tells more of each"

"""The executor's question for its jobs, put so that heterogeneous ones are among the answers.

snakemake-executor-plugin-slurm 2.8 asks `squeue` for `%i`, which of a heterogeneous job is `18+0`, a number
that it never submitted: such a job would run for ever. `%A` is `18`, and of every other job the same as `%i`.
Its other way, `sacct`, tells a cancelled job as `CANCELLED by 0`, which it does not know.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from shlex import quote

from servesweep.evidence.files import write_atomically
from servesweep.plan.plan import Plan

SCRIPT = """#!/bin/sh
# The question of Snakemake's executor, answered for heterogeneous jobs too.
for word do
  shift
  [ "$word" = '--format=%i|%T' ] && word='--format=%A|%T'
  set -- "$@" "$word"
done
exec {squeue} "$@"
"""


def is_heterogeneous(plan: Plan) -> bool:
    """Whether the configuration's job has two components."""
    return " : " in plan.slurm.slurm_extra


def ask_for_whole_jobs(plans: Iterable[Plan], state: Path) -> None:
    """Have this process find a `squeue` that knows heterogeneous jobs, where the sweep has one.

    The program stands below `state`, Snakemake's own directory.
    """
    squeue = shutil.which("squeue")
    if squeue is None or not any(map(is_heterogeneous, plans)):
        return
    own = (state / "servesweep-programs" / "squeue").absolute()
    if Path(squeue) == own:
        return
    write_atomically(own, SCRIPT.format(squeue=quote(squeue)))
    own.chmod(0o755)
    os.environ["PATH"] = f"{own.parent}{os.pathsep}{os.environ['PATH']}"

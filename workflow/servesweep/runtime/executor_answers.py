"""The executor's questions for its jobs, answered so that it notices the end of every one of them.

snakemake-executor-plugin-slurm 2.8 would wait for ever, or until somebody ends it, for

- heterogeneous jobs: it asks `squeue` for `%i`, which of them is `18+0`, a number that it never submitted;
  `%A` is `18`, and of every other job the same as `%i`;
- preempted jobs that Slurm does not put back into the queue: it takes PREEMPTED for a pause. One that is put
  back is PENDING at once, so PREEMPTED is an end;
- cancelled jobs, where it asks `sacct`: that says `CANCELLED by 0`;
- jobs that ended between two looks and are forgotten (MinJobAge): squeue tells nothing of them any more. Such
  a job is told as completed, and the file that it owes decides whether it was.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from shlex import quote

from servesweep.evidence.files import write_atomically
from servesweep.plan.plan import Plan

# The variable that tells Slurm's programs where their cluster is, and the name under which it travels.
SLURM_CONF, CARRIED = "SLURM_CONF", "SERVESWEEP_SLURM_CONF"
SQUEUE = """#!/bin/sh
# The question of Snakemake's executor; every other one as it is.
case " $* " in *' --format=%i|%T '*) ;; *) exec {program} "$@" ;; esac
for word do
  shift
  [ "$word" = '--format=%i|%T' ] && word='--format=%A|%T'
  set -- "$@" "$word"
done
answer=$({program} "$@") || exit
printf '%s\\n' "$answer" | awk -F '|' -v seen={directory}/seen-"$word" '
  BEGIN {{ while ((getline id < seen) > 0) earlier[id]; close(seen) }}
  NF == 2 {{ sub(/PREEMPTED/, "CANCELLED", $2); print $1 "|" $2; now[$1]; earlier[$1] }}
  END {{ for (id in earlier) {{ print id > seen; if (!(id in now)) print id "|COMPLETED" }} }}'
"""
SACCT = """#!/bin/sh
# The question of Snakemake's executor; every other one as it is.
case " $* " in *' --format=JobIdRaw,State '*) ;; *) exec {program} "$@" ;; esac
answer=$({program} "$@") || exit
printf '%s\\n' "$answer" | sed 's/|CANCELLED by .*/|CANCELLED/; s/|PREEMPTED$/|CANCELLED/'
"""


def answer_the_executor(plans: Iterable[Plan], state: Path) -> None:
    """Have this process find a `squeue` and a `sacct` that answer so, where the sweep runs on Slurm.

    The programs stand below `state`, Snakemake's own directory.
    """
    if not any(plan.launcher == "slurm" for plan in plans):
        return
    carry_slurm_conf()
    own = (state / "servesweep-programs").absolute()
    if str(own) in os.environ["PATH"].split(os.pathsep):
        return
    for name, text in (("squeue", SQUEUE), ("sacct", SACCT)):
        if program := shutil.which(name):
            script = own / name
            write_atomically(script, text.format(program=quote(program), directory=quote(str(own))))
            script.chmod(0o755)
    os.environ["PATH"] = f"{own}{os.pathsep}{os.environ['PATH']}"


def carry_slurm_conf() -> None:
    """Give the jobs SLURM_CONF under another name: the executor's job step strips what begins with SLURM_."""
    if told := os.environ.get(SLURM_CONF):
        os.environ[CARRIED] = told


def restore_slurm_conf() -> None:
    """Inside a job: let Slurm's programs find the cluster that the sweep was submitted to."""
    if told := os.environ.get(CARRIED):
        os.environ.setdefault(SLURM_CONF, told)

"""Names of the options that a recipe passes on to sbatch and srun: how they are written, and which exist."""

from __future__ import annotations

import re
from typing import Literal

from servesweep.recipe.problems import nearest

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]+")
SHORT = {
    "A": "account", "C": "constraint", "D": "chdir", "J": "job-name", "M": "clusters", "N": "nodes",
    "a": "array", "c": "cpus-per-task", "d": "dependency", "e": "error", "n": "ntasks", "o": "output",
    "p": "partition", "q": "qos", "t": "time", "w": "nodelist", "x": "exclude",
}  # fmt: skip
# The long options of both programs: https://slurm.schedmd.com/sbatch.html and srun.html, Slurm 24.11. Plugins
# of a site add further ones, so a name that is not here is passed on unless it resembles one that is.
NAMES = """
    accel-bind account acctg-freq array batch bb bbf bcast bcast-exclude begin chdir cluster-constraint
    clusters comment compress constraint container container-id contiguous core-spec cores-per-socket
    cpu-bind cpu-freq cpus-per-gpu cpus-per-task deadline delay-boot dependency disable-status distribution
    epilog error exact exclude exclusive export export-file extra extra-node-info get-user-env gid gpu-bind
    gpu-freq gpus gpus-per-node gpus-per-socket gpus-per-task gres gres-flags het-group hint hold
    ignore-pbs immediate input interactive job-name jobid kill-on-bad-exit kill-on-invalid-dep label
    licenses mail-type mail-user mem mem-bind mem-per-cpu mem-per-gpu mincpus mpi msg-timeout multi-prog
    network nice no-allocate no-kill no-requeue nodefile nodelist nodes ntasks ntasks-per-core
    ntasks-per-gpu ntasks-per-node ntasks-per-socket open-mode output overcommit overlap oversubscribe
    parsable partition prefer preserve-env priority profile prolog propagate pty qos quiet quit-on-interrupt
    reboot relative requeue reservation resv-ports segment send-libs signal slurmd-debug sockets-per-node
    spread-job spread-segments stepmgr switches task-epilog task-prolog test-only thread-spec
    threads-per-core time time-min tmp tres-bind tres-per-task tres-per-job treewidth uid unbuffered
    use-min-nodes verbose wait wait-all-nodes wckey whole wrap
    container-image container-mounts container-workdir container-name container-save container-mount-home
    no-container-mount-home container-remap-root no-container-remap-root container-env container-writable
    container-readonly container-entrypoint no-container-entrypoint workdir
    """
KNOWN = tuple(NAMES.split())
# Those that may stand alone: seen with Slurm 22.05, of later versions and of pyxis as documented.
STANDALONE = """
    bcast compress contiguous disable-status exact exclusive get-user-env hold ignore-pbs immediate
    interactive kill-on-bad-exit label multi-prog nice no-allocate no-kill no-requeue overcommit overlap
    oversubscribe parsable preserve-env propagate pty quiet quit-on-interrupt reboot requeue resv-ports
    send-libs spread-job spread-segments stepmgr test-only unbuffered use-min-nodes verbose wait whole
    container-mount-home no-container-mount-home container-remap-root no-container-remap-root
    container-writable container-readonly container-entrypoint no-container-entrypoint
    """
NEEDS_VALUE = frozenset(KNOWN) - frozenset(STANDALONE.split())
# What the other of the two programs does not read; seen with Slurm 22.05.
SRUN_ALONE = """
    accel-bind bcast bcast-exclude compress cpu-bind disable-status epilog exact het-group immediate
    interactive jobid kill-on-bad-exit label mpi msg-timeout multi-prog no-allocate overlap preserve-env
    prolog pty quit-on-interrupt relative resv-ports send-libs slurmd-debug task-epilog task-prolog
    unbuffered whole
    """
SBATCH_ALONE = """
    array batch export-file get-user-env ignore-pbs kill-on-invalid-dep no-requeue parsable requeue
    wait-all-nodes wrap
    """
FOREIGN = {
    "sbatch": dict.fromkeys(SRUN_ALONE.split(), "an option of srun: write it under srun_options"),
    "srun": dict.fromkeys(SBATCH_ALONE.split(), "an option of sbatch: write it under sbatch_directives"),
}


def value_fault(name: str, value: str) -> str | None:
    """What is wrong with an option without a value, in one sentence; None where it may stand alone."""
    return f"{name} needs a value" if not value and name in NEEDS_VALUE else None


def name_fault(name: str, program: Literal["sbatch", "srun"]) -> str | None:
    """What is wrong with the name of an option of a program, in one sentence; None where nothing is."""
    bare = name.lstrip("-")
    if bare in SHORT:
        return f"write the long name, {SHORT[bare]}"
    if not NAME.fullmatch(bare):
        return "no option of Slurm has such a name: letters, digits and -"
    right = bare.lower().replace("_", "-")
    if name != bare:
        return f"write the name without dashes: {right if right in KNOWN else bare}"
    if right in KNOWN:
        return FOREIGN[program].get(name) if name == right else f"write the name as {right}"
    if guess := nearest(right, KNOWN, surely=True):
        return f"no option of Slurm has such a name; did you mean {guess}?"
    return None

"""A process that ends takes along what it has started, and its srun ends with it.

Slurm waits for the children of a task that is gone, for a minute where it cannot end them
(UnkillableStepTimeout): a dead worker would not be noticed as long as a child of it lives. So a small shell
is the task. It waits for the process, ends what carries the same mark, and goes the way the process went.
"""

from __future__ import annotations

from collections.abc import Sequence

# Signals of the step reach every process of it: the shell only has to outlive them.
SHELL = """\
task=$SLURM_JOB_ID.$SLURM_STEP_ID.$SLURM_PROCID.$$
trap : HUP INT TERM USR1 USR2
SERVESWEEP_TASK=$task "$@"
code=$?
tries=0
while [ $tries -lt 50 ]; do
  # grep fails over every process that ends meanwhile: what it prints counts.
  left=$(grep -lzx "SERVESWEEP_TASK=$task" /proc/[0-9]*/environ 2>/dev/null)
  [ "$left" ] || break
  for path in $left; do
    pid=${path#/proc/}
    kill -KILL "${pid%/environ}" 2>/dev/null
  done
  tries=$((tries + 1))
  sleep 0.1
done
if [ "$code" -gt 128 ] && [ "$code" -lt 193 ]; then
  ulimit -c 0
  trap - $((code - 128)) 2>/dev/null
  kill -$((code - 128)) $$ 2>/dev/null
fi
exit "$code"
"""


def taking_all_along(words: Sequence[str], name: str) -> list[str]:
    """The words that run a command in this way."""
    return ["sh", "-c", SHELL, name, *words]

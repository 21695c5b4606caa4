"""Binding of a task to the NUMA node of its GPU: a script, as only the task itself knows which GPU it has.

Source of the files: the Linux kernel's documentation of sysfs, and `nvidia-smi --help-query-gpu`.
"""

from __future__ import annotations

NAME = "numa_bind.sh"

# `{visible}` is the variable that lists the GPUs of the launch, one for each of its tasks on the node. In
# sysfs the domain of a GPU's address has four digits, in nvidia-smi eight.
SCRIPT = """\
#!/usr/bin/env bash
# Bind this task to the NUMA node of its GPU, and become the command; --membind binds its memory too.
set -eu
memory=
if [ "$1" = --membind ]; then memory=yes; shift; fi
gpu="$SLURM_LOCALID"
if [ -n "${{{visible}:-}}" ]; then
  IFS=, read -ra gpus <<< "${visible}"
  gpu="${{gpus[$SLURM_LOCALID]}}"
fi
sys="${{SERVESWEEP_SYSFS:-/sys}}"
bus="$(nvidia-smi --query-gpu=pci.bus_id --format=csv,noheader --id="$gpu" | tr A-F a-f)"
node="$(cat "$sys/bus/pci/devices/${{bus:4}}/numa_node" 2> /dev/null || echo -1)"
if [ "$node" -lt 0 ]; then
  if [ -n "$memory" ]; then echo "GPU $gpu tells no NUMA node to bind memory to" >&2; exit 1; fi
  echo "GPU $gpu tells no NUMA node: not bound" >&2
  exec "$@"
fi
set -- taskset -c "$(cat "$sys/devices/system/node/node$node/cpulist")" "$@"
if [ -n "$memory" ]; then set -- numactl "--membind=$node" "$@"; fi
exec "$@"
"""


def script(visible_devices: str) -> str:
    """The script's text for GPUs that are listed by a variable."""
    return SCRIPT.format(visible=visible_devices)

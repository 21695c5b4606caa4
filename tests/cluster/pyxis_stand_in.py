"""Stand-in for pyxis, found on the path as `srun`: it reads pyxis's options and gives the rest to Slurm.

What pyxis does with an image is imitated by a root directory of its own for the task: this machine's programs
stand for every image's content, and nothing else of the host is there but what --container-mounts names.
Options, their values and their order are kept, one file a step, for the test to look at. Called with
`--inside` it is the task's side.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SRUN = "/usr/bin/srun"
CLONE_NEWNS = 0x00020000  # unshare(2); Python 3.12 has it
VALUED = ("--container-image=", "--container-mounts=")
FLAGS = ("--no-container-entrypoint", "--no-container-mount-home", "--container-remap-root")
# An image's own content: the programs, and the Python environment that the tests run in.
CONTENT = ("/bin", "/dev", "/etc", "/lib", "/lib64", "/proc", "/sbin", "/sys", "/usr", "/opt")


def main(words: list[str]) -> None:
    """Become the real srun, which starts this file again on the node."""
    at = next(i for i, word in enumerate(words) if not word.startswith("-"))
    options, command = words[:at], words[at:]
    asked = [word for word in options if "container" in word]
    unknown = [word for word in asked if word not in FLAGS and not word.startswith(VALUED)]
    if unknown:
        sys.exit(f"srun: unrecognized option '{unknown[0]}'")
    if asked:
        name = next(w.partition("=")[2] for w in options if w.startswith("--job-name="))
        Path(os.environ["PYXIS_CALLS"], f"{name}.json").write_text(json.dumps(asked))
        mounts = next((w.partition("=")[2] for w in asked if w.startswith("--container-mounts=")), "")
        options = [word for word in options if word not in asked]
        command = [sys.executable, __file__, "--inside", mounts, *command]
    os.execv(SRUN, [SRUN, *options, *command])


def inside(mounts: str, command: list[str]) -> None:
    """Build the root in a mount namespace of this process, enter it, become the command."""
    _unshare()
    call("mount", "--make-rprivate", "/")
    root = Path(tempfile.mkdtemp(prefix="image-", dir=os.environ["PYXIS_IMAGES"]))
    call("mount", "-t", "tmpfs", "tmpfs", str(root))
    own = [*CONTENT, sys.base_prefix, sys.prefix, os.environ["PYXIS_SOURCE"]]
    pairs = [(path, path) for path in own if Path(path).exists() and not path.startswith("/usr/")]
    for word in mounts.split(",") if mounts else []:
        host, target, *_ = word.split(":")
        if not Path(host).exists():
            sys.exit(f"pyxis: mount source {host} does not exist")
        pairs.append((host, target))
    for host, target in pairs:
        place = root / target.lstrip("/")
        place.mkdir(parents=True, exist_ok=True)
        call("mount", "--rbind", host, str(place))
    (root / "tmp").mkdir(exist_ok=True)
    os.chroot(root)
    os.chdir("/")
    os.execvp(command[0], command)


def _unshare() -> None:
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS) != 0:
        sys.exit("pyxis: no mount namespace")


def call(*words: str) -> None:
    """Run a command, which has to succeed."""
    subprocess.run(words, check=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        inside(sys.argv[2], sys.argv[3:])
    else:
        main(sys.argv[1:])

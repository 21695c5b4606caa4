"""What /proc tells about this machine's processes: who supervises a run, and who was started by one."""

from __future__ import annotations

import contextlib
import os
import signal
from dataclasses import dataclass
from pathlib import Path

MARK = "SERVESWEEP_RUN"
PROC = Path("/proc")


@dataclass(frozen=True, order=True)
class Supervising:
    """A living `servesweep run` of this machine; the order is that of their start."""

    started: int
    pid: int
    directory: Path


def start_time(pid: int) -> int | None:
    """Start of a process in clock ticks since boot (proc(5), field 22); None where there is none."""
    fields = _stat(pid)
    return int(fields[19]) if len(fields) > 19 and fields[0] != "Z" else None


def supervisors(results: Path) -> list[Supervising]:
    """The local runs below a results directory, oldest first, this process and who started it excepted."""
    found = []
    for pid in set(_pids()) - set(ancestors(os.getpid())):
        started, directory = start_time(pid), _run_directory(pid)
        if started is not None and directory is not None and directory.parent == results.resolve():
            found.append(Supervising(started, pid, directory))
    return sorted(found)


def ancestors(pid: int) -> list[int]:
    """The parent of a process, its parent, and so on: `timeout 60 servesweep run …` is no run of its own."""
    found: list[int] = []
    while len(fields := _stat(pid)) > 1 and (pid := int(fields[1])) > 0 and pid not in found:
        found.append(pid)
    return found


def marked(root: Path) -> list[int]:
    """Processes that a run of `root`, or of a directory below it, has started, orphans too."""
    found = []
    for pid in _pids():
        directory = environment(pid).get(MARK)
        if directory and Path(directory).is_relative_to(root) and start_time(pid) is not None:
            found.append(pid)
    return found


def end_marked(root: Path) -> int:
    """SIGKILL to every process that a run of `root`, or below it, has started; returns how many."""
    ended: set[int] = set()
    # A process may start another one while the list is read.
    while fresh := set(marked(root)) - ended:
        for pid in fresh:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        ended |= fresh
    return len(ended)


def foreign_listener(port: int, root: Path) -> bool:
    """Whether a process of this host that no run of `root` has started listens on a TCP port.

    False where nothing listens, or its process cannot be looked into: only a certain stranger counts.
    """
    inodes = _listening(port)
    if not inodes:
        return False
    own = set(marked(root))
    return any(inodes & _sockets(pid) for pid in _pids() if pid not in own)


def _listening(port: int) -> set[str]:
    """Inodes of the sockets of this network namespace that listen on a port (proc(5), /proc/net/tcp)."""
    found = set()
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in (PROC / "net" / table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port:
                    found.add(f"socket:[{fields[9]}]")
    return found


def _sockets(pid: int) -> set[str]:
    found = set()
    with contextlib.suppress(OSError):
        for descriptor in (PROC / str(pid) / "fd").iterdir():
            with contextlib.suppress(OSError):
                found.add(str(descriptor.readlink()))
    return found


def _pids() -> list[int]:
    if not PROC.is_dir():
        return []
    own = os.getpid()
    return [int(path.name) for path in PROC.iterdir() if path.name.isdigit() and int(path.name) != own]


def _stat(pid: int) -> list[str]:
    try:
        # The name of the program, in parentheses, may hold spaces and parentheses itself.
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _run_directory(pid: int) -> Path | None:
    """The directory in `servesweep run DIRECTORY --launcher local`; None for any other process."""
    try:
        words = [os.fsdecode(word) for word in (PROC / str(pid) / "cmdline").read_bytes().split(b"\0")]
        current = (PROC / str(pid) / "cwd").readlink()
    except OSError:
        return None
    names = [Path(word).name for word in words]
    if "run" not in words or "servesweep" not in names or "local" not in words:
        return None
    after = words[words.index("run") + 1 :]
    return next(
        (
            (current / word).resolve()
            for word in after
            if word and not word.startswith("-") and (current / word).is_dir()
        ),
        None,
    )


def environment(pid: int) -> dict[str, str]:
    """Variables that a process was started with; none where it cannot be looked into."""
    try:
        words = (PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return {}
    return dict(os.fsdecode(word).split("=", 1) for word in words if b"=" in word)

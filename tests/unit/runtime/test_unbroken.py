"""What is written to streams that nobody reads any more, or that are full."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

from servesweep.runtime.unbroken import Unbroken

WRITING = """
import logging, pathlib, subprocess, sys
from servesweep.runtime.unbroken import keep_unbroken
logger = logging.Logger("snakemake")
logger.addHandler(logging.StreamHandler(sys.stderr))
keep_unbroken(logger.handlers)
print("one", flush=True)
sys.stdin.readline()
print("two", file=sys.stderr, flush=True)
print("three", flush=True)
logger.error("four")
done = subprocess.run(["sh", "-c", "echo five && echo six >&2"])
pathlib.Path(sys.argv[1]).write_text(f"child {done.returncode}")
"""


def test_a_program_goes_on_without_a_reader_and_so_do_those_that_it_starts(tmp_path: Path) -> None:
    words = [sys.executable, "-c", WRITING, str(tmp_path / "end")]
    process = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdin
    assert process.stdout
    assert process.stdout.readline() == "one\n"
    process.stdout.close()
    process.stdin.write("\n")
    process.stdin.close()
    assert process.wait(timeout=60) == 0
    assert (tmp_path / "end").read_text() == "child 0"


class Full(io.StringIO):
    """A file on a disk that is full for a while."""

    free = False

    def write(self, text: str) -> int:
        if not self.free:
            raise OSError(28, "No space left on device")
        return super().write(text)


def test_what_a_full_disk_refuses_is_lost_and_nothing_else() -> None:
    disk = Full()
    stream = Unbroken(disk)
    assert stream.write("lost") == 4
    disk.free = True
    stream.write("kept")
    stream.flush()
    assert (disk.getvalue(), stream.isatty()) == ("kept", False)

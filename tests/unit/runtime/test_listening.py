"""Whose server is it that answers on a port?"""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

from servesweep.runtime.processes import MARK, foreign_listener

LISTEN = (
    "import socket, time\n"
    "s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True); time.sleep(60)"
)


def listener(environment: dict[str, str]) -> tuple[subprocess.Popen[str], int]:
    process = subprocess.Popen(
        [sys.executable, "-c", LISTEN], env=environment, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def test_a_listener_of_the_run_is_no_stranger_and_any_other_is(tmp_path: Path) -> None:
    own, own_port = listener({MARK: str(tmp_path)})
    other, other_port = listener({MARK: str(tmp_path.with_name("another"))})
    try:
        assert not foreign_listener(own_port, tmp_path)
        assert foreign_listener(other_port, tmp_path)
    finally:
        for process in (own, other):
            process.kill()
            process.wait()


def test_where_nothing_listens_there_is_no_stranger(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert not foreign_listener(port, tmp_path)

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from servesweep.loadgen.board import Board, Counts

TAKER = """
import sys
from pathlib import Path
from servesweep.loadgen.board import Board
board = Board(Path(sys.argv[1]), 2)
while (number := board.take(2000)) is not None:
    print(number)
"""


def test_numbers_are_taken_once_each_by_several_processes(tmp_path: Path) -> None:
    board = Board.create(tmp_path / "board", 2)
    command = [sys.executable, "-c", TAKER, str(tmp_path / "board")]
    takers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    taken = [int(line) for taker in takers for line in taker.communicate()[0].split()]
    assert sorted(taken) == list(range(2000))
    assert board.take(2000) is None
    board.close()


def test_counts_are_summed_and_reset(tmp_path: Path) -> None:
    board = Board.create(tmp_path / "board", 2)
    board.publish(0, Counts(1, 2, 30))
    Board(tmp_path / "board", 2).publish(1, Counts(10, 0, 5))
    assert board.total() == Counts(11, 2, 35)
    board.reset()
    assert board.total() == Counts(0, 0, 0)
    assert board.take(1) == 0
    assert board.take(1) is None
    board.close()

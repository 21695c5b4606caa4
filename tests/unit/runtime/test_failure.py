"""How the end of a process is told."""

from __future__ import annotations

import pytest

from servesweep.runtime.failure import how_it_ended


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (7, "exited with code 7"),
        (0, "exited with code 0"),
        (-9, "was ended by SIGKILL"),
        (137, "was ended by SIGKILL"),
        (255, "exited with code 255"),
    ],
)
def test_an_end_is_a_code_or_a_signal(code: int, said: str) -> None:
    assert how_it_ended(code) == said


def test_srun_ends_well_when_a_node_has_failed_and_the_reader_learns_of_the_node() -> None:
    told = ["simulator listening on http://0.0.0.0:6100", "srun: error: Node failure on node7"]
    assert how_it_ended(0, told) == "is lost: node node7 has failed"

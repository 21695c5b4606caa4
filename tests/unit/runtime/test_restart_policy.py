"""What follows from a worker's exit, and how its next life is called."""

from __future__ import annotations

import pytest

from servesweep.recipe.restart import RestartSection
from servesweep.runtime.restart_policy import Relaunch, Released, decide, life_name

SPENT, NOT_ASKED_FOR = Released(exhausted=True), Released(exhausted=False)


@pytest.mark.parametrize(
    ("policy", "code", "decision"),
    [
        ("never", 0, NOT_ASKED_FOR),
        ("never", 1, NOT_ASKED_FOR),
        ("on-failure", 0, NOT_ASKED_FOR),
        ("on-failure", 1, Relaunch(1, 10.0)),
        ("on-failure", 137, Relaunch(1, 10.0)),
        ("always", 0, Relaunch(1, 10.0)),
        ("always", 137, Relaunch(1, 10.0)),
    ],
)
def test_the_first_exit(policy: str, code: int, decision: object) -> None:
    assert decide(RestartSection.model_validate(policy), 0, code) == decision


def test_a_life_of_crashes() -> None:
    policy = RestartSection(policy="on-failure", max_restarts=5, backoff_seconds=10, max_backoff_seconds=60)
    assert [decide(policy, done, 1) for done in range(7)] == [
        Relaunch(1, 10.0), Relaunch(2, 20.0), Relaunch(3, 40.0), Relaunch(4, 60.0), Relaunch(5, 60.0),
        SPENT, SPENT,
    ]  # fmt: skip


def test_a_clean_exit_under_on_failure_is_not_a_spent_budget() -> None:
    policy = RestartSection(policy="on-failure", max_restarts=1)
    assert (decide(policy, 1, 0), decide(policy, 1, 1)) == (NOT_ASKED_FOR, SPENT)


def test_a_budget_of_none() -> None:
    assert decide(RestartSection(policy="always", max_restarts=0), 0, 0) == SPENT


@pytest.mark.parametrize(
    ("step", "host", "twin", "name"),
    [
        ("decode_1", "gpu17", False, "decode_1_gpu17_r2"),
        ("decode_1_r1", "gpu18", False, "decode_1_gpu18_r2"),
        ("decode_1_r1", "gpu17", True, "decode_1_r1_gpu17_r2"),
    ],
)
def test_the_name_of_a_second_life(step: str, host: str, twin: bool, name: str) -> None:
    assert life_name("decode", 1, step, host, 2, twin) == name

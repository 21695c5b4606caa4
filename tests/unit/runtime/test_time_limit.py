"""The time limit as Slurm tells it, and the moment at which a run ends before it."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from servesweep.recipe.host_setup import HostSetupSection
from servesweep.runtime.time_limit import TimeLimit, margin_for, near_the_limit, out_of_time, time_limit_of

# scontrol 22.05 with SLURM_TIME_FORMAT=%s, shortened.
SHOWN = (
    "JobId=28 JobName=bash JobState=RUNNING RunTime=00:00:00 TimeLimit=00:05:00 TimeMin=N/A"
    " StartTime=1795991003 EndTime=1795991303 Deadline=N/A NodeList=ssnode1\n"
)


def test_end_and_limit_of_a_job() -> None:
    assert time_limit_of(SHOWN) == TimeLimit(1795991303.0, "00:05:00")


def test_of_several_components_the_first_to_end_counts() -> None:
    other = SHOWN.replace("1795991303", "1795991300").replace("00:05:00", "00:04:57")
    assert time_limit_of(SHOWN + other) == TimeLimit(1795991300.0, "00:04:57")


@pytest.mark.parametrize(
    "shown",
    [
        "",
        SHOWN.replace("00:05:00", "UNLIMITED"),
        SHOWN.replace("EndTime=1795991303", "EndTime=Unknown"),
        "slurm_load_jobs error: Invalid job id specified\n",
    ],
)
def test_no_limit(shown: str) -> None:
    assert time_limit_of(shown) is None


NEVER = TimeLimit(10_000, "02:46:40")


def slept(monkeypatch: pytest.MonkeyPatch, *answers: TimeLimit | None) -> tuple[TimeLimit, list[float]]:
    """The limit that is near from second 0 on, and the sleeps, where Slurm gives these answers."""
    left, sleeps = list(answers), list[float]()

    async def ask(job: str) -> TimeLimit | None:
        assert job == "28"
        return left.pop(0)

    async def sleep(seconds: float) -> None:
        sleeps.append(seconds)

    module = "servesweep.runtime.time_limit"
    monkeypatch.setattr(f"{module}._ask", ask)
    monkeypatch.setattr(f"{module}.asyncio", SimpleNamespace(sleep=sleep))
    monkeypatch.setattr(f"{module}.time", SimpleNamespace(time=lambda: sum(sleeps)))
    return asyncio.run(near_the_limit("28", 30)), sleeps


def test_it_waits_until_the_margin_and_asks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    limit = TimeLimit(100, "00:01:40")
    assert slept(monkeypatch, limit, limit) == (limit, [70])


def test_a_limit_that_was_raised_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    first, raised = TimeLimit(100, "00:01:40"), TimeLimit(400, "00:06:40")
    assert slept(monkeypatch, first, raised, raised) == (raised, [70, 300])


def test_a_limit_that_was_lowered_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    lowered = TimeLimit(700, "00:11:40")
    assert slept(monkeypatch, NEVER, lowered, lowered) == (lowered, [600, 70])


def test_while_slurm_cannot_be_asked_its_last_word_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    limit = TimeLimit(100, "00:01:40")
    assert slept(monkeypatch, limit, None) == (limit, [70])


def test_a_job_without_a_limit_is_looked_at_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    given = TimeLimit(1220, "00:20:20")
    assert slept(monkeypatch, None, None, given) == (given, [600, 600])


def test_the_recipe_s_own_teardown_gets_its_time() -> None:
    setup = HostSetupSection.model_validate({"commands": ["a"], "teardown": ["b"], "timeout_seconds": 20})
    assert margin_for(None) == 30
    assert margin_for(setup) == 50
    assert margin_for(setup.model_copy(update={"timeout_seconds": 1000.0})) == 90
    assert margin_for(setup.model_copy(update={"teardown": ()})) == 30


def test_one_sentence_names_the_limit_and_what_was_left_undone() -> None:
    limit = TimeLimit(0, "00:05:00")
    assert out_of_time("28", limit, 30, ["c4", "c8"]) == (
        "ended 30 s before the time limit of job 28, 00:05:00, is over: not measured: c4, c8"
    )

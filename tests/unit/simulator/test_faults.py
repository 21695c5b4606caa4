"""`--fault KIND[:ARG]`: every kind once right, and everything that can be wrong with it."""

import itertools

import pytest

from servesweep.simulator.faults import CrashAfter, Faults, HangAfter, WrongModelAfter, parse_faults


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("slow-start:2.5", Faults(slow_start_s=2.5)),
        ("never-healthy", Faults(never_healthy=True)),
        ("crash-at-start", Faults(crash_at_start=1)),
        ("crash-at-start:7", Faults(crash_at_start=7)),
        ("crash-after:100", Faults(crash_after=CrashAfter(requests=100, exit_code=1))),
        ("crash-after:100:0", Faults(crash_after=CrashAfter(requests=100, exit_code=0))),
        ("errors:0.25", Faults(error_fraction=0.25)),
        ("empty", Faults(empty=True)),
        ("empty-after:3", Faults(empty_after=3)),
        ("wrong-model:org/name:v2", Faults(wrong_model="org/name:v2")),
        (
            "wrong-model-after:2:org/name:v2",
            Faults(wrong_model_after=WrongModelAfter(requests=2, name="org/name:v2")),
        ),
        ("hang-after:10", Faults(hang_after=HangAfter(requests=10, tokens=None))),
        ("hang-after:0:3", Faults(hang_after=HangAfter(requests=0, tokens=3))),
        ("fatal-log:CUDA error: out of memory", Faults(fatal_log="CUDA error: out of memory")),
    ],
)
def test_every_kind(text: str, faults: Faults) -> None:
    assert parse_faults([text]) == faults


def test_faults_add_up() -> None:
    assert parse_faults(["empty", "errors:0.5"]) == Faults(empty=True, error_fraction=0.5)
    assert parse_faults([]) == Faults()


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        (["eror:1"], "there is no kind 'eror'; did you mean 'errors'?"),
        (["xyzzy"], "there is no kind 'xyzzy'; known are slow-start:SECONDS, never-healthy"),
        (["slow-start"], r"write it as slow-start:SECONDS \(takes exactly one argument\)"),
        (["slow-start:soon"], r"write it as slow-start:SECONDS \(could not convert string to float"),
        (["slow-start:-1"], r"\(Input should be greater than or equal to 0\)"),
        (["slow-start:1:2"], r"\(takes exactly one argument\)"),
        (["never-healthy:1"], r"write it as never-healthy \(takes no argument\)"),
        (["crash-at-start:256"], r"\(Input should be less than or equal to 255\)"),
        (["crash-after"], r"write it as crash-after:N\[:EXITCODE\] \(takes one or two numbers\)"),
        (["crash-after:0"], r"\(Input should be greater than or equal to 1\)"),
        (["crash-after:1:2:3"], r"\(takes one or two numbers\)"),
        (["errors:1.5"], r"write it as errors:FRACTION \(Input should be less than or equal to 1\)"),
        (["errors:nan"], r"write it as errors:FRACTION"),
        (["empty:"], r"write it as empty \(takes no argument\)"),
        (["empty-after"], r"write it as empty-after:N \(takes exactly one argument\)"),
        (["empty-after:-1"], r"\(Input should be greater than or equal to 0\)"),
        (["wrong-model-after:3"], r"write it as wrong-model-after:N:NAME \(takes a number and a name\)"),
        (["wrong-model-after:x:y"], r"write it as wrong-model-after:N:NAME \(invalid literal"),
        (["wrong-model"], r"write it as wrong-model:NAME \(needs a text after the colon\)"),
        (["wrong-model:"], r"write it as wrong-model:NAME"),
        (["hang-after:many"], r"write it as hang-after:N\[:TOKENS\] \(invalid literal"),
        (["fatal-log"], r"write it as fatal-log:TEXT \(needs a text after the colon\)"),
        (["empty", "empty"], "fault 'empty': empty is given twice"),
    ],
)
def test_a_mistake_is_one_sentence(texts: list[str], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        parse_faults(texts)


def test_a_quarter_of_errors_is_every_fourth_request() -> None:
    faults = Faults(error_fraction=0.25)
    failing = [ordinal for ordinal in range(40) if faults.refuses(ordinal, seed=0)]
    assert len(failing) == 10
    assert {later - earlier for earlier, later in itertools.pairwise(failing)} == {4}


def test_the_seed_moves_the_errors_and_nothing_else_does() -> None:
    faults = Faults(error_fraction=0.1)

    def failing(seed: int) -> list[int]:
        return [ordinal for ordinal in range(100) if faults.refuses(ordinal, seed)]

    assert failing(seed=1) == failing(seed=1)
    assert failing(seed=1) != failing(seed=2)
    assert len(failing(seed=1)) == len(failing(seed=2)) == 10


@pytest.mark.parametrize(("fraction", "count"), [(0.0, 0), (1.0, 50)])
def test_none_and_all_requests_can_fail(fraction: float, count: int) -> None:
    faults = Faults(error_fraction=fraction)
    assert sum(faults.refuses(ordinal, seed=3) for ordinal in range(50)) == count


def test_a_hang_begins_after_its_requests_and_in_the_middle_of_an_answer() -> None:
    hang = HangAfter(requests=2)
    assert hang.tokens_before_hang(completed_requests=1, output_tokens=10) is None
    assert hang.tokens_before_hang(completed_requests=2, output_tokens=10) == 5
    assert HangAfter(requests=2, tokens=3).tokens_before_hang(2, output_tokens=10) == 3


def test_late_faults_begin_after_the_completed_requests() -> None:
    faults = parse_faults(["empty-after:2", "wrong-model-after:1:other"])
    assert [faults.answers_nothing(done) for done in range(4)] == [False, False, True, True]
    assert [faults.answering_model(done) for done in range(3)] == [None, "other", "other"]

"""The command line of a simulator: what it means, and how a mistake is told."""

from pathlib import Path

import pytest

from servesweep.simulator.command_line import parse_command_line
from servesweep.simulator.faults import CrashAfter, Faults, HangAfter
from servesweep.simulator.options import SimulatorOptions


def test_only_the_model_name_is_needed() -> None:
    assert parse_command_line(["--model-name", "tiny"]) == SimulatorOptions(
        model_name="tiny", host="127.0.0.1", port=8000, mode="agg", ttft_ms=20, itl_ms=5
    )


def test_every_option_reaches_its_field() -> None:
    line = (
        "--model-name tiny --model-path /models/tiny --host 0.0.0.0 --port 8080 --mode prefill "
        "--bootstrap-port 8998 --ttft-ms 40 --itl-ms 2.5 --itl-slope-ms 0.1 --prefill-tokens-per-s 10000 "
        "--max-num-seqs 64 --context-length 4096 --eos-after 7 --startup-s 3 --seed 9 "
        "--fault empty --fault crash-after:5:9"
    )
    assert parse_command_line(line.split()) == SimulatorOptions(
        model_name="tiny",
        model_path=Path("/models/tiny"),
        host="0.0.0.0",
        port=8080,
        mode="prefill",
        bootstrap_port=8998,
        ttft_ms=40.0,
        itl_ms=2.5,
        itl_slope_ms=0.1,
        prefill_tokens_per_s=10000.0,
        max_num_seqs=64,
        context_length=4096,
        eos_after=7,
        startup_s=3.0,
        seed=9,
        faults=Faults(empty=True, crash_after=CrashAfter(requests=5, exit_code=9)),
    )


def test_served_model_name_is_another_word_for_model_name() -> None:
    assert parse_command_line(["--served-model-name", "tiny"]).model_name == "tiny"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("", "the following arguments are required: --model-name/--served-model-name"),
        ("--model-name t --tp-size 2", "unrecognized arguments: --tp-size 2"),
        ("--model-name t --ttft 2", "unrecognized arguments: --ttft 2"),  # no abbreviations
        ("--model-name t --ttft-ms -1", "--ttft-ms -1: Input should be greater than or equal to 0."),
        ("--model-name t --port 80o", "--port 80o: Input should be a valid integer"),
        ("--model-name t --mode both", "--mode both: Input should be 'agg', 'prefill' or 'decode'."),
        ("--model-name t --bootstrap-port 8998", "--bootstrap-port belongs to a prefill worker"),
        ("--model-name t --fault emtpy", "there is no kind 'emtpy'; did you mean 'empty'?"),
    ],
)
def test_a_mistake_ends_with_code_2_and_one_sentence(
    line: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parse_command_line(line.split())
    assert ended.value.code == 2
    assert told in capsys.readouterr().err


def test_start_up_time_adds_the_slow_start() -> None:
    options = SimulatorOptions(model_name="t", startup_s=2, faults=Faults(slow_start_s=30))
    assert options.total_startup_s == 32


def test_never_healthy_is_a_start_up_without_end() -> None:
    options = SimulatorOptions(model_name="t", faults=Faults(never_healthy=True))
    assert options.total_startup_s == float("inf")


def test_the_wrong_model_fault_changes_only_what_is_told() -> None:
    options = SimulatorOptions(model_name="right", faults=Faults(wrong_model="other"))
    assert (options.model_name, options.told_name) == ("right", "other")


def test_hang_after_is_reachable_from_the_command_line() -> None:
    options = parse_command_line(["--model-name", "t", "--fault", "hang-after:3:2"])
    assert options.faults.hang_after == HangAfter(requests=3, tokens=2)

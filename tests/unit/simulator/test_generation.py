"""How many tokens an answer has, why it ends, and who prefills."""

import json
from typing import Any

import pytest

from servesweep.simulator.faults import Faults
from servesweep.simulator.generation import Generation, count_prompt, handover, plan_generation
from servesweep.simulator.options import SimulatorOptions
from servesweep.simulator.prompt_counter import count_words
from servesweep.simulator.request_body import GenerationRequest, RequestRefusedError, parse_request

KV_ASKED = {"do_remote_decode": True, "do_remote_prefill": False}


def asked(**body: Any) -> GenerationRequest:
    raw = json.dumps({"model": "tiny", "prompt": "a b c", "max_tokens": 10} | body).encode()
    return parse_request("completion", raw, "tiny")


def planned(request: GenerationRequest, prompt_tokens: int = 3, **options: Any) -> Generation:
    return plan_generation(SimulatorOptions(model_name="tiny", **options), request, prompt_tokens)


def ending(generation: Generation) -> tuple[int, str]:
    return generation.output_tokens, generation.finish_reason


def test_prompt_tokens_are_ids_or_counted_words() -> None:
    assert count_prompt(asked(prompt=[9, 9, 9, 9]), count_words) == 4
    assert count_prompt(asked(prompt="  two\n words "), count_words) == 2


def test_usage_adds_up() -> None:
    assert planned(asked(), prompt_tokens=3).usage() == {
        "prompt_tokens": 3,
        "completion_tokens": 10,
        "total_tokens": 13,
    }


def test_an_answer_has_exactly_the_tokens_asked_for() -> None:
    assert ending(planned(asked(max_tokens=1000))) == (1000, "length")


def test_an_end_of_sequence_comes_unless_it_is_ignored() -> None:
    assert ending(planned(asked(), eos_after=4)) == (4, "stop")
    assert ending(planned(asked(min_tokens=6), eos_after=4)) == (6, "stop")
    assert ending(planned(asked(ignore_eos=True), eos_after=4)) == (10, "length")
    assert ending(planned(asked(), eos_after=40)) == (10, "length")


def test_prompt_and_output_must_fit_the_context() -> None:
    assert planned(asked(), prompt_tokens=90, context_length=100).output_tokens == 10
    with pytest.raises(RequestRefusedError, match="maximum context length is 100 tokens") as refused:
        planned(asked(), prompt_tokens=91, context_length=100)
    assert refused.value.status == 400


def test_the_empty_fault_leaves_no_token() -> None:
    assert ending(planned(asked(), faults=Faults(empty=True))) == (0, "stop")


def test_with_a_bootstrap_room_the_prefill_worker_makes_one_token_and_the_decode_worker_all() -> None:
    request = asked(bootstrap_host="h", bootstrap_port=8998, bootstrap_room=123456)
    assert ending(planned(request, mode="prefill")) == (1, "length")
    assert ending(planned(request, mode="decode")) == (10, "length")


def test_a_decode_worker_with_a_bootstrap_room_waits_for_the_prefill() -> None:
    assert not planned(asked(bootstrap_room=1), mode="decode").prefilled


def test_a_prefill_worker_hands_over_what_the_decode_worker_needs() -> None:
    prefill = SimulatorOptions(
        model_name="tiny", mode="prefill", host="10.0.0.1", port=8100, bootstrap_port=8998
    )
    params = handover(prefill, asked(kv_transfer_params=KV_ASKED), ordinal=7, prompt_tokens=33)
    assert params == {
        "do_remote_prefill": True,
        "do_remote_decode": False,
        "remote_engine_id": "simulator-8100",
        "remote_request_id": "7",
        "remote_block_ids": [0, 1, 2],
        "remote_host": "10.0.0.1",
        "remote_port": 8998,
        "tp_size": 1,
    }
    assert planned(asked(kv_transfer_params=params), mode="decode").prefilled


def test_nothing_is_handed_over_without_being_asked_or_by_another_worker() -> None:
    prefill = SimulatorOptions(model_name="tiny", mode="prefill")
    agg = SimulatorOptions(model_name="tiny", mode="agg")
    assert handover(prefill, asked(), 0, 3) is None
    assert handover(agg, asked(kv_transfer_params=KV_ASKED), 0, 3) is None


def test_a_decode_worker_refuses_a_prefill_of_nobody() -> None:
    with pytest.raises(RequestRefusedError, match="no remote_engine_id") as refused:
        planned(asked(kv_transfer_params={"do_remote_prefill": True}), mode="decode")
    assert refused.value.status == 400

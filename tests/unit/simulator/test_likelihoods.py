"""Log-probabilities of echoed prompts: their form, and that they depend on nothing but the tokens."""

from __future__ import annotations

from servesweep.simulator.likelihoods import echoed


def test_each_token_of_prompt_and_answer_has_an_entry() -> None:
    told = echoed([5, 6, 7], [" word"])
    assert told["tokens"] == ["token_id:5", "token_id:6", "token_id:7", " word"]
    first, *prompt, answer = told["token_logprobs"]
    assert first is None
    assert all(-8 <= value <= -1 for value in prompt)
    assert answer == -0.125
    assert told["top_logprobs"][0] is None
    assert told["top_logprobs"][1] == {"the": -0.125, "token_id:6": prompt[0]}


def test_the_same_token_after_the_same_one_is_always_as_likely() -> None:
    one, other = echoed([1, 2, 3], []), echoed([9, 1, 2], [])
    assert one["token_logprobs"][1] == other["token_logprobs"][2]
    assert one["token_logprobs"][1] != one["token_logprobs"][2]

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer, models

from servesweep.loadgen.dataset import build_schedule, draw_arrivals, draw_lengths
from servesweep.loadgen.errors import LoadgenError
from servesweep.loadgen.prepare import request_body
from servesweep.loadgen.words import load_tokenizer


def rng() -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(1))


@pytest.mark.parametrize("api", ["completions", "chat"])
@pytest.mark.parametrize("kind", ["tokenizer_dir", "bos_tokenizer_dir", "spanning_tokenizer_dir"])
def test_prompts_have_the_exact_length_when_encoded_again(
    make_spec: Any, request: pytest.FixtureRequest, kind: str, api: str
) -> None:
    directory: Path = request.getfixturevalue(kind)
    spec = make_spec(
        tokenizer=str(directory), api=api, isl=300, random_range_ratio=0.0, num_prompts=100, concurrency=1
    )
    prompts = build_schedule(spec, "measure").prompts
    tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
    # The completions endpoint adds the beginning-of-sequence token; a chat template has its own.
    special = api == "completions"
    assert [len(tokenizer.encode(p.text, add_special_tokens=special).ids) for p in prompts] == [
        p.input_tokens for p in prompts
    ]
    assert len({p.input_tokens for p in prompts}) > 50


def test_without_a_tokenizer_words_are_counted(make_spec: Any) -> None:
    spec = make_spec(isl=64, random_range_ratio=1.0)
    assert [len(p.text.split()) for p in build_schedule(spec, "measure").prompts] == [64] * 4


def test_lengths_are_uniform_from_ratio_times_length_to_length() -> None:
    lengths = draw_lengths(rng(), 10, 0.8, 3000)
    assert {n: 850 < lengths.count(n) < 1150 for n in (8, 9, 10)} == {8: True, 9: True, 10: True}
    assert sum(lengths.count(n) for n in (8, 9, 10)) == 3000
    assert draw_lengths(rng(), 7, 1.0, 3) == [7, 7, 7]
    assert min(draw_lengths(rng(), 3, 0.0, 500)) == 1


def test_the_same_spec_gives_the_same_prompts(make_spec: Any, tokenizer_dir: Path) -> None:
    spec = make_spec(tokenizer=str(tokenizer_dir), seed=3, request_rate=5.0)
    assert build_schedule(spec, "measure") == build_schedule(spec, "measure")
    more = make_spec(
        tokenizer=str(tokenizer_dir), seed=3, request_rate=5.0, processes=4, configuration="other"
    )
    assert build_schedule(more, "measure") == build_schedule(spec, "measure")


@pytest.mark.parametrize("change", [{"seed": 1}, {"repeat": 1}, {"point": "c8"}])
def test_another_seed_repeat_or_point_shares_no_prompt(make_spec: Any, change: dict[str, Any]) -> None:
    texts = {p.text for p in build_schedule(make_spec(), "measure").prompts}
    assert texts.isdisjoint(p.text for p in build_schedule(make_spec(**change), "measure").prompts)


def test_the_warm_up_has_prompts_of_its_own(make_spec: Any) -> None:
    spec = make_spec(num_warmup=6)
    warm = build_schedule(spec, "warmup").prompts
    assert len(warm) == 6
    assert {p.text for p in warm}.isdisjoint(p.text for p in build_schedule(spec, "measure").prompts)


def test_arrivals_are_a_poisson_process() -> None:
    arrivals = draw_arrivals(rng(), 20.0, 5001)
    gaps = np.diff(arrivals)
    assert arrivals[0] == 0.0
    # Exponential gaps: the standard deviation equals the mean, here 1/20 s.
    assert gaps.mean() == pytest.approx(0.05, rel=0.05)
    assert gaps.std() == pytest.approx(0.05, rel=0.07)
    assert draw_arrivals(rng(), float("inf"), 3) == [0.0, 0.0, 0.0]


def test_an_unusable_tokenizer_is_one_sentence(make_spec: Any, tmp_path: Path) -> None:
    with pytest.raises(LoadgenError, match=r"no tokenizer at .*tokenizer\.json"):
        load_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(LoadgenError, match="cannot read the tokenizer"):
        load_tokenizer(tmp_path)
    Tokenizer(models.WordLevel({"<unk>": 0}, unk_token="<unk>")).save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(LoadgenError, match="no word of one token"):
        build_schedule(make_spec(tokenizer=str(tmp_path)), "measure")


def test_the_body_of_a_completion(make_spec: Any) -> None:
    spec = make_spec(num_prompts=1, extra_body={"top_p": 0.5}, random_range_ratio=1.0)
    prompt = build_schedule(spec, "measure").prompts[0]
    assert json.loads(request_body(spec, prompt)) == {
        "model": "llama",
        "prompt": prompt.text,
        "max_tokens": 50,
        "temperature": 0.0,
        "stream": True,
        "stream_options": {"include_usage": True},
        "ignore_eos": True,
        "top_p": 0.5,
    }


def test_the_body_of_a_chat(make_spec: Any) -> None:
    spec = make_spec(api="chat", ignore_eos=False)
    prompt = build_schedule(spec, "measure").prompts[0]
    body = json.loads(request_body(spec, prompt))
    assert body["messages"] == [{"role": "user", "content": prompt.text}]
    assert "prompt" not in body
    assert "ignore_eos" not in body

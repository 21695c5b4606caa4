"""Files of prompts: the forms that are read, what is sent of them, and each mistake as one sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from servesweep.loadgen.dataset import build_schedule, identity
from servesweep.loadgen.errors import LoadgenError
from servesweep.loadgen.prepare import request_body
from servesweep.loadgen.prompt_files import Entry, read_entries


def file(tmp_path: Path, *rows: Any) -> Path:
    path = tmp_path / "prompts.jsonl"
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows) + "\n")
    return path


USER = {"role": "user", "content": "hi"}


@pytest.mark.parametrize(
    ("row", "entry"),
    [
        ({"prompt": "a b"}, Entry("a b")),
        ({"prompt": "a", "output_tokens": 3}, Entry("a", output_tokens=3)),
        ({"prompt": "a", "output_len": 3}, Entry("a", output_tokens=3)),
        ({"prompt": "a", "completion": "b c"}, Entry("a", answer="b c")),
        ({"messages": [USER], "max_tokens": 2}, Entry("", (USER,), 2)),
        (
            {"conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]},
            Entry("a", answer="b"),
        ),
        (
            {"conversations": [{"from": "system", "value": "s"}, {"role": "user", "content": "a"}],
             "output_tokens": 1},
            Entry("a", output_tokens=1),
        ),
    ],
)  # fmt: skip
def test_the_forms_of_a_prompt(tmp_path: Path, row: dict[str, Any], entry: Entry) -> None:
    assert read_entries(file(tmp_path, row)) == [entry]


def test_sharegpts_array_without_answers_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "chats.json"
    path.write_text(json.dumps([{"conversations": []}, {"conversations": [{"from": "human", "value": "a"}]},
                                {"conversations": [{"from": "human", "value": "b"},
                                                   {"from": "gpt", "value": "c"}]}]))  # fmt: skip
    assert [entry.text for entry in read_entries(path)] == ["b"]


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("not JSON", ":1 is not JSON"),
        ("[1", " is not JSON"),
        ({"text": "a"}, ":1: expected prompt, messages or conversations"),
        ("8", ":1: expected an object"),
        ({"prompt": "a", "output_tokens": 0}, ":1: output_tokens must be a whole number from 1, got 0"),
        ({"messages": [{"role": "user"}]}, ":1: each of messages needs role and content"),
        ({"conversations": []}, " holds no prompt"),
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path: Path, row: Any, told: str) -> None:
    path = file(tmp_path, row)
    with pytest.raises(LoadgenError) as caught:
        read_entries(path)
    assert str(caught.value).startswith(f"{path}{told}")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(LoadgenError, match="cannot read the prompts"):
        read_entries(tmp_path / "no.jsonl")


@pytest.fixture
def of_file(make_spec: Any, tmp_path: Path) -> Any:
    """A load whose prompts are four of a file."""
    path = file(tmp_path, *({"prompt": f"prompt number {n}", "completion": "x y z"} for n in range(4)))
    return lambda **changes: make_spec(
        **{"isl": None, "osl": None, "dataset_path": str(path), "num_prompts": 4, **changes}
    )


def texts(spec: Any) -> list[str]:
    return [prompt.text for prompt in build_schedule(spec, "measure").prompts]


def test_all_are_sent_once_before_one_comes_again(of_file: Any) -> None:
    sent = texts(of_file(num_prompts=8, salt=False))
    assert sorted(sent[:4]) == [f"prompt number {n}" for n in range(4)]
    assert sent[4:] == sent[:4]
    assert identity(build_schedule(of_file(num_prompts=8), "measure").prompts)[1] == 4


def test_a_salt_parts_points_and_keeps_what_prompts_share(of_file: Any) -> None:
    salts = {text.partition(" ")[0] for text in texts(of_file())}
    assert len(salts) == 1
    others = [of_file(point="c8"), of_file(repeat=1), of_file(seed=1)]
    seen = salts.union(*({text.partition(" ")[0] for text in texts(spec)} for spec in others))
    warm = {
        prompt.text.partition(" ")[0] for prompt in build_schedule(of_file(num_warmup=2), "warmup").prompts
    }
    assert len(seen | warm) == 5
    assert all(text.partition(" ")[2].startswith("prompt number") for text in texts(of_file()))


def test_lengths_are_the_files_own_unless_one_is_asked(of_file: Any) -> None:
    first = build_schedule(of_file(), "measure").prompts[0]
    assert (first.input_tokens, first.output_tokens) == (4, 3)  # the salt is a word
    assert build_schedule(of_file(osl=9), "measure").prompts[0].output_tokens == 9


def test_without_any_length_it_is_asked_for(make_spec: Any, tmp_path: Path) -> None:
    path = file(tmp_path, {"prompt": "a"})
    with pytest.raises(LoadgenError, match="does not say how long the outputs are: give osl"):
        build_schedule(make_spec(isl=None, osl=None, dataset_path=str(path)), "measure")


def test_a_chat_goes_as_it_is_to_the_chat_api_alone(make_spec: Any, tmp_path: Path) -> None:
    messages = [{"role": "system", "content": "be kind"}, USER]
    path = file(tmp_path, {"messages": messages, "output_tokens": 2})
    spec = make_spec(isl=None, osl=None, dataset_path=str(path), api="chat", num_prompts=1)
    (prompt,) = build_schedule(spec, "measure").prompts
    (system, user) = json.loads(request_body(spec, prompt))["messages"]
    assert system["content"].endswith(" be kind")
    assert user == USER
    with pytest.raises(LoadgenError, match="holds chats, which the completions api does not take"):
        build_schedule(make_spec(isl=None, osl=None, dataset_path=str(path)), "measure")


def test_beginnings_are_shared_and_lengths_stay_exact(make_spec: Any, tokenizer_dir: Path) -> None:
    spec = make_spec(
        isl=40, random_range_ratio=1.0, prefix_ratio=0.5, num_prefixes=2, num_prompts=20,
        tokenizer=str(tokenizer_dir),
    )  # fmt: skip
    prompts = build_schedule(spec, "measure").prompts
    assert {prompt.input_tokens for prompt in prompts} == {40}
    starts = {" ".join(prompt.text.split()[:10]) for prompt in prompts}
    assert len(starts) == 2
    assert identity(prompts)[1] == 20

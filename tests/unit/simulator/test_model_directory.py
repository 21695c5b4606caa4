"""The model directory without weights."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from servesweep.simulator.model_directory import SPECIAL_TOKENS, VOCABULARY_SIZE, write_model_directory
from servesweep.simulator.prompt_counter import text_counter
from servesweep.simulator.vocabulary import answer_words

FILES = {
    "config.json",
    "generation_config.json",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "tiny"
    write_model_directory(path)
    return path


def contents(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.iterdir()}


def test_it_holds_these_files_and_leaves_nothing_beside_it(directory: Path) -> None:
    assert set(contents(directory)) == FILES
    assert [entry.name for entry in directory.parent.iterdir()] == ["tiny"]


def test_random_token_ids_come_back_from_text(directory: Path) -> None:
    tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
    ordinary = range(len(SPECIAL_TOKENS), VOCABULARY_SIZE)
    dice = random.Random(1)
    for length in (1, 2, 17, 1024):
        ids = dice.choices(ordinary, k=length)
        assert tokenizer.encode(tokenizer.decode(ids), add_special_tokens=False).ids == ids


def test_the_config_agrees_with_the_tokenizer(directory: Path) -> None:
    config = json.loads((directory / "config.json").read_bytes())
    tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
    assert config["vocab_size"] == tokenizer.get_vocab_size() == VOCABULARY_SIZE
    assert tokenizer.id_to_token(config["bos_token_id"]) == "<s>"
    assert tokenizer.id_to_token(config["eos_token_id"]) == "</s>"
    assert config["architectures"] == ["LlamaForCausalLM"]


def test_a_simulators_answer_is_as_many_tokens_as_it_has_words(directory: Path) -> None:
    count = text_counter(directory)
    assert count(" ".join(answer_words(seed=5))) == len(answer_words(seed=5))
    assert count("baba\n  bebe unheard-of") == 3


def test_it_is_the_same_bytes_in_another_process(directory: Path, tmp_path: Path) -> None:
    again = tmp_path / "deep" / "again"
    subprocess.run([sys.executable, "-m", "servesweep.simulator.model_directory", str(again)], check=True)
    assert contents(again) == contents(directory)


def test_a_complete_directory_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "model"
    write_model_directory(path)
    (path / "config.json").write_text("{}")
    write_model_directory(path)
    assert (path / "config.json").read_text() == "{}"


def test_an_empty_directory_is_filled(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    write_model_directory(tmp_path / "model")
    assert set(contents(tmp_path / "model")) == FILES


def test_something_else_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "thesis.tex").write_text("years of work")
    with pytest.raises(FileExistsError, match="is not a complete model directory"):
        write_model_directory(tmp_path / "model")
    assert contents(tmp_path / "model") == {"thesis.tex": b"years of work"}
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]


def test_a_model_path_without_a_tokenizer_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"tokenizer\.json cannot be read as a tokenizer"):
        text_counter(tmp_path)

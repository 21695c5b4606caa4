from __future__ import annotations

import json
import random
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from servesweep.loadgen.record import RequestRecord
from servesweep.loadgen.spec import LoadSpec

SpecMaker = Callable[..., LoadSpec]
RecordMaker = Callable[..., RequestRecord]


@pytest.fixture
def make_spec() -> SpecMaker:
    """A complete load; each test names only the fields it is about."""

    def make(**changes: Any) -> LoadSpec:
        fields: dict[str, Any] = {
            "configuration": "llama-tp8",
            "point": "c4",
            "digest": "0123abcd",
            "url": "http://host:8000",
            "model": "llama",
            "isl": 100,
            "osl": 50,
            "concurrency": 4,
            "num_prompts": 4,
        }
        return LoadSpec.model_validate_json(json.dumps(fields | changes))

    return make


@pytest.fixture
def make_record() -> RecordMaker:
    """A request sent at `sent` whose content arrived at `arrivals` (seconds)."""

    def make(sent: float = 0.0, arrivals: tuple[float, ...] = (1.0,), **changes: Any) -> RequestRecord:
        fields: dict[str, Any] = {
            "index": 0,
            "asked_input": 100,
            "asked_output": len(arrivals),
            "model": "llama",
        }
        fields["ended"] = max(arrivals, default=sent)
        return RequestRecord(**fields | changes, sent=sent, arrivals=array("d", arrivals))

    return make


def train(directory: Path, *, bos: bool) -> Path:
    """Write a byte-level BPE tokenizer.json of a few hundred tokens, as GPT-2 and Llama 3 have it."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    text = "the quick brown fox jumps over the lazy dog while seven wizards quietly make toxic brew for them "
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=["<s>"], show_progress=False)
    tokenizer.train_from_iterator([text] * 20, trainer)
    if bos:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", tokenizer.token_to_id("<s>"))]
        )
    directory.mkdir(exist_ok=True)
    tokenizer.save(str(directory / "tokenizer.json"))
    return directory


@pytest.fixture(scope="session")
def tokenizer_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(tmp_path_factory.mktemp("plain"), bos=False)


@pytest.fixture(scope="session")
def bos_tokenizer_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(tmp_path_factory.mktemp("bos"), bos=True)


@pytest.fixture(scope="session")
def spanning_tokenizer_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer without a pre-tokenizer, whose tokens reach across spaces: words do not simply add up."""
    directory = tmp_path_factory.mktemp("spanning")
    words = ["may", "be", "used", "with", "this", "class", "while", "the", "sender", "awaits", "each", "else"]
    draw = random.Random(0)
    text = [" ".join(draw.choice(words) for _ in range(12)) for _ in range(300)]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.train_from_iterator(text, trainers.BpeTrainer(vocab_size=150, show_progress=False))
    tokenizer.save(str(directory / "tokenizer.json"))
    return directory

"""A model directory without weights: enough for a tokenizer, a frontend and a simulated engine to start from.

The tokenizer is a word list: text is cut at white space, every ordinary token is one made-up word, and
decoding joins words with spaces. So any sequence of ordinary token ids comes back unchanged from decode and
encode.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit

from servesweep.simulator.vocabulary import made_up_words

VOCABULARY_SIZE = 4096
CONTEXT_LENGTH = 131072
UNKNOWN, BEGIN, END, PADDING = "<unk>", "<s>", "</s>", "<pad>"
SPECIAL_TOKENS = (UNKNOWN, BEGIN, END, PADDING, "<|system|>", "<|user|>", "<|assistant|>", "<|end|>")

_CHAT_TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|> {{ message['content'] }} <|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def _ids(*tokens: str) -> list[int]:
    return [SPECIAL_TOKENS.index(token) for token in tokens]


def _config(name: str) -> dict[str, Any]:
    (bos,), (eos,), (pad,) = _ids(BEGIN), _ids(END), _ids(PADDING)
    return {
        "_name_or_path": name,
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "torch_dtype": "bfloat16",
        "vocab_size": VOCABULARY_SIZE,
        "max_position_embeddings": CONTEXT_LENGTH,
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 4,
        "head_dim": 16,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-05,
        "rope_theta": 10000.0,
        "tie_word_embeddings": False,
        "bos_token_id": bos,
        "eos_token_id": eos,
        "pad_token_id": pad,
    }


def _generation_config() -> dict[str, Any]:
    (bos,), (eos,), (pad,) = _ids(BEGIN), _ids(END), _ids(PADDING)
    return {"bos_token_id": bos, "eos_token_id": eos, "pad_token_id": pad}


def _special_tokens_map() -> dict[str, Any]:
    return {"unk_token": UNKNOWN, "bos_token": BEGIN, "eos_token": END, "pad_token": PADDING}


def _tokenizer_config() -> dict[str, Any]:
    return _special_tokens_map() | {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": CONTEXT_LENGTH,
        "clean_up_tokenization_spaces": False,
        "add_bos_token": False,
        "chat_template": _CHAT_TEMPLATE,
    }


def _tokenizer_json() -> str:
    words = made_up_words(VOCABULARY_SIZE - len(SPECIAL_TOKENS))
    vocabulary = {token: number for number, token in enumerate((*SPECIAL_TOKENS, *words))}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in SPECIAL_TOKENS])
    return str(tokenizer.to_str(pretty=True))


def model_files(name: str) -> Mapping[str, str]:
    """Give the content of every file of the model directory: the same text each time."""
    objects = {
        "config.json": _config(name),
        "generation_config.json": _generation_config(),
        "tokenizer_config.json": _tokenizer_config(),
        "special_tokens_map.json": _special_tokens_map(),
    }
    return {file: json.dumps(content, indent=2) + "\n" for file, content in objects.items()} | {
        "tokenizer.json": _tokenizer_json()
    }


def write_model_directory(path: Path, name: str = "tiny") -> None:
    """Write the model directory, whole or not at all; nothing is done where all its files are already.

    Raises FileExistsError when something else is at `path`.
    """
    files = model_files(name)
    if _is_complete(path, files):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        for file, content in files.items():
            (temporary / file).write_text(content, encoding="utf-8")
        temporary.chmod(0o755)
        _rename_unless_complete(temporary, path, files)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _is_complete(path: Path, files: Mapping[str, str]) -> bool:
    return all((path / file).is_file() for file in files)


def _rename_unless_complete(temporary: Path, path: Path, files: Mapping[str, str]) -> None:
    """Put the new directory in its place; another process that was faster is no error."""
    try:
        temporary.replace(path)  # an empty directory is replaced, a full one is refused
    except OSError as error:
        if not _is_complete(path, files):
            raise FileExistsError(
                f"{path} exists and is not a complete model directory: remove it or name another."
            ) from error


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python3 -m servesweep.simulator.model_directory DIR")
    try:
        write_model_directory(Path(sys.argv[1]))
    except OSError as problem:
        sys.exit(str(problem))

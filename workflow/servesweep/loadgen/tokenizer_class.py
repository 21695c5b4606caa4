"""A tokenizer that a Python class implements, behind the few methods that prompts are made with."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from servesweep.loadgen.errors import LoadgenError


class Ids(Protocol):
    """An encoded text."""

    @property
    def ids(self) -> list[int]:
        """Its tokens."""


class AnyTokenizer(Protocol):
    """What prompts need of a tokenizer; `tokenizers.Tokenizer` has it."""

    def encode(self, text: Any, *, add_special_tokens: bool = True) -> Ids:
        """Encode one text."""

    def encode_batch_fast(self, input: Any, *, add_special_tokens: bool = True) -> Any:
        """Encode several texts."""

    def decode(self, ids: Any) -> str:
        """The text of some tokens."""

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """Number of each token."""

    def get_added_tokens_decoder(self) -> dict[int, Any]:
        """The tokens that are no text."""

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """How many tokens the tokenizer puts around a text."""


@dataclass(frozen=True, slots=True)
class _Encoded:
    ids: list[int]


class ClassTokenizer:
    """Wraps an object of transformers' interface: `encode`, `decode`, `get_vocab`, `all_special_ids`."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def encode(self, text: str, *, add_special_tokens: bool = True) -> _Encoded:
        """Encode one text."""
        return _Encoded(list(self._inner.encode(text, add_special_tokens=add_special_tokens)))

    def encode_batch_fast(self, input: list[str], *, add_special_tokens: bool = True) -> list[_Encoded]:
        """Encode several texts."""
        return [self.encode(text, add_special_tokens=add_special_tokens) for text in input]

    def decode(self, ids: list[int]) -> str:
        """The text of some tokens."""
        return str(self._inner.decode(ids))

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """Number of each token."""
        return dict(self._inner.get_vocab())

    def get_added_tokens_decoder(self) -> dict[int, Any]:
        """The tokens that are no text."""
        return dict.fromkeys(getattr(self._inner, "all_special_ids", ()))

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """How many tokens the tokenizer puts around a text."""
        return len(self.encode("").ids)


def read_with_class(name: str, directory: Path) -> AnyTokenizer:
    """Make the tokenizer of `package.module.Class` from its directory, as transformers' classes are made.

    Raises LoadgenError when it cannot be imported or made.
    """
    module, _, kind = name.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), kind)
        make = getattr(found, "from_pretrained", found)
        return ClassTokenizer(make(str(directory)))
    except Exception as error:  # somebody else's code
        raise LoadgenError(f"the tokenizer {name} cannot be used: {error!r}") from error

"""Words of a command without the secrets in them, for programs that keep the words they were started with."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

HANDED = "SERVESWEEP_SECRET_"


def shielded(words: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """Words that say the same without a secret in them: a shell puts it in where they are executed.

    Slurm keeps the words of each step in its accounting (sacct(1), SubmitLine).
    """
    handed = {value: name for name, value in environment.items() if name.startswith(HANDED) and value}
    used = {value: name for value, name in handed.items() if any(value in word for word in words)}
    if not used:
        return list(words)
    told = " ".join(_quoted(word, used) for word in words)
    return ["sh", "-c", f"exec env {' '.join(f'-u {name}' for name in sorted(handed.values()))} {told}"]


def _quoted(word: str, names: Mapping[str, str]) -> str:
    for value in sorted(names, key=len, reverse=True):
        if value in word:
            before, _, after = word.partition(value)
            left = _quoted(before, names) if before else ""
            return f'{left}"${names[value]}"{_quoted(after, names) if after else ""}'
    return shlex.quote(word)

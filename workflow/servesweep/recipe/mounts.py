"""Mounts of containers, as pyxis takes them: `host:container`, perhaps with flags behind them.

Source: pyxis, `--container-mounts=SRC:DST[:FLAGS][,SRC:DST...]`.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from servesweep.recipe.problems import shown

HOST = re.compile(r"[^:,\s][^:,\r\n\0]*")
# A placeholder may stand for the beginning.
TARGET = re.compile(r"[/{$][^:,\r\n\0]*(:[A-Za-z0-9_=.+-]+)?")


def _host(text: str) -> str:
    if not HOST.fullmatch(text):
        raise ValueError(f"{shown(text)} is no path of the host that can be mounted: no `:`, no comma")
    return text


def _target(text: str) -> str:
    if not TARGET.fullmatch(text):
        form = "write an absolute path, with :ro behind it for read-only"
        raise ValueError(f"{shown(text)} is no path in a container: {form}")
    return text


def _mount(text: str) -> str:
    host, _, target = text.partition(":")
    if not HOST.fullmatch(host) or not TARGET.fullmatch(target):
        form = "write host:container, the latter absolute, with :ro behind it for read-only"
        raise ValueError(f"{shown(text)} is no mount: {form}")
    return text


Mounts = dict[Annotated[str, AfterValidator(_host)], Annotated[str, AfterValidator(_target)]]
MountWords = Annotated[tuple[Annotated[str, AfterValidator(_mount)], ...], Field(strict=False)]

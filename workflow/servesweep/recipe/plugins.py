"""Pydantic's plugins, which have no say in what a recipe means.

Looking for them reads the entry points of every installed package, and takes longer than building all models.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

# https://docs.pydantic.dev/latest/concepts/plugins/#disabling-plugins
DISABLE = "PYDANTIC_DISABLE_PLUGINS"


@contextmanager
def without_plugins() -> Iterator[None]:
    """Build models without looking for plugins; what is started later, as engines, may have its own."""
    before = os.environ.get(DISABLE)
    os.environ[DISABLE] = "__all__"
    try:
        yield
    finally:
        if before is None:
            del os.environ[DISABLE]
        else:
            os.environ[DISABLE] = before

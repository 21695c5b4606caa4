"""The drawing libraries as one script, bundled once for each version and kept in the user's cache."""

from __future__ import annotations

import contextlib
import os
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

import vl_convert

from servesweep.report.atomic import replace_file
from servesweep.report.picture import vega_lite_version


def drawing_script() -> str:
    """Vega, Vega-Lite and Vega-Embed, put on the page's window."""
    version = vega_lite_version()
    # To bundle them takes longer than all the rest of a page.
    kept = _cache() / f"vega-lite-{version}-{version_of('vl-convert-python')}.js"
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if text := kept.read_text():
            return text
    arguments: dict[str, Any] = {"vl_version": version}  # as it is typed `snippet` is required, and it is not
    text = str(vl_convert.javascript_bundle(**arguments))
    with contextlib.suppress(OSError):  # a cache is no more than that
        kept.parent.mkdir(parents=True, exist_ok=True)
        replace_file(kept, text.encode())
    return text


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "servesweep"

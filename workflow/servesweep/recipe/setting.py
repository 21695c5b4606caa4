"""`--set`: one value of a recipe changed, or with null removed, from the command line."""

from __future__ import annotations

import re
from typing import Any

from servesweep.recipe.source import parse_value

OF_THE_FILE = ("base", "sweep")
# `roles.agg.args.x=1,benchmark.isl=8`: recipes are separated by commas, and settings are not.
SECOND = re.compile(r",\s*([a-z_]+(?:\.[\w-]+)+)=")
FORM = "write key=value with a dotted key, as roles.decode.workers=4"


def set_value(data: dict[str, Any], assignment: str) -> dict[str, Any]:
    """Return `data` with one value set, as in `roles.decode.workers=4`.

    The value is read as a YAML scalar or list; a mapping stays the text it is, and null removes the key.
    Sections on the way that do not exist are made.

    Raises:
        ValueError: with one sentence, when the form is bad, the way leads through a value, or the key is no
            configuration's but the file's.
    """
    key, equals, text = assignment.partition("=")
    if not equals:
        raise ValueError(f"{assignment!r} has no `=`: {FORM}")
    if not text.strip():
        raise ValueError(
            f"{assignment!r} gives no value: write {key}='\"\"' for empty text,"
            f" or {key}=null to remove the key"
        )
    if second := SECOND.search(text):
        raise ValueError(
            f"{assignment!r} holds another setting, {second[1]!r}: between settings stands a space,"
            " as in set='a.b=1 c.d=2', and each has a --set of its own"
        )
    return _changed(data, _steps(key), parse_value(text), key)


def _steps(key: str) -> list[str]:
    steps = [step.strip() for step in key.split(".")]
    if not all(steps):
        raise ValueError(f"{key!r} is no key: {FORM}")
    if any("[" in step for step in steps):
        raise ValueError(f"{key!r} points into a list: set the whole list, as benchmark.concurrencies=[4,8]")
    if steps[0] in OF_THE_FILE or steps[0].startswith(("override_", "zip_override_")):
        inside = ".".join(steps[1:])
        remedy = f"set {inside}" if inside and steps[0] != "sweep" else f"change {steps[0]} in the file"
        raise ValueError(
            f"{key!r} cannot be set: grids, bases and variants are expanded before values are set: {remedy}"
        )
    return steps


def _changed(data: dict[str, Any], steps: list[str], value: Any, key: str) -> dict[str, Any]:
    """Set `value` at `steps`; None removes."""
    changed = dict(data)
    first, rest = steps[0], steps[1:]
    if rest:
        inner = data.get(first)
        if inner is None and value is None:
            return changed
        if inner is not None and not isinstance(inner, dict):
            kind = "a list" if isinstance(inner, list) else "a value"
            raise ValueError(f"{key!r} leads through {first!r}, which is {kind}, not a section")
        changed[first] = _changed(inner or {}, rest, value, key)
    elif value is None:
        changed.pop(first, None)
    else:
        changed[first] = value
    return changed

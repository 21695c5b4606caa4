"""The configurations that one recipe file stands for: base, overrides, zips and sweeps."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from servesweep.recipe.grid_values import GridValue
from servesweep.recipe.located import LinesOf, Located, locate, merge, plain
from servesweep.recipe.naming import safe_name
from servesweep.recipe.problems import KeyPath, Problem, RecipeError, dotted, nearest
from servesweep.recipe.setting import set_value
from servesweep.recipe.source import Document, nearest_line
from servesweep.recipe.sweeping import Point, SweepError, expand_sweep
from servesweep.recipe.written import WrittenFloat, WrittenInt
from servesweep.recipe.zipping import ZipError, zip_slices

__all__ = ["Variant", "expand", "set_value"]

MAX_SUFFIX = 100


@dataclass(frozen=True)
class Variant:
    """One configuration of a recipe file.

    `suffix` is None for a file that is one configuration, else unique in the file and safe in file
    names; `origin` is the selector it comes from (None in a plain file); `lines` gives the line of
    every key path, an overridden value's line being that of the override; `notes` are sentences for
    the user. `faults` make it no configuration: what is wrong with the block it comes from, for
    `read_recipe` to tell beside the faults of its data, which is empty where nothing can be built.
    `values` are those of a grid that were put in.
    """

    suffix: str | None
    data: dict[str, Any]
    lines: Mapping[KeyPath, int]
    notes: tuple[str, ...] = ()
    origin: str | None = None
    path: str = ""
    faults: tuple[Problem, ...] = ()
    values: tuple[GridValue, ...] = ()

    def line(self, path: KeyPath) -> int:
        """Line of a key path, or of its nearest ancestor that the file has."""
        return nearest_line(self.lines, path)

    def problem(self, path: KeyPath, message: str) -> Problem:
        """Say something about the key at `path`."""
        return Problem(self.path, self.line(path), dotted(path), message)


def expand(document: Document) -> list[Variant]:
    """Every configuration of a file: overrides by name, then zips by name; the base only when it is alone.

    Two variants that differ in nothing but a generated name are one: the first stays, with a note. Malformed
    variants, sweeps and zips, and two variants of one suffix, come back with their `faults`, so that the
    others can be judged too.

    Raises:
        RecipeError: for a base that is no mapping, and for variants without a base.
    """
    everything = variants_of(document)
    return distinct(run_by_itself(everything), document)


def run_by_itself(everything: list[Variant]) -> list[Variant]:
    """Those that run where none is chosen: not the base where others stand beside it."""
    chosen = [variant for variant in everything if variant.origin != "base"]
    return chosen if any(variant.data for variant in chosen) else everything


def variants_of(document: Document) -> list[Variant]:
    """Every variant, the base included, in order; first the blocks that cannot be read."""
    found = [_unbuilt(key, [problem], document) for key, problem in _strangers(document)]
    if "base" not in document.data and "sweep" not in document.data:
        # Most files are one configuration, as it stands: nothing moves, so positions need not move along.
        return [Variant(None, document.data, document.lines, path=document.path)]
    root = locate(document.data, document.lines)
    if "base" not in root.value:
        return _swept(root, None, None, document)
    base = _with_schema(root)
    found += _swept(base, None, "base", document)
    blocks = [name for name in sorted(root.value) if name not in {one.origin for one in found}]
    for key in (name for name in blocks if name.startswith("override_")):
        over = root.value[key]
        label = key.removeprefix("override_")
        found += _swept(_named(merge(base, over), base, over, label), label, key, document)
    for key in (name for name in blocks if name.startswith("zip_override_")):
        found += _zipped(key, root.value[key], base, document)
    return found


def _zipped(key: str, block: Located, base: Located, document: Document) -> list[Variant]:
    """The variants of a zip; of one that cannot be cut, its faults, with its first where it has one."""
    faults: tuple[Problem, ...] = ()
    try:
        slices = zip_slices(block, key, document.path)
    except ZipError as error:
        if error.sample is None:
            return [_unbuilt(key, error.problems, document)]
        slices, faults = [error.sample], error.problems
    shared = isinstance(_field(block, "name"), str)
    told = f"{key}.name is one text for all its variants and is not used; write a list of names"
    found = []
    for index, over in enumerate(slices):
        label = f"{key.removeprefix('zip_override_')}_{index}"
        own = _without(over, "name") if shared else over
        merged = _named(merge(base, own), base, own, label)
        variants = _swept(merged, label, f"{key}[{index}]", document, (told,) if shared else ())
        found += [replace(one, faults=(*faults, *one.faults)) for one in variants] if faults else variants
    return found


def _unbuilt(key: str, problems: Iterable[Problem], document: Document) -> Variant:
    """What is wrong with a block of which no variant can be made."""
    return Variant(None, {}, {}, origin=key, path=document.path, faults=tuple(problems))


def block_of(origin: str) -> str:
    """Top-level key of an origin: `zip_override_x[2]` stands in `zip_override_x`."""
    return re.sub(r"\[\d+\]\Z", "", origin)


def _strangers(document: Document) -> Iterator[tuple[str, Problem]]:
    """Yield the blocks that do not belong beside `base` or are no variant, each with the reason.

    Raises:
        RecipeError: where there is no base to lay variants on.
    """
    variants = [key for key in document.data if key.startswith(("override_", "zip_override_"))]
    if "base" not in document.data:
        if variants:
            raise RecipeError(
                document.problem((key,), "a variant needs a `base` beside it") for key in variants
            )
        return
    strangers = []
    for key, value in document.data.items():
        if key not in ("base", "schema") and key not in variants:
            strangers.append((key, document.problem((key,), _stray(key))))
        elif key in variants and key.endswith("override_"):
            strangers.append(
                (key, document.problem((key,), "the variant has no name; write override_<name>"))
            )
        elif key != "schema" and not isinstance(value, dict):
            hint = "write {} for a variant equal to the base" if value is None else "expected a mapping"
            strangers.append((key, document.problem((key,), f"the block is not a mapping; {hint}")))
    if not isinstance(document.data["base"], dict):
        raise RecipeError(problem for _, problem in strangers)
    yield from strangers


def _stray(key: str) -> str:
    words = key.split("_")
    for stem, length in (("zip_override", 2), ("override", 1)):
        if len(words) > length and nearest("_".join(words[:length]), [stem]):
            return f"unknown block; did you mean {stem}_{'_'.join(words[length:])}?"
    return "beside `base` stand only schema, override_<name> and zip_override_<name>; put this key into base"


def _with_schema(root: Located) -> Located:
    base: Located = root.value["base"]
    if "schema" not in root.value:
        return base
    return Located({"schema": root.value["schema"], **_without(base, "schema").value}, base.line)


def _named(merged: Located, base: Located, over: Located, label: str) -> Located:
    """Name a variant: its own name, else the base's with the variant's label."""
    name = _field(base, "name")
    if _field(over, "name") is not None or not isinstance(name, str):
        return merged
    return Located({**merged.value, "name": Located(f"{name}_{label}", over.line)}, merged.line)


def _swept(
    recipe: Located, label: str | None, origin: str | None, document: Document, notes: tuple[str, ...] = ()
) -> list[Variant]:
    variants = []
    # What no placeholder changes is the same in each point, and made once.
    shared = {id(item): plain(item) for item in recipe.value.values()}
    points, faults = _points(recipe, document.path)
    for at in points:
        point, expanded = at.label, at.recipe
        name = _field(expanded, "name")
        if point and isinstance(name, str):
            named = Located(f"{name}_{point}", expanded.value["name"].line)
            expanded = Located({**expanded.value, "name": named}, expanded.line)
        suffix = "_".join(part for part in (label, point) if part)
        variants.append(
            Variant(
                suffix=safe_name(suffix, MAX_SUFFIX) if suffix else None,
                data={
                    key: shared[id(item)] if id(item) in shared else plain(item)
                    for key, item in expanded.value.items()
                },
                lines=LinesOf(expanded),
                notes=notes,
                origin=origin,
                path=document.path,
                faults=faults,
                values=at.values,
            )
        )
    return variants


def _points(recipe: Located, file: str) -> tuple[list[Point], tuple[Problem, ...]]:
    """The points of a recipe's grid; of one with faults those, and a sample or an empty recipe."""
    try:
        return expand_sweep(recipe, file), ()
    except SweepError as error:
        return [Point("", error.sample or Located({}, recipe.line))], error.problems


def distinct(variants: list[Variant], document: Document) -> list[Variant]:
    """Keep one of equal variants, with a note; different variants of one suffix are at fault."""
    if len(variants) == 1:
        return variants
    kept: dict[str, Variant] = {}
    owners: dict[str | None, Variant] = {}
    faulty = [variant for variant in variants if variant.faults]
    for variant in (one for one in variants if not one.faults):
        identity = _identity(variant, document)
        if first := kept.get(identity):
            note = (
                f"{variant.suffix or variant.origin} equals {first.suffix or first.origin} and was left out"
            )
            kept[identity] = replace(first, notes=(*first.notes, note))
            continue
        other = owners.get(variant.suffix)
        if other is not None and other.origin == variant.origin:
            # Of a grid: nobody can rename its values, of which "a b" and "a-b" are one name.
            variant = replace(variant, suffix=f"{variant.suffix}-{_digits(identity)}")
            other = owners.get(variant.suffix)
        kept[identity] = variant
        if other is not None:
            message = f"both {other.origin} and {variant.origin} give the suffix {variant.suffix}; rename one"
            kept[identity] = replace(
                variant, faults=(document.problem((block_of(variant.origin or "sweep"),), message),)
            )
        owners.setdefault(variant.suffix, variant)
    return [*faulty, *kept.values()]


def _digits(identity: str) -> str:
    return hashlib.sha256(identity.encode()).hexdigest()[:6]


def _identity(variant: Variant, document: Document) -> str:
    """What makes a variant another one: its data, where a name counts only when it was given for it."""
    data = dict(variant.data)
    block = document.data.get(block_of(variant.origin or ""))
    if not (isinstance(block, dict) and block.get("name") is not None):
        data.pop("name", None)
    # `12.1` and `12.10` are one number, and two texts where they are an environment's.
    return json.dumps(data, sort_keys=True) + "".join(_written(data))


def _written(data: Any) -> Iterator[str]:
    """The numbers that JSON would write in another way, in the order of keys."""
    if isinstance(data, dict):
        for key in sorted(data):
            yield from _written(data[key])
    elif isinstance(data, list):
        for item in data:
            yield from _written(item)
    elif isinstance(data, WrittenInt | WrittenFloat):
        yield f" {data.written}"


def _field(node: Located, key: str) -> Any:
    item = node.value.get(key)
    return item.value if isinstance(item, Located) else None


def _without(node: Located, key: str) -> Located:
    return Located({name: item for name, item in node.value.items() if name != key}, node.line)

"""`sweep:` grids: the Cartesian product of parameters, put in for `{placeholders}`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from servesweep.recipe.grid_values import PLACEHOLDER, GridValue, grid_values
from servesweep.recipe.located import Located, plain
from servesweep.recipe.problems import KeyPath, Problem, RecipeError, dotted, nearest
from servesweep.recipe.secret_names import is_secret_value
from servesweep.recipe.secrets import Secret, secrets_in
from servesweep.recipe.written import text_of

MAX_POINTS = 10_000
# Keys of a benchmark in which its own placeholders are filled.
OWN_PLACEHOLDERS = (["command"], ["args"], ["env"])


class SweepError(RecipeError):
    """A grid cannot be expanded; `sample` is one of its points, where every parameter has a value."""

    def __init__(self, problems: Iterable[Problem], sample: Located | None = None) -> None:
        super().__init__(problems)
        self.sample = sample


@dataclass(frozen=True, slots=True)
class Point:
    """One combination of a grid: its label, the recipe without `sweep`, and the values that are in it."""

    label: str
    recipe: Located
    values: tuple[GridValue, ...] = ()


def expand_sweep(recipe: Located, file: str) -> list[Point]:
    """Expand a recipe's `sweep`, first parameter slowest.

    A string that is exactly `{parameter}` becomes the value with its type; inside a longer string
    the value is written out, a list joined by commas. Other placeholders stay as they are. Keys are
    not templates.

    Returns:
        a point for each combination; one with an empty label when there is no sweep.

    Raises:
        SweepError: for a malformed sweep, an unused parameter, or more than 10,000 combinations.
    """
    if "sweep" not in recipe.value:
        return [Point("", recipe)]
    sweep = recipe.value["sweep"]
    body = Located({key: item for key, item in recipe.value.items() if key != "sweep"}, recipe.line)
    _check(sweep, body, file)
    # Whatever holds no placeholder is the same in all points: not even looked into again.
    varying = {key for key, item in body.value.items() if _placeholders(item)}
    expanded = []
    for values in itertools.product(*grid_values(sweep, body)):
        point = {one.parameter: one.value for one in values}
        label = "_".join(f"{name}{_text(value)}" for name, value in point.items())
        parts = {
            key: _substitute(item, point) if key in varying else item for key, item in body.value.items()
        }
        expanded.append(Point(label, Located(parts, body.line), values))
    return expanded


def _check(sweep: Located, body: Located, file: str) -> None:
    def refuse(line: int, key: str, message: str, sample: Located | None = None) -> SweepError:
        return SweepError([Problem(file, line, key, message)], sample)

    if not isinstance(sweep.value, dict) or not sweep.value:
        raise refuse(
            sweep.line, "sweep", "expected parameters with a list of values each, as `isl: [1024, 8192]`"
        )
    used = _placeholders(body)
    problems: list[Problem] = []
    for name, values in sweep.value.items():
        message = _parameter_fault(name, values)
        if message:
            problems.append(Problem(file, values.line, f"sweep.{name}", message))
        else:
            problems += _misused(name, values, body, file, used=name in used)
    problems += _unknown(body, list(sweep.value), file)
    if problems:
        raise SweepError(problems, _sample(sweep, body))
    points = math.prod(len(values.value) for values in sweep.value.values())
    if points > MAX_POINTS:
        message = f"the grid has {points} combinations; the limit is {MAX_POINTS}"
        raise refuse(sweep.line, "sweep", message, _sample(sweep, body))


def _parameter_fault(name: str, values: Located) -> str | None:
    if not isinstance(values.value, list):
        return f"expected a list of values, as `{name}: [1, 2]`"
    if not values.value:
        return "the list is empty, so the sweep would have no configuration"
    if not PLACEHOLDER.fullmatch(f"{{{name}}}"):
        return "a parameter's name is letters, digits and _ . -, and begins with a letter or _"
    if _has_mapping(plain(values)):
        return "a value is a mapping, or has one in it; write scalars or lists of them"
    return None


def _has_mapping(data: Any) -> bool:
    return isinstance(data, dict) or (isinstance(data, list) and any(map(_has_mapping, data)))


def _misused(name: str, values: Located, body: Located, file: str, *, used: bool) -> Iterator[Problem]:
    """Tell where a placeholder lacks its quotes, or that there is none."""
    for path, line in _bare(body, name, ()):
        used = True
        message = f'{{{name}}} is read as a mapping; write it in quotes: "{{{name}}}"'
        yield Problem(file, line, dotted(path), message)
    if (secret := _secret_of(name, plain(values), body)) is not None:
        message = f"its values are secrets ({dotted(secret.path)}), and a configuration is called after them"
        yield Problem(file, values.line, f"sweep.{name}", f"{message}: set variables, and write ${{NAME}}")
    if not used:
        message = f'nothing uses this parameter; write "{{{name}}}" where its values belong'
        yield Problem(file, values.line, f"sweep.{name}", message)


def _secret_of(name: str, values: list[Any], body: Located) -> Secret | None:
    """A secret that is written out in a value, or that one is a part of, at one of the value's places."""
    parts = _using(name, body)
    before = {(secret.path, secret.value) for secret in secrets_in(plain(parts))}
    for value in values:
        text = _text(value)
        for secret in secrets_in(plain(_substitute(parts, {name: value}))):
            # What stands there with any value is no secret of the grid, and a shell's words are none.
            shell = secret.reference or secret.value.startswith("$")
            if shell or (secret.path, secret.value) in before:
                continue
            if secret.value in text or (text in secret.value and is_secret_value(secret.variable, value)):
                return secret
    return None


def _using(name: str, node: Located) -> Located:
    """What has a placeholder in it; lists whole, as a flag stands before its value."""
    if not isinstance(node.value, dict):
        return node
    used = {key: _using(name, item) for key, item in node.value.items() if name in _placeholders(item)}
    return Located(used, node.line)


def _unknown(body: Located, names: list[str], file: str) -> Iterator[Problem]:
    """Tell of values that are no parameter's, where nothing else would put a value in."""
    for path, line, name in _whole(body, ()):
        if name in names or not _templated(path):
            continue
        guess = nearest(name, names)
        hint = f"did you mean {{{guess}}}?" if guess else f"there are: {', '.join(names)}"
        yield Problem(file, line, dotted(path), f"there is no sweep parameter {name!r}; {hint}")


def _templated(path: KeyPath) -> bool:
    """Whether only the sweep fills placeholders here: commands, environments and paths have their own."""
    first, *rest = map(str, path)
    if first == "roles":
        return bool({"args", "nodes", "workers", "gpus"} & set(rest[1:2]))
    return first == "resources" or (first == "benchmark" and rest[:1] not in OWN_PLACEHOLDERS)


def _whole(node: Located, path: KeyPath) -> Iterator[tuple[KeyPath, int, str]]:
    """Yield the values that are a placeholder and nothing else."""
    if isinstance(node.value, dict | list):
        items = node.value.items() if isinstance(node.value, dict) else enumerate(node.value)
        for key, item in items:
            yield from _whole(item, (*path, key))
    elif isinstance(node.value, str) and (found := PLACEHOLDER.fullmatch(node.value)):
        yield path, node.line, found[1]


def _sample(sweep: Located, body: Located) -> Located | None:
    """One point of a grid that has faults, for what else is wrong with it; None where values are missing."""
    point: dict[str, Any] = {}
    for name, values in sweep.value.items():
        given = plain(values)
        first = next(iter(given), {}) if isinstance(given, list) else given
        if _has_mapping(first):
            return None
        point[name] = first
    return _substitute(_quoted(body, set(point)), point)


def _quoted(node: Located, names: set[str]) -> Located:
    """The placeholders that lack their quotes, read as what was meant."""
    if isinstance(node.value, dict):
        name = next(iter(node.value)) if len(node.value) == 1 else None
        if name in names and node.value[name].value is None:
            return Located(f"{{{name}}}", node.line)
        return Located({key: _quoted(item, names) for key, item in node.value.items()}, node.line)
    if isinstance(node.value, list):
        return Located([_quoted(item, names) for item in node.value], node.line)
    return node


def _placeholders(node: Located) -> set[str]:
    if isinstance(node.value, dict):
        return set[str]().union(*map(_placeholders, node.value.values()))
    if isinstance(node.value, list):
        return set[str]().union(*map(_placeholders, node.value))
    return set(PLACEHOLDER.findall(node.value)) if isinstance(node.value, str) else set()


def _bare(node: Located, name: str, path: KeyPath) -> Iterator[tuple[KeyPath, int]]:
    """Yield the places of an unquoted `{name}`, which YAML reads as the mapping `name: null`."""
    if isinstance(node.value, dict):
        if list(node.value) == [name] and node.value[name].value is None:
            yield path, node.line
        for key, item in node.value.items():
            yield from _bare(item, name, (*path, key))
    elif isinstance(node.value, list):
        for index, item in enumerate(node.value):
            yield from _bare(item, name, (*path, index))


def _substitute(node: Located, point: Mapping[str, Any]) -> Located:
    if isinstance(node.value, dict):
        return Located({key: _substitute(item, point) for key, item in node.value.items()}, node.line)
    if isinstance(node.value, list):
        return Located([_substitute(item, point) for item in node.value], node.line)
    if not isinstance(node.value, str) or "{" not in node.value:
        return node
    exact = PLACEHOLDER.fullmatch(node.value)
    if exact and exact[1] in point:
        return _located(point[exact[1]], node.line)
    text = PLACEHOLDER.sub(
        lambda found: _text(point[found[1]]) if found[1] in point else found[0], node.value
    )
    return Located(text, node.line)


def _located(value: Any, line: int) -> Located:
    return (
        Located([_located(item, line) for item in value], line)
        if isinstance(value, list)
        else Located(value, line)
    )


def _text(value: Any) -> str:
    """Write a value as YAML would, a list joined by commas."""
    if isinstance(value, list):
        return ",".join(map(_text, value))
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return text_of(value)
    return "null" if value is None else str(value)

"""Faults of the points of grids: told of the value that is wrong, and once for all points."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from servesweep.recipe.grid_values import GridValue
from servesweep.recipe.problems import Problem, listed, shown

Values = tuple[GridValue, ...]
# What may differ in a sentence that says the same: numbers, and words between quotes.
VARYING = re.compile(r"'[^']*'|\d+(?:\.\d+)?")
INDICES = re.compile(r"(?:\[\d+\])*")


@dataclass(frozen=True, slots=True)
class _Use:
    """A value of a grid at the key of a fault: alone, or within a longer text; `below` leads into a list."""

    value: GridValue
    place: str
    below: str
    alone: bool


def told_once(found: Iterable[tuple[Values, Problem]]) -> list[Problem]:
    """The problems of all points of a file's grids, each with the values of its point.

    A fault of a value is told at the value's line, with the places where it is used. What is wrong at a place
    whatever the value is told there; where it differs in numbers or quoted words alone, of its first point.
    Several such faults of one point are several, and all are told.
    """
    found = list(found)
    uses = [_use(values, problem) for values, problem in found]
    seen: dict[tuple[object, ...], set[int]] = {}
    for (_, problem), use in zip(found, uses, strict=True):
        if use:
            seen.setdefault(_saying(problem, use), set()).add(use.value.index)
    told: dict[Problem, list[str]] = {}
    elsewhere: list[tuple[Values, Problem]] = []
    for (values, problem), use in zip(found, uses, strict=True):
        if use and _is_of_value(problem, use, len(seen[_saying(problem, use)])):
            key = use.value.key + (use.below if INDICES.fullmatch(use.below) else "")
            at = replace(problem, line=use.value.line, key=key)
            told.setdefault(at, []).append(use.place)
        elif values:
            elsewhere.append((values, problem))
        else:
            told.setdefault(problem, [])
    at_values = [replace(problem, message=_with_places(problem.message, at)) for problem, at in told.items()]
    return [*at_values, *map(_first, _alike(elsewhere))]


def _use(values: Values, problem: Problem) -> _Use | None:
    for value in values if problem.line is not None else ():
        for place in (*value.places, *value.within):
            below = problem.key.removeprefix(place)
            if problem.key == place or (below != problem.key and below[0] in ".["):
                return _Use(value, place, below, place in value.places)
    return None


def _alike(found: list[tuple[Values, Problem]]) -> list[dict[Values, Problem]]:
    """The faults that say the same at several points, by point; several of one point are apart."""
    of_point: dict[Values, set[Problem]] = {}
    for values, problem in found:
        of_point.setdefault(values, set()).add(problem)
    same: dict[Problem, dict[Values, Problem]] = {}
    by_likeness: dict[tuple[object, ...], list[tuple[Problem, dict[Values, Problem]]]] = {}
    for values, problem in found:
        groups = by_likeness.setdefault(_likeness(problem), [])
        own = of_point[values]
        points = same.get(problem) or next(
            (points for first, points in groups if values not in points and first not in own), None
        )
        if points is None:
            groups.append((problem, points := {}))
        same.setdefault(problem, points).setdefault(values, problem)
    return [points for groups in by_likeness.values() for _, points in groups]


def _likeness(problem: Problem) -> tuple[object, ...]:
    # What has no key is told by its words alone: of a program that is missing, by its name.
    message = VARYING.sub("", problem.message) if problem.key else problem.message
    return problem.file, problem.line, problem.key, message


def _saying(problem: Problem, use: _Use) -> tuple[object, ...]:
    """What the values of one parameter may all be told at one place."""
    message = problem.message if use.alone else VARYING.sub("", problem.message)
    return use.value.parameter, use.value.list_line, problem.line, problem.key, message


def _is_of_value(problem: Problem, use: _Use, times: int) -> bool:
    """Whether a value is wrong, and not its place: an unknown key is one with any value.

    `times` is how many of its parameter's values are told the same.
    """
    if times < use.value.count:
        return True
    return use.alone and use.value.count == 1 and _is_quoted(use.value.value, problem.message)


def _is_quoted(value: object, message: str) -> bool:
    text = value if isinstance(value, str) else shown(value)
    return re.search(rf"(?<!\w){re.escape(text)}(?!\w)", message) is not None


def _with_places(message: str, places: Iterable[str]) -> str:
    used = list(dict.fromkeys(places))
    return f"{message} (used at {listed(used)})" if used else message


def _first(points: dict[Values, Problem]) -> Problem:
    """The fault of the first point; with how many others there are, where theirs have other words."""
    problem, *others = points.values()
    if set(others) <= {problem}:
        return problem
    more = f"{len(others)} other point{'s' * (len(others) > 1)}"
    return replace(problem, message=f"{problem.message} (and likewise at {more} of the grid)")

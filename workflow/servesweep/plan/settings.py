"""Values of the command line, laid over what a file says."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from servesweep.recipe.problems import Problem, RecipeError
from servesweep.recipe.secrets import is_secret_setting
from servesweep.recipe.variants import Variant, set_value

SECRET_SETTING = (
    "a secret on the command line stands in logs and lists of processes: set a variable, and write ${NAME}"
)


def with_settings(variant: Variant, settings: Iterable[str]) -> Variant:
    """Lay `key.path=value` assignments over a variant.

    Raises:
        RecipeError: for one that cannot be read, or that has a secret written out in it.
    """
    data: dict[str, Any] = variant.data
    for assignment in settings:
        if is_secret_setting(assignment):
            key = assignment.partition("=")[0].strip()
            raise RecipeError([Problem("set", None, key, SECRET_SETTING)])
        try:
            data = set_value(data, assignment)
        except ValueError as error:
            raise RecipeError([Problem("set", None, "", str(error))]) from None
    return replace(variant, data=data)


def where_it_was_set(problem: Problem, settings: Iterable[str]) -> Problem:
    """A fault of a value from the command line is not one of the file's line."""
    for assignment in settings:
        key = assignment.partition("=")[0].strip()
        below = problem.key == key or problem.key.startswith((f"{key}.", f"{key}["))
        # What a setting removed, or a section that it made, is told of what was around it.
        if below or key.startswith(f"{problem.key}."):
            return replace(problem, line=None, message=f"{problem.message} (set on the command line)")
    return problem

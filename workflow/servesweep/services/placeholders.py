"""Names in braces in a service's texts: the known ones are filled, other braces stay as they are."""

from __future__ import annotations

import re
from collections.abc import Mapping

from servesweep.recipe.problems import nearest
from servesweep.services.instance import OF_WORKERS

# `${HOME}` is the shell's, `{"a": 1}` and `{}` are no names.
BRACED = re.compile(r"(?<!\$)\{([A-Za-z][A-Za-z0-9_]*)\}")


def fill(text: str, known: Mapping[str, str]) -> str:
    """Put the values of known names in; JSON, `${VARIABLE}` and unknown names are left alone."""
    # Most texts have none, and a plan has many.
    return text if "{" not in text else BRACED.sub(lambda match: known.get(match[1], match[0]), text)


def misspelt(text: str, known: Mapping[str, str]) -> str | None:
    """A sentence about the first name in braces that is nearly a placeholder; None where there is none.

    A name that resembles no placeholder is the program's own business, such as awk's `{print}`.
    """
    for name in BRACED.findall(text):
        if name in known:
            continue
        if name in OF_WORKERS:
            return f"{{{name}}} tells of a worker: it needs placement.per: worker"
        guess = nearest(name, known)
        if guess:
            return f"unknown placeholder {{{name}}}; did you mean {{{guess}}}?"
    return None

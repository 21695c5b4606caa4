"""Choosing some of the configurations that a recipe file stands for."""

from __future__ import annotations

import fnmatch
import re

from servesweep.recipe.problems import Problem, RecipeError
from servesweep.recipe.source import Document
from servesweep.recipe.variants import Variant, block_of, distinct, run_by_itself, variants_of

SHOWN = 12


def select(document: Document, selector: str) -> list[Variant]:
    """Choose variants by their block, or else by their own name.

    A block is `base`, `override_x`, `zip_override_x` or `zip_override_x[N]`; the name of a point of a grid is
    what stands behind the file's in its results: `isl1024_osl128`. Both may be globs, which never mean the
    base. Blocks that cannot be built come along, as they do from `expand`.

    Raises:
        RecipeError: when nothing matches; the sentence lists what there is. Also as `expand`.
    """
    everything = variants_of(document)
    matching = [one for one in everything if one.origin and _is_block(one.origin, selector)]
    if not matching:
        matching = [one for one in run_by_itself(everything) if one.suffix and _fits(one.suffix, selector)]
    if matching:
        return distinct([one for one in everything if one in matching or not one.data], document)
    raise RecipeError([Problem(document.path, None, "", _nothing(everything, selector))])


def _nothing(everything: list[Variant], selector: str) -> str:
    known = list(dict.fromkeys(one.origin or one.suffix for one in everything if one.origin or one.suffix))
    if not known:
        return f"there is no variant {selector!r}: this recipe is one configuration"
    more = f", and {len(known) - SHOWN} more" if len(known) > SHOWN else ""
    return f"there is no variant {selector!r}; there are: {', '.join(map(str, known[:SHOWN]))}{more}"


def _is_block(origin: str, selector: str) -> bool:
    whole = block_of(origin)
    if selector in (origin, whole):
        return True
    return origin != "base" and (_fits(origin, selector) or _fits(whole, selector))


def _fits(name: str, selector: str) -> bool:
    # Only * and ? are wild: [N] is an index here, not a set of characters.
    return fnmatch.fnmatchcase(name, re.sub(r"\[", "[[]", selector))

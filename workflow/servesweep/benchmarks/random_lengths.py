"""How long the requests of a benchmark are, where its options say it."""

from __future__ import annotations

from servesweep.recipe.section import Section, option


def random_lengths(options: Section) -> tuple[int, int] | None:
    """Tokens of a prompt and of its answer; None where a file, or nothing, decides them."""
    isl, osl = option(options, "isl"), option(options, "osl")
    if option(options, "dataset_name") not in (None, "random"):
        return None
    return (isl, osl) if isinstance(isl, int) and isinstance(osl, int) else None

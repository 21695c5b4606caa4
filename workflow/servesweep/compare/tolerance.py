"""`--tolerance 5%`, `--tolerance p99_ttft_ms=10%`: how much worse a number may become."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from servesweep.compare.samples import is_measured

DEFAULT = 0.05
WORD = re.compile(r"(?:(?P<metric>[a-z][a-z0-9_]*)=)?(?P<number>\d+(?:\.\d+)?|\.\d+)\s*(?P<percent>%?)")


class ToleranceError(ValueError):
    """A tolerance that cannot be read; its text is one sentence."""


@dataclass(frozen=True)
class Tolerance:
    """Fractions of the baseline by which a metric may be worse."""

    general: float = DEFAULT
    special: Mapping[str, float] = field(default_factory=dict)

    def of(self, metric: str) -> float:
        """The fraction for a metric."""
        return self.special.get(metric, self.general)


def read_tolerance(words: Iterable[str]) -> Tolerance:
    """Read the words of the command line; a number from 1 on is a percentage, with or without the sign.

    Raises:
        ToleranceError: for anything else, or a name that is no measured number.
    """
    general, special = DEFAULT, {}
    for word in words:
        match = WORD.fullmatch(word.strip())
        if match is None:
            raise ToleranceError(f"{word!r} is no tolerance: write 5%, or METRIC=5%")
        number = float(match["number"])
        share = number / 100 if match["percent"] or number >= 1 else number
        metric = match["metric"]
        if metric is None:
            general = share
        elif is_measured(metric):
            special[metric] = share
        else:
            raise ToleranceError(f"{metric} is no measured number of the tables, such as p99_ttft_ms")
    return Tolerance(general, special)

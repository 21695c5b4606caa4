"""The verdict on every number that both sides have, and on every point that only one has."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from servesweep.compare.noise import Mean, mean_of, noise_of
from servesweep.compare.samples import Level, Samples, lower_is_better
from servesweep.compare.tolerance import Tolerance

Verdict = Literal["regression", "improvement", "within noise", "within tolerance"]
Fate = Literal["lost", "new", "other load", "not valid in both"]
GATED = (
    *("output_throughput_tok_s", "output_tok_s_per_gpu", "request_throughput_per_s"),
    *("p50_ttft_ms", "p99_ttft_ms", "p50_itl_ms", "p99_itl_ms", "p99_e2el_ms"),
)

MOST_NAMES = 5


class BeyondNumbersError(ArithmeticError):
    """Numbers that cannot be computed with; its text is one sentence."""


@dataclass(frozen=True)
class Change:
    """One metric of one level on both sides.

    `change` is relative to the baseline, `worse` the same with the sign that is positive where the number
    became worse; `noise` the relative half-width of the 95 % interval of the change, None without repeats.
    """

    level: Level
    load: str
    metric: str
    before: Mean
    after: Mean
    change: float
    worse: float
    noise: float | None
    tolerance: float
    verdict: Verdict


@dataclass(frozen=True)
class Unmatched:
    """A level of which nothing is compared, and why."""

    level: Level
    load: str
    fate: Fate
    reason: str


@dataclass(frozen=True)
class Comparison:
    """All changes and all that could not be compared."""

    changes: tuple[Change, ...]
    unmatched: tuple[Unmatched, ...]
    notes: tuple[str, ...] = ()

    def of(self, verdict: Verdict) -> list[Change]:
        """The changes with a verdict, the largest first."""
        return sorted((c for c in self.changes if c.verdict == verdict), key=lambda c: -abs(c.change))

    @property
    def lost(self) -> list[Unmatched]:
        """Levels that were valid in the baseline and are not any more, or lack a number of it."""
        return [one for one in self.unmatched if one.fate == "lost"]


def compare(
    before: Mapping[Level, Samples],
    after: Mapping[Level, Samples],
    tolerance: Tolerance,
    metrics: Sequence[str] = GATED,
) -> Comparison:
    """Compare level by level.

    Where each side is one configuration, and they have different names, the two are one: so a run is
    compared with the reproduction of it.

    Raises:
        BeyondNumbersError: for numbers so large, or so far from each other, that they have no mean or change.
    """
    before, after, notes = _one_name(before, after)
    changes: list[Change] = []
    unmatched: list[Unmatched] = []
    for level in dict.fromkeys([*before, *after]):
        old, new = before.get(level, Samples()), after.get(level, Samples())
        if (lacking := _lacking(level, old, new)) is not None:
            unmatched.append(lacking)
            continue
        for metric in metrics:
            if old.values.get(metric) and new.values.get(metric):
                changes.append(_change(level, metric, old, new, tolerance.of(metric)))
        gone = [metric for metric in metrics if old.values.get(metric) and not new.values.get(metric)]
        if gone:
            reason = f"no number any more: {', '.join(gone)}"
            unmatched.append(Unmatched(level, new.told_load, "lost", reason))
    told = [*notes, *_fewer(before, after)]
    for side, levels in (("the baseline", before), ("the new side", after)):
        told += [*_without_number(side, levels, metrics), *_busy(side, levels)]
    return Comparison(tuple(changes), tuple(unmatched), tuple(told))


def _lacking(level: Level, old: Samples, new: Samples) -> Unmatched | None:
    reason = "; ".join(dict.fromkeys(new.refused)) or "there is no such point"
    load = old.told_load or new.told_load
    if old.valid and not new.valid:
        return Unmatched(level, load, "lost", reason)
    if new.valid and not old.valid:
        return Unmatched(level, load, "new", "; ".join(dict.fromkeys(old.refused)) or "not in the baseline")
    if not old.valid:
        return Unmatched(level, load, "not valid in both", reason)
    others = [key for key in old.load if key in new.load and str(old.load[key]) != str(new.load[key])]
    if others:
        told = ", ".join(f"{key} {old.load[key]} and {new.load[key]}" for key in others)
        return Unmatched(level, load, "other load", f"the points have different loads: {told}")
    return None


def _change(level: Level, metric: str, old: Samples, new: Samples, tolerance: float) -> Change:
    before, after = old.values[metric], new.values[metric]
    try:
        first, second = mean_of(before), mean_of(after)
        scale = abs(first.value) or 1.0
        change = (second.value - first.value) / scale
        noise = noise_of(before, after)
        noise = None if noise is None else noise / scale
    except OverflowError:
        change, noise = math.inf, None
    if not math.isfinite(change) or (noise is not None and not math.isfinite(noise)):
        low, high = min(*before, *after), max(*before, *after)
        what = f"its numbers, from {low:g} to {high:g}, are beyond what can be computed"
        raise BeyondNumbersError(f"{level.configuration} {level.point}: {metric} cannot be compared: {what}")
    worse = change if lower_is_better(metric) else -change
    return Change(
        level, new.told_load, metric, first, second, change, worse, noise, tolerance,
        _verdict(worse, noise, tolerance),
    )  # fmt: skip


def _verdict(worse: float, noise: float | None, tolerance: float) -> Verdict:
    """Beyond the tolerance, and not by chance."""
    if abs(worse) <= tolerance:
        return "within tolerance"
    if noise is not None and abs(worse) <= noise:
        return "within noise"
    return "regression" if worse > 0 else "improvement"


def _one_name(
    before: Mapping[Level, Samples], after: Mapping[Level, Samples]
) -> tuple[Mapping[Level, Samples], Mapping[Level, Samples], list[str]]:
    old, new = ({level.configuration for level in side} for side in (before, after))
    if len(old) != 1 or len(new) != 1 or old == new:
        return before, after, []
    (first,), (second,) = old, new
    renamed = {Level(first, level.point): samples for level, samples in after.items()}
    return before, renamed, [f"{second} is compared with {first}"]


def _fewer(before: Mapping[Level, Samples], after: Mapping[Level, Samples]) -> Iterator[str]:
    for level, new in after.items():
        if new.valid and new.refused and level in before:
            told = "; ".join(dict.fromkeys(new.refused))
            total = new.valid + len(new.refused)
            yield f"{level.configuration} {level.point}: {new.valid} of {total} repeats are valid ({told})"


def _without_number(side: str, levels: Mapping[Level, Samples], metrics: Sequence[str]) -> Iterator[str]:
    """Fewer numbers than repeats: one was NaN, or is missing."""
    for level, samples in levels.items():
        counted = {metric: len(samples.values.get(metric, ())) for metric in metrics}
        for metric, count in counted.items():
            if 0 < count < samples.valid:
                told = f"{count} of {samples.valid} valid repeats of {side} have a number"
                yield f"{level.configuration} {level.point}: {metric}: {told}"


def _busy(side: str, levels: Mapping[Level, Samples]) -> Iterator[str]:
    """A busy client tells a slow server: a verdict on such numbers may be one on the client."""
    busy = [f"{level.configuration} {level.point}" for level, samples in levels.items() if samples.saturated]
    if busy:
        told = ", ".join(busy[:MOST_NAMES]) + (
            f" and {len(busy) - MOST_NAMES} more" * (len(busy) > MOST_NAMES)
        )
        yield f"the client of {side} was too busy for its times to be trusted (client_saturated): {told}"

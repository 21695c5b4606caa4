"""The head of the page: what was swept, how much of it counts, what it cost, what came out best."""

from collections.abc import Sequence
from dataclasses import dataclass

from servesweep.report.measures import fixed
from servesweep.report.records import X, Y
from servesweep.report.sweep import Status, Sweep


@dataclass(frozen=True)
class Tile:
    """One number with its label, and under it where it comes from."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Glance:
    """Title, a line of facts, the count of each state, and the tiles."""

    title: str
    facts: tuple[str, ...]
    counts: dict[Status, int]
    tiles: tuple[Tile, ...]


def glance(sweep: Sweep) -> Glance:
    """Summarize a sweep for the head of the page, from its files alone: no clock, the same page each time."""
    plans = [c.plan for c in sweep.configurations if c.plan]
    models = _distinct([plan.served_model for plan in plans])
    gpus = _distinct([plan.gpu_type or "" for plan in plans])
    engines = _distinct([plan.engine for plan in plans])
    fronts = _distinct([plan.frontend for plan in plans])
    lengths = [f"ISL {p.isl} / OSL {p.osl}" for p in sweep.points if p.isl is not None and p.osl is not None]
    facts = (
        _listed(gpus),
        _listed(engines),
        _listed(fronts),
        _listed(_distinct(lengths)),
        _measured(sweep),
    )
    hours = sweep.gpu_hours
    finished = sum(c.gpu_hours is not None for c in sweep.configurations)
    tiles = (
        Tile("configurations", str(len(sweep.configurations)), f"{finished} finished" if finished else ""),
        Tile("points", f"{len(sweep.points):,}", f"{sweep.count()['valid']:,} valid"),
        *(
            [
                Tile(
                    "GPU hours",
                    fixed(hours, 2 if hours < 100 else 0),
                    f"{finished} finished run{'s' * (finished != 1)}",
                )
            ]
            if hours is not None
            else []
        ),
        *_best(sweep, Y, "best tok/s/GPU"),
        *_best(sweep, X, "best tok/s/user"),
    )
    return Glance(_listed(models) or "Serving sweep", tuple(f for f in facts if f), sweep.count(), tiles)


def _best(sweep: Sweep, key: str, label: str) -> list[Tile]:
    known = [(value, point) for point in sweep.points if (value := point.metric(key)) is not None]
    if not known:
        return []
    value, point = max(known, key=lambda pair: pair[0])
    return [Tile(label, fixed(value, 1), f"{point.configuration} · {point.id}")]


def _measured(sweep: Sweep) -> str:
    """The days of the measurements, such as "measured 2025-03-01" or "measured 2025-03-01 to 2025-03-02"."""
    starts = [p.result.started_at for p in sweep.points if p.result and p.result.started_at]
    days = sorted({start[:10] for start in starts})
    if not days:
        return ""
    return f"measured {days[0]}" if len(days) == 1 else f"measured {days[0]} to {days[-1]}"


def _distinct(values: Sequence[str]) -> list[str]:
    return [value for value in dict.fromkeys(values) if value]


def _listed(values: Sequence[str], most: int = 3) -> str:
    shown = ", ".join(values[:most])
    return f"{shown} and {len(values) - most} more" if len(values) > most else shown

"""The head of the page: what was swept, how much of it counts, what it cost, what came out best."""

from collections.abc import Sequence
from dataclasses import dataclass

from servesweep.report.measures import COST as COSTS
from servesweep.report.measures import fixed
from servesweep.report.prices import Prices
from servesweep.report.records import Record
from servesweep.report.rows import gpu_hour_price
from servesweep.report.sweep import Status, Sweep
from servesweep.report.views import PER_GPU

(COST,) = COSTS


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


def glance(sweep: Sweep, records: Sequence[Record], prices: Prices | None = None) -> Glance:
    """Summarize a sweep for the head of the page, from its files alone: no clock, the same page each time."""
    plans = [c.plan for c in sweep.configurations if c.plan]
    lengths = [f"ISL {p.isl} / OSL {p.osl}" for p in sweep.points if p.isl is not None and p.osl is not None]
    facts = (
        _listed(_distinct([plan.gpu_type or "" for plan in plans])),
        _listed(_distinct([plan.engine for plan in plans])),
        _listed(_distinct([plan.frontend for plan in plans])),
        _listed(_distinct(lengths)),
        _measured(sweep),
        f"client saturated in {len(sweep.saturated)} of {len(sweep.points)} points"
        if sweep.saturated
        else "",
    )
    finished = sum(c.run is not None for c in sweep.configurations)
    tiles = (
        Tile("configurations", f"{len(sweep.configurations):,}", f"{finished:,} finished"),
        Tile("points", f"{len(sweep.points):,}", f"{sweep.count()['valid']:,} valid"),
        *_best(records, PER_GPU.y, "best tok/s/GPU"),
        *_best(records, PER_GPU.x, "best tok/s/user"),
        *_best(records, COST.key, "lowest $/M output tokens", COST.decimals, lowest=True),
        *_spent(sweep, prices),
    )
    models = _distinct([plan.served_model for plan in plans])
    return Glance(_listed(models) or "Serving sweep", tuple(f for f in facts if f), sweep.count(), tiles)


def _spent(sweep: Sweep, prices: Prices | None) -> list[Tile]:
    """GPU hours of the finished runs, and their price where it is known of all of them."""
    runs = [(c, hours) for c in sweep.configurations if (hours := c.gpu_hours) is not None]
    if not runs:
        return []
    total = sum(hours for _, hours in runs)
    told = f"{len(runs)} finished run{'s' * (len(runs) != 1)}"
    costs = [hours * price for c, hours in runs if (price := gpu_hour_price(c, prices)) is not None]
    if len(costs) == len(runs):
        told = f"${fixed(sum(costs), 2)} · {told}"
    return [Tile("GPU hours", fixed(total, 2 if total < 100 else 0), told)]


def _best(
    records: Sequence[Record], key: str, label: str, decimals: int = 1, *, lowest: bool = False
) -> list[Tile]:
    known = [(value, record) for record in records if isinstance(value := record[key], float)]
    if not known:
        return []
    value, record = (min if lowest else max)(known, key=lambda pair: pair[0])
    return [Tile(label, fixed(value, decimals), f"{record['configuration']} · {record['point']}")]


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

"""Snakemake's own report is made of no table but that of the sweep that is asked for."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from servesweep.runtime.own_report import difference_of

TABLE = "configuration,point,status,digest\nquick,c1,valid,D1\nquick,c2,failed,D2\nother,c1,valid,D3\n"


def plan(configuration: str, **points: str) -> Any:
    planned = [SimpleNamespace(id=name, digest=digest) for name, digest in points.items()]
    return SimpleNamespace(configuration=configuration, points=planned)


BEFORE = "it tells of quick as it was before its recipe changed"
QUICK, OTHER = plan("quick", c1="D1", c2="D2"), plan("other", c1="D3")


@pytest.mark.parametrize(
    ("plans", "difference"),
    [
        ([QUICK, OTHER], None),
        ([QUICK], "it tells of other, which is not in this sweep"),
        ([QUICK, OTHER, plan("new", c1="D4")], "it does not tell of new, which is in this sweep"),
        ([plan("quick", c1="D1", c2="NEW"), OTHER], BEFORE),
        ([plan("quick", c1="D1", c2="D2", c4="D5"), OTHER], BEFORE),
    ],
)  # fmt: skip
def test_a_table_is_of_this_sweep_or_it_is_told_why_not(
    tmp_path: Path, plans: list[Any], difference: str | None
) -> None:
    path = tmp_path / "summary.csv"
    path.write_text(TABLE)
    assert difference_of(path, {plan.configuration: plan for plan in plans}) == difference

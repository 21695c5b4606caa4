import sys
from pathlib import Path

from servesweep.plan.plan import read_plan

# This installation's own programs, also where its environment is not activated.
shell.prefix(f"export PATH={Path(sys.executable).parent}:$PATH; ")
POINTS = [point.id for point in read_plan(Path("deployment.json")).points]


def earlier_points_first(wildcards):
    """Points are measured in the order of the plan."""
    return len(POINTS) - POINTS.index(wildcards.point)

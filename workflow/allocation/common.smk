import sys
from pathlib import Path

from servesweep.plan.plan import read_plan

SERVESWEEP = f"{sys.executable} -m servesweep"
POINTS = [point.id for point in read_plan(Path("deployment.json")).points]

import json
import sys
from pathlib import Path
from shlex import quote

from servesweep.runtime.process_end import end_at_once

# This installation's own programs, also where its environment is not activated. A prefix replaces
# Snakemake's own strict mode, so it says it again.
shell.prefix(
    f"set -euo pipefail; export PATH={quote(str(Path(sys.executable).parent))}:$PATH; "
)
end_at_once()

POINTS = [
    point["id"] for point in json.loads(Path("deployment.json").read_text())["points"]
]


def earlier_points_first(wildcards):
    """Points are measured in the order of the plan."""
    return len(POINTS) - POINTS.index(wildcards.point)

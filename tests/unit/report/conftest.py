"""Small result trees, written by hand."""

import json
from pathlib import Path
from typing import Any

import pytest

TOPOLOGY = {
    **{"is_disaggregated": True, "total_nodes": 2, "num_prefill": 1, "num_decode": 1, "num_agg": 0},
    **{"prefill_gpus": 8, "decode_gpus": 8, "agg_gpus": 0, "total_gpus": 16, "gpus_per_node": 8},
}


def plan(configuration: str, points: dict[str, int], **changes: Any) -> dict[str, Any]:
    """A plan with one point for each name and concurrency."""
    return {
        "schema": 1,
        "configuration": configuration,
        "name": "tiny",
        "recipe": "config/recipes/tiny.yaml",
        "variant": None,
        "digest": f"D-{configuration}",
        "served_model": "tiny-model",
        "engine": "simulator",
        "frontend": "sglang-router",
        "launcher": "slurm",
        "gpu_type": "h100",
        "topology": TOPOLOGY,
        "nodes": [
            {"name": "n0", "holds": ["head", "frontend", "prefill_0"]},
            {"name": "n1", "holds": ["decode_0"]},
        ],
        "points": [
            {"id": name, "concurrency": n, "request_rate": "inf", "repeat": 0, "digest": f"P-{name}"}
            for name, n in points.items()
        ],
        "notes": [],
        "ports": {"n0": [6100]},
    } | changes


def result(point: str, concurrency: int, metrics: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A valid result of a point that `plan` made."""
    return {
        "schema": 1,
        "configuration": "any",
        "point": point,
        "digest": f"P-{point}",
        "valid": True,
        "reasons": [],
        "notes": [],
        "load": {"isl": 1024, "osl": 128, "concurrency": concurrency, "request_rate": "inf", "seed": 0},
        "model": "tiny-model",
        "started_at": "2025-03-01T10:00:00+00:00",
        "duration_s": 60.5,
        "requests": {"asked": 80, "completed": 80, "failed": 0, "errors": {}},
        "tokens": {"input": 81920, "output": 10240},
        "metrics": metrics,
        "client": {"processes": 1},
    } | changes


class Tree:
    """A results directory to be filled file by file."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def put(self, name: str, content: Any) -> None:
        """Write one file: an object as JSON, a text as it is."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))

    def plan(self, configuration: str, points: dict[str, int], **changes: Any) -> None:
        """Write a plan with these points and their concurrency."""
        self.put(f"{configuration}/plan.json", plan(configuration, points, **changes))

    def result(self, configuration: str, point: str, metrics: dict[str, Any], **changes: Any) -> None:
        """Write a valid result of a planned point such as c16."""
        content = result(point, int(point.strip("c")), metrics, **changes)
        self.put(f"{configuration}/points/{point}/result.json", content)

    def invalid(self, configuration: str, point: str, *reasons: str, metrics: Any = None) -> None:
        """Write what the validity gate leaves of a point that it refuses."""
        content = result(point, int(point.strip("c")), metrics or {}, valid=False, reasons=reasons)
        self.put(f"{configuration}/points/{point}/invalid.json", content)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """An empty results directory."""
    return Tree(tmp_path)

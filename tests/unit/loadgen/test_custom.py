"""The numbers that a command of one's own leaves: which count, and what is said of the others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from servesweep.loadgen.custom import main, read_metrics


@pytest.mark.parametrize(
    ("text", "metrics", "reasons"),
    [
        ('{"answers_per_s": 12.5, "p99_ttft_ms": 30}', {"answers_per_s": 12.5, "p99_ttft_ms": 30}, []),
        (
            '{"status": 1, "total_gpus": 8, "answers": 3}',
            {"answers": 3},
            [
                "metrics.json: status, total_gpus: the table has columns of these names; give the "
                "command's own numbers others"
            ],
        ),
        ('{"a": "fast", "b": NaN}', {}, [f"metrics.json: {k} is not a finite number" for k in "ab"]),
        ("[1]", {}, ["metrics.json is not a JSON object"]),
    ],
)
def test_metrics(tmp_path: Path, text: str, metrics: dict[str, float], reasons: list[str]) -> None:
    path = tmp_path / "metrics.json"
    path.write_text(text)
    assert read_metrics(path) == (metrics, reasons)


def test_without_a_file_there_are_none(tmp_path: Path) -> None:
    assert read_metrics(tmp_path / "metrics.json") == ({}, [])


def test_a_point_with_a_column_s_name_does_not_count(tmp_path: Path) -> None:
    about = {"configuration": "a", "point": "custom", "digest": "d", "model": "m"}
    about["command"] = "echo '{\"repeat\": 3}' > $SERVESWEEP_METRICS"
    (tmp_path / "about.json").write_text(json.dumps(about))
    assert main([str(tmp_path / "about.json"), "--output", str(tmp_path / "result.json")]) == 1
    found = json.loads((tmp_path / "invalid.json").read_text())
    assert found["metrics"] == {}
    assert found["reasons"][0].startswith("metrics.json: repeat: the table has columns of these names")

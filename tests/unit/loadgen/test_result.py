from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from servesweep.loadgen.files import write_atomically
from servesweep.loadgen.request_log import request_log
from servesweep.loadgen.result import (
    ClientFacts,
    PointResult,
    RequestCounts,
    TokenCounts,
    write_result,
)


def result(*reasons: str) -> PointResult:
    return PointResult(
        configuration="llama-tp8",
        point="c4",
        digest="0123abcd",
        valid=not reasons,
        reasons=list(reasons),
        notes=[],
        load={"isl": 100},
        model="llama",
        models_answered=["llama"],
        started_at="2025-01-01T00:00:00.000+00:00",
        duration_s=1.0,
        requests=RequestCounts(asked=1, completed=1, failed=0, errors={}, error_examples={}),
        tokens=TokenCounts(input=1, output=1),
        metrics={"mean_ttft_ms": 1.5, "mean_tpot_ms": None},
        client=ClientFacts(
            processes=1,
            max_in_flight=1,
            cpu_share_max=0.1,
            lag_ms_mean=0.1,
            lag_ms_p99=0.2,
            lag_ms_max=0.3,
            saturated=False,
        ),
    )


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_a_valid_result_and_its_requests(tmp_path: Path, make_record: Any) -> None:
    path = write_result(result(), [make_record()], tmp_path / "result.json")
    assert names(tmp_path) == ["requests.parquet", "result.json"]
    written = json.loads(path.read_text())
    assert (written["schema"], written["valid"], written["metrics"]["mean_tpot_ms"]) == (1, True, None)
    assert PointResult.model_validate_json(path.read_text()) == result()


def test_an_invalid_result_leaves_an_earlier_valid_one_alone(tmp_path: Path, make_record: Any) -> None:
    write_result(result(), [make_record()], tmp_path / "result.json")
    before = {name: (tmp_path / name).read_bytes() for name in names(tmp_path)}
    write_result(result("nothing came"), [], tmp_path / "result.json")
    assert names(tmp_path) == ["invalid.json", "invalid.requests.parquet", "requests.parquet", "result.json"]
    assert {name: (tmp_path / name).read_bytes() for name in before} == before
    assert json.loads((tmp_path / "invalid.json").read_text())["reasons"] == ["nothing came"]


def test_a_valid_result_removes_a_stale_invalid_one(tmp_path: Path, make_record: Any) -> None:
    write_result(result("nothing came"), [], tmp_path / "result.json")
    assert names(tmp_path) == ["invalid.json", "invalid.requests.parquet"]
    write_result(result(), [make_record()], tmp_path / "result.json")
    assert names(tmp_path) == ["requests.parquet", "result.json"]


def test_the_log_has_one_row_a_request_and_no_latency_of_a_failed_one(make_record: Any) -> None:
    records = [
        make_record(10.0, (10.125, 10.25, 10.5), index=0, usage_output=5, usage_input=90),
        make_record(10.5, (10.75,), index=1, status="connection cut", detail="reset"),
    ]
    table = pq.read_table(io.BytesIO(request_log(records)))
    first, second = table.to_pylist()
    assert first == {
        "index": 0,
        "status": "ok",
        "detail": "",
        "model": "llama",
        "sent_s": 0.0,
        "ended_s": 0.5,
        "asked_input_tokens": 100,
        "asked_output_tokens": 3,
        "input_tokens": 90,
        "output_tokens": 5,
        "arrivals_s": [0.125, 0.25, 0.5],
        "ttft_ms": 125.0,
        "tpot_ms": 93.75,
        "e2el_ms": 500.0,
    }
    assert (second["status"], second["detail"], second["sent_s"]) == ("connection cut", "reset", 0.5)
    assert [second[key] for key in ("ttft_ms", "tpot_ms", "e2el_ms")] == [None, None, None]
    assert all(field.metadata[b"is"] for field in table.schema)


def test_a_log_of_no_request_has_its_columns(make_record: Any) -> None:
    table = pq.read_table(io.BytesIO(request_log([])))
    assert (table.num_rows, table.column_names[:3]) == (0, ["index", "status", "detail"])


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_atomically(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "new \ud800")
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a.json"]

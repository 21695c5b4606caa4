"""What a run has written, without the secrets that its processes have told."""

from __future__ import annotations

import json
import os
from array import array
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from servesweep.evidence.files import RunFiles
from servesweep.loadgen.record import RequestRecord
from servesweep.loadgen.request_log import SCHEMA, request_log
from servesweep.runtime.blot import Blot
from servesweep.runtime.blotted_files import blot_files

SECRET = "sk-abcdef0123"
HIDDEN = "***REDACTED***"


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def blotted(root: Path, *values: str) -> list[str]:
    """Blot the files below a directory out; what is left, by its name in there."""
    left = blot_files(Blot(values or [SECRET]), RunFiles(root))
    return [str(path.relative_to(root)) for path in left]


def test_a_log_stays_the_file_that_somebody_follows(tmp_path: Path) -> None:
    # Over the edge of a block that is read at once.
    log = write(tmp_path / "logs/a.out", b"-" * ((1 << 20) - 4) + SECRET.encode() + b"\n\xff\0")
    other = write(tmp_path / "logs.1/b.out", "nothing here")
    before, time = log.stat(), other.stat().st_mtime_ns
    assert blotted(tmp_path) == []
    assert log.read_bytes().endswith(b"-***REDACTED***\n\xff\0")
    assert log.stat().st_ino == before.st_ino
    assert other.stat().st_mtime_ns == time


@pytest.mark.parametrize(
    "name",
    ["run.log", "health.json", "unhealthy.json", "failure.json", "clients.json", "allocation.json",
     "deployment.json", "run.json", ".snakemake/log/1.snakemake.log", "points/c1/progress.json",
     "points/c1/out/answers.csv"],
)  # fmt: skip
def test_every_file_that_a_run_writes_is_looked_into(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, f'{{"message": "HTTP 401: bad key {SECRET}"}}\n')
    assert blotted(tmp_path) == []
    assert path.read_text() == f'{{"message": "HTTP 401: bad key {HIDDEN}"}}\n'


@pytest.mark.parametrize("name", ["plan.json", "recipe.yaml", "sources.json", "recipe.lock.yaml"])
def test_what_was_planned_has_no_secret_and_the_lockfile_its_digest(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, f"model: {SECRET}")
    assert blotted(tmp_path) == []
    assert path.read_text() == f"model: {SECRET}"


def test_an_ordinary_word_is_hidden_in_logs_and_nowhere_else(tmp_path: Path) -> None:
    log = write(tmp_path / "logs/a.out", "simulator")
    result = write(tmp_path / "points/c1/result.json", f'{{"model": "simulator", "errors": "{SECRET}"}}')
    blotted(tmp_path, SECRET, "simulator")
    assert log.read_text() == HIDDEN
    assert result.read_text() == f'{{"model": "simulator", "errors": "{HIDDEN}"}}'


def decoded(data: Any) -> list[str]:
    """Every text within data of JSON."""
    if isinstance(data, dict):
        return [text for pair in data.items() for item in pair for text in decoded(item)]
    if isinstance(data, list):
        return [text for item in data for text in decoded(item)]
    return [data] if isinstance(data, str) else []


@pytest.mark.parametrize("secret", ["p\"a\\s'word é", "line-0001-abc\nline-0002-abc\n", SECRET])
def test_what_the_strings_of_json_say_has_no_secret(tmp_path: Path, secret: str) -> None:
    """A server's answer is JSON itself, and is told within that of a point."""
    body = json.dumps({"env": {"KEY": secret}})
    record = {
        "errors": {"HTTP 401": body, "as it is": f"bad {secret}", secret: 1},
        "deeper": json.dumps([body]),
    }
    path = write(tmp_path / "points/c1/invalid.json", json.dumps(record, indent=2) + "\n")
    assert blotted(tmp_path, secret) == []
    pieces = [secret, *secret.split(), json.dumps(secret)[1:-1]]
    told = decoded(json.loads(path.read_text()))
    assert [text for text in told for piece in pieces if piece in text] == []
    assert f'{{"env": {{"KEY": "{HIDDEN}"}}}}' in told


def test_json_keeps_its_form_and_its_numbers(tmp_path: Path) -> None:
    text = f'{{ "n": [1.50, NaN, 12345678901],\n\t"key": "\\u0073{SECRET[1:]}", "é": "\\u00e9" }}\n'
    result = write(tmp_path / "points/c1/result.json", text)
    lines = write(tmp_path / "points/c1/lines.jsonl", text.replace("\n\t", "") * 2)
    blotted(tmp_path, SECRET, "12345678901")
    expected = text.replace(f"\\u0073{SECRET[1:]}", HIDDEN)
    assert result.read_text() == expected
    assert lines.read_text() == expected.replace("\n\t", "") * 2


def test_half_a_file_of_json_is_a_text(tmp_path: Path) -> None:
    path = write(tmp_path / "points/c1/result.json", f'{{"a": "b", "c": "bad {SECRET}')
    blotted(tmp_path)
    assert path.read_text() == f'{{"a": "b", "c": "bad {HIDDEN}'


@pytest.mark.parametrize("name", ["requests.parquet", "invalid.requests.parquet"])
def test_a_table_of_requests_loses_the_secret_and_nothing_else(tmp_path: Path, name: str) -> None:
    """A server may repeat the key that it refuses, and the point be valid all the same."""
    good = RequestRecord(0, sent=5.0, ended=6.0, asked_input=8, asked_output=2, arrivals=array("d", [5.5, 6]))
    bad = replace(good, index=1, status="HTTP 401", detail=f"Invalid API key {SECRET}", arrivals=array("d"))
    path = write(tmp_path / "points/c1" / name, request_log([good, bad] * 50))
    before = pq.read_table(path)
    os.utime(path, ns=(1, 1_000_000_007))
    assert blotted(tmp_path) == []
    after = pq.read_table(path)
    assert after.column("detail").to_pylist() == ["", f"Invalid API key {HIDDEN}"] * 50
    assert after.drop_columns(["detail"]).equals(before.drop_columns(["detail"]), check_metadata=True)
    assert after.schema.equals(before.schema, check_metadata=True)
    assert after.schema.field("detail").metadata[b"is"] == SCHEMA.field("detail").metadata[b"is"]
    columns = [pq.ParquetFile(path).metadata.row_group(0).column(at) for at in range(len(SCHEMA))]
    assert {column.compression for column in columns} == {"ZSTD"}
    assert path.stat().st_mtime_ns == 1_000_000_007
    assert [entry.name for entry in path.parent.iterdir()] == [name]


def test_the_beginning_of_a_secret_where_an_excerpt_was_cut_is_found(tmp_path: Path) -> None:
    """The server's answer ends within it: nothing else of the secret is in the file."""
    reason = f'1 of 2 requests failed: 1 HTTP 401 ("key {SECRET[:5]}…")'
    unmarked = "x" * 195 + SECRET[:5]
    record = {"reasons": [reason], "requests": {"error_examples": {"HTTP 401": unmarked}}}
    point = write(tmp_path / "points/c1/invalid.json", json.dumps(record, ensure_ascii=False))
    log = write(tmp_path / "logs/benchmark_c1.log", f"loadgen: c1 does not count: {reason}.\n")
    bad = RequestRecord(0, sent=5.0, ended=6.0, asked_input=8, asked_output=2, status="HTTP 401")
    bad.detail = f"key {SECRET[:5]}…"
    table = write(tmp_path / "points/c1/invalid.requests.parquet", request_log([bad]))
    assert blotted(tmp_path) == []
    hidden = reason.replace(SECRET[:5], HIDDEN)
    assert log.read_text() == f"loadgen: c1 does not count: {hidden}.\n"
    told = json.loads(point.read_text())
    assert told["reasons"] == [hidden]
    assert told["requests"]["error_examples"] == {"HTTP 401": "x" * 195 + HIDDEN}
    assert pq.read_table(table).column("detail").to_pylist() == [f"key {HIDDEN}…"]


def test_a_table_without_a_secret_stays_the_same_file(tmp_path: Path) -> None:
    path = write(tmp_path / "points/c1/requests.parquet", request_log([]))
    before = path.stat().st_ino
    assert blotted(tmp_path) == []
    assert path.stat().st_ino == before


def test_texts_within_lists_and_records_of_a_table_are_found(tmp_path: Path) -> None:
    secret = SECRET.encode()
    rows = {"l": [[f"a {SECRET}"], None], "r": [{"x": SECRET, "n": 1}, {"x": "b", "n": 2}]}
    table = pa.table({**rows, "d": pa.array([SECRET, "c"]).dictionary_encode(), "b": [secret, b"\0"]})
    path = tmp_path / "table.parquet"
    pq.write_table(table, path)
    assert blotted(tmp_path) == []
    after = pq.read_table(path)
    assert after.schema == table.schema
    assert after.to_pylist() == [
        {"l": [f"a {HIDDEN}"], "r": {"x": HIDDEN, "n": 1}, "d": HIDDEN, "b": HIDDEN.encode()},
        {"l": None, "r": {"x": "b", "n": 2}, "d": "c", "b": b"\0"},
    ]


def test_what_is_no_text_is_left_and_told(tmp_path: Path) -> None:
    content = b"\0\1" + SECRET.encode()
    trace = write(tmp_path / "points/c1/trace.bin", content)
    half = write(tmp_path / "points/c1/half.parquet", content)
    write(tmp_path / "points/c1/other.bin", b"\0\1")
    assert sorted(blotted(tmp_path)) == ["points/c1/half.parquet", "points/c1/trace.bin"]
    assert trace.read_bytes() == half.read_bytes() == content

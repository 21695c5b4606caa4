"""The table as a person sees it, and `--json` as a program does."""

from __future__ import annotations

import io
import json
from typing import Any

from click.testing import CliRunner
from rich.console import Console

from servesweep.cli import main
from servesweep.status.table import elapsed, status_table
from servesweep.status.view import ConfigurationView, SweepView


def printed(directory: Any, rows: int | None = None) -> str:
    text = io.StringIO()
    Console(file=text, width=160).print(status_table(*directory.looker.look(), rows=rows))
    return text.getvalue()


def test_one_row_a_configuration_and_one_line_about_the_whole(directory: Any) -> None:
    directory.plan("llama_tp4", nodes=2)
    directory.started("llama_tp4", job=None)
    directory.write("llama_tp4/health.json", {"open": True})
    ready = ["prefill_0", "prefill_1", "decode_0", "decode_1", "decode_2", "decode_3"]
    directory.write("llama_tp4/logs/workers.json", {"ready": ready})
    check = {"status": "warning", "available_cpu_count": 2, "minimum_cpu_count": 8, "message": "too few"}
    directory.write("llama_tp4/logs/resource_snapshot.json", {"cpu_check": check})
    for i in (1, 2, 3):
        directory.write(f"llama_tp4/points/c{i}/result.json", {"valid": True, "digest": f"p{i}"})
    directory.write("llama_tp4/points/c4/progress.json", {"phase": "measure", "output_tok_s": 1234.5})
    directory.write("sweep.json", {"configurations": ["llama_tp4"], "gpu_quota": 16})
    heading, row, warning, whole = printed(directory).splitlines()
    assert " ".join(heading.split()) == (
        "configuration Slurm job stage workers restarts points tok/s GPUs CPU time"
    )
    assert row.split()[:-1] == [
        "llama_tp4", "-", "-", "benchmark", "2/4P", "4/4D", "0", "3/5", "1234", "16", "2/8!",
    ]  # fmt: skip
    assert warning == "llama_tp4: CPU ALLOCATION WARNING: too few"
    assert whole == (
        "1 configuration: 1 benchmark · points 3/5 · 1234 tok/s · GPUs held 0 of a quota of 16 · "
        "1 CPU warning"
    )


def test_no_worker_is_missed_where_the_run_is_over(directory: Any) -> None:
    directory.plan("a")
    directory.plan("b")
    directory.write("a/run.json", {"digest": "d-a"})
    _, over, planned, _ = printed(directory).splitlines()
    assert over.split()[:5] == ["a", "-", "-", "finished", "-"]
    assert planned.split()[3:6] == ["planned", "0/4P", "0/4D"]


def test_where_not_all_fit_those_that_run_are_shown(directory: Any) -> None:
    for name in ("a", "b", "c"):
        directory.plan(name)
    directory.started("c")
    directory.write("b/failure.json", {"stage": "workers", "message": "it died"})
    text = printed(directory, rows=2)
    assert [line.split()[0] for line in text.splitlines()[1:3]] == ["b", "c"]
    assert "… and 1 more" in text
    assert "b: it died" in text


def test_json_is_one_object_a_line_the_sweep_last(directory: Any) -> None:
    directory.plan("a")
    done = CliRunner().invoke(main, ["status", str(directory.results), "--json"])
    first, last = map(json.loads, done.output.splitlines())
    assert ConfigurationView(**first).configuration == "a"
    assert SweepView(**last).stages == {"planned": 1}
    assert (first["kind"], last["kind"]) == ("configuration", "sweep")


def test_once_tells_every_name_in_full(directory: Any) -> None:
    name = "features." + "x" * 90
    directory.plan(name)
    done = CliRunner().invoke(main, ["status", str(directory.results), "--once"])
    assert name in done.output


def test_a_directory_that_is_not_there_is_told_in_a_sentence() -> None:
    done = CliRunner().invoke(main, ["status", "nowhere", "--once"])
    assert done.exit_code == 1
    assert "nowhere: no such directory" in done.output


def test_time_is_told_as_on_a_clock() -> None:
    assert elapsed("2026-01-01T10:00:00+00:00", "2026-01-01T11:02:03+00:00") == "1:02:03"
    assert elapsed(None, "2026-01-01T11:02:03+00:00") == "-"

"""The benchmark client against a small server that counts, delays and fails exactly as told."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from aiohttp import web

from servesweep.loadgen.dataset import build_schedule
from servesweep.loadgen.errors import LoadgenError
from servesweep.loadgen.measure import measure
from servesweep.loadgen.spec import LoadSpec

PATIENCE_S = 30.0


class Server:
    """Streams `max_tokens` tokens, `tokens_per_chunk` in an event; `behaviour(n)` says how request n ends."""

    def __init__(self) -> None:
        self.behaviour: Callable[[int], str] = lambda n: "answer"
        self.model = "llama"
        self.ttft_s = self.itl_s = 0.0
        self.tokens_per_chunk = 1
        self.bodies: list[dict[str, Any]] = []
        self.received_at: list[float] = []
        self.in_flight = self.most_in_flight = 0
        self._transports: set[asyncio.Transport] = set()
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def prompts(self) -> list[str]:
        return [body["prompt"] for body in self.bodies]

    def start(self) -> None:
        self._thread.start()
        assert self._ready.wait(PATIENCE_S)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE_S)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._listen())
        self._ready.set()
        self._loop.run_forever()
        self._loop.run_until_complete(self._end())
        self._loop.close()

    async def _listen(self) -> None:
        app = web.Application()
        app.router.add_post("/v1/{kind:(chat/)?completions}", self._handle)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        self._site = web.TCPSite(self._runner, "127.0.0.1", 0, backlog=1024)
        await self._site.start()
        port = self._runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{port}"

    async def _end(self) -> None:
        await self._runner.cleanup()
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        assert isinstance(request.transport, asyncio.Transport)
        self._transports.add(request.transport)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        self.received_at.append(time.perf_counter())
        behaviour = self.behaviour(len(self.bodies))
        body = await request.json()
        self.bodies.append(body)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        try:
            if behaviour == "HTTP 503":
                return web.Response(status=503, text="no worker " + "x" * 500)
            if behaviour == "not a stream":
                return web.json_response({"choices": []})
            await response.prepare(request)
            await self._stream(request, response, body, behaviour)
        finally:
            self.in_flight -= 1  # before the end of the body: the client may send its next request at once
        await response.write_eof()
        return response

    async def _stream(
        self, request: web.Request, response: web.StreamResponse, body: dict[str, Any], behaviour: str
    ) -> None:
        chat = "chat" in request.path
        asked = 0 if behaviour == "empty" else body["max_tokens"]
        await asyncio.sleep(3600 if behaviour == "hang" else self.ttft_s)
        for number in range(0, asked, self.tokens_per_chunk):
            if number:
                await asyncio.sleep(self.itl_s)
            content = {"delta": {"content": "x"}} if chat else {"text": "x"}
            await self._event(response, {"choices": [content]})
            if number and behaviour == "error event":
                await self._event(response, {"error": {"message": "worker lost"}})
            if number and behaviour == "cut":
                request.transport.abort()  # type: ignore[union-attr]
            if number and behaviour == "die":
                await self._site.stop()
                for transport in self._transports:
                    transport.abort()
        usage = {"prompt_tokens": 11, "completion_tokens": asked}
        await self._event(response, {"choices": [], "usage": usage})
        await response.write(b"data: [DONE]\n\n")

    async def _event(self, response: web.StreamResponse, fields: dict[str, Any]) -> None:
        await response.write(b"data: " + json.dumps({"model": self.model} | fields).encode() + b"\n\n")


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    running.start()
    yield running
    running.stop()


@pytest.fixture
def make_spec(server: Server) -> Callable[..., LoadSpec]:
    def make(**changes: Any) -> LoadSpec:
        fields: dict[str, Any] = {
            "configuration": "llama-tp8",
            "point": "c4",
            "digest": "0123abcd",
            "url": server.url,
            "model": "llama",
            "isl": 11,
            "osl": 5,
            "random_range_ratio": 1.0,
            "concurrency": 4,
            "num_prompts": 12,
            "processes": 1,
        }
        return LoadSpec(**fields | changes)

    return make


def start_command(spec: LoadSpec, output: Path, temporary: Path) -> subprocess.Popen[str]:
    """Start the command line with the spec on standard input."""
    temporary.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "servesweep.loadgen", "-", "--output", str(output)]
    child = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(temporary)},
    )
    assert child.stdin is not None
    child.stdin.write(spec.model_dump_json())
    child.stdin.close()
    child.stdin = None
    return child


def eventually(condition: Callable[[], Any]) -> Any:
    """Wait until the condition holds and return what it gave; fails after 30 s."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.02)
    raise AssertionError("it did not happen")


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def alive(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().split()[2] != "Z"


def test_counts_are_exact(server: Server, make_spec: Any, tmp_path: Path) -> None:
    result = measure(make_spec(num_warmup=3, total_gpus=2), tmp_path / "points" / "c4" / "result.json")
    assert (result.valid, result.reasons) == (True, [])
    assert len(server.bodies) == 15
    assert len(set(server.prompts)) == 15
    assert result.requests.model_dump() == {
        "asked": 12,
        "completed": 12,
        "failed": 0,
        "errors": {},
        "error_examples": {},
    }
    assert result.tokens.model_dump() == {"input": 132, "output": 60}
    assert result.metrics["output_throughput_tok_s"] == pytest.approx(60 / result.duration_s)
    assert result.metrics["output_tok_s_per_gpu"] == pytest.approx(30 / result.duration_s)
    assert result.models_answered == ["llama"]
    assert names(tmp_path / "points" / "c4") == ["requests.parquet", "result.json"]
    rows = pq.read_table(tmp_path / "points" / "c4" / "requests.parquet").to_pylist()
    assert [(row["index"], row["output_tokens"], row["status"]) for row in rows] == [
        (n, 5, "ok") for n in range(12)
    ]
    assert all(len(row["arrivals_s"]) == 5 for row in rows)


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_no_number_of_processes_exceeds_the_concurrency_or_changes_the_prompts(
    server: Server, make_spec: Any, tmp_path: Path, processes: int
) -> None:
    server.itl_s = 0.005
    spec = make_spec(num_prompts=30, concurrency=5, processes=processes)
    result = measure(spec, tmp_path / "result.json")
    assert result.valid
    assert result.client.processes == processes
    assert server.most_in_flight == result.client.max_in_flight == 5
    assert sorted(server.prompts) == sorted(p.text for p in build_schedule(spec, "measure").prompts)


def test_the_chat_api(server: Server, make_spec: Any, tmp_path: Path) -> None:
    result = measure(make_spec(api="chat", num_prompts=4), tmp_path / "result.json")
    assert (result.valid, result.tokens.output) == (True, 20)
    assert server.bodies[0]["messages"][0]["role"] == "user"


def test_times_are_those_of_the_server(server: Server, make_spec: Any, tmp_path: Path) -> None:
    server.ttft_s, server.itl_s = 0.2, 0.05
    metrics = measure(make_spec(concurrency=1, num_prompts=2, osl=6), tmp_path / "result.json").metrics
    assert 199 < metrics["median_ttft_ms"] < 300
    assert 49 < metrics["mean_itl_ms"] < 80
    assert metrics["mean_tpot_ms"] == pytest.approx(metrics["mean_itl_ms"])
    assert 449 < metrics["mean_e2el_ms"] < 700
    assert metrics["output_tok_s_per_user"] == pytest.approx(1000 / metrics["median_tpot_ms"])


def held_up(server: Server, stop: threading.Event) -> None:
    """Stop the client process for a while again and again, as a machine with too much to do would."""
    eventually(lambda: server.bodies)
    while not stop.wait(0.2):
        for child in children_of(os.getpid()):
            os.kill(child, signal.SIGSTOP)
        time.sleep(0.2)
        for child in children_of(os.getpid()):
            os.kill(child, signal.SIGCONT)


@pytest.mark.parametrize("limit", [None, 50.0])
def test_a_client_that_cannot_keep_up_says_so(
    server: Server, make_spec: Any, tmp_path: Path, limit: float | None
) -> None:
    server.itl_s = 0.02
    stop = threading.Event()
    threading.Thread(target=held_up, args=[server, stop], daemon=True).start()
    result = measure(make_spec(num_prompts=4, osl=60, max_client_lag_ms=limit), tmp_path / "result.json")
    stop.set()
    assert result.client.saturated
    assert result.client.lag_ms_p99 > 50
    assert any(note.startswith("The client was saturated: its event loop was") for note in result.notes)
    if limit is None:
        assert result.valid, "a lag is told, and decides only where a recipe has a limit"
    else:
        (reason,) = result.reasons
        assert reason.startswith("the client itself was ")


def test_a_reader_recomputes_the_numbers_as_the_page_says(
    server: Server, make_spec: Any, tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    page = (Path(__file__).parents[2] / "docs/benchmarks.md").read_text()
    _, _, rest = page.partition("```python\n")
    server.behaviour = lambda n: "HTTP 503" if n == 3 else "answer"
    monkeypatch.chdir(tmp_path)
    output = Path("results/demo_tp4/points/c4/result.json")
    metrics = measure(make_spec(num_prompts=30, max_failed_fraction=0.1), output).metrics
    exec(rest.partition("```")[0], {})
    printed = [float(line) for line in capsys.readouterr().out.split()]
    assert printed == pytest.approx([metrics["p99_ttft_ms"], metrics["output_throughput_tok_s"]])


def test_several_tokens_a_chunk_count_by_usage(server: Server, make_spec: Any, tmp_path: Path) -> None:
    server.tokens_per_chunk = 4
    result = measure(make_spec(osl=8), tmp_path / "result.json")
    assert result.tokens.output == 96
    assert "Output tokens are the server's usage: 96 in 24 chunks." in result.notes


def test_requests_arrive_at_the_asked_rate_without_a_limit(
    server: Server, make_spec: Any, tmp_path: Path
) -> None:
    server.ttft_s = 0.5
    spec = make_spec(concurrency=None, request_rate=40.0, num_prompts=20, processes=2)
    due = build_schedule(spec, "measure").arrivals_s
    assert measure(spec, tmp_path / "result.json").valid
    came = [at - server.received_at[0] for at in sorted(server.received_at)]
    assert came == pytest.approx(due, abs=0.25)
    assert server.most_in_flight > 4


@pytest.mark.parametrize(
    ("behaviour", "category", "example"),
    [
        ("HTTP 503", "HTTP 503", "no worker " + "x" * 189 + "…"),
        ("error event", "error in stream", "worker lost"),
        ("cut", "connection cut", None),
        ("empty", "empty answer", "usage says 0 output tokens"),
        ("not a stream", "not an event stream", '{"choices": []}'),
        ("hang", "timeout", None),
    ],
)
def test_a_failure_is_counted_by_category(
    server: Server, make_spec: Any, tmp_path: Path, behaviour: str, category: str, example: str | None
) -> None:
    server.behaviour = lambda n: behaviour if n in (2, 5, 7) else "answer"
    result = measure(make_spec(max_failed_fraction=0.25, request_timeout_s=2.0), tmp_path / "result.json")
    assert result.valid
    assert (result.requests.completed, result.requests.errors) == (9, {category: 3})
    assert result.tokens.output == 45
    if example is not None:
        assert result.requests.error_examples == {category: example}
    assert result.metrics["p99_e2el_ms"] < 2000
    strict = measure(make_spec(), tmp_path / "strict" / "result.json")
    assert strict.valid  # the server has had its failing requests


def test_answers_without_tokens_do_not_count(server: Server, make_spec: Any, tmp_path: Path) -> None:
    server.behaviour = lambda n: "empty"
    result = measure(make_spec(), tmp_path / "result.json")
    assert not result.valid
    assert result.reasons == [
        '12 of 12 requests failed: 12 empty answer ("usage says 0 output tokens")',
    ]
    assert names(tmp_path) == ["invalid.json", "invalid.requests.parquet"]


def test_another_model_does_not_count(server: Server, make_spec: Any, tmp_path: Path) -> None:
    server.model = "someone-else"
    result = measure(make_spec(), tmp_path / "result.json")
    assert result.reasons == ["asked 'llama', answered by 'someone-else'"]
    assert not (tmp_path / "result.json").exists()


def test_a_server_that_dies_in_the_middle(server: Server, make_spec: Any, tmp_path: Path) -> None:
    server.itl_s = 0.005
    server.behaviour = lambda n: "die" if n == 9 else "answer"
    result = measure(make_spec(num_prompts=40, processes=2), tmp_path / "result.json")
    assert not result.valid
    assert result.requests.completed + result.requests.failed == 40
    assert result.requests.completed < 10
    assert set(result.requests.errors) == {"connection cut", "connection refused"}


def test_a_warm_up_that_fails_as_a_whole_ends_the_point(
    server: Server, make_spec: Any, tmp_path: Path
) -> None:
    server.behaviour = lambda n: "HTTP 503"
    result = measure(make_spec(num_warmup=3), tmp_path / "result.json")
    assert len(server.bodies) == 3
    assert result.reasons[0] == "3 of 3 warm-up requests failed: 3 HTTP 503"
    assert "12 of 12 requests were not sent" in result.reasons


def test_a_client_process_that_dies_is_one_sentence(server: Server, make_spec: Any, tmp_path: Path) -> None:
    server.behaviour = lambda n: "hang"
    child = start_command(make_spec(processes=2), tmp_path / "result.json", tmp_path / "tmp")
    eventually(lambda: len(server.bodies) == 4)
    os.kill(children_of(child.pid)[0], signal.SIGKILL)
    _, stderr = child.communicate(timeout=PATIENCE_S)
    assert child.returncode == 1
    assert stderr == "loadgen: c4: a client process ended early with exit code -9\n"
    assert names(tmp_path) == ["tmp"]


def test_the_command_writes_a_valid_result(make_spec: Any, tmp_path: Path) -> None:
    child = start_command(make_spec(), tmp_path / "result.json", tmp_path / "tmp")
    assert (child.communicate(timeout=PATIENCE_S)[1], child.returncode) == ("", 0)
    result = json.loads((tmp_path / "result.json").read_text())
    assert (result["schema"], result["valid"], result["requests"]["completed"]) == (1, True, 12)
    assert result["load"]["request_rate"] == "inf"


def test_the_command_without_a_server_says_so(make_spec: Any, tmp_path: Path) -> None:
    spec = make_spec(url="http://127.0.0.1:9", num_prompts=3)
    child = start_command(spec, tmp_path / "result.json", tmp_path / "tmp")
    _, stderr = child.communicate(timeout=PATIENCE_S)
    assert child.returncode == 1
    assert stderr.startswith("loadgen: c4 does not count: 3 of 3 requests failed: 3 connection refused")
    assert stderr.count("\n") == 1
    assert names(tmp_path) == ["invalid.json", "invalid.requests.parquet", "tmp"]


def test_a_wrong_spec_is_named_field_by_field(tmp_path: Path) -> None:
    (tmp_path / "spec.json").write_text('{"configuration": "a", "isl": 0}')
    command = [sys.executable, "-m", "servesweep.loadgen", "spec.json", "--output", "result.json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 2
    assert "isl: Input should be greater than or equal to 1" in done.stderr
    assert "point: Field required" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_everything_and_leaves_nothing(
    server: Server, make_spec: Any, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    server.behaviour = lambda n: "hang"
    (tmp_path / "out").mkdir()
    child = start_command(make_spec(processes=2), tmp_path / "out" / "result.json", tmp_path / "tmp")
    eventually(lambda: len(server.bodies) == 4)
    clients = children_of(child.pid)
    assert len(clients) == 2
    child.send_signal(number)
    assert (child.communicate(timeout=PATIENCE_S)[1], child.returncode) == ("", code)
    assert not any(alive(pid) for pid in clients)
    assert (names(tmp_path / "out"), names(tmp_path / "tmp")) == ([], [])


def test_clients_end_when_their_parent_is_killed(server: Server, make_spec: Any, tmp_path: Path) -> None:
    server.behaviour = lambda n: "hang"
    child = start_command(make_spec(processes=2), tmp_path / "result.json", tmp_path / "tmp")
    eventually(lambda: len(server.bodies) == 4)
    clients = children_of(child.pid)
    child.kill()
    child.communicate(timeout=PATIENCE_S)
    eventually(lambda: not any(alive(pid) for pid in clients))


def test_progress_shows_while_a_point_runs(server: Server, make_spec: Any, tmp_path: Path) -> None:
    server.behaviour = lambda n: "hang" if n == 11 else "answer"
    spec = make_spec(request_timeout_s=4.0, max_failed_fraction=0.1)
    child = start_command(spec, tmp_path / "result.json", tmp_path / "tmp")
    path = tmp_path / "progress.json"
    shown = eventually(
        lambda: path.exists() and (text := json.loads(path.read_text()))["done"] == 11 and text
    )
    assert {key: shown[key] for key in ("point", "phase", "asked", "failed")} == {
        "point": "c4",
        "phase": "measure",
        "asked": 12,
        "failed": 0,
    }
    assert child.wait(PATIENCE_S) == 0
    assert not path.exists()
    child.communicate()


def test_an_unwritable_place_is_one_sentence(make_spec: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LoadgenError, match=r"cannot write to .*file"):
        measure(make_spec(), tmp_path / "file" / "result.json")

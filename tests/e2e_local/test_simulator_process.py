"""The simulator as its own process: endpoints, exact token counts, timing, life and death."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from servesweep.simulator.child_process import SimulatorProcess, running_simulator
from servesweep.simulator.model_directory import write_model_directory

TTFT_S, ITL_S = 0.030, 0.010
PROMPTS: dict[str, dict[str, Any]] = {
    "/v1/completions": {"prompt": [11, 12, 13, 14]},
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "one two three four"}]},
}
ENDPOINTS = sorted(PROMPTS)


@dataclass
class Answer:
    """An answer, and for a stream its events with the seconds after sending at which each arrived."""

    status: int
    body: dict[str, Any] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    sent: float = 0.0
    timetable: dict[str, float] = field(default_factory=dict)
    done: bool = False

    @property
    def token_events(self) -> list[dict[str, Any]]:
        return [event for event in self.events if event["choices"]]


def get(url: str) -> tuple[int, Any]:
    try:
        with urllib.request.urlopen(url, timeout=10) as response:
            status, body = response.status, response.read()
    except urllib.error.HTTPError as error:
        status, body = error.code, error.read()
    return status, json.loads(body) if body.startswith((b"{", b"[")) else body.decode()


def ask(url: str, endpoint: str = "/v1/completions", timeout: float = 30.0, **body: Any) -> Answer:
    data = json.dumps({"model": "tiny"} | PROMPTS[endpoint] | body).encode()
    return post(url, endpoint, data, timeout)


def post(url: str, endpoint: str, data: bytes, timeout: float = 30.0) -> Answer:
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=timeout)
    sent = time.perf_counter()
    connection.request("POST", endpoint, data, {"Content-Type": "application/json"})
    response = connection.getresponse()
    answer = Answer(response.status)
    if not response.headers["Content-Type"].startswith("text/event-stream"):
        answer.body = json.loads(response.read())
        return answer
    told = response.headers["Simulator-Timetable"].split(", ")
    answer.timetable = {name: float(value) for name, value in (pair.split("=") for pair in told)}
    answer.sent = sent
    for line in response:
        if line == b"data: [DONE]\n":
            answer.done = True
        elif line.startswith(b"data: "):
            answer.times.append(time.perf_counter() - sent)
            answer.events.append(json.loads(line.removeprefix(b"data: ")))
    return answer


def wait_for(url: str, status: int, within_s: float = 20.0) -> float:
    """Ask `url` until it answers `status`; give the seconds that took."""
    begun = time.monotonic()
    while get(url)[0] != status:
        assert time.monotonic() - begun < within_s, f"{url} never answered {status}"
        time.sleep(0.02)
    return time.monotonic() - begun


@pytest.fixture(scope="module")
def simulator() -> Iterator[SimulatorProcess]:
    with running_simulator("--model-name", "tiny", "--ttft-ms", "30", "--itl-ms", "10") as running:
        yield running


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_a_stream_has_one_event_per_token(simulator: SimulatorProcess, endpoint: str) -> None:
    answer = ask(
        simulator.url,
        endpoint,
        max_tokens=12,
        stream=True,
        ignore_eos=True,
        stream_options={"include_usage": True},
    )
    assert (answer.status, answer.done, len(answer.token_events)) == (200, True, 12)
    reasons = [event["choices"][0]["finish_reason"] for event in answer.token_events]
    assert reasons == [None] * 11 + ["length"]
    assert {event["model"] for event in answer.events} == {"tiny"}
    usage = {"prompt_tokens": 4, "completion_tokens": 12, "total_tokens": 16}
    assert [event["usage"] for event in answer.events] == [None] * 12 + [usage]


@pytest.mark.parametrize("endpoint", ENDPOINTS)
@pytest.mark.parametrize("tokens", [1, 2, 30])
def test_streamed_and_unstreamed_answers_hold_the_same_tokens(
    simulator: SimulatorProcess, endpoint: str, tokens: int
) -> None:
    whole = ask(simulator.url, endpoint, max_tokens=tokens).body
    stream = ask(simulator.url, endpoint, max_completion_tokens=tokens, stream=True)
    assert whole["usage"]["completion_tokens"] == len(stream.token_events) == tokens
    if endpoint == "/v1/completions":
        text = whole["choices"][0]["text"]
        parts = [event["choices"][0]["text"] for event in stream.token_events]
    else:
        text = whole["choices"][0]["message"]["content"]
        parts = [event["choices"][0]["delta"]["content"] for event in stream.token_events]
    assert "".join(parts) == text
    assert len(text.split()) == tokens


def test_no_token_comes_before_it_is_due(simulator: SimulatorProcess) -> None:
    times = ask(simulator.url, max_tokens=20, stream=True).times
    # The clock here starts before the request arrives there, so due times are exact lower bounds.
    assert all(seen >= TTFT_S + token * ITL_S for token, seen in enumerate(times))
    assert times[-1] < 5.0


def test_the_timetable_is_told_on_the_clock_of_the_machine(simulator: SimulatorProcess) -> None:
    answer = ask(simulator.url, max_tokens=5, stream=True)
    assert (answer.timetable["ttft"], answer.timetable["itl"]) == (TTFT_S, ITL_S)
    first_due = answer.timetable["admission"] + TTFT_S
    assert answer.sent + TTFT_S <= first_due <= answer.sent + answer.times[0]


def test_an_unstreamed_answer_comes_when_its_last_token_is_due(simulator: SimulatorProcess) -> None:
    sent = time.perf_counter()
    ask(simulator.url, max_tokens=11)
    assert TTFT_S + 10 * ITL_S <= time.perf_counter() - sent < 5.0


def test_what_is_refused(simulator: SimulatorProcess) -> None:
    assert ask(simulator.url, model="huge").status == 404
    assert ask(simulator.url, model="huge").body["error"]["type"] == "NotFoundError"
    assert post(simulator.url, "/v1/completions", b"{not json").status == 400
    assert ask(simulator.url, max_tokens=200_000).status == 400
    assert ask(simulator.url, prompt=["two", "prompts"]).body["error"]["param"].startswith("prompt")


def test_what_it_tells_about_itself(simulator: SimulatorProcess) -> None:
    assert get(f"{simulator.url}/health")[0] == 200
    (model,) = get(f"{simulator.url}/v1/models")[1]["data"]
    assert (model["id"], model["max_model_len"]) == ("tiny", 131072)
    for path in ("/model_info", "/get_model_info", "/server_info", "/get_server_info"):
        assert get(f"{simulator.url}{path}")[1]["served_model_name"] == "tiny"
    assert get(f"{simulator.url}/server_info")[1]["port"] == simulator.port
    assert set(get(f"{simulator.url}/version")[1]) == {"version"}


def metrics(url: str) -> dict[str, int]:
    lines = get(f"{url}/metrics")[1].splitlines()
    samples = [line.split() for line in lines if not line.startswith("#")]
    return {name.split("{")[0].removeprefix("simulator_"): int(value) for name, value in samples}


def test_counters_count() -> None:
    with running_simulator("--model-name", "tiny", "--ttft-ms", "1", "--itl-ms", "1") as running:
        ask(running.url, max_tokens=5)
        ask(running.url, max_tokens=7, stream=True)
        ask(running.url, model="huge")
        assert metrics(running.url) == {
            "requests_running": 0,
            "requests_waiting": 0,
            "requests_total": 3,
            "requests_success_total": 2,
            "requests_failed_total": 1,
            "prompt_tokens_total": 8,
            "generation_tokens_total": 12,
        }


def test_requests_beyond_max_num_seqs_wait_their_turn() -> None:
    arguments = ("--model-name", "tiny", "--ttft-ms", "100", "--itl-ms", "0", "--max-num-seqs", "1")
    with running_simulator(*arguments) as running, ThreadPoolExecutor(3) as threads:
        answers = list(threads.map(lambda _: ask(running.url, stream=True), range(3)))
    first, second, third = sorted(answer.timetable["admission"] for answer in answers)
    assert second - first >= 0.0999  # the header tells microseconds
    assert third - second >= 0.0999


def test_a_client_that_leaves_frees_its_slot() -> None:
    arguments = ("--model-name", "tiny", "--ttft-ms", "0", "--itl-ms", "100", "--max-num-seqs", "1")
    with running_simulator(*arguments) as running:
        body = json.dumps({"model": "tiny", "prompt": "a", "max_tokens": 100_000, "stream": True})
        leaving = http.client.HTTPConnection(running.url.removeprefix("http://"), timeout=10)
        leaving.request("POST", "/v1/completions", body)
        response = leaving.getresponse()
        assert response.readline().startswith(b"data: ")
        response.close()
        leaving.close()
        assert ask(running.url, max_tokens=1, stream=True).done
        assert metrics(running.url)["requests_failed_total"] == 1


def test_the_itl_grows_with_the_running_requests() -> None:
    arguments = ("--model-name", "tiny", "--ttft-ms", "500", "--itl-ms", "1", "--itl-slope-ms", "20")
    with running_simulator(*arguments) as running, ThreadPoolExecutor(3) as threads:
        answers = list(threads.map(lambda _: ask(running.url, stream=True, max_tokens=11), range(3)))
    # Admitted as first, second and third of the running requests.
    assert sorted(answer.timetable["itl"] for answer in answers) == [0.001, 0.021, 0.041]
    for answer in answers:
        last_due = answer.timetable["admission"] + 0.5 + 10 * answer.timetable["itl"]
        assert answer.sent + answer.times[-1] >= last_due - 1e-5


def test_prompt_tokens_are_counted_with_the_models_tokenizer(tmp_path: Path) -> None:
    write_model_directory(tmp_path / "tiny")
    with running_simulator("--model-name", "tiny", "--model-path", str(tmp_path / "tiny")) as running:
        short = ask(running.url, prompt="baba <|end|><|end|> bebe", max_tokens=1)
        long = ask(running.url, prompt="baba " * 5000, max_tokens=1)
    assert short.body["usage"]["prompt_tokens"] == 4
    assert long.body["usage"]["prompt_tokens"] == 5000


def test_an_end_of_sequence_is_a_stop() -> None:
    with running_simulator("--model-name", "tiny", "--eos-after", "3") as running:
        short = ask(running.url, max_tokens=9, stream=True)
        full = ask(running.url, max_tokens=9, stream=True, ignore_eos=True)
    assert [event["choices"][0]["finish_reason"] for event in short.events] == [None, None, "stop"]
    assert len(full.token_events) == 9


def test_start_up_is_503_and_then_200() -> None:
    with running_simulator("--model-name", "tiny", "--startup-s", "1") as running:
        assert get(f"{running.url}/health")[0] == 503
        assert get(f"{running.url}/v1/models")[0] == 503
        assert ask(running.url).status == 503
        wait_for(f"{running.url}/health", 200)
        assert ask(running.url).status == 200


def test_sigterm_ends_it_within_a_second_also_in_the_middle_of_a_stream() -> None:
    with (
        running_simulator("--model-name", "tiny", "--itl-ms", "1000") as running,
        ThreadPoolExecutor(1) as threads,
    ):
        stream = threads.submit(ask, running.url, stream=True, max_tokens=1000)
        while metrics(running.url)["generation_tokens_total"] == 0:
            time.sleep(0.02)
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(timeout=5) == 0  # a second is meant; a busy machine gets more
        cut = stream.result(timeout=5)
        assert (len(cut.token_events), cut.done) == (1, False)
        assert running.stderr() == ""


def test_a_taken_port_is_one_sentence(simulator: SimulatorProcess) -> None:
    argv = ("--model-name", "tiny", "--port", str(simulator.port))
    with (
        pytest.raises(RuntimeError, match=r"exit code 1: simulator: .*Address already in use"),
        running_simulator(*argv),
    ):
        pass


def test_a_taken_bootstrap_port_is_noticed_too() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        argv = ("--model-name", "t", "--mode", "prefill", "--bootstrap-port", str(taken.getsockname()[1]))
        with pytest.raises(RuntimeError, match="Address already in use"), running_simulator(*argv):
            pass


def test_the_bootstrap_port_answers() -> None:
    with running_simulator("--model-name", "t", "--mode", "prefill", "--bootstrap-port", "0") as running:
        port = get(f"{running.url}/server_info")[1]["disaggregation_bootstrap_port"]
        assert port > 0
        assert [get(f"http://127.0.0.1:{port}{path}")[0] for path in ("/health", "/route")] == [200, 200]


def test_fault_slow_start() -> None:
    with running_simulator("--model-name", "tiny", "--fault", "slow-start:1") as running:
        assert get(f"{running.url}/health")[0] == 503
        wait_for(f"{running.url}/health", 200)


def test_fault_never_healthy() -> None:
    with running_simulator("--model-name", "tiny", "--fault", "never-healthy") as running:
        time.sleep(0.3)
        assert get(f"{running.url}/health")[0] == 503
        assert running.process.poll() is None


def test_fault_crash_at_start() -> None:
    with (
        pytest.raises(RuntimeError, match="exit code 7: simulator: told to crash at start"),
        running_simulator("--model-name", "tiny", "--fault", "crash-at-start:7"),
    ):
        pass


@pytest.mark.parametrize("stream", [True, False])
def test_fault_crash_after(stream: bool) -> None:
    with running_simulator("--model-name", "tiny", "--fault", "crash-after:2:9") as running:
        assert ask(running.url, stream=stream, model="huge").status == 404  # a refusal completes nothing
        first, second = (ask(running.url, stream=stream, max_tokens=3) for _ in range(2))
        assert (first.done, second.done, first.status, second.status) == (stream, stream, 200, 200)
        assert running.process.wait(timeout=5) == 9


def test_fault_errors() -> None:
    with running_simulator("--model-name", "tiny", "--fault", "errors:0.5", "--ttft-ms", "0") as running:
        statuses = [ask(running.url, max_tokens=1).status for _ in range(10)]
    assert sorted(statuses) == [200] * 5 + [500] * 5


def test_fault_empty() -> None:
    with running_simulator("--model-name", "tiny", "--fault", "empty") as running:
        stream = ask(running.url, stream=True, stream_options={"include_usage": True})
        whole = ask(running.url)
    assert (stream.status, stream.done, stream.token_events) == (200, True, [])
    assert [event["usage"]["completion_tokens"] for event in stream.events] == [0]
    assert (whole.status, whole.body["choices"][0]["text"]) == (200, "")


def test_fault_wrong_model() -> None:
    with running_simulator("--model-name", "tiny", "--fault", "wrong-model:other") as running:
        assert get(f"{running.url}/v1/models")[1]["data"][0]["id"] == "other"
        answer = ask(running.url, stream=True, max_tokens=2)
    assert {event["model"] for event in answer.events} == {"other"}


def test_fault_hang_after() -> None:
    with running_simulator("--model-name", "tiny", "--fault", "hang-after:1:2") as running:
        assert len(ask(running.url, stream=True, max_tokens=4).token_events) == 4
        with ThreadPoolExecutor(1) as threads:
            hanging = threads.submit(ask, running.url, stream=True, max_tokens=4, timeout=1.0)
            with pytest.raises(TimeoutError):
                hanging.result(timeout=10)
        assert metrics(running.url)["generation_tokens_total"] == 4 + 2
        assert get(f"{running.url}/health")[0] == 200


def test_fault_fatal_log() -> None:
    with running_simulator("--model-name", "tiny", "--fault", "fatal-log:CUDA error: no device") as running:
        wait_for(f"{running.url}/health", 200)
        assert running.stderr() == "CUDA error: no device\n"
        assert running.process.poll() is None


def test_an_unknown_option_is_refused() -> None:
    argv = ("--model-name", "tiny", "--tensor-parallel-size", "2")
    with (
        pytest.raises(RuntimeError, match="unrecognized arguments: --tensor-parallel-size"),
        running_simulator(*argv),
    ):
        pass


def test_the_process_is_gone_when_the_block_ends() -> None:
    with running_simulator("--model-name", "tiny") as running:
        process: subprocess.Popen[str] = running.process
    assert process.returncode == 0

"""Real routers in front of real simulators: SGLang's and vLLM's, plain and disaggregated."""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from servesweep.simulator.child_process import SimulatorProcess, running_simulator

TOKENS = 5
TTFT_S, ITL_S = 0.100, 0.005
ENDPOINTS: dict[str, dict[str, Any]] = {
    "/v1/completions": {"prompt": "one two three"},
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "one two three"}]},
}


def needs(package: str) -> pytest.MarkDecorator:
    # In CI it runs, and fails.
    missing = importlib.util.find_spec(package) is None and os.environ.get("CI") != "true"
    return pytest.mark.skipif(missing, reason=f"the package {package} is not installed")


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [listener.getsockname()[1] for listener in sockets]


def get(url: str) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(url, timeout=10) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()
    except OSError:
        return 0, b""


@contextmanager
def running_router(module: str, *arguments: str) -> Iterator[str]:
    """Run a router until it says it is ready; give its address."""
    port, prometheus = free_ports(2)
    argv = [sys.executable, "-m", f"{module}.launch_router", "--policy", "round_robin"]
    argv += ["--host", "127.0.0.1", "--port", str(port)]
    argv += ["--prometheus-host", "127.0.0.1", "--prometheus-port", str(prometheus), *arguments]
    url = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryFile("w+") as log, subprocess.Popen(argv, stdout=log, stderr=log) as process:
        try:
            deadline = time.monotonic() + 60
            while get(f"{url}/readiness")[0] != 200:
                log.seek(0)
                assert process.poll() is None, log.read()
                assert time.monotonic() < deadline, log.read()
                time.sleep(0.1)
            yield url
        finally:
            process.terminate()
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                process.kill()


def post(url: str, endpoint: str, stream: bool) -> tuple[list[str], dict[str, int], float]:
    """Ask a router for TOKENS tokens; give the token texts, usage, seconds until the first one."""
    body = {"model": "tiny", "max_tokens": TOKENS, "ignore_eos": True, "stream": stream} | ENDPOINTS[endpoint]
    if stream:
        body["stream_options"] = {"include_usage": True}
    request = urllib.request.Request(
        url + endpoint, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    sent = time.perf_counter()
    with urllib.request.urlopen(request, timeout=30) as response:
        if not stream:
            answer = json.loads(response.read())
            choice = answer["choices"][0]
            text = choice["text"] if "text" in choice else choice["message"]["content"]
            return text.split(), answer["usage"], time.perf_counter() - sent
        texts: list[str] = []
        usage: dict[str, int] = {}
        first = 0.0
        for line in response:
            if not line.startswith(b"data: {"):
                continue
            event = json.loads(line.removeprefix(b"data: "))
            usage = event["usage"] or usage
            for choice in event["choices"]:
                first = first or time.perf_counter() - sent
                texts.append(choice["text"] if "text" in choice else choice["delta"]["content"])
        return texts, usage, first


def served_requests(simulator: SimulatorProcess) -> int:
    lines = get(f"{simulator.url}/metrics")[1].decode().splitlines()
    (line,) = [line for line in lines if line.startswith("simulator_requests_success_total{")]
    return int(line.split()[1])


@contextmanager
def simulators(*modes: str) -> Iterator[list[SimulatorProcess]]:
    timing = ("--ttft-ms", str(TTFT_S * 1000), "--itl-ms", str(ITL_S * 1000))
    with ExitStack() as stack:
        yield [
            stack.enter_context(
                running_simulator(
                    "--model-name", "tiny", "--mode", mode.split(":")[0], *timing, *mode.split(":")[1:]
                )
            )
            for mode in modes
        ]


def check_all_four_ways_of_asking(router: str) -> None:
    for endpoint in ENDPOINTS:
        for stream in (False, True):
            texts, usage, first = post(router, endpoint, stream)
            assert len(texts) == TOKENS, (endpoint, stream)
            assert usage["completion_tokens"] == TOKENS
            assert usage["prompt_tokens"] == 3
            assert first >= TTFT_S


@pytest.mark.parametrize(
    "module",
    [
        pytest.param("sglang_router", marks=needs("sglang_router")),
        pytest.param("vllm_router", marks=needs("vllm_router")),
    ],
)
def test_a_router_spreads_requests_over_two_agg_workers(module: str) -> None:
    with (
        simulators("agg", "agg") as workers,
        running_router(module, "--worker-urls", *(worker.url for worker in workers)) as router,
    ):
        check_all_four_ways_of_asking(router)
        assert [served_requests(worker) for worker in workers] == [2, 2]
        assert b'"tiny"' in get(f"{router}/v1/models")[1]
        assert [worker.stderr() for worker in workers] == ["", ""]


@needs("sglang_router")
def test_sglang_router_sends_a_request_to_both_workers_at_once() -> None:
    (bootstrap,) = free_ports(1)
    with simulators(f"prefill:--bootstrap-port:{bootstrap}", "decode", "decode") as workers:
        prefill, *decodes = workers
        arguments = ["--pd-disaggregation", "--prefill", prefill.url, str(bootstrap)]
        for decode in decodes:
            arguments += ["--decode", decode.url]
        with running_router("sglang_router", *arguments) as router:
            check_all_four_ways_of_asking(router)
            assert [served_requests(worker) for worker in workers] == [4, 2, 2]
            assert [worker.stderr() for worker in workers] == ["", "", ""]


@needs("vllm_router")
def test_vllm_router_sends_a_request_to_the_prefill_worker_first() -> None:
    with simulators("prefill", "decode", "decode") as workers:
        prefill, *decodes = workers
        arguments = ["--vllm-pd-disaggregation", "--prefill", prefill.url]
        for decode in decodes:
            arguments += ["--decode", decode.url]
        with running_router("vllm_router", *arguments) as router:
            check_all_four_ways_of_asking(router)
            assert [served_requests(worker) for worker in workers] == [4, 2, 2]
            # Charged once: a decode worker that charged the TTFT again could not answer before twice of it.
            assert min(post(router, "/v1/completions", stream=True)[2] for _ in range(3)) < 2 * TTFT_S
            assert [worker.stderr() for worker in workers] == ["", "", ""]

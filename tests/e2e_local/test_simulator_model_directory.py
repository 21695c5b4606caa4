"""The model directory in front of the real thing: Dynamo's frontend and mocker start from it."""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from servesweep.simulator.model_directory import write_model_directory

# In CI it runs, and fails.
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("dynamo") is None and os.environ.get("CI") != "true",
    reason="the package ai-dynamo is not installed",
)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def fetch(url: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as response:
        decoded: dict[str, Any] = json.loads(response.read())
        return decoded


def served_models(url: str) -> list[str]:
    try:
        return [model["id"] for model in fetch(f"{url}/v1/models")["data"]]
    except (urllib.error.URLError, OSError):
        return []


@pytest.fixture(scope="module")
def frontend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run Dynamo's frontend and one mocker on a fresh model directory; give the frontend's address."""
    scratch: Path = tmp_path_factory.mktemp("dynamo")
    write_model_directory(scratch / "model")
    hosts = ("DYN_TCP_RPC_HOST", "DYN_EVENT_PLANE_HOST", "DYN_SYSTEM_HOST", "DYN_TCP_RESPONSE_STREAM_HOST")
    environment = os.environ | dict.fromkeys(hosts, "127.0.0.1")
    environment |= {"DYN_DISCOVERY_BACKEND": "file", "DYN_FILE_KV": str(scratch / "discovery")}
    port = free_port()
    commands = [
        ["dynamo.frontend", "--http-host", "127.0.0.1", "--http-port", str(port)],
        ["dynamo.mocker", "--model-path", str(scratch / "model"), "--model-name", "tiny"],
    ]
    url = f"http://127.0.0.1:{port}"
    with (scratch / "log").open("w+") as log:
        processes = [
            subprocess.Popen([sys.executable, "-m", *command], env=environment, stdout=log, stderr=log)
            for command in commands
        ]
        try:
            deadline = time.monotonic() + 60
            while "tiny" not in served_models(url):
                assert time.monotonic() < deadline, (scratch / "log").read_text()
                assert all(process.poll() is None for process in processes), (scratch / "log").read_text()
                time.sleep(0.2)
            yield url
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                try:
                    process.wait(timeout=10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


def test_a_chat_is_answered(frontend: str) -> None:
    messages = [{"role": "user", "content": "baba bebe"}]
    body = {"model": "tiny", "messages": messages, "max_tokens": 5, "ignore_eos": True}
    answer = fetch(f"{frontend}/v1/chat/completions", body)
    assert answer["choices"][0]["message"]["content"].split()
    # <|user|> baba bebe <|end|> <|assistant|>: the chat template is applied, each of its parts is one token.
    assert answer["usage"]["prompt_tokens"] == 5
    assert answer["usage"]["completion_tokens"] == 5


def test_a_completion_of_token_ids_is_answered(frontend: str) -> None:
    body = {"model": "tiny", "prompt": [100, 200, 300], "max_tokens": 7, "ignore_eos": True}
    answer = fetch(f"{frontend}/v1/completions", body)
    assert (answer["usage"]["prompt_tokens"], answer["usage"]["completion_tokens"]) == (3, 7)

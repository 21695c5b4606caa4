"""`make fidelity`: how truly clients measure a server whose times are known, and how much they take in.

Not a test: it times, and so it only prints, in the form of docs/client-fidelity.md. Each tool runs alone on
one core, the server on another, in turn; what else the machine does shows in all of them. The tools that are
no part of this project get environments of their own, below SERVESWEEP_BENCH_VENVS.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from clients import CLIENTS, FIGURES, MODEL, Client, Figures, Load

SERVER_CPU, CLIENT_CPU = "0", "1"
HERE = Path(__file__).parent
TTFT_MS = 100.0
OSL = 64
# At 512 the server's own core must not be what is measured: 50 ms make 10,000 tokens a second.
LEVELS = {1: 20.0, 16: 20.0, 128: 20.0, 512: 50.0}
ROUNDS = {1: 16, 16: 6, 128: 4, 512: 4}
TAKEN_IN = Load("", concurrency=64, requests=128, osl=1000, warmup=8)
LONGEST_S = 600


def main() -> None:
    """Install, run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--client", action="append", help="only this one; may be given again")
    parser.add_argument("--level", action="append", type=int, help="only this concurrency")
    parser.add_argument("--without-rate", action="store_true", help="do not ask how much they take in")
    options = parser.parse_args()
    clients = []
    for client in CLIENTS:
        if options.client and client.name not in options.client:
            continue
        problem = client.install()
        print(f"{client.name}: left out, {problem}" if problem else f"{client.name}: ready", file=sys.stderr)
        clients += [] if problem else [client]
    print(f"1-minute load of the machine before: {os.getloadavg()[0]:.2f}\n")
    print(table_head())
    for level in options.level or LEVELS:
        for client in clients:
            with simulator(LEVELS[level]) as url:
                load = Load(url, level, level * ROUNDS[level], OSL, min(level, 64))
                print(row(client, level, measured(client, load)), flush=True)
    if not options.without_rate:
        print("\n| client | output tok/s taken in by one core | its own word on that |\n|---|---|---|")
        for client in clients:
            with firehose() as url:
                load = Load(url, TAKEN_IN.concurrency, TAKEN_IN.requests, TAKEN_IN.osl, TAKEN_IN.warmup)
                print(rate_row(client, measured(client, load)), flush=True)


def measured(client: Client, load: Load) -> Figures | str:
    """Run a client on its core; the figures, or one clause on what went wrong."""
    scratch = Path(tempfile.mkdtemp(prefix="client-bench-"))
    words = ["taskset", "-c", CLIENT_CPU, str(client.python), *client.words(load, scratch)]
    environment = {**os.environ, **client.environment}
    try:
        with (scratch / "output").open("w") as told:
            code = subprocess.run(
                words, env=environment, cwd=scratch, stdout=told, stderr=told, timeout=LONGEST_S, check=False
            ).returncode
        return client.read(scratch)
    except subprocess.TimeoutExpired:
        return f"took more than {LONGEST_S} s"
    except (OSError, ValueError, KeyError, TypeError) as error:
        return f"ended with code {code}, no result ({error!r})"
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def truth(level: int) -> tuple[dict[str, float], float]:
    """TTFT, ITL and TPOT that the server keeps, ms, and the throughput that follows, tok/s."""
    itl = LEVELS[level]
    seconds = (TTFT_MS + (OSL - 1) * itl) / 1e3
    return {"ttft": TTFT_MS, "itl": itl, "tpot": itl}, level * OSL / seconds


def table_head() -> str:
    """The columns: errors in ms of means and 99th percentiles, and of the throughput in percent."""
    names = [f"{name.upper()} {figure}" for name in FIGURES for figure in ("mean", "p99")]
    columns = ["concurrency", "client", *(f"{name}, ms off" for name in names), "tok/s, % off"]
    return "| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|"


def row(client: Client, level: int, found: Figures | str) -> str:
    """One client at one level."""
    if isinstance(found, str):
        return f"| {level} | {client.name} | {found} |"
    true, rate = truth(level)
    cells = []
    for name in FIGURES:
        for figures in (found.mean, found.p99):
            value = figures[name]
            cells.append("–" if value is None else f"{value - true[name]:+.2f}")
    cells.append(f"{100 * (found.output_tok_s / rate - 1):+.1f}")
    told = client.name + (" (says: saturated)" if found.saturated else "")
    if found.completed != level * ROUNDS[level]:
        told += f" ({found.completed} requests)"
    return "| " + " | ".join([str(level), told, *cells]) + " |"


def rate_row(client: Client, found: Figures | str) -> str:
    """How much one client took in."""
    if isinstance(found, str):
        return f"| {client.name} | {found} | |"
    word = {True: "saturated", False: "kept up", None: "nothing"}[found.saturated]
    return f"| {client.name} | {found.output_tok_s:,.0f} | {word} |"


@contextlib.contextmanager
def simulator(itl_ms: float) -> Iterator[str]:
    """The project's simulator on the server's core."""
    words = ["-m", "servesweep.simulator", "--model-name", "tiny", "--model-path", str(MODEL)]
    with serving([*words, "--ttft-ms", str(TTFT_MS), "--itl-ms", str(itl_ms), "--port"]) as url:
        yield url


@contextlib.contextmanager
def firehose() -> Iterator[str]:
    """The server that only sends."""
    with serving([str(HERE / "firehose.py")]) as url:
        yield url


@contextlib.contextmanager
def serving(words: list[str]) -> Iterator[str]:
    """A server process whose last word is its port; ready when it answers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = ["taskset", "-c", SERVER_CPU, sys.executable, *words, str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"{url}/v1/models", timeout=5).read()
                break
            time.sleep(0.1)
        yield url
    finally:
        server.kill()
        server.wait()


if __name__ == "__main__":
    main()

"""`make fidelity`: how truly clients measure a server whose times are known, and how much they take in.

Not a test: it times, and so it only prints, in the form of docs/client-fidelity.md. Each tool runs on one
core, the server on another, in turn and several times over; root gives both precedence over whatever else the
machine does. The tools that are no part of this project get environments of their own, below
SERVESWEEP_BENCH_VENVS.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from clients import CLIENTS, FIGURES, MODEL, Client, Figures, Load

SERVER_CPU, CLIENT_CPU = "0", "1"
HERE = Path(__file__).parent
FIREHOSE = str(HERE / "firehose.py")
TTFT_MS = 100.0
OSL = 64
# At 512 the server's own core must not be what is measured: 50 ms make 10,000 tokens a second.
LEVELS = {1: 20.0, 16: 20.0, 128: 20.0, 512: 50.0}
ROUNDS = {1: 16, 16: 6, 128: 4, 512: 4}
TAKEN_IN = Load("", concurrency=64, requests=128, osl=1000, warmup=8)
RATE = 0
SERVERS = ("metronome", "simulator")
LONGEST_S = 600


def main() -> None:
    """Install, run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--client", action="append", help="only this one; may be given again")
    parser.add_argument("--level", action="append", type=int, help="only this concurrency")
    parser.add_argument("--repeats", type=int, default=3, help="how often all is run; the median is printed")
    parser.add_argument("--server", choices=SERVERS, default="metronome", help="what keeps the times")
    parser.add_argument("--without-rate", action="store_true", help="do not ask how much they take in")
    options = parser.parse_args()
    clients = [client for client in CLIENTS if client.name in (options.client or [client.name])]
    problems = {client.name: client.install() for client in clients}
    levels = options.level or list(LEVELS)
    found: dict[tuple[str, int], list[Figures | str]] = {}
    busy = []
    for _ in range(options.repeats):
        for level in [*levels, *([] if options.without_rate else [RATE])]:
            for client in clients:
                busy.append(os.getloadavg()[0])
                seen = problems[client.name] or measured(client, level, options.server)
                found.setdefault((client.name, level), []).append(seen)
                print(f"{client.name} {level or 'rate'}: {seen}", file=sys.stderr, flush=True)
    print(f"1-minute load of the machine meanwhile: {min(busy):.1f} to {max(busy):.1f}\n")
    print(table_head())
    for level in levels:
        for client in clients:
            print(row(client, level, middle(found[client.name, level])))
    if not options.without_rate:
        print("\n| client | output tok/s taken in by one core | its own word on that |\n|---|---|---|")
        for client in clients:
            print(rate_row(client, middle(found[client.name, RATE])))


def measured(client: Client, level: int, server: str) -> Figures | str:
    """One measurement at one level, or of the rate, on a server of its own."""
    timed = metronome if server == "metronome" else simulator
    with firehose() if level == RATE else timed(LEVELS[level]) as url:
        if level == RATE:
            return run(client, replace(TAKEN_IN, url=url))
        return run(client, Load(url, level, level * ROUNDS[level], OSL, min(level, 64)))


def middle(seen: list[Figures | str]) -> Figures | str:
    """The median of each figure over the repeats; the last problem when there are no figures."""
    good = [figures for figures in seen if not isinstance(figures, str)]
    if not good:
        return seen[-1]

    def median(values: list[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return statistics.median(known) if known else None

    return Figures(
        {name: median([figures.mean[name] for figures in good]) for name in FIGURES},
        {name: median([figures.p99[name] for figures in good]) for name in FIGURES},
        statistics.median(figures.output_tok_s for figures in good),
        round(statistics.median(figures.completed for figures in good)),
        None
        if good[0].saturated is None
        else sum(bool(figures.saturated) for figures in good) * 2 > len(good),
    )


def run(client: Client, load: Load) -> Figures | str:
    """Run a client on its core; the figures, or one clause on what went wrong."""
    scratch = Path(tempfile.mkdtemp(prefix="client-bench-"))
    words = [str(client.python), *client.words(load, scratch)]
    environment = {**os.environ, **client.environment}
    try:
        with (scratch / "output").open("w") as told:
            process = first_on(CLIENT_CPU, words, env=environment, cwd=scratch, stdout=told, stderr=told)
            try:
                code = process.wait(LONGEST_S)
            except subprocess.TimeoutExpired:
                return f"took more than {LONGEST_S} s"
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        return client.read(scratch)
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


def first_on(cpu: str, words: list[str], *, exact: bool = False, **more: Any) -> subprocess.Popen[bytes]:
    """Start a command on this core, and before everything else there, where one may ask that.

    Linux weighs sessions against each other before it looks at single processes (sched(7), autogroup). What
    is `exact` waits for nothing; clients of several processes do worse under that, so no client gets it.
    """
    process = subprocess.Popen(["taskset", "-c", cpu, *words], start_new_session=True, **more)
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PGRP, process.pid, -20)
        Path(f"/proc/{process.pid}/autogroup").write_text("-20")
        if exact:
            os.sched_setscheduler(process.pid, os.SCHED_RR, os.sched_param(1))
    return process


@contextlib.contextmanager
def simulator(itl_ms: float) -> Iterator[str]:
    """The project's simulator on the server's core."""
    words = ["-m", "servesweep.simulator", "--model-name", "tiny", "--model-path", str(MODEL)]
    with serving([*words, "--ttft-ms", str(TTFT_MS), "--itl-ms", str(itl_ms), "--port"]) as url:
        yield url


@contextlib.contextmanager
def metronome(itl_ms: float) -> Iterator[str]:
    """The server that keeps exact times."""
    with serving([str(HERE / "metronome.py"), str(TTFT_MS), str(itl_ms)]) as url:
        yield url


@contextlib.contextmanager
def firehose() -> Iterator[str]:
    """The server that only sends."""
    with serving([FIREHOSE]) as url:
        yield url


@contextlib.contextmanager
def serving(words: list[str]) -> Iterator[str]:
    """A server process whose last word is its port; ready when it answers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    exact = FIREHOSE not in words  # which leaves nothing of its core to others
    server = first_on(SERVER_CPU, [sys.executable, *words, str(port)], exact=exact, stdout=subprocess.DEVNULL)
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

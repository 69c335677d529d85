"""Measure `taxoexpan serve` over loopback: requests per second, latency, and what overload does.

    python -m benchmarks.service_load MODEL NAMES [--seconds 30] [--clients 8]

NAMES has one new concept per line; the text after a tab is ignored. Some clients send requests one
after the other for batches of 1 and 100 concepts; then ten times as many clients do the same. A
refused client (503) sends its request again after a tenth of a second, earlier than it is told to.
The clients run on the same machine, so they take a part of its processors.
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import os
import platform
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import cycle, islice
from pathlib import Path
from queue import SimpleQueue
from urllib.parse import urlsplit

BATCHES = (1, 100)
OVERLOAD = 10
PAUSE = 0.1
HEADER = (
    "| concepts per request | clients | answered | requests/s | concepts/s | p50 | p99 "
    "| server CPU per concept | refused (503) | other | server memory |\n" + "|---" * 11 + "|"
)


@dataclass(frozen=True)
class Answer:
    """The status of one answer, or 0 for a broken connection, and the seconds that it took."""

    status: int
    seconds: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("names", type=Path)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--clients", type=int, default=8)
    options = parser.parse_args()
    names = [line.split("\t")[0] for line in options.names.read_text("utf-8").splitlines() if line]
    print(describe_machine(), flush=True)
    with running_server(options.model) as (process, url):
        print(HEADER, flush=True)
        for batch in BATCHES:
            for clients in (options.clients, OVERLOAD * options.clients):
                bodies, before = request_bodies(names, batch), cpu_seconds(process.pid)
                answers, seconds = send_load(url, bodies, clients, options.seconds)
                busy = cpu_seconds(process.pid) - before
                memory = peak_memory(process.pid)
                print(table_row(batch, clients, answers, seconds, busy, memory), flush=True)


def describe_machine() -> str:
    date, cores = datetime.now(UTC).date(), os.cpu_count()
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    return f"{date}, {platform.machine()}, {cores} cores, load average before: {load}\n"


@contextmanager
def running_server(model: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start the service; yield its process and its URL."""
    command = [sys.executable, "-m", "taxoexpan.cli.main", "serve", str(model), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.terminate()


def request_bodies(names: Sequence[str], batch: int) -> list[bytes]:
    """Return different requests with this number of concepts."""
    endless = cycle(names)
    return [
        json.dumps({"concepts": [{"label": name} for name in islice(endless, batch)]}).encode()
        for _ in range(len(names) if batch == 1 else 20)
    ]


def send_load(
    url: str, bodies: Sequence[bytes], clients: int, seconds: float
) -> tuple[list[Answer], float]:
    """Let clients send requests for some time, in a process of their own; return all answers."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(run_clients, (url, bodies, clients, seconds))


def run_clients(
    url: str, bodies: Sequence[bytes], clients: int, seconds: float
) -> tuple[list[Answer], float]:
    """Run one thread per client; return all answers, and the seconds until the last one."""
    answers: SimpleQueue[Answer] = SimpleQueue()
    began = time.monotonic()
    threads = [
        threading.Thread(
            target=send_requests,
            args=(url, islice(cycle(bodies), i, None), began + seconds, answers),
        )
        for i in range(clients)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [answers.get() for _ in range(answers.qsize())], time.monotonic() - began


def send_requests(
    url: str, bodies: Iterator[bytes], until: float, answers: SimpleQueue[Answer]
) -> None:
    """Send one request after the other on one connection until a point in time."""
    address = urlsplit(url).netloc
    connection = http.client.HTTPConnection(address, timeout=120)
    headers = {"Content-Type": "application/json"}
    while time.monotonic() < until:
        began = time.monotonic()
        try:
            connection.request("POST", "/v1/suggest", next(bodies), headers)
            response = connection.getresponse()
            response.read()
            status = response.status
        except OSError:
            connection.close()
            status = 0
        answers.put(Answer(status, time.monotonic() - began))
        if status != 200:
            time.sleep(PAUSE)


def table_row(
    batch: int,
    clients: int,
    answers: Sequence[Answer],
    seconds: float,
    busy: float,
    memory: float,
) -> str:
    """Return one row of the table in Markdown."""
    counts = Counter(answer.status for answer in answers)
    times = sorted(answer.seconds for answer in answers if answer.status == 200)
    rate = len(times) / seconds
    other = sum(count for status, count in counts.items() if status not in (200, 503))
    p50, p99 = (f"{1000 * quantile(times, q):,.0f} ms" for q in (0.5, 0.99))
    cells = (batch, clients, f"{len(times):,}", f"{rate:.1f}", f"{rate * batch:,.0f}", p50, p99)
    cells += (f"{1000 * busy / max(len(times) * batch, 1):.1f} ms",)
    cells += (f"{counts[503]:,}", other, f"{memory:,.0f} MB")
    return f"| {' | '.join(map(str, cells))} |"


def quantile(ordered: Sequence[float], fraction: float) -> float:
    """Return a quantile of sorted numbers, or nan if there are none."""
    return ordered[int(fraction * (len(ordered) - 1))] if ordered else float("nan")


def cpu_seconds(process: int) -> float:
    """Return the processor time that a process has used, whatever else the machine does (Linux)."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_memory(process: int) -> float:
    """Return the largest memory that a process has had, in megabytes (Linux)."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1000


if __name__ == "__main__":
    main()

"""A server is killed in a storm of decisions; every acknowledged decision is in the log."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from taxoexpan.desk.store.decision_store import DecisionStore
from taxoexpan.desk.store.decisions import LogEntry
from taxoexpan.desk.store.queue import QueueQuery
from taxoexpan.taxonomy import Concept
from tests.support.postgresql_server import find_programs, running_server

CLIENTS = 8
SERVER = Path(__file__).parents[2] / "support" / "store_server.py"
ANNOUNCED = re.compile(r"(?:review at http://127\.0\.0\.1:(?=\d+/)|(?=\d+$))(\d+)")
DID = re.compile(r"[?&]did=(\d+)")


class LineConnection:
    """A connection to `store_server`."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._answers = self._socket.makefile("r")

    def decide(self, concept: str, version: int, request: str) -> int:
        """Send a decision, and return its number in the log."""
        self._socket.sendall(f"{concept}\t{version}\t{request}\n".encode())
        answer = self._answers.readline()
        if not answer.endswith("\n"):
            raise ConnectionError
        return int(answer)

    def close(self) -> None:
        self._answers.close()
        self._socket.close()


class PageConnection:
    """A connection to the pages of `taxoexpan review`, as a browser has it."""

    def __init__(self, port: int) -> None:
        self._pages = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60)

    def decide(self, concept: str, version: int, request: str) -> int:
        """Send the form of a concept, and return the number of the decision in the log."""
        form = {"concept": concept, "version": str(version)}
        form |= {"action": "defer", "request": request}
        answer = self._pages.post("/decisions", data=form)
        assert answer.status_code == 303, answer.text
        found = DID.search(answer.headers["location"])
        assert found is not None
        return int(found[1])

    def close(self) -> None:
        self._pages.close()


Connect = Callable[[int], LineConnection | PageConnection]


@dataclass(frozen=True)
class ServerKind:
    """How to start a server on a store, and how to talk to it."""

    command: Sequence[str | Path]
    connect: Connect


STORE_SERVER = ServerKind([SERVER, "{url}"], LineConnection)


@dataclass
class Client:
    """Decides about one concept again and again, and remembers what was acknowledged."""

    concept: str
    acknowledged: dict[str, int] = field(default_factory=dict)
    """The number in the log by the id of the request."""
    failed: list[BaseException] = field(default_factory=list)

    def storm(self, connect: Connect, port: int, enough: Callable[[], None]) -> None:
        """Send decisions until the server dies; a request without an answer is sent again later."""
        try:
            with closing(connect(port)) as connection:
                while True:
                    version = len(self.acknowledged)
                    request = f"{self.concept}-{version}"
                    self.acknowledged[request] = connection.decide(self.concept, version, request)
                    enough()
        except (OSError, httpx.TransportError):
            pass  # the server was killed
        except BaseException as error:
            self.failed.append(error)


def storm(url: str, clients: list[Client], decisions: int, kind: ServerKind = STORE_SERVER) -> None:
    """Start a server, and kill it after a number of acknowledged decisions."""
    command = [sys.executable, *(str(part).format(url=url) for part in kind.command)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert server.stdout is not None
    left = threading.Semaphore(0)
    try:
        port = announced_port(server.stdout)
        threads = [
            threading.Thread(target=client.storm, args=(kind.connect, port, left.release))
            for client in clients
        ]
        for thread in threads:
            thread.start()
        for _ in range(decisions):
            assert left.acquire(timeout=60), [client.failed for client in clients]
    finally:
        os.kill(server.pid, signal.SIGKILL)
        server.wait(timeout=60)
        server.stdout.close()
    for thread in threads:
        thread.join(timeout=60)
    assert [error for client in clients for error in client.failed] == []


def announced_port(output: Iterable[str]) -> int:
    """Return the port that a server announces."""
    printed = []
    for line in output:
        printed.append(line)
        found = ANNOUNCED.match(line)
        if found:
            return int(found[1])
    raise AssertionError("".join(printed))


def check(url: str, clients: list[Client]) -> list[LogEntry]:
    """Check that the log has every acknowledged decision, once, under its number."""
    with DecisionStore.open(url) as store:
        log = store.log()[::-1]
        derived = store.queue(QueueQuery(limit=None))
        store.rebuild()
        assert store.queue(QueueQuery(limit=None)) == derived
    numbers = {logged.request_id: logged.number for logged in log}
    assert len(numbers) == len(log)
    assert [logged.number for logged in log] == list(range(len(log), 0, -1))
    for client in clients:
        missing = client.acknowledged.items() - numbers.items()
        assert not missing
    # At most one request per client was written without an answer.
    acknowledged = sum(len(client.acknowledged) for client in clients)
    assert acknowledged <= len(log) <= acknowledged + len(clients)
    return log


def kill_repeatedly(url: str, rounds: int, kind: ServerKind = STORE_SERVER) -> None:
    clients = [Client(f"concept {number}") for number in range(CLIENTS)]
    with DecisionStore.open(url) as store:
        store.add_concepts([Concept(f"n{n}", each.concept) for n, each in enumerate(clients)])
    for number in range(1, rounds + 1):
        # Kill it early, late, and at any step of a transaction.
        storm(url, clients, 1 + 7 * number % 40, kind)
        check(url, clients)


@pytest.fixture
def review(model_directory: Path, tmp_path: Path) -> ServerKind:
    """The command `taxoexpan review` with a model and new concepts."""
    new = tmp_path / "new.txt"
    new.write_text("".join(f"concept {number}\n" for number in range(CLIENTS)), encoding="utf-8")
    command = ["-m", "taxoexpan.cli.main", "review", model_directory, new, "--decisions", "{url}"]
    return ServerKind([*command, "--no-browser", "--quiet", "--device", "cpu"], PageConnection)


@pytest.mark.slow
def test_acknowledged_decisions_survive_kill_9(store_url: str) -> None:
    kill_repeatedly(store_url, rounds=2)


@pytest.mark.slow
def test_decisions_on_the_pages_survive_kill_9(tmp_path: Path, review: ServerKind) -> None:
    kill_repeatedly(str(tmp_path / "reviews.db"), 1, review)


@pytest.mark.slow
def test_decisions_on_the_pages_survive_kill_9_again_and_again(
    store_url: str, review: ServerKind
) -> None:
    kill_repeatedly(store_url, 50, review)


@pytest.mark.slow
def test_acknowledged_decisions_survive_a_crash_of_postgresql() -> None:
    programs = find_programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed (apt install postgresql)")
    clients = [Client("oat milk")]
    with running_server(programs) as postgresql:
        url = postgresql.new_schema()
        with DecisionStore.open(url) as store:
            store.add_concepts([Concept("", "oat milk")])
        storm(url, clients, decisions=5)
        postgresql.crash()
        assert len(check(url, clients)) >= 5

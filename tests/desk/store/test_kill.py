"""A server is killed in a storm of decisions; every acknowledged decision is in the log."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from postgresql_server import PostgresqlServer

from taxoexpan.desk.store.decision_store import DecisionStore
from taxoexpan.desk.store.queue_query import QueueQuery
from taxoexpan.desk.store.records import LoggedDecision
from taxoexpan.taxonomy import Concept

CLIENTS = 8
SERVER = Path(__file__).parents[2] / "store_server.py"


@dataclass
class Client:
    """Decides about one concept again and again, and remembers what was acknowledged."""

    concept: str
    acknowledged: dict[str, int] = field(default_factory=dict)
    """The number in the log by the id of the request."""

    def storm(self, port: int, enough: Callable[[], None]) -> None:
        """Send decisions until the server dies; a request without an answer is sent again later."""
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)) as connection:
            answers = connection.makefile("r")
            while True:
                version = len(self.acknowledged)
                request = f"{self.concept}-{version}"
                connection.sendall(f"{self.concept}\t{version}\t{request}\n".encode())
                answer = answers.readline()
                if not answer.endswith("\n"):
                    return
                self.acknowledged[request] = int(answer)
                enough()


def storm(url: str, clients: list[Client], decisions: int) -> None:
    """Start the server, and kill it after a number of acknowledged decisions."""
    server = subprocess.Popen([sys.executable, SERVER, url], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    port = int(server.stdout.readline())
    left = threading.Semaphore(0)
    threads = [
        threading.Thread(target=client.storm, args=(port, left.release)) for client in clients
    ]
    for thread in threads:
        thread.start()
    for _ in range(decisions):
        assert left.acquire(timeout=60)
    os.kill(server.pid, signal.SIGKILL)
    for thread in threads:
        thread.join(timeout=60)
    server.wait(timeout=60)
    server.stdout.close()


def check(url: str, clients: list[Client]) -> list[LoggedDecision]:
    """Check that the log has every acknowledged decision, once, under its number."""
    with DecisionStore.open(url) as store:
        log = store.history(limit=None)
        derived = store.queue(QueueQuery(limit=None))
        store.rebuild()
        assert store.queue(QueueQuery(limit=None)) == derived
    numbers = {logged.decision.request_id: logged.number for logged in log}
    assert len(numbers) == len(log)
    assert [logged.number for logged in log] == list(range(len(log), 0, -1))
    for client in clients:
        missing = client.acknowledged.items() - numbers.items()
        assert not missing
    # At most one request per client was written without an answer.
    acknowledged = sum(len(client.acknowledged) for client in clients)
    assert acknowledged <= len(log) <= acknowledged + len(clients)
    return log


def kill_repeatedly(url: str, rounds: int) -> None:
    clients = [Client(f"concept {number}") for number in range(CLIENTS)]
    with DecisionStore.open(url) as store:
        store.add_concepts([Concept("", client.concept) for client in clients])
    for number in range(rounds):
        # Kill it early, late, and at any step of a transaction.
        storm(url, clients, decisions=1 + 7 * number % 40)
        check(url, clients)


def test_acknowledged_decisions_survive_kill_9(store_url: str) -> None:
    kill_repeatedly(store_url, rounds=2)


@pytest.mark.slow
def test_acknowledged_decisions_survive_kill_9_again_and_again(store_url: str) -> None:
    kill_repeatedly(store_url, rounds=50)


def test_acknowledged_decisions_survive_a_crash_of_postgresql(
    postgresql: PostgresqlServer,
) -> None:
    url = postgresql.new_database()
    clients = [Client("oat milk")]
    with DecisionStore.open(url) as store:
        store.add_concepts([Concept("", "oat milk")])
    storm(url, clients, decisions=5)
    postgresql.crash()
    assert len(check(url, clients)) >= 5

"""A server that appends decisions to a store, for tests that kill it.

One line per request (the concept and its version, separated by a tab, and the id of the request),
one line per answer: the number of the decision in the log, once the store has acknowledged it.
"""

from __future__ import annotations

import socketserver
import sys

from taxoexpan.desk.store.decision_store import DecisionStore
from taxoexpan.desk.store.decisions import Action, LogEntry


def serve(url: str) -> None:
    """Serve until the process is killed; print the port first."""
    store = DecisionStore.open(url)

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            for line in self.rfile:
                concept, version, request_id = line.decode().rstrip("\n").split("\t")
                decision = LogEntry(concept, Action.DEFER, int(version), request_id=request_id)
                (logged,) = store.append([decision], "curator")
                self.wfile.write(f"{logged.number}\n".encode())

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        block_on_close = False

    with Server(("127.0.0.1", 0), Handler) as server:
        print(server.server_address[1], flush=True)
        server.serve_forever()


if __name__ == "__main__":
    serve(sys.argv[1])

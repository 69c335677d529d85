"""The metrics of the service, in the Prometheus format."""

from __future__ import annotations

import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

OTHER_ROUTE = "other"
"""The route of requests that none of ours answers; their paths would be endless."""


class ServiceMetrics:
    """Counts and durations of requests and batches."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "taxoexpan_requests",
            "Requests that were answered.",
            ["method", "route", "status"],
            registry=self.registry,
        )
        self.seconds = Histogram(
            "taxoexpan_request_seconds",
            "Time from a request to its answer.",
            ["route"],
            registry=self.registry,
            buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
        )
        self._batches = Histogram(
            "taxoexpan_batch_concepts",
            "Concepts that were placed by one call of the model.",
            registry=self.registry,
            buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256),
        )
        self._model_seconds = Counter(
            "taxoexpan_model_seconds", "Time that the model was busy.", registry=self.registry
        )
        self.waiting = Gauge(
            "taxoexpan_waiting_concepts",
            "Concepts that wait or are being placed.",
            registry=self.registry,
        )

    def count_batch(self, concepts: int, seconds: float) -> None:
        """Count one call of the model."""
        self._batches.observe(concepts)
        self._model_seconds.inc(seconds)


def count_requests(app: ASGIApp, metrics: ServiceMetrics) -> ASGIApp:
    """Count the responses of an app by route and status."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        began, status = time.monotonic(), 0

        async def send_and_note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await app(scope, receive, send_and_note)
        finally:
            route = getattr(scope.get("route"), "path", OTHER_ROUTE)
            if status:  # the client may have gone before an answer
                known = scope["method"] if route != OTHER_ROUTE else OTHER_ROUTE
                metrics.requests.labels(known, route, str(status)).inc()
                metrics.seconds.labels(route).observe(time.monotonic() - began)

    return answer

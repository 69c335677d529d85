"""The metrics of the service in the Prometheus format: what is counted, and `/metrics`."""

from __future__ import annotations

import time

from fastapi import FastAPI
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from taxoexpan.desk.service.suggester import RequestBatcher

METRICS_PATH = "/metrics"
PROMETHEUS_TEXT = "text/plain; version=0.0.4; charset=utf-8"
OTHER_ROUTE = "other"
"""The route of requests that none of ours answers; their paths would be endless."""


class ServiceMetrics:
    """Counts and durations of requests, and of the batches of a model."""

    def __init__(self, batcher: RequestBatcher) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "taxoexpan_requests",
            "Requests that were answered.",
            ["method", "route", "status"],
            registry=self._registry,
        )
        self._seconds = Histogram(
            "taxoexpan_request_seconds",
            "Time from a request to its answer.",
            ["route"],
            registry=self._registry,
            buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
        )
        self._batches = Histogram(
            "taxoexpan_batch_concepts",
            "Concepts that were placed by one call of the model.",
            registry=self._registry,
            buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256),
        )
        self._model_seconds = Counter(
            "taxoexpan_model_seconds", "Time that the model was busy.", registry=self._registry
        )
        waiting = Gauge(
            "taxoexpan_waiting_concepts",
            "Concepts that wait or are being placed.",
            registry=self._registry,
        )

        batcher.on_batch = self._count_batch
        waiting.set_function(lambda: batcher.waiting)

    def add_route(self, app: FastAPI) -> None:
        """Add the route that returns all metrics."""

        @app.get(
            METRICS_PATH,
            tags=["state"],
            summary="Return metrics for Prometheus",
            response_class=PlainTextResponse,
        )
        def metrics() -> Response:
            """Return counts and durations of requests and batches."""
            return Response(generate_latest(self._registry), media_type=PROMETHEUS_TEXT)

    def counted(self, app: ASGIApp) -> ASGIApp:
        """Return the app with a counter of its responses by route and status."""

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            began = time.monotonic()
            status = 0

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
                    self._requests.labels(known, route, str(status)).inc()
                    self._seconds.labels(route).observe(time.monotonic() - began)

        return answer

    def _count_batch(self, concepts: int, seconds: float) -> None:
        """Count one call of the model."""
        self._batches.observe(concepts)
        self._model_seconds.inc(seconds)

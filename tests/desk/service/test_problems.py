from __future__ import annotations

import re
import threading
from collections.abc import Iterator

import pytest
import schemathesis
import uvicorn
from hypothesis import HealthCheck, settings
from schemathesis.generation.hypothesis.builder import (
    HypothesisTestConfig,
    HypothesisTestMode,
    create_test,
)
from starlette.testclient import TestClient

import tests.support.json_form_fields  # noqa: F401  # schemathesis uses it from here on
from taxoexpan.desk.service.schemas import NOT_BLANK
from taxoexpan.desk.web.server import listen, server_url


@pytest.fixture
def url(service_client: TestClient) -> Iterator[str]:
    """The URL of the service on a real server, which answers faster than a test client."""
    server = uvicorn.Server(uvicorn.Config(service_client.app, log_level="critical"))
    with listen("127.0.0.1", 0) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield server_url(*listening.getsockname())
        finally:
            server.should_exit = True
            thread.join()


def send_generated_requests(url: str, examples: int, path: str = "") -> int:
    """Send requests to every route, check the answers in every way, and return their number.

    With a path, only to this route. Requests at the boundaries of the OpenAPI description come
    first, and then random ones, valid and invalid. Only what is described may be accepted.
    """
    schema = schemathesis.openapi.from_url(f"{url}openapi.json")
    sent = 0

    checked = settings(
        max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck)
    )

    @checked  # or else the profile of the tests would set the number of examples
    def send(case: schemathesis.Case) -> None:
        nonlocal sent
        sent += 1
        case.call_and_validate()

    config = HypothesisTestConfig(schema.config, list(HypothesisTestMode), checked)
    for found in schema.get_all_operations():
        operation = found.ok()
        if path not in ("", operation.path):
            continue
        create_test(operation=operation, test_func=send, config=config)()
    return sent


@pytest.mark.slow
def test_suggest_accepts_requests_as_described_and_no_others(url: str) -> None:
    assert send_generated_requests(url, 2, "/v1/suggest") > 50


@pytest.mark.slow
def test_many_requests_as_described_are_accepted_and_no_others(url: str) -> None:
    assert send_generated_requests(url, 300) > 3_000


def test_the_description_and_python_call_the_same_labels_blank() -> None:
    for character in map(chr, range(0x10000)):
        assert bool(re.search(NOT_BLANK, character)) == bool(character.strip()), ascii(character)


def test_requests_have_examples_and_errors_a_media_type(service_client: TestClient) -> None:
    description = service_client.get("/openapi.json").json()
    schemas = description["components"]["schemas"]
    example = schemas["SuggestRequest"]["examples"][0]
    assert service_client.post("/v1/suggest", json=example).status_code == 200
    suggest = description["paths"]["/v1/suggest"]["post"]["responses"]
    assert list(suggest["422"]["content"]) == ["application/problem+json"]
    assert {"200", "401", "413", "421", "422", "503"} <= set(suggest)

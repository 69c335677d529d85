from __future__ import annotations

from contextlib import suppress

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from starlette.testclient import TestClient

LOCAL_HOST = {"Host": "localhost"}
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


def send_generated_requests(client: TestClient, examples: int) -> int:
    """Send valid and invalid requests to every route, and return their number."""
    schema = schemathesis.openapi.from_asgi("/openapi.json", client.app, headers=LOCAL_HOST)
    sent = 0
    for result in schema.get_all_operations():
        for mode in GenerationMode:

            @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
            @given(case=result.ok().as_strategy(generation_mode=mode))
            def send(case: schemathesis.Case) -> None:
                nonlocal sent
                sent += 1
                case.call_and_validate(checks=CHECKS, headers=LOCAL_HOST)

            with suppress(Unsatisfiable):  # a route without parameters has no invalid requests
                send()
    return sent


def test_generated_requests_get_documented_answers(service_client: TestClient) -> None:
    assert send_generated_requests(service_client, 5) > 50


@pytest.mark.slow
def test_many_generated_requests_get_documented_answers(service_client: TestClient) -> None:
    assert send_generated_requests(service_client, 300) > 3_000


def test_requests_have_examples_and_errors_a_media_type(service_client: TestClient) -> None:
    description = service_client.get("/openapi.json").json()
    schemas = description["components"]["schemas"]
    example = schemas["SuggestRequest"]["examples"][0]
    assert service_client.post("/v1/suggest", json=example).status_code == 200
    suggest = description["paths"]["/v1/suggest"]["post"]["responses"]
    assert list(suggest["422"]["content"]) == ["application/problem+json"]
    assert {"200", "401", "413", "421", "422", "503"} <= set(suggest)

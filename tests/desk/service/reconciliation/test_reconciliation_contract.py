"""Our answers against the JSON schemas and examples of the W3C Entity Reconciliation API v0.2.

The specification is not part of the project; TAXOEXPAN_RECONCILIATION names its folder.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator
from jsonschema.protocols import Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT7
from starlette.testclient import TestClient

from taxoexpan import TaxoExpan
from taxoexpan.desk.web.access import Access
from tests.support.service_cases import SPACE, TOKEN, client_of

DEFAULT = Path(__file__).parents[5] / "shared" / "reconciliation-0.2"
SPECIFICATION = Path(os.environ.get("TAXOEXPAN_RECONCILIATION", DEFAULT))

pytestmark = pytest.mark.skipif(
    not SPECIFICATION.is_dir(),
    reason="the specification is not available; set TAXOEXPAN_RECONCILIATION to its folder",
)


def schema(name: str) -> Validator:
    """Return a schema of the specification; those of other specifications allow everything."""

    def resolve(uri: str) -> Resource[Any]:
        file = SPECIFICATION / "schemas" / uri.rpartition("/")[2]
        is_own = "reconciliation" in uri or "://" not in uri
        contents = (
            json.loads(file.read_text())
            if is_own and file.exists()
            else {"definitions": {"securityDefinitions": {"additionalProperties": {}}}}
        )
        return Resource(contents, DRAFT7)

    contents = json.loads((SPECIFICATION / "schemas" / f"{name}.json").read_text())
    return Draft7Validator(contents, registry=Registry(retrieve=resolve))  # type: ignore[call-arg]


def examples(kind: str, validity: str) -> Iterator[str]:
    """Yield the texts of the examples of some kind."""
    files = sorted((SPECIFICATION / "examples" / kind / validity).glob("*.json"))
    assert files
    for file in files:
        yield file.read_text()


def test_the_schemas_tell_valid_from_invalid_examples() -> None:
    for kind in ("reconciliation-query-batch", "reconciliation-result-batch"):
        validator = schema(kind)
        assert all(validator.is_valid(json.loads(text)) for text in examples(kind, "valid"))
        assert not any(validator.is_valid(json.loads(text)) for text in examples(kind, "invalid"))


@pytest.mark.parametrize("access", [None, Access("0.0.0.0", TOKEN)])
def test_the_manifest_satisfies_the_schema(odd_model: TaxoExpan, access: Access | None) -> None:
    with client_of(odd_model, access) as client:
        schema("manifest").validate(client.get("/reconcile").json())
        schema("manifest").validate(client.get("/reconcile", params={"token": TOKEN}).json())


def test_valid_queries_get_valid_results(service_client: TestClient) -> None:
    validator = schema("reconciliation-result-batch")
    own = '{"a": {"query": "oat milk"}, "b": {"query": "cashew milk", "limit": 3}}'
    for text in (*examples("reconciliation-query-batch", "valid"), own):
        for answer in (
            service_client.post("/reconcile", data={"queries": text}),
            service_client.get("/reconcile", params={"queries": text}),
        ):
            assert answer.status_code == 200, answer.text
            validator.validate(answer.json())
            assert set(answer.json()) == set(json.loads(text))


def test_invalid_queries_are_refused(service_client: TestClient) -> None:
    for text in examples("reconciliation-query-batch", "invalid"):
        answer = service_client.post("/reconcile", data={"queries": text})
        assert answer.status_code == 422, text


@pytest.mark.parametrize(
    ("kind", "path"),
    [("entities", "entity"), ("properties", "property"), ("types", "type")],
)
def test_suggestions_satisfy_the_schema(service_client: TestClient, kind: str, path: str) -> None:
    for prefix in ("", "o", "milk", "definition", "concept", f"{SPACE}milk"):
        answer = service_client.get(f"/reconcile/suggest/{path}", params={"prefix": prefix}).json()
        schema(f"suggest-{kind}-response").validate(answer)


def test_extensions_satisfy_the_schema(service_client: TestClient) -> None:
    names = ("parent", "path", "definition", "synonym")
    query = {"ids": [f"{SPACE}milk", "no"], "properties": [{"id": name} for name in names]}
    schema("data-extension-query").validate(query)
    answer = service_client.post("/reconcile", data={"extend": json.dumps(query)}).json()
    schema("data-extension-response").validate(answer)
    proposal = service_client.get("/reconcile/properties", params={"type": "concept"}).json()
    schema("data-extension-property-proposal").validate(proposal)
    assert [each["id"] for each in proposal["properties"]] == list(names)
    limited = service_client.get("/reconcile/properties", params={"type": "x", "limit": 2}).json()
    assert [each["id"] for each in limited["properties"]] == list(names[:2])


def test_the_flyout_has_the_fields_of_the_example(service_client: TestClient) -> None:
    [example] = examples("flyout-response", "valid")
    answer = service_client.get("/reconcile/flyout/entity", params={"id": f"{SPACE}milk"}).json()
    assert set(answer) == set(json.loads(example))

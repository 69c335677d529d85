from __future__ import annotations

import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from taxoexpan import Concept, TaxoExpan
from taxoexpan.desk.service.suggester import ServiceLimits
from taxoexpan.desk.web.access import Access
from tests.support.service_cases import ODD_NAMES, SPACE, TOKEN, client_of

NEW = ("cashew milk", "white tea", "sheep cheese", "quince", "豆乳", "soy milk drink")


def post(client: TestClient, *labels: str, **options: object) -> list[dict[str, object]]:
    concepts = [{"label": label} for label in labels]
    answer = client.post("/v1/suggest", json={"concepts": concepts, **options})
    assert answer.status_code == 200, answer.text
    results: list[dict[str, object]] = answer.json()["results"]
    return results


def expected(model: TaxoExpan, concept: Concept, top_k: int, explain: bool = False) -> list[object]:
    """The suggestions of the model for one concept alone, as the service writes them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        suggestions = model.suggest([concept], top_k, explain).flat
    rows = [suggestion.as_json() for suggestion in suggestions]
    elsewhere = ("query", "query_id", "parent_id", "parent_label", "path")
    of_decisions = ("place", "decision", "decided_by")
    return [
        {name: value for name, value in row.items() if name not in (*elsewhere, *of_decisions)}
        | {
            "parent": {"id": s.parent.id, "label": s.parent.label, "path": list(s.path)},
            "score": pytest.approx(row["score"], rel=1e-4),  # other sums, other last digits
            "confidence": pytest.approx(row["confidence"], abs=2e-4)
            if row["confidence"] is not None
            else None,
        }
        for s, row in zip(suggestions, rows, strict=True)
    ]


@pytest.mark.parametrize(("top_k", "explain"), [(1, False), (3, True), (100, False)])
def test_suggestions_are_those_of_the_model(
    service_client: TestClient, odd_model: TaxoExpan, top_k: int, explain: bool
) -> None:
    results = post(service_client, *NEW, top_k=top_k, explain=explain)
    assert [result["label"] for result in results] == list(NEW)
    for result in results:
        concept = Concept("", str(result["label"]))
        assert result["suggestions"] == expected(odd_model, concept, top_k, explain)
    assert explain is any(s["why"] for r in results for s in r["suggestions"])  # type: ignore[attr-defined]


def test_results_do_not_depend_on_requests_at_the_same_time(odd_model: TaxoExpan) -> None:
    with client_of(odd_model) as client:
        alone = {name: post(client, name, top_k=3) for name in NEW}
        with ThreadPoolExecutor(12) as pool:
            many = list(pool.map(lambda name: (name, post(client, name, top_k=3)), NEW * 8))
        metrics = client.get("/metrics").text
    for name, result in many:
        assert [s["parent"] for s in result[0]["suggestions"]] == [  # type: ignore[attr-defined]
            s["parent"]
            for s in alone[name][0]["suggestions"]  # type: ignore[attr-defined]
        ]
    batches = float(metrics.partition("\ntaxoexpan_batch_concepts_count ")[2].split()[0])
    assert batches < len(NEW) * 9  # some were placed together


def test_definitions_synonyms_and_own_ids_are_used(
    service_client: TestClient, odd_model: TaxoExpan
) -> None:
    concept = {
        "label": "zzyzx",
        "id": "my id",
        "definition": "A milk.",
        "synonyms": ["soy milk", " "],
    }
    [result] = service_client.post("/v1/suggest", json={"concepts": [concept]}).json()["results"]
    same = Concept("my id", "zzyzx", ("soy milk",), "A milk.")
    assert result["id"] == "my id"
    assert result["suggestions"] == expected(odd_model, same, 5)


def test_a_known_name_is_reported_and_repeated_names_are_answered_twice(
    service_client: TestClient,
) -> None:
    results = post(service_client, "Oat-BREAD", "cashew milk", "laitage", "cashew milk")
    known = [[concept["id"] for concept in result["known"]] for result in results]  # type: ignore[attr-defined]
    assert known == [[f"{SPACE}bread/oat", f"{SPACE}bread/oat-2"], [], [f"{SPACE}milk"], []]
    assert [bool(result["suggestions"]) for result in results] == [False, True, False, True]
    assert results[1] == results[3]


@pytest.mark.parametrize("encode", [lambda id: quote(id, safe=""), lambda id: id])
def test_a_concept_with_an_iri_is_shown(service_client: TestClient, encode: object) -> None:
    assert callable(encode)
    shown = service_client.get(f"/v1/concepts/{encode(SPACE + 'milk')}", params={"limit": 3}).json()
    assert shown["label"] == "milk"
    assert shown["definition"] == "A sort of food: milk."
    assert shown["synonyms"] == ["dairy milk", "laitage"]
    assert shown["path"] == ["food", "milk"]
    assert [parent["id"] for parent in shown["parents"]] == [f"{SPACE}food"]
    children = shown["children"]
    assert (children["total"], children["next_offset"]) == (10, 3)
    assert [child["label"] for child in children["items"]] == [
        "almond milk",
        "black milk",
        "blue milk",
    ]


def test_pages_of_children_cover_all(service_client: TestClient) -> None:
    offset, found = 0, []
    while offset is not None:
        url = f"/v1/concepts/{SPACE}milk"
        page = service_client.get(url, params={"offset": offset, "limit": 4}).json()["children"]
        found += [child["id"] for child in page["items"]]
        offset = page["next_offset"]
    assert len(found) == len(set(found)) == 10


def test_search_finds_names_in_order(service_client: TestClient) -> None:
    found = service_client.get("/v1/search", params={"q": "Oat MI", "limit": 5}).json()["results"]
    assert [concept["label"] for concept in found] == ["oat milk"]
    assert found[0]["path"] == ["food", "milk", "oat milk"]
    assert service_client.get("/v1/search", params={"q": "fish glue"}).json() == {"results": []}


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_come_back_as_they_are(service_client: TestClient, name: str) -> None:
    [result] = post(service_client, name)
    [known] = result["known"]  # type: ignore[misc]
    shown = service_client.get(f"/v1/concepts/{quote(known['id'], safe='')}")
    assert shown.json()["label"] == shown.json()["definition"] == known["label"] == name
    assert shown.headers["content-type"] == "application/json"
    found = service_client.get("/v1/search", params={"q": name}).json()["results"]
    assert known in found
    [result] = post(service_client, f"{name} new")
    assert result["label"] == f"{name} new"


@pytest.mark.parametrize(
    ("concept", "field", "fix"),
    [
        ({"label": "x" * 1_000_000}, "concepts[0].label", "at most 1,000"),
        ({"label": "x", "definition": "y " * 500_000}, "concepts[0].definition", "at most 20,000"),
        ({"label": " \t"}, "concepts[0].label", "send a name"),
        ({"label": ""}, "concepts[0].label", "/openapi.json"),
        ({"label": 5}, "concepts[0].label", "text in quotes"),
        ({}, "concepts[0].label", "add it"),
        ({"label": "x", "lable": "y"}, "concepts[0].lable", "remove it"),
        ({"label": "x", "synonyms": "y"}, "concepts[0].synonyms", "square brackets"),
        ({"label": "x", "synonyms": ["y", ""]}, "concepts[0].synonyms[1]", "/openapi.json"),
    ],
)
def test_an_invalid_concept_names_the_field_and_the_fix(
    service_client: TestClient, concept: dict[str, object], field: str, fix: str
) -> None:
    answer = service_client.post("/v1/suggest", json={"concepts": [concept]})
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert (problem["status"], problem["title"]) == (422, HTTPStatus(422).phrase)
    assert [error["field"] for error in problem["errors"]] == [field]
    assert fix in problem["errors"][0]["fix"]
    assert problem["detail"].startswith(f"{field}: ")
    assert problem["fix"]
    assert problem["detail"].endswith(f"; {problem['fix']}")
    assert len(answer.content) < 2000  # the text is not sent back


def test_a_concept_may_be_its_label(service_client: TestClient) -> None:
    body = {"concepts": ["cashew milk", {"label": "white tea"}, "oat bread"]}
    answer = service_client.post("/v1/suggest", json=body)
    assert answer.status_code == 200, answer.text
    assert answer.json()["results"] == post(service_client, "cashew milk", "white tea", "oat bread")


@pytest.mark.parametrize(
    ("body", "field", "fix"),
    [
        ({"concepts": ["oat milk", " "]}, "concepts[1].label", "send a name"),
        ({"concepts": ["x" * 1_001]}, "concepts[0].label", "at most 1,000"),
        ({"concepts": [["oat milk"]]}, "concepts[0]", '"cashew milk" or {"label": "cashew milk"}'),
        ({"concepts": [5]}, "concepts[0]", '"cashew milk" or {"label": "cashew milk"}'),
        ({"concepts": "oat milk"}, "concepts", "a list in square brackets"),
        (["oat milk", "rye bread"], "body", '{"concepts": ["cashew milk"]}'),
        ("oat milk", "body", '{"concepts": ["cashew milk"]}'),
    ],
)
def test_names_in_another_form_are_refused_with_the_expected_form(
    service_client: TestClient, body: object, field: str, fix: str
) -> None:
    answer = service_client.post("/v1/suggest", json=body)
    assert answer.status_code == 422
    (error,) = answer.json()["errors"]
    assert error["field"] == field
    assert fix in error["fix"]


@pytest.mark.parametrize(
    ("option", "value", "fix"),
    [
        ("explain", 0, "true or false"),
        ("explain", "true", "true or false"),
        ("top_k", "3", "a whole number"),
        ("top_k", True, "a whole number"),
        ("top_k", 2.5, "a whole number"),
    ],
)
def test_an_option_of_another_type_is_refused(
    service_client: TestClient, option: str, value: object, fix: str
) -> None:
    body = {"concepts": ["cashew milk"], option: value}
    answer = service_client.post("/v1/suggest", json=body)
    assert answer.status_code == 422
    (error,) = answer.json()["errors"]
    assert (error["field"], fix in error["fix"]) == (option, True)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 422),
        (b"[]", 422),
        (b'"text"', 422),
        (b"", 422),
        (b'{"concepts": []}', 422),
        (b'{"concepts": [{"label": "a"}], "top_k": 0}', 422),
        (b'{"concepts": [{"label": "a"}], "top_k": 1e400}', 422),
        (b'{"concepts": [{"label": "\\ud800"}]}', 422),
        (b'{"concepts": [{"label": "\xff"}]}', 400),
        (b"[" * 100_000, 400),
        (b'{"concepts": [{"label": "a"}], "top_k": ' + b"9" * 5000 + b"}", 400),
        (b" " * (5 << 20), 413),
    ],
)
def test_a_broken_body_is_refused(service_client: TestClient, body: bytes, status: int) -> None:
    headers = {"Content-Type": "application/json"}
    answer = service_client.post("/v1/suggest", content=body, headers=headers)
    assert answer.status_code == status, answer.text
    assert answer.json()["detail"]


def test_too_many_concepts_are_refused(odd_model: TaxoExpan) -> None:
    with client_of(odd_model, limits=ServiceLimits(max_concepts=2)) as client:
        answer = client.post("/v1/suggest", json={"concepts": [{"label": "a"}] * 3})
    assert answer.status_code == 413
    assert "3 concepts, but at most 2 are allowed; send them in several" in answer.json()["detail"]


def test_an_unknown_id_is_not_found(service_client: TestClient) -> None:
    for id in ("nothing", "", "http://example.org/nothing", "x" * 5000):
        answer = service_client.get(f"/v1/concepts/{id}")
        assert answer.status_code == 404
        assert "search for its name with /v1/search" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/nothing", 404), ("GET", "/v1/suggest", 405)]
)
def test_wrong_paths_and_methods_are_problems_too(
    service_client: TestClient, method: str, path: str, status: int
) -> None:
    answer = service_client.request(method, path)
    assert answer.status_code == status
    assert "/openapi.json" in answer.json()["detail"]


def test_a_wrong_method_names_all_methods_of_the_path(service_client: TestClient) -> None:
    for path, methods in (
        ("/reconcile", "GET, POST"),
        ("/v1/suggest", "POST"),
        ("/healthz", "GET"),
    ):
        answer = service_client.request("DELETE", path)
        assert answer.status_code == 405
        assert answer.headers["allow"] == methods


def test_health_and_metrics(odd_model: TaxoExpan) -> None:
    with client_of(odd_model) as client:
        health = client.get("/healthz").json()
        assert health == {"status": "ok", "model": "pantry", "concepts": len(odd_model.taxonomy)}
        post(client, "cashew milk", "white tea")
        client.get("/some/path/that/is/not/there")
        metrics = client.get("/metrics")
    assert metrics.headers["content-type"].startswith("text/plain; version=")
    lines = metrics.text.splitlines()
    assert 'taxoexpan_requests_total{method="POST",route="/v1/suggest",status="200"} 1.0' in lines
    assert 'taxoexpan_requests_total{method="other",route="other",status="404"} 1.0' in lines
    assert "taxoexpan_batch_concepts_sum 2.0" in lines
    assert "taxoexpan_waiting_concepts 0.0" in lines


def test_refused_requests_are_counted(odd_model: TaxoExpan) -> None:
    def counted(access: Access | None, limits: ServiceLimits, ask: Callable[..., object]) -> str:
        with client_of(odd_model, access, limits) as client:
            ask(client)
            return client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).text

    found = {
        401: counted(Access("0.0.0.0", TOKEN), ServiceLimits(), lambda c: c.get("/v1/search?q=a")),
        413: counted(
            None, ServiceLimits(max_body=9), lambda c: c.post("/v1/suggest", content="x" * 10)
        ),
        421: counted(None, ServiceLimits(), lambda c: c.get("/", headers={"Host": "evil.example"})),
        503: counted(None, ServiceLimits(max_requests=0), lambda c: c.get("/v1/search?q=a")),
    }
    for status, metrics in found.items():
        line = f'taxoexpan_requests_total{{method="other",route="other",status="{status}"}} 1.0'
        assert line in metrics.splitlines()


@pytest.mark.parametrize("access", [None, Access("0.0.0.0", TOKEN)])
def test_the_description_has_the_token_and_true_examples(
    odd_model: TaxoExpan, access: Access | None
) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"} if access else {}
    with client_of(odd_model, access) as client:
        api = client.get("/openapi.json", headers=headers).json()
        for path in ("/v1/search", "/v1/concepts/{id}", "/v1/suggest"):
            [operation] = api["paths"][path].values()
            example = operation["responses"]["200"]["content"]["application/json"]["example"]
            parameters = {
                each["name"]: each["example"]
                for each in operation.get("parameters", ())
                if "example" in each
            }
            if path == "/v1/suggest":
                answer = client.post(
                    path,
                    json={"concepts": [{"label": "cashew milk"}], "top_k": 3},
                    headers=headers,
                )
                [result], [shown] = answer.json()["results"], example["results"]
                assert [each["parent"] for each in shown.pop("suggestions")] == [
                    each["parent"] for each in result.pop("suggestions")
                ]
                assert shown == result
            else:
                id = quote(parameters.get("id", ""), safe="")
                url = path.replace("{id}", id)
                answer = client.get(url, params={**parameters, "limit": 3}, headers=headers)
                assert answer.json() == example
        assert {each["type"] for each in api["components"]["securitySchemes"].values()} == {
            "http",
            "apiKey",
        }
        assert bool(api["security"]) is bool(access)
        assert api["paths"]["/healthz"]["get"]["security"] == []


def test_there_are_no_pages_that_load_scripts(service_client: TestClient) -> None:
    for path in ("/", "/docs", "/redoc"):
        assert service_client.get(path).status_code == 404


def test_the_token_protects_all_but_the_health(odd_model: TaxoExpan) -> None:
    with client_of(odd_model, Access("0.0.0.0", TOKEN)) as client:
        assert client.get("/healthz").status_code == 200
        for path in ("/metrics", "/v1/search?q=milk", "/openapi.json"):
            assert client.get(path).status_code == 401
            bearer = {"Authorization": f"Bearer {TOKEN}"}
            assert client.get(path, headers=bearer).status_code == 200


def test_other_web_pages_cannot_read_the_api(service_client: TestClient) -> None:
    headers = {"Origin": "https://evil.example"}
    assert (
        "access-control-allow-origin"
        not in service_client.get("/v1/search?q=a", headers=headers).headers
    )


def test_a_busy_service_says_when_to_come_back(odd_model: TaxoExpan) -> None:
    with client_of(odd_model, limits=ServiceLimits(max_waiting=4)) as client:

        def ask(number: int) -> tuple[int, str | None, bool]:
            concepts = [{"label": f"new {number} milk {i}"} for i in range(3)]
            answer = client.post("/v1/suggest", json={"concepts": concepts})
            return answer.status_code, answer.headers.get("retry-after"), "detail" in answer.json()

        with ThreadPoolExecutor(20) as pool:
            answers = set(pool.map(ask, range(60)))
        assert client.get("/healthz").status_code == 200
    accepted, refused = (200, None, False), {each for each in answers if each[0] != 200}
    assert accepted in answers
    assert refused
    assert {status for status, _, _ in refused} == {503}
    assert all(retry is not None and int(retry) >= 1 and detail for _, retry, detail in refused)


def test_requests_above_the_limit_are_refused_but_not_the_health(odd_model: TaxoExpan) -> None:
    with client_of(odd_model, limits=ServiceLimits(max_requests=0)) as client:
        refused = client.get("/v1/search?q=milk")
        assert refused.status_code == 503
        assert refused.headers["retry-after"] == "1"
        assert "content-security-policy" in refused.headers
        assert client.get("/healthz").status_code == 200

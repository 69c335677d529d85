from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from taxoexpan import TaxoExpan
from taxoexpan.desk.service.app import service_app
from taxoexpan.desk.service.suggester import ServiceLimits, ServiceState
from taxoexpan.desk.web.access import Access
from tests.support.messy_pantry import shop
from tests.support.service_cases import LOCAL, ODD_NAMES, SMALL, SPACE, TOKEN, client_of


def ask(client: TestClient, *queries: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Return the candidates of each query, asked by POST and by GET."""
    batch = json.dumps({f"q{i}": query for i, query in enumerate(queries)})
    answer = client.post("/reconcile", data={"queries": batch})
    assert answer.status_code == 200, answer.text
    assert client.get("/reconcile", params={"queries": batch}).json() == answer.json()
    return [answer.json()[f"q{i}"]["result"] for i in range(len(queries))]


def test_one_concept_with_the_name_is_a_match(service_client: TestClient) -> None:
    [[by_label], [by_synonym], [by_id]] = ask(
        service_client, {"query": "OAT-milk"}, {"query": "Laitage"}, {"query": f"{SPACE}tea"}
    )
    assert by_label["id"] == f"{SPACE}milk/oat"
    assert by_label["name"] == "oat milk"
    assert by_label["description"] == "food > milk > oat milk"
    assert by_label["type"] == [{"id": "concept", "name": "Concept"}]
    assert [by_synonym["id"], by_id["id"]] == [f"{SPACE}milk", f"{SPACE}tea"]
    for candidate in (by_label, by_synonym, by_id):
        assert (candidate["score"], candidate["match"]) == (100, True)


def test_namesakes_are_no_match(service_client: TestClient) -> None:
    [candidates] = ask(service_client, {"query": "oat bread"})
    assert [each["id"] for each in candidates] == [f"{SPACE}bread/oat", f"{SPACE}bread/oat-2"]
    assert [(each["score"], each["match"]) for each in candidates] == [(100, False)] * 2
    assert len(ask(service_client, {"query": "oat bread", "limit": 1})[0]) == 1


def test_a_deprecated_concept_is_no_match(service_client: TestClient) -> None:
    [[candidate]] = ask(service_client, {"query": "fish glue"})
    assert candidate["match"] is False
    assert {"id": "deprecated", "value": True} in candidate["features"]


def test_without_the_name_parents_are_proposed_and_marked(
    service_client: TestClient, odd_model: TaxoExpan
) -> None:
    [candidates] = ask(service_client, {"query": "cashew milk", "limit": 3})
    suggestions = odd_model.suggest(["cashew milk"], top_k=3).flat
    parents = [
        each for each in candidates if {"id": "proposed_parent", "value": True} in each["features"]
    ]
    assert parents
    for each in parents:
        assert each["name"].endswith(" (proposed parent)")
        assert {"id": "proposed-parent", "name": "Proposed parent"} in each["type"]
    assert {each["id"] for each in candidates} <= {s.parent.id for s in suggestions}
    assert not any(each["match"] for each in candidates)
    scores = [each["score"] for each in candidates]
    assert scores == sorted(scores, reverse=True)


def test_a_likely_duplicate_is_a_candidate_without_a_mark(
    service_client: TestClient, odd_model: TaxoExpan
) -> None:
    (merge,) = (s for s in odd_model.suggest(["the oat milk"]).flat if s.kind == "merge")
    [candidates] = ask(service_client, {"query": "the oat milk"})
    by_name = {each["name"]: each for each in candidates}
    assert "milk (proposed parent)" in by_name
    found = by_name["oat milk"]
    assert found["score"] == pytest.approx(100 * merge.score, abs=0.1)
    assert found["type"] == [{"id": "concept", "name": "Concept"}]
    assert 50 < found["score"] < 100
    assert found["match"] is False


@pytest.mark.parametrize("types", ["proposed-parent", ["proposed-parent", "unknown"]])
def test_the_type_restricts_candidates(service_client: TestClient, types: object) -> None:
    known, new = ask(
        service_client,
        {"query": "oat milk", "type": types},
        {"query": "cashew milk", "type": types},
    )
    assert known == []
    assert new
    assert all("proposed parent" in each["name"] for each in new)


@pytest.mark.parametrize("types", ["concept", "unknown", [], ["unknown"]])
def test_other_types_restrict_nothing(service_client: TestClient, types: object) -> None:
    queries = ({"query": "oat milk"}, {"query": "cashew milk"})
    restricted = [{**query, "type": types} for query in queries]
    assert ask(service_client, *restricted) == ask(service_client, *queries)


def test_properties_describe_the_query(service_client: TestClient) -> None:
    properties = [
        {"pid": "definition", "v": "A sort of cheese from goat."},
        {"pid": "synonym", "v": ["goat cheese spread", {"id": "x", "name": "soft goat cheese"}]},
        {"pid": "unknown", "v": [1, True, 2.5]},
    ]
    [plain, described, only] = ask(
        service_client,
        {"query": "zzyzx"},
        {"query": "zzyzx", "properties": properties},
        {"properties": [{"pid": "synonym", "v": "oat milk"}]},
    )
    assert described != plain
    assert only[0]["id"] == f"{SPACE}milk/oat"


@pytest.mark.parametrize(
    ("queries", "status", "fix"),
    [
        ("{", 400, "queries: it is not valid JSON; send a JSON object"),
        ("[" * 10_000, 400, "not valid JSON"),
        ("[]", 422, "queries: "),
        ('{"q0": {}}', 422, "queries.q0: it has neither a query nor properties; add a query"),
        ('{"q0": {"properties": []}}', 422, "neither a query nor properties"),
        ('{"q0": {"query": null}}', 422, "queries.q0.query: "),
        ('{"q0": {"query": "a", "limit": 0}}', 422, "queries.q0.limit: "),
        ('{"q0": {"query": "a", "limit": NaN}}', 422, "queries.q0.limit: "),
        ('{"q0": {"query": "a", "props": []}}', 422, "queries.q0.props: "),
        ('{"q0": {"query": "a", "type_strict": "x"}}', 422, "queries.q0.type_strict: "),
        ('{"q0": {"query": "\\ud800"}}', 400, "not valid JSON"),
        ('{"q0": {"properties": [{"pid": "synonym", "v": "\\ud800"}]}}', 400, "not valid JSON"),
        (json.dumps({f"q{i}": {"query": "a"} for i in range(101)}), 413, "see batchSize"),
    ],
)
def test_invalid_queries_are_refused(
    service_client: TestClient, queries: str, status: int, fix: str
) -> None:
    answer = service_client.post("/reconcile", data={"queries": queries})
    assert answer.status_code == status
    assert fix in answer.json()["detail"]


def test_a_post_without_queries_is_refused(service_client: TestClient) -> None:
    answer = service_client.post("/reconcile", data={"other": "{}"})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "queries"


@pytest.mark.parametrize("cell", ["", "  ", "\n", "x" * 1_001, "y " * 100_000])
def test_a_bad_cell_has_no_candidates_and_the_others_are_answered(
    service_client: TestClient, cell: str
) -> None:
    good = {"query": "oat milk"}
    batch = json.dumps({"q0": good, "q1": {"query": cell}, "q2": {"query": "cashew milk"}})
    answer = service_client.post("/reconcile", data={"queries": batch})
    assert answer.status_code == 200, answer.text
    assert answer.json()["q1"] == {"result": []}
    assert answer.json()["q0"]["result"] == ask(service_client, good)[0]
    assert answer.json()["q2"]["result"]


def test_an_ancestor_that_is_sure_follows_a_parent_that_is_not() -> None:
    settings = {**SMALL, "epochs": 3, "validation": "leaves", "validation_fraction": 0.35}
    model = TaxoExpan("fast", seed=1, device="cpu", **settings).fit(shop())
    query = {"query": "bread and milk", "limit": 4}
    state = ServiceState.of(model, "shop", ServiceLimits())
    with TestClient(service_app(state, Access()), LOCAL) as client:
        [without] = ask(client, query)
        assert not any("safe ancestor" in each["name"] for each in without)  # the first is sure
        first = model.suggest(["bread and milk"]).flat[0]
        assert first.levels[-1] < first.levels[-2]
        state.suggester.min_branch = (first.levels[-1] + first.levels[-2]) / 2
        [candidates] = ask(client, query)
        [only] = ask(client, {**query, "type": "safe-ancestor"})
        [best] = ask(client, {**query, "limit": 1})
    assert best == candidates[:1] == without[:1]
    safe = candidates[1]
    assert only == [safe]
    assert (safe["name"], safe["match"]) == ("food (safe ancestor)", False)
    assert [each["id"] for each in safe["type"]] == ["safe-ancestor", "proposed-parent", "concept"]
    assert {"id": "branch_confidence", "value": first.levels[-2]} in safe["features"]
    scores = [each["score"] for each in candidates]
    assert scores == sorted(scores, reverse=True)
    ids = [each["id"] for each in candidates]
    assert len(ids) == len(set(ids)) == 4


def extended(client: TestClient, ids: list[str], *properties: str) -> dict[str, Any]:
    """Return the properties of concepts, fetched by POST and by GET."""
    query = json.dumps({"ids": ids, "properties": [{"id": each} for each in properties]})
    answer = client.post("/reconcile", data={"extend": query})
    assert answer.status_code == 200, answer.text
    assert client.get("/reconcile", params={"extend": query}).json() == answer.json()
    fetched: dict[str, Any] = answer.json()
    return fetched


def test_properties_of_concepts_are_fetched(service_client: TestClient) -> None:
    ids = [f"{SPACE}milk", f"{SPACE}milk/oat", f"{SPACE}food", "nothing"]
    found = extended(service_client, ids, "synonym", "parent", "path", "definition")
    assert [each["id"] for each in found["meta"]] == ["synonym", "parent", "path", "definition"]
    milk, oat, food, unknown = (found["rows"][id] for id in ids)
    assert milk == {
        "synonym": [{"str": "dairy milk"}, {"str": "laitage"}],
        "parent": [{"id": f"{SPACE}food", "name": "food"}],
        "path": [{"str": "food > milk"}],
        "definition": [{"str": "A sort of food: milk."}],
    }
    assert (oat["definition"], food["parent"]) == ([], [])
    assert unknown == {"synonym": [], "parent": [], "path": [], "definition": []}


@pytest.mark.parametrize(
    ("extend", "status", "place"),
    [
        ("{", 400, "extend"),
        ("{}", 422, "extend.ids"),
        ('{"ids": ["a"], "properties": [{"id": "children"}]}', 422, "extend.properties[0].id"),
        ('{"ids": [1], "properties": []}', 422, "extend.ids[0]"),
        ('{"ids": ["\\ud800"], "properties": []}', 400, "extend"),
        (json.dumps({"ids": ["a"] * 1_001, "properties": []}), 422, "extend.ids"),
    ],
)
def test_invalid_extensions_are_refused(
    service_client: TestClient, extend: str, status: int, place: str
) -> None:
    answer = service_client.post("/reconcile", data={"extend": extend})
    assert answer.status_code == status
    assert answer.json()["errors"][0]["field"] == place


def test_an_infinite_limit_is_the_largest_one(service_client: TestClient) -> None:
    [many] = ask(service_client, {"query": "cashew milk", "limit": 1e300})
    assert 5 < len(many) <= 101


def test_entities_are_suggested_by_prefix_and_by_id(service_client: TestClient) -> None:
    def suggested(**parameters: object) -> list[str]:
        answer = service_client.get("/reconcile/suggest/entity", params=parameters)  # type: ignore[arg-type]
        return [each["name"] for each in answer.json()["result"]]

    assert suggested(prefix="oat m") == ["oat milk"]
    assert suggested(prefix=f"{SPACE}milk/oat") == ["oat milk"]
    first, second = suggested(prefix="milk"), suggested(prefix="milk", cursor=10)
    assert (len(first), first[0]) == (10, "milk")
    assert second
    assert not set(first) & set(second)
    assert suggested(prefix="") == []


def test_properties_and_types_are_suggested(service_client: TestClient) -> None:
    def ids(kind: str, prefix: str) -> list[str]:
        answer = service_client.get(f"/reconcile/suggest/{kind}", params={"prefix": prefix})
        return [each["id"] for each in answer.json()["result"]]

    assert ids("property", "") == ["definition", "synonym"]
    assert ids("property", "Syn") == ["synonym"]
    assert ids("type", "P") == ["proposed-parent"]


class Texts(HTMLParser):
    """Collects the elements and the texts of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        assert {name for name, _ in attrs} <= {"charset", "class", "dir"}

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.mark.parametrize("number", range(len(ODD_NAMES)))
def test_previews_show_names_as_text(service_client: TestClient, number: int) -> None:
    id, name = f"{SPACE}odd?n={number}#x", ODD_NAMES[number]
    page = service_client.get(f"/reconcile/preview?id={quote(id, safe='')}")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    flyout = service_client.get("/reconcile/flyout/entity", params={"id": id}).json()
    assert flyout["id"] == id
    for html in (page.text, flyout["html"]):
        shown = Texts(html)
        assert shown.texts.count(name) >= 2  # the label and the definition
        assert set(shown.elements) <= {
            "html",
            "head",
            "meta",
            "title",
            "style",
            "body",
            "div",
            "h1",
            "p",
            "code",
        }


def test_the_preview_may_be_framed_but_has_no_script(service_client: TestClient) -> None:
    policy = service_client.get("/reconcile/preview", params={"id": f"{SPACE}milk"}).headers[
        "content-security-policy"
    ]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "frame-ancestors" not in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize("path", ["/reconcile/preview", "/reconcile/flyout/entity"])
def test_an_unknown_id_has_no_preview(service_client: TestClient, path: str) -> None:
    assert service_client.get(path, params={"id": "nothing"}).status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "",
        "?queries={}",
        "/suggest/entity?prefix=a",
        f"/preview?id={SPACE}milk",
        "/preview?id=nothing",
    ],
)
def test_every_endpoint_allows_other_origins(service_client: TestClient, path: str) -> None:
    headers = {"Origin": "https://client.example"}
    answer = service_client.get(f"/reconcile{path}", headers=headers)
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-credentials" not in answer.headers
    preflight = {**headers, "Access-Control-Request-Method": "POST"}
    assert service_client.options("/reconcile", headers=preflight).status_code == 200


def test_the_manifest_is_public_and_names_the_token(odd_model: TaxoExpan) -> None:
    with client_of(odd_model, Access("0.0.0.0", TOKEN)) as client:
        manifest = client.get("/reconcile").json()
        assert manifest["authentication"] == {"type": "apiKey", "name": "token", "in": "query"}
        queries = {"queries": '{"q0": {"query": "oat milk"}}'}
        assert client.get("/reconcile", params=queries).status_code == 401
        assert client.post("/reconcile", data=queries).status_code == 401
        answer = client.post("/reconcile", params={"token": TOKEN}, data=queries)
        assert answer.json()["q0"]["result"][0]["match"] is True
        frame = {"Accept": "text/html", "Sec-Fetch-Dest": "iframe"}
        preview = {"id": f"{SPACE}milk", "token": TOKEN}
        assert client.get("/reconcile/preview", params=preview, headers=frame).status_code == 200


def test_urls_of_a_manifest_that_was_requested_with_the_token_work_without_it(
    odd_model: TaxoExpan,
) -> None:
    with client_of(odd_model, Access("0.0.0.0", TOKEN)) as client:
        bearer = {"Authorization": f"Bearer {TOKEN}"}
        manifest = client.get("/reconcile", params={"token": TOKEN}).json()
        assert client.get("/reconcile", headers=bearer).json() == manifest
        entity, proposed = manifest["suggest"]["entity"], manifest["extend"]["propose_properties"]
        id = quote(f"{SPACE}milk", safe="")
        urls = [
            manifest["preview"]["url"].replace("{{id}}", id),
            manifest["view"]["url"].replace("{{id}}", id),
            entity["service_url"] + entity["service_path"] + "?prefix=milk",
            entity["service_url"] + entity["flyout_service_path"].replace("${id}", id),
            proposed["service_url"] + proposed["service_path"] + "?type=concept",
        ]
        page = {"Accept": "text/html", "Sec-Fetch-Dest": "document"}
        for url in urls:
            assert TOKEN not in url
            assert client.get(url).status_code == 200
            assert client.get(url, headers=page).status_code == 200
        key = entity["service_url"].rpartition("/")[2]
        others = (
            "/reconcile?queries={}",
            f"/reconcile/{key}?queries={{}}",
            f"/v1/{key}/search?q=a",
        )
        for url in (*others, f"/reconcile/{key[:-1]}/preview?id={id}", f"/{key}/metrics"):
            assert client.get(url).status_code == 401
        assert key not in client.get("/reconcile").text
        assert client.get("/reconcile", params={"token": "wrong"}).status_code == 401


def test_the_manifest_has_the_urls_that_the_client_uses(odd_model: TaxoExpan) -> None:
    with client_of(odd_model, limits=ServiceLimits(max_concepts=7)) as client:
        manifest = client.get("/reconcile", headers={"Host": "localhost:1234"}).json()
    assert manifest["preview"]["url"] == "http://localhost:1234/reconcile/preview?id={{id}}"
    assert manifest["suggest"]["entity"]["service_url"] == "http://localhost:1234/reconcile"
    assert manifest["identifierSpace"] == SPACE
    assert manifest["batchSize"] == 7

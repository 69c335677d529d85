"""A model with names that are hard to show, and clients of its service."""

from __future__ import annotations

from starlette.testclient import TestClient

from taxoexpan import Concept, TaxoExpan, Taxonomy
from taxoexpan.desk.service.app import service_app
from taxoexpan.desk.service.suggester import ServiceLimits, ServiceState
from taxoexpan.desk.web.access import Access
from tests.support.builders import KINDS, SORTS

LOCAL = "http://127.0.0.1:8000"
TOKEN = "0123456789abcdef"
SPACE = "http://example.org/food/"
ODD_NAMES = (
    "<script>alert(1)</script>",
    "Robert'); DROP TABLE concepts;--",
    "🍏 apple 👩‍🍳",
    "تفاح أحمر",
    'quote " and & and <b>',
    "{{ 7 * 7 }} ${id} %2F..%2F",
)
SMALL = {
    "features": "static",
    "epochs": 5,
    "hidden_dim": 8,
    "embedding_dim": 32,
    "num_negatives": 16,
    "batch_size": 32,
}


def odd_taxonomy() -> Taxonomy:
    """Foods with IRIs as ids, with synonyms, a definition, namesakes and a deprecated concept."""
    concepts = [Concept(f"{SPACE}food", "food")]
    relations = []
    for kind in KINDS:
        synonyms = ("laitage", "dairy milk") if kind == "milk" else ()
        concepts.append(Concept(f"{SPACE}{kind}", kind, synonyms, f"A sort of food: {kind}."))
        relations.append((f"{SPACE}food", f"{SPACE}{kind}"))
        for sort in SORTS:
            id = f"{SPACE}{kind}/{sort}"
            concepts.append(Concept(id, f"{sort} {kind}", (f"{kind} of {sort}",)))
            relations.append((f"{SPACE}{kind}", id))
    for number, name in enumerate(ODD_NAMES):
        concepts.append(Concept(f"{SPACE}odd?n={number}#x", name, definition=name))
        relations.append((f"{SPACE}apple", f"{SPACE}odd?n={number}#x"))
    concepts.append(Concept(f"{SPACE}bread/oat-2", "Oat Bread"))  # a namesake
    concepts.append(Concept(f"{SPACE}old", "fish glue", deprecated=True))
    relations.append((f"{SPACE}bread", f"{SPACE}bread/oat-2"))
    return Taxonomy(concepts, relations)


def client_of(
    model: TaxoExpan,
    access: Access | None = None,
    limits: ServiceLimits | None = None,
    raise_errors: bool = True,
) -> TestClient:
    """Return a client of a new service; an error of the server is an error of the test."""
    state = ServiceState.of(model, "pantry", limits or ServiceLimits())
    app = service_app(state, access or Access())
    url = LOCAL if access is None else "http://desk.example"
    return TestClient(app, url, raise_server_exceptions=raise_errors, follow_redirects=False)

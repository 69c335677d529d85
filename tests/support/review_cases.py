"""A review of new foods: the model of the pantry, a store, and a browser without a screen."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from starlette.testclient import TestClient

from taxoexpan import TaxoExpan
from taxoexpan.desk.review.app import create_app
from taxoexpan.desk.review.desk import EvidenceCache, ReviewDesk, fill_queue, filter_listed
from taxoexpan.desk.review.improvement import Improvement
from taxoexpan.desk.store.decision_store import DecisionStore
from taxoexpan.desk.store.decisions import QueuedConcept
from taxoexpan.desk.web.access import Access
from taxoexpan.desk.web.protection import protect_pages
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.taxonomy import Concept

NEW = (
    Concept("", "hemp milk", ("hemp drink",), "a drink made of hemp seeds"),
    Concept("", "white tea"),
    Concept("", "sheep cheese"),
    Concept("", "corn bread"),
    Concept("", "green apple juice"),
)


@dataclass
class Review:
    """Review pages in a test, and what is in their store."""

    desk: ReviewDesk
    browser: TestClient

    @property
    def store(self) -> DecisionStore:
        return self.desk.store

    def concept(self, label: str) -> QueuedConcept:
        found = self.store.concept(label)
        assert found is not None
        return found

    def get(self, url: str, **headers: str) -> str:
        response = self.browser.get(url, headers=headers)
        assert response.status_code == 200, response.text
        return response.text

    def post(self, url: str, values: Mapping[str, str | Sequence[str]], status: int = 303) -> str:
        """Send a form; return the address that it leads to, or the page that says what is wrong."""
        response = self.browser.post(url, data=values)
        assert response.status_code == status, response.text
        return response.headers["location"] if status == 303 else response.text

    def decide(self, label: str, status: int = 303, /, **values: str | Sequence[str]) -> str:
        """Send the form of a concept, as its page has it."""
        form = {"concept": label, "version": str(self.concept(label).version), **values}
        return self.post("/decisions", form, status)


def open_review(
    model: TaxoExpan,
    store: DecisionStore,
    concepts: Sequence[Concept] = NEW,
    taxonomy: Path | None = None,
    access: Access | None = None,
    improvement: Improvement | None = None,
) -> Review:
    """Fill the queue with new foods, and open the pages."""
    file = TaxonomyFile.open(taxonomy) if taxonomy else None
    filtered = filter_listed(store, model.taxonomy, concepts, file)
    fill_queue(store, model, "pantry 1", filtered)
    evidence, listed = EvidenceCache(model), store.listed([*filtered.new, *concepts])
    desk = ReviewDesk(store, model.taxonomy, evidence, "Ada", file=file, listed=listed)
    app = protect_pages(create_app(desk, improvement), access or Access())
    browser = TestClient(app, "http://127.0.0.1:8000", follow_redirects=False)
    return Review(desk, browser)


def field(page: str, name: str) -> str:
    """Return the value of the first field with a name."""
    found = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert found is not None, f"no field {name}"
    return html.unescape(found[1])


def text_of(page: str) -> str:
    """Return the visible text of a page, without tags and repeated spaces."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())

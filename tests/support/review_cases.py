"""A review of new foods: the model of the pantry, a store, and a browser without a screen."""

from __future__ import annotations

import html
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from starlette.testclient import TestClient

from taxoexpan import TaxoExpan, read_taxonomy
from taxoexpan.decisions.suggestion import Suggestion, SuggestionKind, Suitability
from taxoexpan.desk.review.app import create_app
from taxoexpan.desk.review.desk import EvidenceCache, ReviewDesk, fill_queue, filter_listed
from taxoexpan.desk.review.improvement import Improvement
from taxoexpan.desk.store.decision_store import DecisionStore
from taxoexpan.desk.store.decisions import Action, LogEntry, QueuedConcept
from taxoexpan.desk.web.access import Access
from taxoexpan.desk.web.protection import protect_pages
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.formats.text_file import DEFAULT_OPTIONS, ReadOptions
from taxoexpan.taxonomy import Additions, Concept, Taxonomy

NEW = (
    Concept("", "hemp milk", ("hemp drink",), "a drink made of hemp seeds"),
    Concept("", "white tea"),
    Concept("", "sheep cheese"),
    Concept("", "corn bread"),
    Concept("", "green apple juice"),
)


class Placed(NamedTuple):
    """A place that was accepted: the id of the parent, and how."""

    parent: str
    kind: str = "attach"
    moves: tuple[str, ...] = ()
    rank: int = 0


@dataclass
class Review:
    """Review pages in a test, and what is in their store."""

    desk: ReviewDesk
    browser: TestClient
    computed: int = 0
    """The number of new concepts for which the model has made proposals."""

    @property
    def store(self) -> DecisionStore:
        return self.desk.store

    def concept(self, label: str) -> QueuedConcept:
        found = self.store.concept(label)
        assert found is not None
        return found

    def status(self, label: str) -> str:
        return self.concept(label).status.value

    def counts(self) -> dict[str, int]:
        """The numbers of concepts by status, without zeros."""
        return {status.value: count for status, count in self.desk.counts().items() if count}

    def proposed(self, label: str) -> list[str]:
        """The ids of the proposed parents, best first."""
        return [each.parent.id for each in self.concept(label).proposals]

    def scores(self, label: str) -> list[float]:
        """The scores of the proposals, best first."""
        return [each.score for each in self.concept(label).proposals]

    def placed(self, label: str) -> list[Placed]:
        """The places that were accepted."""
        accepted = self.concept(label).accepted
        return [Placed(each.parent.id, each.kind.value, each.moves, each.rank) for each in accepted]

    def propose(
        self,
        label: str,
        *parents: str,
        confidence: float | None = None,
        kind: str = "attach",
        is_suitable: bool = True,
        **values: Any,
    ) -> None:
        """Replace the proposals for a concept."""
        concept = self.concept(label).concept
        taxonomy = self.desk.taxonomy
        values["kind"] = SuggestionKind(kind)
        values["place"] = Suitability.POSSIBLE if is_suitable else Suitability.NONE
        proposals = [
            Suggestion(
                concept, rank, taxonomy.concept(id), taxonomy.path(id), 0.5, confidence, **values
            )
            for rank, id in enumerate(parents, start=1)
        ]
        self.store.set_proposals("pantry 1", proposals)

    def accept_at_once(self, labels: Sequence[str], parent: str) -> None:
        """Accept undecided concepts below a parent that was not proposed, without the pages."""
        taxonomy = self.desk.taxonomy
        place = Suggestion(Concept("", ""), 0, taxonomy.concept(parent), taxonomy.path(parent))
        decisions = [LogEntry(label, Action.ACCEPT, 0, (place,)) for label in labels]
        self.store.append(decisions, "Ada")

    def rename_curator(self, name: str) -> None:
        """Decide under another name from now on."""
        self.post("/curator", {"curator": name})

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
    *,
    name: str = "pantry 1",
    known: Taxonomy | None = None,
    definitions: Mapping[str, str] | None = None,
    columns: Mapping[str, str] | None = None,
) -> Review:
    """Fill the queue with new foods, and open the pages.

    The pages show the taxonomy of the model, or else one that is `known`.
    """
    options = ReadOptions(columns=columns) if columns else DEFAULT_OPTIONS
    file = TaxonomyFile.open(taxonomy, options=options) if taxonomy else None
    filtered = filter_listed(store, model.taxonomy, concepts, file)
    looked_up = dict(definitions or {})
    computed = fill_queue(store, model, name, filtered, looked_up)
    desk = ReviewDesk(
        store,
        known or model.taxonomy,
        EvidenceCache(model),
        "Ada",
        looked_up,
        file,
        store.listed([*filtered.new, *concepts]),
    )
    return Review(desk, browser_of(desk, access, improvement), computed)


def browser_of(
    desk: ReviewDesk, access: Access | None = None, improvement: Improvement | None = None
) -> TestClient:
    """Return a browser in front of the pages of a desk."""
    app = protect_pages(create_app(desk, improvement), access or Access())
    return TestClient(app, "http://127.0.0.1:8000", follow_redirects=False)


def after_learning(review: Review, label: str) -> Review:
    """Open the same review with a taxonomy that has an accepted concept, as a later model has."""
    learned = review.concept(label).concept
    relations = [(place.parent, learned.id) for place in review.placed(label)]
    known = review.desk.taxonomy.expanded(Additions((learned,), relations))
    desk = replace(review.desk, taxonomy=known)
    return Review(desk, browser_of(desk))


def field(page: str, name: str) -> str:
    """Return the value of the first field with a name."""
    found = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert found is not None, f"no field {name}"
    return html.unescape(found[1])


def text_of(page: str) -> str:
    """Return the visible text of a page, without tags and repeated spaces."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def figures_of(page: str) -> dict[str, str]:
    """Return the key figures of a page by their names."""
    return dict(re.findall(r'<dt>(.*?)</dt><dd class="value[^"]*">(.*?)</dd>', page))


def table_rows(page: str) -> list[str]:
    """Return the visible text of every row of the page's tables."""
    rows = re.findall("<tr>.*?</tr>", page, re.DOTALL)
    return [text_of(row).replace(" › , then ", " > ") for row in rows]


def downloaded(review: Review, path: Path) -> Taxonomy:
    """Download the expanded taxonomy to a file, and read it."""
    response = review.browser.get("/export/taxonomy")
    assert response.status_code == 200, response.text
    path.write_bytes(response.content)
    return read_taxonomy(path)


def parents_of(taxonomy: Taxonomy, label: str) -> list[str]:
    """The labels of the parents of a concept."""
    (own,) = (each for each in taxonomy.concepts if each.label == label)
    return [taxonomy.concept(id).label for id in taxonomy.parents(own.id)]


def left_out(page: str) -> str:
    """The part of the page that names what the new taxonomy leaves out."""
    found = re.search(r'<div class="notice problem".*?</div>', page, re.DOTALL)
    return text_of(found[0]) if found else ""


def decide_again(key: str) -> str:
    """The link to the page on which a concept is decided again."""
    return f'href="/?status=all&amp;concept={quote(key)}&amp;again=1"'


def printed_command(page: str) -> list[str]:
    """The words of the command on the page, without `taxoexpan`."""
    found = re.search("<code>taxoexpan (.*?)</code>", page)
    assert found is not None
    return shlex.split(html.unescape(found[1]))

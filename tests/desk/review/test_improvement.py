"""Improving the suggestions: a real training in another process, started from the pages."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from taxoexpan import TaxoExpan
from taxoexpan.decisions.suggestion import Suggestion
from taxoexpan.desk.review.desk import model_name
from taxoexpan.desk.review.improvement import Improvement, Phase
from taxoexpan.desk.store.database import split_password
from taxoexpan.desk.store.decision_store import DecisionStore
from taxoexpan.desk.store.decisions import Action, LogEntry, QueuedConcept, Status
from taxoexpan.desk.store.queue import QueueQuery
from taxoexpan.taxonomy import Concept
from taxoexpan.thresholds import MIN_FOR_FEEDBACK
from tests.support.review_cases import Review, field, open_review, text_of

KINDS = ("white", "hemp", "sheep", "corn", "golden", "fish")
FOODS = ("milk", "tea", "cheese", "bread", "sauce", "juice")
LISTED = [Concept("", f"{kind} {food}") for food in FOODS for kind in KINDS]

Begin = Callable[..., tuple[Review, Improvement]]


@pytest.fixture
def begin(model: TaxoExpan, model_directory: Path, pantry: Path, tmp_path: Path) -> Iterator[Begin]:
    """Open a review with a store and a training; its processes end with the test."""
    shutil.copytree(model_directory, tmp_path / "model")
    opened: list[Improvement] = []

    def begin(url: str, taxonomy: Path = pantry) -> tuple[Review, Improvement]:
        place, _ = split_password(url)
        command = [sys.executable, "-m", "taxoexpan", "train", str(taxonomy)]
        command += ["--from", str(tmp_path / "model"), "--decisions", place]
        own = Improvement(tmp_path / "model", command, os.environ, LISTED, "cpu")
        opened.append(own)
        store = DecisionStore.open(url)
        return open_review(model, store, LISTED, pantry, improvement=own), own

    yield begin
    for each in opened:
        each.close()


def accept(review: Review, concepts: list[QueuedConcept]) -> None:
    """Accept each concept below the food in its name."""
    food = review.desk.taxonomy.concept
    decisions = [
        LogEntry(
            each.key,
            Action.ACCEPT,
            each.version,
            (Suggestion(each.concept, 0, food(each.key.split()[1])),),
        )
        for each in concepts
    ]
    review.store.append(decisions, "Ada")


def todo(review: Review) -> list[QueuedConcept]:
    query = QueueQuery(statuses=[Status.TODO], limit=None)
    return [each for each in review.store.queue(query).concepts if each.key.split()[1] in FOODS]


def wait(improvement: Improvement) -> None:
    end = time.monotonic() + 120
    while improvement.progress.is_running:
        assert time.monotonic() < end, improvement.progress.message
        time.sleep(0.1)


@pytest.mark.parametrize(
    "store_url", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)], indirect=True
)
def test_a_new_model_proposes_again_and_no_decision_is_lost(
    begin: Begin, store_url: str, tmp_path: Path
) -> None:
    review, improvement = begin(store_url)
    with closing(review.store):
        learned = todo(review)[:MIN_FOR_FEEDBACK]
        accept(review, learned)
        page = review.get("/improve")
        assert f"{MIN_FOR_FEEDBACK} concepts have decisions to learn from" in text_of(page)
        assert review.post("/improve", {}) == "/improve"
        assert "A training is running" in text_of(review.get("/improve"))
        assert "A training is running" in review.post("/improve", {}, status=409)

        # Then the decisions are read.
        while "continuing the training" not in improvement.progress.message:
            assert improvement.progress.is_running, improvement.progress.message
            time.sleep(0.05)
        meanwhile, first, other, *rest = todo(review)
        review.decide(meanwhile.key, accept="milk")
        shown = review.get(f"/?concept={first.key}")
        earlier = {name: field(shown, name) for name in ("concept", "version", "model", "request")}
        wait(improvement)
        assert improvement.progress.phase is Phase.DONE

        text = text_of(review.get("/improve"))
        directory = tmp_path / "model-2"
        assert f"Start the next review with {directory}." in text
        changed = re.search(r"(\d+) of (\d+) concepts to do have another first proposal", text)
        assert changed
        assert int(changed[2]) == len(rest) + 2
        improved = TaxoExpan.load(directory, "cpu")
        labels = {improved.taxonomy.concept(id).label for id in improved.taxonomy}
        assert {each.concept.label for each in learned} <= labels
        assert meanwhile.concept.label not in labels
        for each in [first, other, *rest]:
            found = review.concept(each.key)
            assert (found.model, found.version) == (model_name(directory), each.version)
            expected = improved.suggest([each.concept], top_k=5).flat
            assert [p.parent.id for p in found.proposals] == [p.parent.id for p in expected]
        for each in [*learned, meanwhile]:
            assert review.concept(each.key).status == Status.ACCEPTED
        # The pages know the concepts that the model has learned.
        found = review.get(f"/search?find={learned[0].key}", **{"HX-Request": "true"})
        assert learned[0].concept.label in text_of(found)
        assert "Already present" not in text_of(review.get("/?status=all"))
        review.post("/undo", {"number": "1"})  # but not one that is undone
        found = review.get(f"/search?find={learned[0].key}", **{"HX-Request": "true"})
        assert learned[0].concept.label not in text_of(found)
        assert not review.concept(learned[0].key).proposals[0].is_merge
        learned = learned[1:]

        # A form of the earlier model is accepted, but does not judge proposals it has not shown.
        review.post("/decisions", {**earlier, "accept": "sauce"})
        assert review.concept(first.key).accepted[0].parent.id == "sauce"
        (decision,) = review.store.history(0, 1)
        assert (decision.passed_over, decision.model) == ((), None)
        form = {"action": "reject", "reason": "wrong-parents", "model": "an earlier model"}
        review.decide(other.key, **form)
        assert review.concept(other.key).proposals
        assert review.concept(other.key).status == Status.TODO


@pytest.mark.slow
def test_a_failed_training_is_shown_and_can_be_started_again(begin: Begin, tmp_path: Path) -> None:
    review, improvement = begin(str(tmp_path / "reviews.db"), tmp_path / "missing.csv")
    with closing(review.store):
        accept(review, todo(review)[:MIN_FOR_FEEDBACK])
        review.post("/improve", {})
        wait(improvement)
        text = text_of(review.get("/improve"))
        assert "The training has failed." in text
        assert "missing.csv" in text
        assert "Improve the suggestions a" in text
        assert review.concept("white milk").model == "pantry 1"
        assert not (tmp_path / "model-2").exists()


@pytest.mark.slow
def test_stopping_the_review_ends_the_training_and_leaves_nothing(
    begin: Begin, tmp_path: Path
) -> None:
    review, improvement = begin(str(tmp_path / "reviews.db"))
    with closing(review.store):
        accept(review, todo(review)[:MIN_FOR_FEEDBACK])
        before = set(tmp_path.iterdir())
        review.post("/improve", {})
        while not list(tmp_path.glob(".model-2.*")) and improvement.progress.is_running:
            time.sleep(0.02)
        assert improvement.progress.is_running
        improvement.close()
        assert not improvement.progress.is_running
        assert {path for path in tmp_path.iterdir() if "reviews" not in path.name} <= before


def test_a_training_needs_decisions_and_the_taxonomy(
    begin: Begin, model: TaxoExpan, tmp_path: Path
) -> None:
    review, improvement = begin(str(tmp_path / "reviews.db"))
    with closing(review.store):
        accept(review, todo(review)[:3])
        page = review.post("/improve", {}, status=409)
        assert f"needs {MIN_FOR_FEEDBACK} concepts" in text_of(page)
        assert "there are 3." in text_of(page)
        assert not improvement.progress.is_running
        other = open_review(model, review.store, LISTED)
        assert "--taxonomy FILE" in text_of(other.get("/improve"))
        assert "--taxonomy FILE" in other.post("/improve", {}, status=409)

"""The decision store, on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from taxoexpan.taxonomy import Concept
from tests.support.desk_cases import (
    NEW,
    Action,
    ConflictError,
    DecisionStore,
    Lesson,
    QueueOrder,
    QueueQuery,
    Reason,
    Status,
    StoreError,
    SuggestionKind,
    accept,
    append,
    below,
    cells,
    comment,
    counts,
    decide,
    defer,
    exported,
    first_proposals,
    history,
    lessons,
    listed,
    proposal,
    queued,
    reject,
    reject_proposal,
    searched,
    state,
    undo,
)


@pytest.fixture(scope="module")
def unchanged(shared_store_url: str) -> Iterator[DecisionStore]:
    """A store for the tests that write nothing."""
    with DecisionStore.open(shared_store_url) as store:
        store.add_concepts(NEW)
        store.set_proposals("model 1", first_proposals())
        yield store


def test_new_concepts_are_to_do_with_their_proposals(unchanged: DecisionStore) -> None:
    milk = queued(unchanged, "oat-milk")
    assert milk.concept == NEW[0]
    assert milk.proposals == tuple(first_proposals()[:3])
    assert state(unchanged, "oat-milk")[:3] == ("todo", 0, ["milk", "bread", "grain"])
    assert unchanged.concept("nothing") is None
    assert counts(unchanged) == {"todo": 3}


def test_an_accepted_concept_keeps_who_decided_what_and_when(
    store: DecisionStore, store_url: str
) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    append(store, " Ada  L. ", accept(queued(store, "oat milk"), "bread"))
    milk = state(store, "oat milk")
    assert (milk.status, milk.version, milk.curator) == ("accepted", 1, "Ada L.")
    assert milk.accepted == ["bread"]
    (logged,) = history(store_url)
    assert (logged["number"], logged["query"], logged["model"]) == ("1", "Oat Milk", "model 1")
    assert before <= datetime.fromisoformat(logged["time"]) <= before + timedelta(minutes=5)
    assert store.decision(1) == store.log()[0]
    assert store.decision(2) is None


def test_proposals_that_another_model_has_made_since_are_not_judged(
    store: DecisionStore, store_url: str
) -> None:
    milk = queued(store, "oat milk")
    bread = queued(store, "rye bread")
    store.set_proposals("model 2", first_proposals())
    append(store, "Ada", accept(milk, "cheese", model="model 1"), reject(bread, model="model 1"))
    assert cells(history(store_url), "model") == [("",), ("",)]
    assert lessons(store) == ([Lesson("Oat Milk", "CHEESE")], [])
    # It was rejected because of other proposals, so it is to do again with the new ones.
    assert state(store, "rye bread")[:3] == ("todo", 1, ["bread", "grain"])


def test_one_rejected_proposal_makes_the_next_one_the_first(store: DecisionStore) -> None:
    append(store, "Ada", reject_proposal(queued(store, "oat milk"), "milk"))
    assert state(store, "oat milk")[:3] == ("todo", 1, ["bread", "grain"])
    first = QueueQuery(parent_id="BREAD", order=QueueOrder.LISTED)
    assert listed(store, first) == ["Oat Milk", "Rye bread"]


def test_a_rejected_proposal_is_not_made_again_by_a_later_model(
    store: DecisionStore, store_url: str
) -> None:
    append(store, "Ada", reject(queued(store, "oat milk")))
    again = [proposal(NEW[0], 1, "milk", 0.99), proposal(NEW[0], 2, "bread", 0.98)]
    store.set_proposals("model 2", again)
    assert state(store, "oat milk").status == "rejected"
    store.set_proposals("model 3", [*again, proposal(NEW[0], 3, "cheese", 0.2)])
    assert state(store, "oat milk")[:3] == ("todo", 1, ["cheese"])
    append(store, "Ada", accept(queued(store, "oat milk")))
    assert cells(history(store_url), "model", "parent_id") == [
        ("model 3", "CHEESE"),
        ("model 1", "MILK|BREAD|GRAIN"),  # all that were shown
    ]


def test_a_rejected_parent_may_still_be_proposed_as_the_same_concept(store: DecisionStore) -> None:
    append(store, "Ada", reject(queued(store, "oat milk")))
    store.set_proposals("model 2", [proposal(NEW[0], 1, "milk", 0.9, SuggestionKind.MERGE)])
    assert state(store, "oat milk").status == "todo"


@pytest.mark.parametrize("reason", [Reason.OUT_OF_SCOPE, Reason.PRESENT, Reason.OTHER, None])
def test_a_concept_out_of_scope_or_accepted_is_not_asked_again(
    store: DecisionStore, reason: Reason | None
) -> None:
    milk = queued(store, "oat milk")
    append(store, "Ada", reject(milk, reason) if reason else accept(milk))
    store.add_concepts(NEW)
    store.set_proposals("model 2", [proposal(NEW[0], 1, "cheese", 0.9)])
    assert counts(store) == {"rejected" if reason else "accepted": 1, "todo": 2}


def test_deferred_concepts_come_last_in_the_order_of_deferral(store: DecisionStore) -> None:
    append(store, "Ada", *(defer(queued(store, label)) for label in ("rye bread", "oat milk")))
    for order in QueueOrder:
        expected = ["Crème fraîche", "Rye bread", "Oat Milk"]
        assert listed(store, QueueQuery(order=order)) == expected
    assert counts(store) == {"todo": 1, "deferred": 2}


def test_a_comment_changes_the_version_but_not_the_status(store: DecisionStore) -> None:
    append(store, "Ada", comment(queued(store, "oat milk"), "vegan?"))
    milk = state(store, "oat milk")
    assert (milk.status, milk.version, milk.comment) == ("todo", 1, "vegan?")
    assert milk.curator is None


def test_of_two_curators_the_second_sees_the_decision_of_the_first(store: DecisionStore) -> None:
    seen = queued(store, "oat milk")
    append(store, "Ada", accept(seen))
    with pytest.raises(ConflictError, match="Ada") as caught:
        append(store, "Bob", accept(queued(store, "rye bread")), reject(seen))
    assert [caught.value.other] == store.history()
    # All or none: the decision about the other concept was not appended either.
    assert state(store, "rye bread").version == 0


def test_a_repeated_request_is_appended_once(store: DecisionStore) -> None:
    decision = accept(queued(store, "oat milk"), request_id="r1")
    other = accept(queued(store, "rye bread"), request_id="r3")
    assert append(store, "Ada", decision) == append(store, "Ada", decision) == [1]
    assert store.requested("r1") == store.history()
    with pytest.raises(StoreError, match="used before"):
        append(store, "Ada", decision, other)
    append(store, "Ada", other)
    undo(store, "Ada")
    assert undo(store, "Ada", request_id="r2") == undo(store, "Ada", request_id="r2") == [1]
    assert len(store.log()) == 4


def test_undo_goes_back_without_limit(store: DecisionStore, store_url: str) -> None:
    append(store, "Ada", accept(queued(store, "oat milk")))
    append(store, "Ada", reject(queued(store, "rye bread")))
    append(store, "Bob", accept(queued(store, "crème fraîche")))
    assert undo(store, "Ada") == [2]
    assert state(store, "rye bread")[:3] == ("todo", 2, ["bread", "grain"])
    assert undo(store, "Ada") == [1]
    assert undo(store, "Ada") == []
    assert counts(store) == {"todo": 2, "accepted": 1}
    assert cells(history(store_url), "undone", "undoes") == [
        ("", "1"),
        ("", "2"),
        ("", ""),
        ("yes", ""),
        ("yes", ""),
    ]


def test_undo_of_an_earlier_decision_keeps_the_later_one(store: DecisionStore) -> None:
    append(store, "Ada", reject_proposal(queued(store, "oat milk"), "milk"))
    append(store, "Bob", accept(queued(store, "oat milk")))
    undo(store, "Ada")
    milk = state(store, "oat milk")
    assert (milk.status, milk.version, milk.curator) == ("accepted", 3, "Bob")
    assert milk.proposed == ["milk", "bread", "grain"]


def test_a_batch_is_undone_as_one(store: DecisionStore, store_url: str) -> None:
    append(store, "Ada", *(accept(each, batch="b") for each in store.queue().concepts))
    assert counts(store) == {"accepted": 3}
    assert undo(store, "Bob", 2, request_id="u") == [3, 2, 1]
    assert undo(store, "Bob", 2, request_id="u") == [3, 2, 1]
    assert counts(store) == {"todo": 3}
    undone = cells(history(store_url), "batch")
    assert len(undone) == 6
    assert len(set(undone[:3])) == 1


def test_one_decision_of_a_batch_can_be_undone(store: DecisionStore) -> None:
    append(store, "Ada", *(accept(each, batch="b") for each in store.queue().concepts))
    assert undo(store, "Ada", 2, whole_batch=False) == [2]
    assert counts(store) == {"accepted": 2, "todo": 1}
    assert undo(store, "Ada") == [3, 1]


def test_what_cannot_be_undone_is_refused(store: DecisionStore) -> None:
    with pytest.raises(StoreError, match="no decision 1"):
        undo(store, "Ada", 1)
    append(store, "Ada", accept(queued(store, "oat milk")))
    undo(store, "Ada")
    with pytest.raises(StoreError, match=r"decision 1 .* already"):
        undo(store, "Ada", 1)
    with pytest.raises(StoreError, match="decision 2 is an undo"):
        undo(store, "Ada", 2)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, ["Oat Milk", "Rye bread", "Crème fraîche"]),
        ({"order": QueueOrder.LISTED}, ["Oat Milk", "Crème fraîche", "Rye bread"]),
        ({"order": QueueOrder.PARENT}, ["Rye bread", "Crème fraîche", "Oat Milk"]),
        ({"text": "drink OAT"}, ["Oat Milk"]),
        ({"text": "creme"}, ["Crème fraîche"]),
        ({"text": "100%"}, []),
        ({"min_confidence": 0.8}, ["Oat Milk", "Rye bread"]),
        ({"min_confidence": 0.7, "max_confidence": 0.9}, ["Rye bread"]),
        ({"branch": ("food", "dairy")}, ["Oat Milk", "Crème fraîche"]),
        ({"branch": ("food", "dairy", "milk")}, ["Oat Milk"]),
        ({"branch": ("food", "dai")}, []),
        ({"statuses": (Status.ACCEPTED, Status.REJECTED)}, []),
        ({"statuses": (Status.TODO, Status.DEFERRED), "offset": 1}, ["Rye bread", "Crème fraîche"]),
        ({"offset": 1, "limit": 1}, ["Rye bread"]),
    ],
)
def test_the_queue_is_filtered_and_sorted(
    unchanged: DecisionStore, query: dict[str, Any], expected: list[str]
) -> None:
    page = unchanged.queue(QueueQuery(**query))
    assert [each.concept.label for each in page.concepts] == expected
    whole = QueueQuery(**{**query, "offset": 0, "limit": None})
    assert page.total == unchanged.queue(whole).total == unchanged.count(whole)
    assert all(each.proposals for each in page.concepts)


def test_concepts_without_confidence_are_sorted_by_score(store: DecisionStore) -> None:
    store.set_proposals("scores", [proposal(NEW[0], 1, "milk", None)])
    store.add_concepts([Concept("n4", "zwieback")])
    assert listed(store) == ["Rye bread", "Crème fraîche", "Oat Milk", "zwieback"]
    assert listed(store, QueueQuery(max_confidence=0.6)) == ["Oat Milk"]


def test_known_concepts_get_the_texts_of_the_new_list(store: DecisionStore) -> None:
    append(store, "Ada", accept(queued(store, "oat milk")))
    known = Concept("x9", "oat milk", (), "a drink")
    store.add_concepts([known, Concept("x8", "Spelt")])
    assert queued(store, "oat milk").concept == known
    assert state(store, "oat milk").status == "accepted"
    assert listed(store, QueueQuery(order=QueueOrder.LISTED))[-1] == "Spelt"


def test_concepts_with_one_name_and_different_ids_are_kept_apart(store: DecisionStore) -> None:
    banks = [Concept("b1", "Bank"), Concept("b2", "bank"), Concept("b1", "Bank")]
    for _ in range(2):
        store.add_concepts(banks)
        store.set_proposals("m", [proposal(each, 1, "grain", 0.5) for each in banks[:2]])
    found = store.queue(QueueQuery(text="bank")).concepts
    assert {each.concept.id for each in found} == {"b1", "b2"}
    assert [len(each.proposals) for each in found] == [1, 1]


LABELS = (
    "<script>alert(1)</script>",
    "'; DROP TABLE decisions; --",
    "🧀" * 900,
    "שלום",
    "a\0b",
    "\ud800x",
    "%",
    "-",
)


def test_any_label_can_be_stored_and_found(store: DecisionStore) -> None:
    store.add_concepts([Concept(f"x{i}", each, (each,), each) for i, each in enumerate(LABELS)])
    assert counts(store) == {"todo": len(NEW) + len(LABELS)}
    for label in LABELS:
        found = queued(store, label)
        append(store, label[:100], comment(found, label))
        (logged,) = store.history(concept=found.key)
        assert logged.comment == state(store, label).comment


@pytest.mark.parametrize(
    ("decision", "word"),
    [
        (decide("oat milk", Action.ACCEPT), "at least one parent"),
        (decide("oat milk", Action.ACCEPT, searched("milk"), searched("milk")), "twice"),
        (
            decide(
                "oat milk",
                Action.ACCEPT,
                searched("milk", kind=SuggestionKind.MERGE),
                searched("bread"),
            ),
            "merged",
        ),
        (decide("oat milk", Action.ACCEPT, below(Concept("", "x"))), "no id"),
        (decide("oat milk", Action.REJECT), "reason"),
        (decide("oat milk", Action.REJECT_PROPOSAL), "at least one parent"),
        (decide("oat milk", Action.COMMENT, comment=" "), "empty"),
        (decide("oat milk", Action.UNDO), "number"),
        (decide("oat milk", Action.DEFER, request_id="r" * 201), "200"),
    ],
)
def test_incomplete_decisions_are_refused(
    unchanged: DecisionStore, decision: Any, word: str
) -> None:
    with pytest.raises(StoreError, match=f"'oat milk': .*{word}"):
        append(unchanged, "Ada", decision)
    assert unchanged.history() == []


def test_unknown_concepts_versions_and_curators_are_refused(unchanged: DecisionStore) -> None:
    with pytest.raises(StoreError, match="'spelt'"):
        append(unchanged, "Ada", decide("spelt", Action.DEFER))
    with pytest.raises(StoreError, match=r"'Oat Milk': .*\b7\b.*\b0\b"):
        append(unchanged, "Ada", decide("oat milk", Action.DEFER, version=7))
    with pytest.raises(StoreError, match="name"):
        append(unchanged, "  ", decide("oat milk", Action.DEFER))
    with pytest.raises(StoreError, match="'Spelt'"):
        unchanged.set_proposals("m", [proposal(Concept("s", "Spelt"), 1, "grain", 0.5)])
    assert unchanged.history() == []


def test_a_store_is_the_same_after_it_was_reopened(store: DecisionStore, store_url: str) -> None:
    append(store, "Ada", accept(queued(store, "oat milk")))
    with DecisionStore.open(store_url) as again:
        assert (again.queue(), again.history()) == (store.queue(), store.history())


def test_a_model_is_asked_only_for_concepts_that_need_it(store: DecisionStore) -> None:
    append(store, "Ada", accept(queued(store, "oat milk")))
    assert store.without_proposals("model 1", NEW) == []
    assert store.without_proposals("model 2", NEW) == list(NEW[1:])
    spelt = Concept("n4", "Spelt")
    store.add_concepts([spelt])
    assert store.without_proposals("model 1", [*NEW, spelt]) == [spelt]


def test_first_proposals_are_those_of_the_queue(store: DecisionStore) -> None:
    append(store, "Ada", reject_proposal(queued(store, "oat milk"), "milk"))
    for query in (QueueQuery(), QueueQuery(order=QueueOrder.PARENT, min_confidence=0.5)):
        whole = store.queue(query).concepts
        found = store.first_proposals(query)
        assert [(each.key, each.version) for each in found] == [(c.key, c.version) for c in whole]
        for each, concept in zip(found, whole, strict=True):
            assert replace(each.proposals[0], query=concept.concept) == concept.proposals[0]


def test_a_query_may_ask_for_the_concepts_of_a_list(store: DecisionStore) -> None:
    twin = Concept("another", NEW[0].label)
    store.add_concepts([*NEW, twin, Concept("x", "kimchi")])
    mask = store.listed([NEW[2], Concept("", "Kimchi")])
    in_list = QueueQuery(listed=mask, order=QueueOrder.LISTED)
    assert listed(store, in_list) == [NEW[2].label, "kimchi"]
    assert store.counts(mask)[Status.TODO] == 2
    assert [each.key for each in store.first_proposals(in_list)] == ["rye bread"]
    assert store.listed([*NEW, twin, Concept("", "kimchi")]) is None
    assert store.queue(QueueQuery(listed=store.listed([]))).total == 0


def test_an_export_is_the_same_after_a_concept_was_decided_again_and_undone(
    store: DecisionStore, store_url: str
) -> None:
    append(store, "Ada", accept(queued(store, "oat milk"), "grain"))
    before = exported(store_url)
    append(store, "Bob", accept(queued(store, "oat milk"), "milk", "bread"))
    append(store, "Bob", defer(queued(store, "oat milk")))
    assert exported(store_url) == []
    undo(store, "Bob")
    found = cells(exported(store_url), "parent_id", "curator", "rank")
    assert found == [("MILK", "Bob", "1"), ("BREAD", "Bob", "2")]
    undo(store, "Bob")
    assert exported(store_url) == before

"""The decision store, on SQLite and on PostgreSQL."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from desk_cases import (
    NEW,
    accept,
    comment,
    defer,
    first_proposals,
    placement,
    proposal,
    reject,
    reject_proposal,
)

from taxoexpan.desk.store.decision_store import DecisionStore
from taxoexpan.desk.store.proposal import placement_of
from taxoexpan.desk.store.queue_query import QueueOrder, QueueQuery
from taxoexpan.desk.store.records import (
    Action,
    NewDecision,
    QueuedConcept,
    Reason,
    Status,
    concept_key,
)
from taxoexpan.desk.store.store_errors import ConflictError, StoreError
from taxoexpan.placement.suggesting.suggestions import SuggestionKind
from taxoexpan.taxonomy import Concept


def get(store: DecisionStore, label: str) -> QueuedConcept:
    concept = store.concept(concept_key(label))
    assert concept is not None
    return concept


def labels(store: DecisionStore, query: QueueQuery) -> list[str]:
    return [each.concept.label for each in store.queue(query).concepts]


def parents(concept: QueuedConcept) -> list[str]:
    return [each.parent.label for each in concept.proposals]


def test_new_concepts_are_to_do_with_their_proposals(store: DecisionStore) -> None:
    milk = get(store, "oat-milk")
    assert milk.concept == NEW[0]
    assert milk.status == Status.TODO
    assert milk.version == 0
    assert milk.proposals == tuple(first_proposals()[:3])
    assert store.concept("nothing") is None
    assert store.counts() == {
        Status.TODO: 3,
        Status.ACCEPTED: 0,
        Status.REJECTED: 0,
        Status.DEFERRED: 0,
    }


def test_an_accepted_concept_keeps_who_decided_what(store: DecisionStore) -> None:
    before = datetime.now(UTC)
    (logged,) = store.append([accept(get(store, "oat milk"), "bread")], " Ada  L. ")
    milk = get(store, "oat milk")
    assert (milk.status, milk.version, milk.curator) == (Status.ACCEPTED, 1, "Ada L.")
    assert milk.placements == (placement("bread", 2, 0.3),)
    assert logged.number == 1
    assert logged.label == "Oat Milk"
    assert logged.model == "model 1"
    assert before <= logged.time <= before + timedelta(minutes=5)
    assert [each.parent_label for each in logged.passed_over] == ["milk"]
    assert store.history() == [logged]


def test_a_searched_parent_passes_over_all_proposals(store: DecisionStore) -> None:
    (logged,) = store.append([accept(get(store, "oat milk"), "cheese", "bread")], "Ada")
    assert [each.parent_label for each in logged.passed_over] == ["milk", "grain"]
    assert [each.rank for each in logged.decision.placements] == [0, 2]


def test_one_rejected_proposal_makes_the_next_one_the_first(store: DecisionStore) -> None:
    store.append([reject_proposal(get(store, "oat milk"), "milk")], "Ada")
    milk = get(store, "oat milk")
    assert milk.status == Status.TODO
    assert parents(milk) == ["bread", "grain"]
    first = QueueQuery(parent_id="BREAD", order=QueueOrder.LISTED)
    assert labels(store, first) == ["Oat Milk", "Rye bread"]


def test_a_rejection_covers_all_proposals_that_were_shown(store: DecisionStore) -> None:
    (logged,) = store.append([reject(get(store, "oat milk"))], "Ada")
    assert [each.parent_label for each in logged.decision.placements] == ["milk", "bread", "grain"]
    assert get(store, "oat milk").status == Status.REJECTED


def test_a_rejected_proposal_is_not_made_again_by_a_later_model(store: DecisionStore) -> None:
    store.append([reject(get(store, "oat milk"))], "Ada")
    again = [proposal(NEW[0], 1, "milk", 0.99), proposal(NEW[0], 2, "bread", 0.98)]
    store.set_proposals("model 2", again)
    assert get(store, "oat milk").status == Status.REJECTED
    store.set_proposals("model 3", [*again, proposal(NEW[0], 3, "cheese", 0.2)])
    milk = get(store, "oat milk")
    assert (milk.status, parents(milk)) == (Status.TODO, ["cheese"])
    store.append([accept(milk)], "Ada")
    assert store.history()[0].model == "model 3"


def test_a_rejected_parent_may_still_be_proposed_as_the_same_concept(store: DecisionStore) -> None:
    store.append([reject(get(store, "oat milk"))], "Ada")
    store.set_proposals("model 2", [proposal(NEW[0], 1, "milk", 0.9, SuggestionKind.MERGE)])
    assert get(store, "oat milk").status == Status.TODO


@pytest.mark.parametrize("reason", [Reason.OUT_OF_SCOPE, Reason.OTHER])
def test_a_concept_out_of_scope_is_not_asked_again(store: DecisionStore, reason: Reason) -> None:
    store.append([reject(get(store, "oat milk"), reason)], "Ada")
    store.set_proposals("model 2", [proposal(NEW[0], 1, "cheese", 0.9)])
    assert get(store, "oat milk").status == Status.REJECTED


def test_an_accepted_concept_is_not_asked_again(store: DecisionStore) -> None:
    store.append([accept(get(store, "oat milk"))], "Ada")
    store.add_concepts(NEW)
    store.set_proposals("model 2", [proposal(NEW[0], 1, "cheese", 0.9)])
    assert get(store, "oat milk").status == Status.ACCEPTED
    assert store.counts()[Status.TODO] == 2


def test_deferred_concepts_come_last_in_the_order_of_deferral(store: DecisionStore) -> None:
    store.append([defer(get(store, "rye bread")), defer(get(store, "oat milk"))], "Ada")
    for order in QueueOrder:
        expected = ["Crème fraîche", "Rye bread", "Oat Milk"]
        assert labels(store, QueueQuery(order=order)) == expected
    assert store.counts()[Status.DEFERRED] == 2


def test_a_comment_changes_the_version_but_not_the_status(store: DecisionStore) -> None:
    store.append([comment(get(store, "oat milk"), "vegan?")], "Ada")
    milk = get(store, "oat milk")
    assert (milk.status, milk.version, milk.comment, milk.curator) == (
        Status.TODO,
        1,
        "vegan?",
        None,
    )


def test_of_two_curators_the_second_sees_the_decision_of_the_first(store: DecisionStore) -> None:
    seen = get(store, "oat milk")
    (first,) = store.append([accept(seen)], "Ada")
    others = [accept(get(store, "rye bread")), reject(seen)]
    with pytest.raises(ConflictError, match=r"'Oat Milk': Ada decided first \(accept\)") as caught:
        store.append(others, "Bob")
    assert caught.value.other == first
    # All or none: the decision about the other concept was not appended either.
    assert get(store, "rye bread").version == 0
    assert store.history() == [first]


def test_a_repeated_request_is_appended_once(store: DecisionStore) -> None:
    decision = replace(accept(get(store, "oat milk")), request_id="r1")
    first = store.append([decision], "Ada")
    assert store.append([decision], "Ada") == first
    assert len(store.history()) == 1
    other = replace(accept(get(store, "rye bread")), request_id="r3")
    with pytest.raises(StoreError, match="request id was used before, for other decisions"):
        store.append([decision, other], "Ada")
    undone = store.undo("Ada", request_id="r2")
    assert store.undo("Ada", request_id="r2") == undone
    assert len(store.history()) == 2


def test_undo_goes_back_without_limit(store: DecisionStore) -> None:
    store.append([accept(get(store, "oat milk"))], "Ada")
    store.append([reject(get(store, "rye bread"))], "Ada")
    store.append([accept(get(store, "crème fraîche"))], "Bob")
    assert store.undo("Ada")[0].label == "Rye bread"
    rye = get(store, "rye bread")
    assert (rye.status, rye.version, parents(rye)) == (Status.TODO, 2, ["bread", "grain"])
    assert store.undo("Ada")[0].label == "Oat Milk"
    assert store.undo("Ada") == []
    assert store.counts()[Status.ACCEPTED] == 1
    assert [each.undone for each in store.history()] == [False, False, False, True, True]
    assert [each.undoes for each in store.history()] == [(1,), (2,), (), (), ()]


def test_undo_of_an_earlier_decision_keeps_the_later_one(store: DecisionStore) -> None:
    store.append([reject_proposal(get(store, "oat milk"), "milk")], "Ada")
    store.append([accept(get(store, "oat milk"))], "Bob")
    store.undo("Ada")
    milk = get(store, "oat milk")
    assert (milk.status, milk.version, milk.curator) == (Status.ACCEPTED, 3, "Bob")
    assert parents(milk) == ["milk", "bread", "grain"]


def test_a_batch_is_undone_as_one(store: DecisionStore) -> None:
    todo = store.queue().concepts
    store.append([accept(each, batch="b") for each in todo], "Ada")
    assert store.counts()[Status.ACCEPTED] == 3
    undone = store.undo("Bob", number=2)
    assert sorted(each.undoes for each in undone) == [(1,), (2,), (3,)]
    assert len({each.decision.batch for each in undone}) == 1
    assert store.counts()[Status.TODO] == 3


def test_one_decision_of_a_batch_can_be_undone(store: DecisionStore) -> None:
    store.append([accept(each, batch="b") for each in store.queue().concepts], "Ada")
    store.undo("Ada", number=2, whole_batch=False)
    assert store.counts()[Status.ACCEPTED] == 2
    assert len(store.undo("Ada")) == 2


def test_what_cannot_be_undone_is_refused(store: DecisionStore) -> None:
    with pytest.raises(StoreError, match="no decision 1; look at the history"):
        store.undo("Ada", number=1)
    store.append([accept(get(store, "oat milk"))], "Ada")
    store.undo("Ada")
    with pytest.raises(StoreError, match="decision 1 has been undone already"):
        store.undo("Ada", number=1)
    with pytest.raises(StoreError, match="decision 2 is an undo; decide again"):
        store.undo("Ada", number=2)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (QueueQuery(), ["Oat Milk", "Rye bread", "Crème fraîche"]),
        (QueueQuery(order=QueueOrder.LISTED), ["Oat Milk", "Crème fraîche", "Rye bread"]),
        (QueueQuery(order=QueueOrder.PARENT), ["Rye bread", "Crème fraîche", "Oat Milk"]),
        (QueueQuery(text="drink OAT"), ["Oat Milk"]),
        (QueueQuery(text="creme"), ["Crème fraîche"]),
        (QueueQuery(text="100%"), []),
        (QueueQuery(min_confidence=0.8), ["Oat Milk", "Rye bread"]),
        (QueueQuery(min_confidence=0.7, max_confidence=0.9), ["Rye bread"]),
        (QueueQuery(branch=("food", "dairy")), ["Oat Milk", "Crème fraîche"]),
        (QueueQuery(branch=("food", "dairy", "milk")), ["Oat Milk"]),
        (QueueQuery(branch=("food", "dai")), []),
        (QueueQuery(statuses=(Status.ACCEPTED, Status.REJECTED)), []),
        (
            QueueQuery(statuses=(Status.TODO, Status.DEFERRED), offset=1),
            ["Rye bread", "Crème fraîche"],
        ),
        (QueueQuery(offset=1, limit=1), ["Rye bread"]),
    ],
)
def test_the_queue_is_filtered_and_sorted(
    store: DecisionStore, query: QueueQuery, expected: list[str]
) -> None:
    page = store.queue(query)
    assert [each.concept.label for each in page.concepts] == expected
    assert page.total == store.queue(replace(query, offset=0, limit=None)).total
    assert all(each.proposals for each in page.concepts)


def test_concepts_without_confidence_are_sorted_by_score(store: DecisionStore) -> None:
    store.set_proposals("scores", [proposal(NEW[0], 1, "milk", None)])
    store.add_concepts([Concept("n4", "zwieback")])
    assert labels(store, QueueQuery()) == ["Rye bread", "Crème fraîche", "Oat Milk", "zwieback"]
    assert labels(store, QueueQuery(max_confidence=0.6)) == ["Oat Milk"]


def test_known_concepts_get_the_texts_of_the_new_list(store: DecisionStore) -> None:
    store.append([accept(get(store, "oat milk"))], "Ada")
    store.add_concepts([Concept("x9", "oat milk", (), "a drink"), Concept("x8", "Spelt")])
    milk = get(store, "oat milk")
    assert (milk.concept, milk.status) == (
        Concept("x9", "oat milk", (), "a drink"),
        Status.ACCEPTED,
    )
    assert labels(store, QueueQuery(order=QueueOrder.LISTED))[-1] == "Spelt"


def test_concepts_with_one_name_and_different_ids_are_kept_apart(store: DecisionStore) -> None:
    banks = [Concept("b1", "Bank"), Concept("b2", "bank"), Concept("b1", "Bank")]
    for _ in range(2):
        store.add_concepts(banks)
        store.set_proposals("m", [proposal(each, 1, "grain", 0.5) for each in banks[:2]])
    found = store.queue(QueueQuery(text="bank")).concepts
    assert {each.concept.id for each in found} == {"b1", "b2"}
    assert [len(each.proposals) for each in found] == [1, 1]


@pytest.mark.parametrize(
    "label",
    [
        "<script>alert(1)</script>",
        "'; DROP TABLE decisions; --",
        "🧀" * 900,
        "שלום",
        "a\0b",
        "\ud800x",
        "%",
        "-",
    ],
)
def test_any_label_can_be_stored_and_found(store: DecisionStore, label: str) -> None:
    store.add_concepts([Concept("x", label, (label,), label)])
    found = store.concept(concept_key(label))
    assert found is not None
    assert store.append([comment(found, label)], label[:100])[0].number == 1
    assert store.history(concept=found.key)[0].decision.comment == get(store, label).comment


@pytest.mark.parametrize(
    ("action", "fields", "message"),
    [
        (Action.ACCEPT, {}, "accept needs at least one parent"),
        (Action.ACCEPT, {"placements": (placement("milk"),) * 2}, "a parent is chosen twice"),
        (
            Action.ACCEPT,
            {
                "placements": (
                    replace(placement("milk"), kind=SuggestionKind.MERGE),
                    placement("bread"),
                )
            },
            "merged has no parents",
        ),
        (Action.REJECT, {}, "a rejection needs a reason"),
        (Action.REJECT_PROPOSAL, {}, "reject-proposal needs at least one parent"),
        (Action.COMMENT, {"comment": " "}, "the comment is empty"),
        (Action.UNDO, {}, "undone by its number"),
        (Action.DEFER, {"request_id": "r" * 201}, "at most 200 characters"),
    ],
)
def test_incomplete_decisions_are_refused(
    store: DecisionStore, action: Action, fields: dict[str, object], message: str
) -> None:
    decision = NewDecision("oat milk", action, 0, **fields)  # type: ignore[arg-type]
    with pytest.raises(StoreError, match=f"'oat milk': .*{message}"):
        store.append([decision], "Ada")
    assert store.history() == []


def test_unknown_concepts_versions_and_curators_are_refused(store: DecisionStore) -> None:
    with pytest.raises(StoreError, match="'spelt' is not in the queue; add the concept"):
        store.append([NewDecision("spelt", Action.DEFER, 0)], "Ada")
    with pytest.raises(StoreError, match="'Oat Milk': there is no version 7, only 0"):
        store.append([NewDecision("oat milk", Action.DEFER, 7)], "Ada")
    with pytest.raises(StoreError, match="name must have 1 to 200 characters"):
        store.append([NewDecision("oat milk", Action.DEFER, 0)], "  ")
    with pytest.raises(StoreError, match="'Spelt' is not in the queue"):
        store.set_proposals("m", [proposal(Concept("s", "Spelt"), 1, "grain", 0.5)])


def test_a_store_is_the_same_after_it_was_reopened(store_url: str) -> None:
    with DecisionStore.open(store_url) as store:
        store.add_concepts(NEW)
        store.set_proposals("model 1", first_proposals())
        store.append([accept(get(store, "oat milk"))], "Ada")
        history, page = store.history(), store.queue()
    with DecisionStore.open(store_url, must_exist=True) as store:
        assert (store.history(), store.queue()) == (history, page)


def test_feedback_has_what_was_right_and_what_was_wrong(store: DecisionStore) -> None:
    store.append([accept(get(store, "oat milk"), "bread")], "Ada")
    store.append([reject(get(store, "rye bread"))], "Ada")
    store.append([reject(get(store, "crème fraîche"), Reason.OUT_OF_SCOPE)], "Ada")
    feedback = store.feedback()
    right = [(each.query.label, each.parent.id) for each in feedback.accepted]
    assert right == [("Oat Milk", "BREAD")]
    wrong = [(each.query.label, each.parent.id) for each in feedback.rejected]
    assert wrong == [("Oat Milk", "MILK"), ("Rye bread", "BREAD"), ("Rye bread", "GRAIN")]
    assert feedback.accepted[0].query == NEW[0]
    for _ in range(3):
        store.undo("Ada")
    assert not store.feedback()


def test_feedback_follows_the_latest_decision(store: DecisionStore) -> None:
    store.append([reject_proposal(get(store, "oat milk"), "milk")], "Ada")
    store.append([accept(get(store, "oat milk"), "cheese")], "Ada")
    store.append([accept(get(store, "oat milk"), "milk")], "Bob")
    feedback = store.feedback()
    assert [each.parent.id for each in feedback.accepted] == ["MILK"]
    assert "MILK" not in [each.parent.id for each in feedback.rejected]


def test_a_model_is_asked_only_for_concepts_that_need_it(store: DecisionStore) -> None:
    store.append([accept(get(store, "oat milk"))], "Ada")
    assert store.without_proposals("model 1", NEW) == []
    assert store.without_proposals("model 2", NEW) == list(NEW[1:])
    spelt = Concept("n4", "Spelt")
    store.add_concepts([spelt])
    assert store.without_proposals("model 1", [*NEW, spelt]) == [spelt]


def test_first_proposals_are_those_of_the_queue(store: DecisionStore) -> None:
    first = store.queue().concepts[0]
    drop = placement_of(first.proposals[0])
    store.append([NewDecision(first.key, Action.REJECT_PROPOSAL, 0, (drop,))], "Ada")
    for query in (QueueQuery(), QueueQuery(order=QueueOrder.PARENT, min_confidence=0.5)):
        expected = [
            (each.key, each.concept.label, each.version, placement_of(each.proposals[0]))
            for each in store.queue(query).concepts
            if each.proposals
        ]
        found = store.first_proposals(query)
        assert [(each.key, each.label, each.version, each.placement) for each in found] == expected
        assert expected


def test_a_query_may_ask_for_the_concepts_of_a_list(store: DecisionStore) -> None:
    twin = Concept("another", NEW[0].label)
    store.add_concepts([*NEW, twin, Concept("x", "kimchi")])
    listed = store.listed([NEW[2], Concept("", "Kimchi")])
    assert labels(store, QueueQuery(listed=listed, order=QueueOrder.LISTED)) == [
        NEW[2].label,
        "kimchi",
    ]
    assert store.counts(listed)[Status.TODO] == 2
    assert {each.key for each in store.first_proposals(QueueQuery(listed=listed))} <= {
        concept_key(NEW[2].label)
    }
    assert store.listed([*NEW, twin, Concept("", "kimchi")]) is None
    assert store.queue(QueueQuery(listed=store.listed([]))).total == 0

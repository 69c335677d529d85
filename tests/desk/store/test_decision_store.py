"""The decision store, on SQLite and on PostgreSQL."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from taxoexpan.desk.store.decision_store import DecisionStore
from taxoexpan.desk.store.decisions import (
    Action,
    ConflictError,
    Decision,
    QueuedConcept,
    Reason,
    Status,
    StoreError,
    concept_key,
)
from taxoexpan.desk.store.queue import QueueOrder, QueueQuery
from taxoexpan.placement.suggesting.suggestions import Suggestion, SuggestionKind, Verdict
from taxoexpan.taxonomy import Concept
from tests.support.desk_cases import (
    NEW,
    accept,
    comment,
    decide,
    first_proposals,
    proposal,
    reject,
    reject_proposal,
    searched,
)


def get(store: DecisionStore, label: str) -> QueuedConcept:
    concept = store.concept(concept_key(label))
    assert concept is not None
    return concept


def labels(store: DecisionStore, query: QueueQuery) -> list[str]:
    return [each.concept.label for each in store.queue(query).concepts]


def parents(suggestions: tuple[Suggestion, ...]) -> list[str]:
    return [each.parent.label for each in suggestions]


def shown(store: DecisionStore, label: str) -> list[str]:
    return parents(get(store, label).proposals)


def numbers(decisions: list[Decision]) -> list[int]:
    return [each.number for each in decisions]


def test_new_concepts_are_to_do_with_their_proposals(store: DecisionStore) -> None:
    milk = get(store, "oat-milk")
    assert (milk.concept, milk.status, milk.version) == (NEW[0], Status.TODO, 0)
    assert milk.proposals == tuple(first_proposals()[:3])
    assert store.concept("nothing") is None
    assert store.counts() == {**dict.fromkeys(Status, 0), Status.TODO: 3}


def test_an_accepted_concept_keeps_who_decided_what(store: DecisionStore) -> None:
    before = datetime.now(UTC)
    store.append([accept(get(store, "oat milk"), "bread")], " Ada  L. ")
    milk = get(store, "oat milk")
    assert (milk.status, milk.version, milk.curator) == (Status.ACCEPTED, 1, "Ada L.")
    assert milk.accepted == (first_proposals()[1],)
    (logged,) = store.history()
    assert (logged.number, logged.label, logged.model) == (1, "Oat Milk", "model 1")
    assert before <= logged.time <= before + timedelta(minutes=5)
    assert parents(logged.passed_over) == ["milk"]
    assert store.decision(1) == logged
    assert store.decision(2) is None


def test_a_searched_parent_passes_over_all_proposals(store: DecisionStore) -> None:
    (logged,) = store.append([accept(get(store, "oat milk"), "cheese", "bread")], "Ada")
    assert parents(logged.passed_over) == ["milk", "grain"]
    assert [each.rank for each in get(store, "oat milk").accepted] == [0, 2]


def test_proposals_that_another_model_has_made_since_are_not_judged(store: DecisionStore) -> None:
    milk, bread = get(store, "oat milk"), get(store, "rye bread")
    store.set_proposals("model 2", first_proposals())
    decided = [replace(each, model="model 1") for each in (accept(milk, "cheese"), reject(bread))]
    for logged in store.append(decided, "Ada"):
        assert (logged.passed_over, logged.model) == ((), None)
    assert parents(get(store, "oat milk").accepted) == ["cheese"]
    # It was rejected because of other proposals, so it is to do again with the new ones.
    assert get(store, "rye bread").status == Status.TODO
    assert shown(store, "rye bread") == ["bread", "grain"]


def test_one_rejected_proposal_makes_the_next_one_the_first(store: DecisionStore) -> None:
    store.append([reject_proposal(get(store, "oat milk"), "milk")], "Ada")
    assert get(store, "oat milk").status == Status.TODO
    assert shown(store, "oat milk") == ["bread", "grain"]
    first = QueueQuery(parent_id="BREAD", order=QueueOrder.LISTED)
    assert labels(store, first) == ["Oat Milk", "Rye bread"]


def test_a_rejection_covers_all_proposals_that_were_shown(store: DecisionStore) -> None:
    store.append([reject(get(store, "oat milk"))], "Ada")
    assert parents(store.history()[0].suggestions) == ["milk", "bread", "grain"]
    assert get(store, "oat milk").status == Status.REJECTED


def test_a_rejected_proposal_is_not_made_again_by_a_later_model(store: DecisionStore) -> None:
    store.append([reject(get(store, "oat milk"))], "Ada")
    again = [proposal(NEW[0], 1, "milk", 0.99), proposal(NEW[0], 2, "bread", 0.98)]
    store.set_proposals("model 2", again)
    assert get(store, "oat milk").status == Status.REJECTED
    store.set_proposals("model 3", [*again, proposal(NEW[0], 3, "cheese", 0.2)])
    milk = get(store, "oat milk")
    assert (milk.status, parents(milk.proposals)) == (Status.TODO, ["cheese"])
    store.append([accept(milk)], "Ada")
    assert store.history()[0].model == "model 3"


def test_a_rejected_parent_may_still_be_proposed_as_the_same_concept(store: DecisionStore) -> None:
    store.append([reject(get(store, "oat milk"))], "Ada")
    store.set_proposals("model 2", [proposal(NEW[0], 1, "milk", 0.9, SuggestionKind.MERGE)])
    assert get(store, "oat milk").status == Status.TODO


@pytest.mark.parametrize("reason", [Reason.OUT_OF_SCOPE, Reason.OTHER, None])
def test_a_concept_out_of_scope_or_accepted_is_not_asked_again(
    store: DecisionStore, reason: Reason | None
) -> None:
    milk = get(store, "oat milk")
    store.append([reject(milk, reason) if reason else accept(milk)], "Ada")
    store.add_concepts(NEW)
    store.set_proposals("model 2", [proposal(NEW[0], 1, "cheese", 0.9)])
    expected = Status.REJECTED if reason else Status.ACCEPTED
    assert get(store, "oat milk").status == expected
    assert store.counts()[Status.TODO] == 2


def test_deferred_concepts_come_last_in_the_order_of_deferral(store: DecisionStore) -> None:
    deferred = [decide(get(store, label), Action.DEFER) for label in ("rye bread", "oat milk")]
    store.append(deferred, "Ada")
    for order in QueueOrder:
        expected = ["Crème fraîche", "Rye bread", "Oat Milk"]
        assert labels(store, QueueQuery(order=order)) == expected
    assert store.counts()[Status.DEFERRED] == 2


def test_a_comment_changes_the_version_but_not_the_status(store: DecisionStore) -> None:
    store.append([comment(get(store, "oat milk"), "vegan?")], "Ada")
    milk = get(store, "oat milk")
    assert (milk.status, milk.version, milk.comment) == (Status.TODO, 1, "vegan?")
    assert milk.curator is None


def test_of_two_curators_the_second_sees_the_decision_of_the_first(store: DecisionStore) -> None:
    seen = get(store, "oat milk")
    store.append([accept(seen)], "Ada")
    others = [accept(get(store, "rye bread")), reject(seen)]
    with pytest.raises(ConflictError, match=r"'Oat Milk': Ada decided first \(accept\)") as caught:
        store.append(others, "Bob")
    assert [caught.value.other] == store.history()
    # All or none: the decision about the other concept was not appended either.
    assert get(store, "rye bread").version == 0


def test_a_repeated_request_is_appended_once(store: DecisionStore) -> None:
    decision = replace(accept(get(store, "oat milk")), request_id="r1")
    store.append([decision], "Ada")
    assert store.append([decision], "Ada") == store.history()
    assert store.requested("r1") == store.history()
    other = replace(accept(get(store, "rye bread")), request_id="r3")
    with pytest.raises(StoreError, match="request id was used before"):
        store.append([decision, other], "Ada")
    store.append([other], "Ada")
    store.undo("Ada")
    undone = store.undo("Ada", request_id="r2")
    assert numbers(store.undo("Ada", request_id="r2")) == numbers(undone) == [4]
    assert len(store.history()) == 4


def test_undo_goes_back_without_limit(store: DecisionStore) -> None:
    store.append([accept(get(store, "oat milk"))], "Ada")
    store.append([reject(get(store, "rye bread"))], "Ada")
    store.append([accept(get(store, "crème fraîche"))], "Bob")
    assert store.undo("Ada")[0].label == "Rye bread"
    rye = get(store, "rye bread")
    assert (rye.status, rye.version) == (Status.TODO, 2)
    assert parents(rye.proposals) == ["bread", "grain"]
    assert store.undo("Ada")[0].label == "Oat Milk"
    assert store.undo("Ada") == []
    assert store.counts()[Status.ACCEPTED] == 1
    assert [each.undone for each in store.history()] == [False, False, False, True, True]
    assert [each.undoes for each in store.history()] == [1, 2, None, None, None]


def test_undo_of_an_earlier_decision_keeps_the_later_one(store: DecisionStore) -> None:
    store.append([reject_proposal(get(store, "oat milk"), "milk")], "Ada")
    store.append([accept(get(store, "oat milk"))], "Bob")
    store.undo("Ada")
    milk = get(store, "oat milk")
    assert (milk.status, milk.version, milk.curator) == (Status.ACCEPTED, 3, "Bob")
    assert parents(milk.proposals) == ["milk", "bread", "grain"]


def test_a_batch_is_undone_as_one(store: DecisionStore) -> None:
    store.append([accept(each, batch="b") for each in store.queue().concepts], "Ada")
    assert store.counts()[Status.ACCEPTED] == 3
    undone = store.undo("Bob", number=2, request_id="u")
    assert [each.undoes for each in undone] == [3, 2, 1]
    assert len({each.batch for each in undone}) == 1
    assert numbers(store.undo("Bob", number=2, request_id="u")) == numbers(undone)
    assert store.counts()[Status.TODO] == 3


def test_one_decision_of_a_batch_can_be_undone(store: DecisionStore) -> None:
    store.append([accept(each, batch="b") for each in store.queue().concepts], "Ada")
    store.undo("Ada", number=2, whole_batch=False)
    assert store.counts()[Status.ACCEPTED] == 2
    assert len(store.undo("Ada")) == 2


def test_what_cannot_be_undone_is_refused(store: DecisionStore) -> None:
    with pytest.raises(StoreError, match="no decision 1"):
        store.undo("Ada", number=1)
    store.append([accept(get(store, "oat milk"))], "Ada")
    store.undo("Ada")
    with pytest.raises(StoreError, match="decision 1 has been undone already"):
        store.undo("Ada", number=1)
    with pytest.raises(StoreError, match="decision 2 is an undo"):
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
    listed = Concept("x9", "oat milk", (), "a drink")
    store.add_concepts([listed, Concept("x8", "Spelt")])
    milk = get(store, "oat milk")
    assert (milk.concept, milk.status) == (listed, Status.ACCEPTED)
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
    found = get(store, label)
    assert store.append([comment(found, label)], label[:100])[0].number == 1
    assert store.history(concept=found.key)[0].comment == get(store, label).comment


@pytest.mark.parametrize(
    ("decision", "message"),
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
            "merged has no parents",
        ),
        (
            decide("oat milk", Action.ACCEPT, replace(searched("milk"), parent=Concept("", "x"))),
            "has no id",
        ),
        (decide("oat milk", Action.REJECT), "needs a reason"),
        (decide("oat milk", Action.REJECT_PROPOSAL), "at least one parent"),
        (decide("oat milk", Action.COMMENT, comment=" "), "empty"),
        (decide("oat milk", Action.UNDO), "undone by its number"),
        (decide("oat milk", Action.DEFER, request_id="r" * 201), "at most 200 characters"),
    ],
)
def test_incomplete_decisions_are_refused(
    store: DecisionStore, decision: Decision, message: str
) -> None:
    with pytest.raises(StoreError, match=f"'oat milk': .*{message}"):
        store.append([decision], "Ada")
    assert store.history() == []


def test_unknown_concepts_versions_and_curators_are_refused(store: DecisionStore) -> None:
    deferred = decide("oat milk", Action.DEFER)
    with pytest.raises(StoreError, match="'spelt' is not in the queue"):
        store.append([decide("spelt", Action.DEFER)], "Ada")
    with pytest.raises(StoreError, match="'Oat Milk': there is no version 7, only 0"):
        store.append([replace(deferred, version=7)], "Ada")
    with pytest.raises(StoreError, match="name must have 1 to 200 characters"):
        store.append([deferred], "  ")
    with pytest.raises(StoreError, match="'Spelt' is not in the queue"):
        store.set_proposals("m", [proposal(Concept("s", "Spelt"), 1, "grain", 0.5)])


def test_a_store_is_the_same_after_it_was_reopened(store_url: str) -> None:
    with DecisionStore.open(store_url) as store:
        store.add_concepts(NEW)
        store.set_proposals("model 1", first_proposals())
        store.append([accept(get(store, "oat milk"))], "Ada")
        before = store.queue(), store.history()
    with DecisionStore.open(store_url) as store:
        assert (store.queue(), store.history()) == before


def test_feedback_has_what_was_right_and_what_was_wrong(store: DecisionStore) -> None:
    store.append([accept(get(store, "oat milk"), "bread")], "Ada")
    store.append([reject(get(store, "rye bread"))], "Ada")
    store.append([reject(get(store, "crème fraîche"), Reason.OUT_OF_SCOPE)], "Ada")
    feedback = store.feedback()
    right = [(each.query, each.parent.id) for each in feedback.accepted]
    assert right == [(NEW[0], "BREAD")]
    wrong = [(each.query.label, each.parent.id) for each in feedback.rejected]
    assert wrong == [("Oat Milk", "MILK"), ("Rye bread", "BREAD"), ("Rye bread", "GRAIN")]
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


def test_exported_suggestions_name_the_curator_of_the_decision_that_stands(
    store: DecisionStore,
) -> None:
    store.append([reject(get(store, "crème fraîche")), accept(get(store, "rye bread"))], "Ada")
    store.append([accept(get(store, "oat milk"), "grain")], "Ada")
    (second,) = store.append([accept(get(store, "oat milk"), "milk", "bread")], "Bob")
    store.append([reject_proposal(get(store, "oat milk"), "cheese")], "Cy")

    def accepted() -> list[tuple[str, str, str]]:
        decided = [s for s in store.export_suggestions() if s.decision == Verdict.ACCEPTED]
        return [(s.query.label, s.parent.label, s.curator) for s in decided]

    bread = ("Rye bread", "bread", "Ada")
    assert accepted() == [("Oat Milk", "milk", "Bob"), ("Oat Milk", "bread", "Bob"), bread]
    rejected = {(s.parent.label, s.curator) for s in store.export_suggestions() if not s.is_decided}
    assert rejected == {("cheese", "Cy"), ("dairy", "Ada"), ("milk", "Ada")}
    store.undo("Bob", second.number)
    assert accepted() == [("Oat Milk", "grain", "Ada"), bread]
    store.append([decide(get(store, "oat milk"), Action.DEFER)], "Bob")
    assert accepted() == [bread]


def test_a_model_is_asked_only_for_concepts_that_need_it(store: DecisionStore) -> None:
    store.append([accept(get(store, "oat milk"))], "Ada")
    assert store.without_proposals("model 1", NEW) == []
    assert store.without_proposals("model 2", NEW) == list(NEW[1:])
    spelt = Concept("n4", "Spelt")
    store.add_concepts([spelt])
    assert store.without_proposals("model 1", [*NEW, spelt]) == [spelt]


def test_first_proposals_are_those_of_the_queue(store: DecisionStore) -> None:
    first = store.queue().concepts[0]
    store.append([decide(first, Action.REJECT_PROPOSAL, first.proposals[0])], "Ada")
    for query in (QueueQuery(), QueueQuery(order=QueueOrder.PARENT, min_confidence=0.5)):
        queued, found = store.queue(query).concepts, store.first_proposals(query)
        assert [(each.key, each.version) for each in found] == [(c.key, c.version) for c in queued]
        for each, concept in zip(found, queued, strict=True):
            assert replace(each.proposals[0], query=concept.concept) == concept.proposals[0]


def test_a_query_may_ask_for_the_concepts_of_a_list(store: DecisionStore) -> None:
    twin = Concept("another", NEW[0].label)
    store.add_concepts([*NEW, twin, Concept("x", "kimchi")])
    listed = store.listed([NEW[2], Concept("", "Kimchi")])
    in_list = QueueQuery(listed=listed, order=QueueOrder.LISTED)
    assert labels(store, in_list) == [NEW[2].label, "kimchi"]
    assert store.counts(listed)[Status.TODO] == 2
    assert [each.key for each in store.first_proposals(in_list)] == [concept_key(NEW[2].label)]
    assert store.listed([*NEW, twin, Concept("", "kimchi")]) is None
    assert store.queue(QueueQuery(listed=store.listed([]))).total == 0

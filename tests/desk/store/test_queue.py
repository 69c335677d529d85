"""After any sequence of decisions and undos, the queue equals the fold over the log."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from taxoexpan.desk.store.decision_store import DecisionStore
from taxoexpan.desk.store.decisions import Action, Decision, Reason, Status
from taxoexpan.desk.store.queue import QueueQuery
from tests.support.desk_cases import (
    NEW,
    PARENTS,
    PATHS,
    accept,
    comment,
    decide,
    first_proposals,
    proposal,
    reject,
    reject_proposal,
)
from tests.support.postgresql_server import PostgresqlServer

KEYS = ("oat milk", "crème fraîche", "rye bread")
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["accept", "other", "reject", "proposal", "defer", "comment", "undo"]),
        st.sampled_from(KEYS),
        st.sampled_from(["Ada", "Bob"]),
        st.sampled_from(list(Reason)),
        st.integers(0, 9),
    ),
    max_size=12,
)


@dataclass
class Expected:
    """The state of a concept, computed in the simplest way from the decisions that count."""

    status: Status = Status.TODO
    parents: tuple[str, ...] = ()
    rejected: frozenset[str] = frozenset()
    comment: str = ""

    def after(self, decision: Decision) -> Expected:
        state = replace(self, comment=decision.comment or self.comment)
        parents = tuple(each.parent.id for each in decision.suggestions)
        match decision.action:
            case Action.ACCEPT:
                kept = self.rejected - set(parents)
                return replace(state, status=Status.ACCEPTED, parents=parents, rejected=kept)
            case Action.REJECT:
                wrong = set(parents) if decision.reason == Reason.WRONG_PARENTS else set()
                rejected = self.rejected | wrong
                return replace(state, status=Status.REJECTED, parents=(), rejected=rejected)
            case Action.REJECT_PROPOSAL:
                return replace(state, rejected=self.rejected | set(parents))
            case Action.DEFER:
                return replace(state, status=Status.DEFERRED, parents=())
        return state


def expected_states(log: list[Decision]) -> dict[str, Expected]:
    """Fold the log, oldest first, without the decisions that were undone."""
    undone = {logged.undoes for logged in log if logged.undoes}
    assert undone == {logged.number for logged in log if logged.undone}
    states = {key: Expected() for key in KEYS}
    for logged in sorted(log, key=lambda each: each.number):
        key = logged.concept
        if logged.number not in undone:
            states[key] = states[key].after(logged)
    return states


def take(store: DecisionStore, step: tuple[str, str, str, Reason, int]) -> None:
    """Take one decision about a concept as it is now, or undo one."""
    action, key, curator, reason, number = step
    concept = store.concept(key)
    assert concept is not None
    if action == "undo":
        active = [logged.number for logged in store.log()[::-1] if not logged.undone]
        active = [n for n in active if not numbered(store, n).undoes]
        store.undo(curator, active[number % len(active)] if active and number % 2 else None)
        return
    shown = [each.parent.label for each in concept.proposals]
    first = shown[0] if shown else "cheese"
    decision = {
        "accept": lambda: accept(concept, first),
        "other": lambda: accept(concept, *sorted(PATHS)[: 1 + number % 3]),
        "reject": lambda: reject(concept, reason),
        "proposal": lambda: reject_proposal(concept, first),
        "defer": lambda: decide(concept, Action.DEFER),
        "comment": lambda: comment(concept, f"remark {number}"),
    }[action]()
    batch = f"batch {number}" if number > 7 else None
    store.append([replace(decision, batch=batch)], curator)


def numbered(store: DecisionStore, number: int) -> Decision:
    return next(logged for logged in store.log()[::-1] if logged.number == number)


def check(store: DecisionStore, proposed: dict[str, list[str]]) -> None:
    log = store.log()[::-1]
    states = expected_states(log)
    for key, state in states.items():
        concept = store.concept(key)
        assert concept is not None
        shown = [p for p in proposed[key] if p.upper() not in state.rejected]
        assert [each.parent.label for each in concept.proposals] == shown
        assert concept.version == sum(each.concept == key for each in log)
        assert concept.comment == state.comment
        last = [e for e in log if e.concept == key and not e.undone and not e.undoes]
        again = _is_asked_again(last, shown)
        assert concept.status == (Status.TODO if again else state.status)
        assert tuple(each.parent.id for each in concept.accepted) == state.parents
    assert sum(store.counts().values()) == len(KEYS)
    derived = store.queue(QueueQuery(limit=None))
    store.rebuild()
    assert store.queue(QueueQuery(limit=None)) == derived


def _is_asked_again(newest_first: list[Decision], shown: list[str]) -> bool:
    """Whether the last decision found all parents wrong, and there is another proposal."""
    kept = (Action.COMMENT, Action.REJECT_PROPOSAL)
    deciding = [each for each in newest_first if each.action not in kept]
    wrong = deciding and deciding[0].reason == Reason.WRONG_PARENTS
    return bool(wrong and shown)


def run(url: str, steps: list[tuple[str, str, str, Reason, int]]) -> None:
    with DecisionStore.open(url) as store:
        store.add_concepts(NEW)
        store.set_proposals("model 1", first_proposals())
        proposed = {
            key: [parent for parent, _ in PARENTS[concept.id]]
            for key, concept in zip(KEYS, NEW, strict=True)
        }
        half = len(steps) // 2
        for step in steps[:half]:
            take(store, step)
        check(store, proposed)
        # A later model proposes other parents, and some of the same.
        later = ["cheese", "bread", "milk"]
        store.set_proposals(
            "model 2",
            [proposal(each, rank, p, 0.4) for each in NEW for rank, p in enumerate(later, 1)],
        )
        for step in steps[half:]:
            take(store, step)
        check(store, dict.fromkeys(KEYS, later))


@settings(max_examples=25)
@given(STEPS)
def test_the_queue_equals_the_fold_over_the_log(
    tmp_path_factory: object, steps: list[tuple[str, str, str, Reason, int]]
) -> None:
    folder: Path = tmp_path_factory.mktemp("store")  # type: ignore[attr-defined]
    run(str(folder / "reviews.db"), steps)


@settings(max_examples=5)
@given(STEPS)
def test_the_queue_equals_the_fold_over_the_log_in_postgresql(
    postgresql: PostgresqlServer, steps: list[tuple[str, str, str, Reason, int]]
) -> None:
    run(postgresql.new_schema(), steps)

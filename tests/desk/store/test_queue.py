"""After any sequence of decisions and undos, the queue equals the fold over what was decided."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.desk_cases import (
    NEW,
    PARENTS,
    PATHS,
    DecisionStore,
    QueueQuery,
    Reason,
    accept,
    append,
    comment,
    defer,
    first_proposals,
    proposal,
    queued,
    reject,
    reject_proposal,
    state,
    undo,
)
from tests.support.postgresql_server import PostgresqlServer

KEYS = ("oat milk", "crème fraîche", "rye bread")
Step = tuple[str, str, str, Reason, int]
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


@dataclass(frozen=True)
class Done:
    """A decision that was taken."""

    action: str
    key: str
    parents: tuple[str, ...]
    reason: Reason
    comment: str


@dataclass(frozen=True)
class Expected:
    """The state of a concept, computed in the simplest way from the decisions that count."""

    status: str = "todo"
    parents: tuple[str, ...] = ()
    rejected: frozenset[str] = frozenset()
    comment: str = ""
    is_wrong: bool = False
    """Whether the last decision has found all parents wrong."""

    def after(self, done: Done) -> Expected:
        parents = done.parents
        kept = self.rejected - set(parents)
        more = self.rejected | set(parents)
        match done.action:
            case "accept" | "other":
                return replace(
                    self, status="accepted", parents=parents, rejected=kept, is_wrong=False
                )
            case "reject":
                is_wrong = done.reason == Reason.WRONG_PARENTS
                rejected = more if is_wrong else self.rejected
                return replace(
                    self, status="rejected", parents=(), rejected=rejected, is_wrong=is_wrong
                )
            case "proposal":
                return replace(self, rejected=more)
            case "defer":
                return replace(self, status="deferred", parents=(), is_wrong=False)
        return replace(self, comment=done.comment)


class Desk:
    """A store, and a record of what was done with it."""

    def __init__(self, store: DecisionStore) -> None:
        self.store = store
        self.log: dict[int, Done] = {}
        """The decisions by number."""
        self.undone: set[int] = set()
        self.versions = dict.fromkeys(KEYS, 0)

    def take(self, step: Step) -> None:
        """Take one decision about a concept as it is now, or undo one."""
        action, key, curator, reason, number = step
        if action == "undo":
            active = [n for n in self.log if n not in self.undone]
            chosen = active[number % len(active)] if active and number % 2 else None
            for taken_back in undo(self.store, curator, chosen):
                self.undone.add(taken_back)
                self.versions[self.log[taken_back].key] += 1
            return
        concept = queued(self.store, key)
        shown = state(self.store, key).proposed
        first = shown[0] if shown else "cheese"
        others = sorted(PATHS)[: 1 + number % 3]
        batch = f"batch {number}" if number > 7 else None
        remark = f"remark {number}" if action == "comment" else ""
        parents = {"other": others, "reject": shown, "accept": [first], "proposal": [first]}
        decisions = {
            "accept": lambda: accept(concept, first),
            "other": lambda: accept(concept, *others),
            "reject": lambda: reject(concept, reason),
            "proposal": lambda: reject_proposal(concept, first),
            "defer": lambda: defer(concept),
            "comment": lambda: comment(concept, remark),
        }
        (logged,) = append(self.store, curator, replace(decisions[action](), batch=batch))
        self.log[logged] = Done(action, key, tuple(parents.get(action, ())), reason, remark)
        self.versions[key] += 1

    def check(self, proposed: dict[str, list[str]]) -> None:
        """Compare the queue with the fold, and with the queue that is derived again."""
        expected = dict.fromkeys(KEYS, Expected())
        for number in sorted(self.log.keys() - self.undone):
            done = self.log[number]
            expected[done.key] = expected[done.key].after(done)
        for key, own in expected.items():
            found = state(self.store, key)
            shown = [parent for parent in proposed[key] if parent not in own.rejected]
            assert found.proposed == shown
            assert found.accepted == list(own.parents)
            assert (found.version, found.comment) == (self.versions[key], own.comment)
            # A concept whose parents were all wrong is to do again if there is another proposal.
            assert found.status == ("todo" if own.is_wrong and shown else own.status)
        assert {each.number for each in self.store.log() if each.undone} == self.undone
        assert sum(self.store.counts().values()) == len(KEYS)
        derived = self.store.queue(QueueQuery(limit=None))
        self.store.rebuild()
        assert self.store.queue(QueueQuery(limit=None)) == derived


def run(url: str, steps: list[Step]) -> None:
    with DecisionStore.open(url) as store:
        store.add_concepts(NEW)
        store.set_proposals("model 1", first_proposals())
        desk = Desk(store)
        half = len(steps) // 2
        for step in steps[:half]:
            desk.take(step)
        own = {
            key: [parent for parent, _ in PARENTS[concept.id]]
            for key, concept in zip(KEYS, NEW, strict=True)
        }
        desk.check(own)
        # A later model proposes other parents, and some of the same.
        later = ["cheese", "bread", "milk"]
        store.set_proposals(
            "model 2",
            [proposal(each, rank, p, 0.4) for each in NEW for rank, p in enumerate(later, 1)],
        )
        for step in steps[half:]:
            desk.take(step)
        desk.check(dict.fromkeys(KEYS, later))


@pytest.mark.slow
@settings(max_examples=15)
@given(STEPS)
def test_the_queue_equals_the_fold_over_the_log(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Step]
) -> None:
    folder: Path = tmp_path_factory.mktemp("store")
    run(str(folder / "reviews.db"), steps)


@settings(max_examples=5)
@given(STEPS)
def test_the_queue_equals_the_fold_over_the_log_in_postgresql(
    postgresql: PostgresqlServer, steps: list[Step]
) -> None:
    run(postgresql.new_schema(), steps)

"""Where additions come from: the program, the curators, and the model's reasons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version

from taxoexpan.decisions.decision import Decision, Merge, Person, Place
from taxoexpan.decisions.suggestion import Suggestion, SuggestionKind
from taxoexpan.taxonomy import Provenance

NUM_REFINED = 3
"""Possible parents that the note on a coarse placement names."""


def provenance_of(decisions: Iterable[Decision]) -> Provenance:
    """Record the version, the time, and the curators or scores; a row without a rank has none."""
    reasons: dict[tuple[str, str], str] = {}
    tasks: dict[str, str] = {}
    curators: dict[str, str] = {}
    for decision in decisions:
        if not isinstance(decision, Place | Merge):
            continue
        id = decision.query.id
        for s in decision.suggestions:
            if s.rank:
                reasons[s.parent.id, id] = f"{s.measure} {s.confidence_or_score:.2f}"
            if isinstance(decision, Place) and s.kind == SuggestionKind.COARSE:
                tasks[id] = _task(s, decision.finer)
        if isinstance(decision.by, Person) and decision.by.name:
            curators[id] = decision.by.name
    agent = f"taxoexpan {version('taxoexpan')}"
    return Provenance(agent, datetime.now(UTC), reasons, tasks, curators)


def _task(coarse: Suggestion, others: Sequence[Suggestion]) -> str:
    """Return what to do about a coarse placement: the best suggestions below it."""
    depth = len(coarse.path)
    below = [s for s in others if len(s.path) > depth and s.path[:depth] == coarse.path]
    names = [f"{s.parent.label} {s.confidence_or_score:.2f}" for s in below[:NUM_REFINED]]
    return "to be refined" + (f": {', '.join(names)}" if names else "")

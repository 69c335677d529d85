"""Evidence from what was written of it: of concepts the id and the label, numbers as rounded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from taxoexpan.explain.evidence import (
    Child,
    Contest,
    Evidence,
    Heard,
    Mention,
    Parts,
    Removal,
    Support,
    Weighing,
)
from taxoexpan.features.mentions import MentionKind
from taxoexpan.taxonomy import Concept

_KIND_OF = {kind.description: int(kind) for kind in MentionKind}


def read_evidence(told: Mapping[str, Any]) -> Evidence:
    """The evidence of which `Evidence.as_dict` gave this."""
    weighing, contest = told["weighing"], told["contest"]
    return Evidence(
        query=_concept(told["query"]),
        known=told["known"],
        support=tuple(map(_support, told["suggestions"])),
        parts=Parts(**told["parts"]),
        weighing=Weighing(
            grandparents=weighing["grandparents"],
            anchor=weighing["anchor"],
            siblings=weighing["siblings"],
            attention=tuple(Heard(_concept(each), each["share"]) for each in weighing["attention"]),
        ),
        contest=None if contest is None else _contest(contest),
    )


def _support(told: Mapping[str, Any]) -> Support:
    return Support(
        parent=_concept(told["parent"]),
        path=tuple(told["path"]),
        score=told["score"],
        cosine=told["cosine"],
        head_cosine=told["head_cosine"],
        words=tuple(told["shared_words"]),
        children=tuple(
            Child(_concept(child), child["cosine"], tuple(child["shared_words"]))
            for child in told["nearest_children"]
        ),
        child_count=told["child_count"],
        mentions=tuple(
            Mention(_KIND_OF[each["how"]], each["how"], each["bonus"]) for each in told["mentions"]
        ),
    )


def _contest(told: Mapping[str, Any]) -> Contest:
    decisive = told["decisive"]
    return Contest(
        runner_up=_concept(told["runner_up"]),
        parts=Parts(**told["parts"]),
        margin=told["margin"],
        standing=told["standing"],
        decisive=None if decisive is None else _removal(decisive),
    )


def _removal(told: Mapping[str, Any]) -> Removal:
    return Removal(
        anchor=_concept(told["anchor"]),
        neighbour=_concept(told["neighbour"]),
        is_child=told["neighbour_is"] == "child",
        margin=told["margin_without"],
    )


def _concept(told: Mapping[str, Any]) -> Concept:
    return Concept(told["id"], told["label"])

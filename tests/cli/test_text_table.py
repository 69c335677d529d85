from __future__ import annotations

from taxoexpan.cli.text_table import placements_table
from taxoexpan.placement.suggesting.suggestions import Suggestion, Verdict
from taxoexpan.taxonomy import Concept

TEA, MILK, SOUP = (Concept(name, name) for name in ("tea", "milk", "soup"))


def ranked(label: str, *confidences: float, decision: Verdict = Verdict.OPEN) -> list[Suggestion]:
    query = Concept(label, label)
    parents = zip((TEA, MILK, SOUP), confidences, strict=False)
    return [
        Suggestion(
            query, rank, parent, ("food", parent.label), 0.4 / rank, confidence, decision=decision
        )
        for rank, (parent, confidence) in enumerate(parents, start=1)
    ]


def test_equal_confidences_of_one_term_are_told_apart() -> None:
    _, first, second = placements_table(
        [*ranked("chai", 0.8, 0.124, 0.121), *ranked("broth", 0.3, 0.3, 0.1)]
    ).splitlines()
    assert first.split("  ")[-1] == "milk 0.124, soup 0.121"
    assert "0.30 (score 0.4)" in second
    assert second.endswith("milk 0.30 (score 0.2), soup 0.10")


def test_decisions_are_shown_if_there_are_any() -> None:
    plain = placements_table(ranked("chai", 0.8)).splitlines()
    assert plain[0].split() == ["TERM", "PARENT", "CONFIDENCE", "PATH", "RUNNERS-UP"]
    decided = placements_table(
        [
            *ranked("chai", 0.8, decision=Verdict.ACCEPTED),
            *ranked("broth", 0.1, decision=Verdict.UNDECIDED),
        ]
    ).splitlines()
    assert [line.split()[3] for line in decided] == ["DECISION", "accepted", "undecided"]


def test_a_term_cannot_control_the_terminal() -> None:
    table = placements_table(ranked("chai\x1b[2J\nTERM", 0.8))
    assert table.splitlines()[1].startswith(r"chai\x1b[2J\nTERM  tea")

"""Applying: from decisions to an expanded taxonomy file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from taxoexpan.decisions.additions import Outcome, to_additions
from taxoexpan.decisions.decision import (
    Decision,
    Leave,
    Merge,
    Place,
    Reason,
    Refusal,
)
from taxoexpan.formats.tables.formulas import is_computed_file, protect_additions
from taxoexpan.formats.taxonomy_file import TaxonomyFile, WrittenFiles
from taxoexpan.phrasing import join_words
from taxoexpan.taxonomy import Additions
from taxoexpan.taxonomy.id_policy import DEFAULT_IDS, IdPolicy


@dataclass(frozen=True)
class AppliedSuggestions:
    """What follows from the decisions, and the written files.

    Examples:
        >>> from taxoexpan import expand_file
        >>> files = ("examples/instruments.ttl", "examples/new-instruments.csv", "new.ttl")
        >>> applied = expand_file(*files, preset="fast", quiet=True)
        >>> len(applied.additions.concepts)
        11
    """

    outcome: Outcome
    written: WrittenFiles
    protected: int = 0
    """The number of new texts that got an apostrophe, because a spreadsheet would compute them."""

    @property
    def additions(self) -> Additions:
        """The concepts, relations, moves and synonyms that were written."""
        return self.outcome.additions


def apply_decisions(
    file: TaxonomyFile,
    decisions: Sequence[Decision],
    output: Path | None,
    ids: IdPolicy = DEFAULT_IDS,
    force: bool = False,
) -> AppliedSuggestions:
    """Carry out decisions in a taxonomy file; without an output, only return the insertions.

    In CSV files, new formulas get an apostrophe.
    """
    outcome = to_additions(file.taxonomy, decisions, ids)
    protected = 0
    if is_computed_file(file.format, file.path):
        additions, protected = protect_additions(file.taxonomy, outcome.additions)
        outcome = replace(outcome, additions=additions)
    written = file.write(outcome.additions, output, force)
    return AppliedSuggestions(outcome, written, protected)


def supported(
    file: TaxonomyFile, decisions: Sequence[Decision]
) -> tuple[list[Decision], list[Refusal]]:
    """Leave the merges, and do without the moves, that a file cannot store."""
    changes = file.supported_changes
    kept: list[Decision] = []
    refused = []
    for decision in decisions:
        label = repr(decision.query.label)
        parents = join_words([repr(s.parent.label) for s in decision.suggestions])
        if isinstance(decision, Merge) and "synonyms" not in changes:
            message = f"{label} is a synonym of {parents}; this file has no synonyms"
            refused.append(Refusal(message, decision.query))
            decision = Leave(decision.query, decision.by, decision.suggestions, Reason.REFUSED)
        elif isinstance(decision, Place) and decision.has_moves and "moves" not in changes:
            message = f"{label} moves no children of {parents}; this file cannot be changed so"
            refused.append(Refusal(message, decision.query))
            decision = replace(decision, is_moving=False)
        kept.append(decision)
    return kept, refused

"""Applying: from suggestions to an expanded taxonomy file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from taxoexpan.decisions.acceptance import Acceptance
from taxoexpan.decisions.additions import AcceptedSuggestions, accept_suggestions
from taxoexpan.decisions.suggestion import Suggestion, SuggestionKind, Verdict
from taxoexpan.formats.tables.formulas import is_computed_file, protect_additions
from taxoexpan.formats.taxonomy_file import TaxonomyFile, WrittenFiles
from taxoexpan.shared_options import AcceptanceOptions, ExpandOptions
from taxoexpan.taxonomy import Additions, Provenance
from taxoexpan.taxonomy.id_policy import IdPolicy

NUM_REFINED = 3
"""Possible parents that the note on a coarse placement names."""


@dataclass(frozen=True)
class AppliedSuggestions:
    """The accepted suggestions, and the written files.

    Examples:
        >>> from taxoexpan import expand_file
        >>> files = ("examples/instruments.ttl", "examples/new-instruments.csv", "new.ttl")
        >>> applied = expand_file(*files, preset="fast", quiet=True)
        >>> len(applied.additions.concepts)
        11
    """

    accepted: AcceptedSuggestions
    written: WrittenFiles
    protected: int = 0
    """The number of new texts that got an apostrophe, because a spreadsheet would compute them."""

    @property
    def additions(self) -> Additions:
        """The concepts, relations, moves and synonyms that were written."""
        return self.accepted.additions


def apply_suggestions(
    file: TaxonomyFile,
    suggestions: Sequence[Suggestion],
    output: Path | None,
    acceptance: Acceptance,
    force: bool = False,
) -> AppliedSuggestions:
    """Add accepted suggestions to a taxonomy file; without an output, only return the insertions.

    In CSV files, new formulas get an apostrophe.
    """
    accepted = accept_suggestions(file.taxonomy, suggestions, acceptance)
    additions = replace(accepted.additions, provenance=_provenance(accepted.suggestions))
    protected = 0
    if is_computed_file(file.format, file.path):
        additions, protected = protect_additions(file.taxonomy, additions)
    accepted = replace(accepted, additions=additions)
    return AppliedSuggestions(accepted, file.write(additions, output, force), protected)


def _provenance(suggestions: Sequence[Suggestion]) -> Provenance:
    """Record the version, the time, and the curators or scores; a row without a rank has none."""
    suggestions = [s for s in suggestions if s.decision != Verdict.REJECTED]
    finer: dict[str, list[Suggestion]] = {}
    for s in suggestions:
        if s.kind != SuggestionKind.COARSE and not s.is_merge and s.rank:
            finer.setdefault(s.query.id, []).append(s)
    reasons = {
        (s.parent.id, s.query.id): f"{s.measure} {s.confidence_or_score:.2f}"
        for s in suggestions
        if s.rank
    }
    tasks = {
        s.query.id: _task(s, finer.get(s.query.id, ()))
        for s in suggestions
        if s.kind == SuggestionKind.COARSE and s.is_decided
    }
    curators = {s.query.id: s.curator for s in suggestions if s.curator and s.is_decided}
    agent = f"taxoexpan {version('taxoexpan')}"
    now = datetime.now(UTC)
    return Provenance(agent, now, reasons, tasks, curators)


def _task(coarse: Suggestion, others: Sequence[Suggestion]) -> str:
    """Return what to do about a coarse placement: the best suggestions below it."""
    depth = len(coarse.path)
    below = [s for s in others if len(s.path) > depth and s.path[:depth] == coarse.path]
    names = [f"{s.parent.label} {s.confidence_or_score:.2f}" for s in below[:NUM_REFINED]]
    return "to be refined" + (f": {', '.join(names)}" if names else "")


def acceptance_of(options: AcceptanceOptions) -> Acceptance:
    """Return the acceptance rule of the options; `all` is a minimum confidence of zero."""
    return Acceptance(
        top_k=options.top_k,
        min_score=options.min_score,
        min_confidence=0.0 if options.all else options.min_confidence,
        exact_only=isinstance(options, ExpandOptions) and options.exact_only,
        allow_moves=options.allow_moves,
        allow_merges=options.allow_merges,
        ids=IdPolicy.of(options),
    )

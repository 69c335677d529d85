"""Write a taxonomy with the suggestions that were chosen added to it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from taxoexpan.cli.arguments import (
    add_changes,
    add_choice,
    add_output,
    add_taxonomy,
    read_taxonomy,
    reading_of,
    refuse_unchangeable_file,
)
from taxoexpan.cli.messages import note
from taxoexpan.cli.report_output import note_left_out, note_merges

if TYPE_CHECKING:
    from taxoexpan.placement.suggestions import Suggestion
    from taxoexpan.taxonomy import Additions, Provenance, Taxonomy


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    add_taxonomy(parser)
    parser.add_argument("decisions", type=Path, metavar="DECISIONS", help="a CSV from suggest")
    add_output(parser, "the file to write", required=True)
    add_choice(parser)
    add_changes(parser)
    parser.add_argument(
        "--concepts",
        type=Path,
        metavar="NEW",
        help="the list that was given to suggest, for its definitions and synonyms",
    )


def run(options: argparse.Namespace) -> int:
    """Apply the decisions."""
    from taxoexpan.files import preflight
    from taxoexpan.placement.suggestions import read_suggestions

    preflight(
        [options.output], [options.decisions, *filter(None, [options.concepts])], options.force
    )
    taxonomy = read_taxonomy(options.taxonomy, options)
    refuse_unchangeable_file(options)
    suggestions = read_suggestions(options.decisions, taxonomy if options.allow_moves else None)
    if options.concepts:
        suggestions = _with_details(suggestions, options.concepts)
    write_choice(options, taxonomy, suggestions)
    return 0


def write_choice(
    options: argparse.Namespace, taxonomy: Taxonomy, suggestions: list[Suggestion]
) -> Additions:
    """Choose, check against the taxonomy, write the expanded file, and give what was added."""
    from taxoexpan.formats.taxonomy_file import write_expanded
    from taxoexpan.placement.selection import (
        choose,
        keep_new,
        merges,
        refuse_other_labels,
        validate_additions,
        with_query_ids,
    )

    suggestions = with_query_ids(taxonomy, suggestions)
    refuse_other_labels(taxonomy, suggestions)
    suggestions = [
        replace(s, parent=taxonomy.concept(s.parent.id)) if s.parent.id in taxonomy else s
        for s in suggestions
    ]
    allowed = (options.allow_moves, options.allow_merges)
    least = (options.min_score, options.min_confidence)
    chosen = choose(suggestions, options.top_k, *least, *allowed)
    additions, present = keep_new(taxonomy, chosen)
    settled = validate_additions(taxonomy, additions)
    additions = settled.additions
    for concept, known in present:
        note(f"already present: {concept.label!r} is {known.label!r} ({known.id}); not added again")
    for parent, child in additions.relations:
        if parent in taxonomy and taxonomy.concept(parent).deprecated:
            label = taxonomy.concept(parent).label
            note(f"note: {label!r}, the parent of {child}, is deprecated")
    for id, name in additions.synonyms:
        if taxonomy.concept(id).deprecated:
            label = taxonomy.concept(id).label
            note(f"note: {label!r}, of which {name!r} becomes another name, is deprecated")
    merged = merges(suggestions, options.min_confidence, options.min_score)
    note_merges(merged, "" if options.allow_merges else "; not added")
    note_left_out(settled.left_out)
    asked = {s.query.id for s in suggestions}
    left_out = len(asked) - len(additions.concepts) - len(present) - len(merged)
    if left_out:
        _note_unsure(options, left_out, any(s.parent.id in asked for s in suggestions))
    additions = replace(additions, provenance=_provenance(suggestions))
    written = write_expanded(
        options.taxonomy,
        additions,
        options.output,
        options.format,
        options.force,
        reading_of(options),
    )
    if written.lost:
        lost = " and ".join(written.lost)
        note(f"note: this format has no place for {lost}; they were not written")
    note(f"{_in_numbers(options, additions)}; expanded taxonomy in {_named(written.files)}")
    return additions


def _note_unsure(options: argparse.Namespace, count: int, nested: bool) -> None:
    """Say how many concepts have no parent that was good enough, or is there after all."""
    from taxoexpan.phrasing import pluralize

    least = [f"a score of {options.min_score} or more"] if options.min_score else []
    if options.min_confidence:
        least.append(f"a confidence of {options.min_confidence:.3g} or more")
    told = f": no parent with {' and '.join(least)}" if least else ""
    if least and nested:
        told += ", or only a new one that was left out"
    note(f"{pluralize(count, 'concept')} left out{told}")


def _in_numbers(options: argparse.Namespace, additions: Additions) -> str:
    """How much was added, moved and merged; the last two where they are allowed."""
    from taxoexpan.phrasing import pluralize

    concepts = pluralize(len(additions.concepts), "concept")
    told = [f"{concepts} and {pluralize(len(additions.relations), 'relation')} added"]
    if options.allow_moves:
        told.append(f"{pluralize(len(additions.moves), 'relation')} moved below new concepts")
    if options.allow_merges:
        told.append(f"{pluralize(len(additions.synonyms), 'further name')} of known concepts added")
    return ", ".join(told)


def _named(files: Sequence[Path]) -> str:
    return " and ".join(map(str, files))


def _provenance(suggestions: list[Suggestion]) -> Provenance:
    """What placed the concepts, now; a row with a blank rank is a person's own."""
    from importlib.metadata import version

    from taxoexpan.taxonomy import Provenance

    scores = {(s.parent.id, s.query.id): s.score for s in suggestions if s.rank}
    return Provenance(f"taxoexpan {version('taxoexpan')}", datetime.now(UTC), scores)


def _with_details(suggestions: list[Suggestion], path: Path) -> list[Suggestion]:
    """The suggestions, their queries with synonyms and definition from the list of concepts."""
    from taxoexpan.formats.concept_list import read_concepts
    from taxoexpan.taxonomy.names import normalize_name

    known = {normalize_name(concept.label): concept for concept in read_concepts(path)}
    detailed = []
    for suggestion in suggestions:
        concept = known.get(normalize_name(suggestion.query.label), suggestion.query)
        query = replace(concept, id=suggestion.query.id, label=suggestion.query.label)
        detailed.append(replace(suggestion, query=query))
    return detailed

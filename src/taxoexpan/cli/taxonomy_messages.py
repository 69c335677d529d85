"""Messages about a taxonomy file, and about the list of new concepts for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from taxoexpan.cli.messages import note, note_some, warn, warn_some
from taxoexpan.phrasing import join_words, visible

if TYPE_CHECKING:
    from taxoexpan.formats.taxonomy_file import TaxonomyFile
    from taxoexpan.taxonomy import Concept, Taxonomy
    from taxoexpan.taxonomy.known_names import FilteredConcepts


def print_file_notes(*files: TaxonomyFile) -> None:
    """Print the notes that were made while reading taxonomy files, each note once."""
    # A new version usually has what its reader noticed about the old one, on another line.
    found: dict[tuple[str, str], tuple[str, dict[str, None]]] = {}
    for file in files:
        for each in file.notes:
            _, paths = found.setdefault((each.id or each.place, each.message), (each.place, {}))
            paths[str(file.path)] = None
    notes = [
        f"{', '.join(filter(None, (join_words(list(paths)), place)))}: {message}"
        for (_, message), (place, paths) in found.items()
    ]
    warn_some(notes, f"; see taxoexpan check {files[-1].path}")


def print_language(file: TaxonomyFile) -> None:
    """Print in which of several languages the labels of a file are read, and why."""
    if file.language_choice:
        note(f"{file.language_choice}; choose another with --language")


def print_other_language(taxonomy: Taxonomy, concepts: Sequence[Concept]) -> None:
    """Warn if new terms look like the names in other languages, which a model ignores."""
    from taxoexpan.taxonomy.language_guess import other_language

    foreign = [name for names in taxonomy.foreign_names.values() for name in names]
    known = {"own": taxonomy.labels, "other": foreign}
    if found := other_language(known, "own", [concept.label for concept in concepts]):
        warn(
            f"{found.count:,} of {len(concepts):,} new terms look like names in another "
            "language than the labels that are read; read the taxonomy in their language "
            "(--language), and train a model with it"
        )


def print_filtered(taxonomy: Taxonomy, concepts: FilteredConcepts) -> None:
    """Print which concepts of a list are already present, repeated, or similar to existing ones."""
    print_present(concepts.present, "not placed")
    repeated = [
        f"repeated: {concept.label!r} is in the list more than once; the first row is used"
        for concept in concepts.repeated
    ]
    note_some(repeated, " are repeated")
    similar = [
        f"similar: {concept.label!r} and {found.name!r} ({visible(taxonomy.ids[found.concept])}) "
        f"{found.difference.text}; not added, unless you accept it"
        for concept in concepts.new
        if (found := taxonomy.similar_names.find(concept.label))
    ]
    note_some(similar, " are similar to existing names")


def named_present(present: Sequence[tuple[Concept, Concept]]) -> list[dict[str, str]]:
    """Return the new concepts that the taxonomy already has, for JSON."""
    return [
        {"query": concept.label, "id": known.id, "label": known.label} for concept, known in present
    ]


def print_present(present: Sequence[tuple[Concept, Concept]], outcome: str) -> None:
    """Print which new concepts the taxonomy already has, and under which id."""
    lines = []
    for concept, known in present:
        id = visible(known.id) + (", deprecated" if known.deprecated else "")
        lines.append(f"already present: {concept.label!r} is {known.label!r} ({id}); {outcome}")
    note_some(lines, " are already present")

"""New texts of a taxonomy that a spreadsheet would compute: they get an apostrophe.

Existing rows stay as they are, and reading a taxonomy removes nothing. An apostrophe that is
written here is therefore a part of the new text.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from taxoexpan.formats.compression import format_suffix
from taxoexpan.formats.format import Format
from taxoexpan.formats.tables.formula_cells import with_apostrophe
from taxoexpan.formats.tables.table_file import TABLE_SUFFIXES
from taxoexpan.taxonomy import Additions, Concept, Move, Provenance, Taxonomy

_EXCEL = ".xlsx"
"""Its cells say themselves whether they are texts."""


def is_computed_file(format: Format, path: Path) -> bool:
    """Whether a spreadsheet computes the cells of a file: it is a table without types."""
    suffix = format_suffix(path)
    is_lines = format.name == "paths" and suffix not in TABLE_SUFFIXES
    return format.is_table and suffix != _EXCEL and not is_lines


def protect_additions(taxonomy: Taxonomy, additions: Additions) -> tuple[Additions, int]:
    """Return additions to a taxonomy in which no cell is computed, and the number of changes."""
    new_ids = {concept.id: with_apostrophe(concept.id) for concept in additions.concepts}
    concepts = [protect_concept(concept) for concept in additions.concepts]
    with_synonyms = {id for id, _ in additions.synonyms if taxonomy.concept(id).synonyms}
    synonyms = []
    for id, name in additions.synonyms:  # only the first name is at the start of the cell
        synonyms.append((id, name if id in with_synonyms else with_apostrophe(name)))
        with_synonyms.add(id)
    pairs = zip([*additions.concepts, *additions.synonyms], [*concepts, *synonyms], strict=True)
    count = sum(old != new for old, new in pairs)
    if not count:
        return additions, 0

    def renamed(id: str) -> str:
        return new_ids.get(id, id)

    return Additions(
        concepts,
        [(renamed(parent), renamed(child)) for parent, child in additions.relations],
        _renamed_provenance(additions.provenance, new_ids),
        [Move(child, old, renamed(new)) for child, old, new in additions.moves],
        synonyms,
    ), count


def _renamed_provenance(
    provenance: Provenance | None, new_ids: dict[str, str]
) -> Provenance | None:
    if provenance is None:
        return None
    reasons = {
        (new_ids.get(parent, parent), new_ids.get(child, child)): reason
        for (parent, child), reason in provenance.reasons.items()
    }
    return replace(provenance, reasons=reasons)


def protect_taxonomy(taxonomy: Taxonomy) -> tuple[Taxonomy, int]:
    """Return a taxonomy in which no cell is computed, and the number of changed concepts."""
    concepts = [protect_concept(concept) for concept in taxonomy.concepts]
    count = sum(old != new for old, new in zip(taxonomy.concepts, concepts, strict=True))
    if not count:
        return taxonomy, 0
    relations = [
        (with_apostrophe(parent), with_apostrophe(child)) for parent, child in taxonomy.relations
    ]
    return Taxonomy(concepts, relations), count


def protect_concept(concept: Concept) -> Concept:
    """Return a concept in which no cell is computed; its synonyms are in one cell."""
    first = tuple(map(with_apostrophe, concept.synonyms[:1]))
    return replace(
        concept,
        id=with_apostrophe(concept.id),
        label=with_apostrophe(concept.label),
        synonyms=(*first, *concept.synonyms[1:]),
        definition=with_apostrophe(concept.definition),
    )

"""Apostrophes before strings that a spreadsheet would compute.

Reading removes them only from our own tables; in a taxonomy, they become a part of new strings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from taxoexpan.formats.compression import format_suffix
from taxoexpan.formats.format import EXCEL_SUFFIX, Format
from taxoexpan.formats.tables.table import TABLE_SUFFIXES
from taxoexpan.taxonomy import Additions, Concept, Move, Taxonomy

_FORMULA = re.compile(r"[=+\-@\t\r\n＝＋－＠]")
_NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d+)*")
_QUOTED = re.compile(r"'+[=+\-@\t\r\n＝＋－＠]")
"""A formula after one or more apostrophes."""
_QUOTED_OR_NOT = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")


def protect_cell(cell: str) -> str:
    """Return a string with an apostrophe if it is a formula.

    A formula after an apostrophe gets another one, so that `unprotected` restores all strings.
    """
    return f"'{cell}" if _QUOTED_OR_NOT.match(cell) else cell


def protect_cells(row: Mapping[str, object]) -> dict[str, object]:
    """Return the cells of a row by name, with strings protected as in `protect_cell`."""
    return {
        name: protect_cell(cell) if isinstance(cell, str) else cell for name, cell in row.items()
    }


def unprotected(cell: str) -> str:
    """Return the string in a cell without the apostrophe that protects it."""
    return cell[1:] if _QUOTED.match(cell) else cell


def with_apostrophe(text: str) -> str:
    """Return a string with an apostrophe if a spreadsheet would compute it; skip numbers."""
    is_computed = _FORMULA.match(text) and not _NUMBER.fullmatch(text)
    return f"'{text}" if is_computed else text


def is_computed_file(format: Format, path: Path) -> bool:
    """Return whether a spreadsheet computes the cells of a file, which is a table without types."""
    suffix = format_suffix(path)
    is_lines = format.name == "paths" and suffix not in TABLE_SUFFIXES
    return format.is_table and suffix != EXCEL_SUFFIX and not is_lines


def protect_additions(taxonomy: Taxonomy, additions: Additions) -> tuple[Additions, int]:
    """Return additions without computed cells, and the number of changes."""
    new_ids = {concept.id: with_apostrophe(concept.id) for concept in additions.concepts}
    concepts = [protect_concept(concept) for concept in additions.concepts]
    with_synonyms = {id for id, _ in additions.synonyms if taxonomy.concept(id).synonyms}
    synonyms = []
    for id, name in additions.synonyms:  # only the first name is at the start of the cell
        synonyms.append((id, name if id in with_synonyms else with_apostrophe(name)))
        with_synonyms.add(id)
    pairs = zip([*additions.concepts, *additions.synonyms], [*concepts, *synonyms], strict=True)
    return replace(
        additions,
        concepts=concepts,
        relations=[(new_ids.get(p, p), new_ids.get(c, c)) for p, c in additions.relations],
        moves=[Move(child, old, new_ids.get(new, new)) for child, old, new in additions.moves],
        synonyms=synonyms,
    ), sum(old != new for old, new in pairs)


def protect_taxonomy(taxonomy: Taxonomy) -> tuple[Taxonomy, int]:
    """Return a taxonomy without computed cells, and the number of changed concepts."""
    added = Additions(list(taxonomy.concepts), list(taxonomy.relations))
    new, count = protect_additions(Taxonomy([]), added)
    return Taxonomy(new.concepts, new.relations) if count else taxonomy, count


def protect_concept(concept: Concept) -> Concept:
    """Return a concept without computed cells; all synonyms are in one cell."""
    first = tuple(map(with_apostrophe, concept.synonyms[:1]))
    return replace(
        concept,
        id=with_apostrophe(concept.id),
        label=with_apostrophe(concept.label),
        synonyms=(*first, *concept.synonyms[1:]),
        definition=with_apostrophe(concept.definition),
    )

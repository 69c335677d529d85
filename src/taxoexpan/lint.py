"""Structural checks of a taxonomy, each finding with a code, a severity and the place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from taxoexpan.adjacency import Indices
from taxoexpan.errors import FormatError
from taxoexpan.formats.catalogue import read
from taxoexpan.naming import fold_name
from taxoexpan.taxonomy import Taxonomy


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to look at; `place` is a concept's id, or a line of the file."""

    code: str
    severity: str
    place: str
    message: str


def lint_file(path: Path, format: str | None = None) -> list[Finding]:
    """Everything that looks wrong in a file; one that cannot be read has one finding, an error."""
    try:
        document = read(path, format)
    except FormatError as error:
        if not path.is_file():
            raise
        place = f"line {error.line}" if error.line else str(path)
        return [Finding("unreadable", "error", place, str(error))]
    notes = [Finding("file", "warning", f"line {n.line}", n.message) for n in document.notes]
    return [*notes, *lint(document.taxonomy)]


def lint(taxonomy: Taxonomy) -> list[Finding]:
    """Everything that looks wrong in a taxonomy that could be read."""
    return [
        *isolated_concepts(taxonomy),
        *repeated_labels(taxonomy),
        *redundant_relations(taxonomy),
    ]


def isolated_concepts(taxonomy: Taxonomy) -> Iterator[Finding]:
    """Concepts without any relation: nothing can be learned from them."""
    degrees = taxonomy.parents_of.degrees + taxonomy.children_of.degrees
    for index in np.flatnonzero(degrees == 0):
        label = taxonomy.labels[index]
        message = f"{label!r} has neither parent nor child"
        yield Finding("isolated-concept", "warning", taxonomy.ids[index], message)


def repeated_labels(taxonomy: Taxonomy) -> Iterator[Finding]:
    """Labels that several concepts share; among children of one parent that is a mistake."""
    sharing: dict[str, list[int]] = defaultdict(list)
    for index, label in enumerate(taxonomy.labels):
        sharing[fold_name(label)].append(index)
    for indices in sharing.values():
        if len(indices) < 2:
            continue
        _, parents = taxonomy.parents_of.of_many(np.array(indices))
        siblings = len(np.unique(parents)) < len(parents)
        ids = [taxonomy.ids[index] for index in indices]
        label = taxonomy.labels[indices[0]]
        others = ", ".join(ids[1:6]) + (", …" if len(ids) > 6 else "")
        if siblings:
            message = f"{label!r} is the label of two children of one parent (also: {others})"
            yield Finding("repeated-sibling", "warning", ids[0], message)
        else:
            message = f"{label!r} is the label of {len(ids)} concepts (also: {others})"
            yield Finding("repeated-label", "info", ids[0], message)


def redundant_relations(taxonomy: Taxonomy) -> Iterator[Finding]:
    """A parent that is already an ancestor through another parent."""
    many = np.flatnonzero(taxonomy.parents_of.degrees > 1)
    # In pieces, so that the ancestors of a million concepts are never held at once.
    for piece in np.array_split(many, max(1, len(many) // 10_000)):
        for parent, child in _redundant_among(taxonomy, piece):
            ids, labels = taxonomy.ids, taxonomy.labels
            message = (
                f"{labels[child]!r} is under {labels[parent]!r} ({ids[parent]}) directly, "
                "and through another parent as well"
            )
            yield Finding("redundant-relation", "info", ids[child], message)


def _redundant_among(taxonomy: Taxonomy, children: Indices) -> list[tuple[int, int]]:
    owners, parents = taxonomy.parents_of.of_many(children)
    reached_by, ancestors = taxonomy.parents_of.reach_of_many(parents)
    size = len(taxonomy)
    through_another = owners[reached_by] * size + ancestors
    direct = owners * size + parents
    redundant = np.flatnonzero(np.isin(direct, through_another))
    return [(int(parents[k]), int(children[owners[k]])) for k in redundant]

"""Checks of names that are the very same: labels that repeat, and labels that are synonyms."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from taxoexpan.curation.checks.findings import Finding, found, spelled
from taxoexpan.curation.checks.label_index import Names, neighbours_among, parents_at
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.names import normalize_name

MOST_NAMED = 5
"""How many concepts a message names where it could name them all."""


def repeated_labels(names: Names) -> Iterator[Finding]:
    """Labels that several concepts share; among children of one parent that is a mistake."""
    taxonomy = names.taxonomy
    for number in np.flatnonzero(names.bearers.degrees > 1).tolist():
        label, bearers = names.labels[number], names.bearers.of(number).tolist()
        families = _families(taxonomy, bearers)
        for family, parent in families.items():
            message = (
                f"{label!r} is the label of {len(family)} children of {spelled(taxonomy, parent)}; "
                f"merge them, or tell them apart ({_also(taxonomy, family)})"
            )
            yield found("repeated-sibling", taxonomy.ids[family[0]], message)
        if max(map(len, families), default=0) < len(bearers):
            message = (
                f"{label!r} is the label of {len(bearers)} concepts ({_also(taxonomy, bearers)})"
            )
            yield found("repeated-label", taxonomy.ids[bearers[0]], message)


def labels_as_synonyms(names: Names) -> Iterator[Finding]:
    """Labels that name another concept too, as its synonym."""
    taxonomy = names.taxonomy
    labelled: dict[str, list[int]] = defaultdict(list)
    for number in names.worded:
        labelled[names.folded[number]] += names.bearers.of(number).tolist()
    for name, others in _synonyms(taxonomy, labelled).items():
        bearers = labelled[name]
        near = neighbours_among(taxonomy, bearers, others)
        bearer, other = (near.first, near.second) if near else (bearers[0], others[0])
        message = f"{taxonomy.labels[bearer]!r} is a synonym of {spelled(taxonomy, other)} as well"
        message += f", {near.how}; if they are one, merge them, or drop the synonym" if near else ""
        more = len(others) - 1
        message += f" (and of {more} more)" if more else ""
        yield found("label-is-synonym", taxonomy.ids[bearer], message, grave=near is not None)


def _families(taxonomy: Taxonomy, bearers: Sequence[int]) -> dict[tuple[int, ...], int]:
    """Those of the concepts that are siblings, with a parent of theirs; each such set once."""
    children: dict[int, list[int]] = defaultdict(list)
    for bearer in bearers:
        for parent in parents_at(taxonomy, bearer):
            children[parent].append(bearer)
    families: dict[tuple[int, ...], int] = {}
    for parent, family in children.items():
        if len(family) > 1:
            families.setdefault(tuple(family), parent)
    return families


def _also(taxonomy: Taxonomy, indices: Sequence[int]) -> str:
    """The ids of all but the first, or of as many as are good to read."""
    named = [taxonomy.ids[index] for index in indices[1 : MOST_NAMED + 1]]
    return f"also: {', '.join(named)}" + (", …" if len(indices) > MOST_NAMED + 1 else "")


def _synonyms(taxonomy: Taxonomy, labelled: dict[str, list[int]]) -> dict[str, list[int]]:
    """Every name that is a label, with the concepts that have it as a synonym only."""
    synonymous: dict[str, list[int]] = defaultdict(list)
    for index in sorted(taxonomy.synonyms):
        own = normalize_name(taxonomy.labels[index])
        for name in {normalize_name(synonym): None for synonym in taxonomy.synonyms[index]}:
            if name != own and name in labelled:
                synonymous[name].append(index)
    return synonymous

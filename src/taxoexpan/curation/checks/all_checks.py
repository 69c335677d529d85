"""The checks of the structure, and all checks of a taxonomy or of a file with positions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from taxoexpan.curation.checks.findings import CODES, Finding, label_and_id, make_finding
from taxoexpan.curation.checks.labels import (
    FindLines,
    LabelIndex,
    labels_as_synonyms,
    no_lines,
    repeated_labels,
    similar_labels,
)
from taxoexpan.errors import FileCycleError, FormatError, cycle_message
from taxoexpan.formats.builder import Note
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.formats.text_file import DEFAULT_OPTIONS, ReadOptions
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices

MAX_CHAIN_LENGTH = 20
MAX_CHILDREN = 200
MAX_ROOTS_COMPARED = 3
MAX_LISTED = 3
"""Parents that a message lists."""
BATCH_SIZE = 8192
"""Parents that are searched for at once; each takes one bit per concept."""


def isolated_concepts(taxonomy: Taxonomy) -> Iterator[Finding]:
    """Find concepts without any relation, from which a model cannot learn."""
    degrees = taxonomy.parents_of.degrees + taxonomy.children_of.degrees
    for index in np.flatnonzero((degrees == 0) & ~_deprecated(taxonomy)).tolist():
        message = f"{taxonomy.labels[index]!r} has neither parent nor child"
        yield make_finding("isolated-concept", taxonomy.ids[index], message)


def deprecated_parents(taxonomy: Taxonomy) -> Iterator[Finding]:
    """Find active concepts whose parents are all deprecated."""
    deprecated = _deprecated(taxonomy)
    parents, children = taxonomy.relation_indices
    active_parents = np.bincount(children[~deprecated[parents]], minlength=len(taxonomy))
    affected = (taxonomy.parents_of.degrees > 0) & (active_parents == 0) & ~deprecated
    for index in np.flatnonzero(affected).tolist():
        own = taxonomy.parents_of.of(index).tolist()
        listed = ", ".join(label_and_id(taxonomy, parent) for parent in own[:MAX_LISTED])
        which = f"its parent {listed} is" if len(own) == 1 else f"its parents {listed} are all"
        if len(own) > MAX_LISTED:
            which = f"all its {len(own)} parents ({listed}, …) are"
        message = (
            f"{taxonomy.labels[index]!r} is not deprecated, but {which} deprecated; "
            "give it a parent that is not deprecated, or deprecate it too"
        )
        parent = taxonomy.ids[own[0]]
        yield make_finding("deprecated-parent", taxonomy.ids[index], message, parent=parent)


def orphan_concepts(taxonomy: Taxonomy) -> Iterator[Finding]:
    """Find further roots with children, if one root covers more than half of the taxonomy."""
    is_root = (taxonomy.parents_of.degrees == 0) & (taxonomy.children_of.degrees > 0)
    is_root &= ~_deprecated(taxonomy)
    roots = np.flatnonzero(is_root).tolist()
    if len(roots) < 2:
        return
    main, covered = _main_root(taxonomy, roots)
    if 2 * covered <= len(taxonomy):
        return
    roots.remove(main)
    for index in roots:
        message = (
            f"{taxonomy.labels[index]!r} has children but no parent, and the root "
            f"{label_and_id(taxonomy, main)} covers {covered:,} of {len(taxonomy):,} concepts; "
            "check whether a relation is missing"
        )
        yield make_finding("orphan-concept", taxonomy.ids[index], message)


def long_chains(taxonomy: Taxonomy) -> Iterator[Finding]:
    """Find the concepts at which a chain from a root becomes too long."""
    too_deep = np.flatnonzero(taxonomy.levels == MAX_CHAIN_LENGTH)
    if not len(too_deep):
        return
    below = _longest_below(taxonomy, MAX_CHAIN_LENGTH)
    for index in too_deep.tolist():
        more = f" and continues for {below[index]:,} more" if below[index] else ""
        message = (
            f"the longest chain from a root to {taxonomy.labels[index]!r} has "
            f"{MAX_CHAIN_LENGTH + 1} concepts{more}; look for a wrong relation"
        )
        yield make_finding("long-chain", taxonomy.ids[index], message)


def hubs(taxonomy: Taxonomy) -> Iterator[Finding]:
    """Find concepts with too many children."""
    counts = taxonomy.children_of.degrees
    for index in np.flatnonzero(counts > MAX_CHILDREN).tolist():
        message = (
            f"{taxonomy.labels[index]!r} has {counts[index]:,} children; "
            "intermediate concepts would make them easier to find"
        )
        yield make_finding("hub", taxonomy.ids[index], message)


def redundant_relations(taxonomy: Taxonomy) -> Iterator[Finding]:
    """Find parents that are also ancestors through another parent."""
    for parent, child in _redundant(taxonomy):
        message = (
            f"{taxonomy.labels[child]!r} is a child of {label_and_id(taxonomy, parent)} "
            "and also a descendant of it through another parent"
        )
        ids = taxonomy.ids
        yield make_finding("redundant-relation", ids[child], message, parent=ids[parent])


def _deprecated(taxonomy: Taxonomy) -> NDArray[np.bool_]:
    """Return a mask of the deprecated concepts."""
    mask = np.zeros(len(taxonomy), dtype=np.bool_)
    mask[list(taxonomy.deprecated)] = True
    return mask


def _main_root(taxonomy: Taxonomy, roots: Sequence[int]) -> tuple[int, int]:
    """Return the root with the most descendants, and the number of concepts that it covers."""
    sizes = np.bincount(taxonomy.tops, minlength=len(taxonomy))
    # First parents are enough for trees; otherwise the largest few roots are counted exactly.
    covered = {
        root: 1 + sum(map(len, taxonomy.children_of.levels_down(np.array([root]))))
        for root in sorted(roots, key=lambda root: -sizes[root])[:MAX_ROOTS_COMPARED]
    }
    main = max(covered, key=covered.__getitem__)
    return main, covered[main]


def _longest_below(taxonomy: Taxonomy, level: int) -> Indices:
    """Return the length of the longest chain below each concept at this level or deeper."""
    parents, children = taxonomy.relation_indices
    deep = taxonomy.levels[parents] >= level
    parents, children = parents[deep], children[deep]
    order = np.argsort(-taxonomy.levels[children], kind="stable")
    below = [0] * len(taxonomy)
    # From the bottom up, so that the value of a child is known before its parents need it.
    for parent, child in zip(parents[order].tolist(), children[order].tolist(), strict=True):
        below[parent] = max(below[parent], below[child] + 1)
    return np.array(below)


def _redundant(taxonomy: Taxonomy) -> list[tuple[int, int]]:
    """Return the (parent, child) relations that another parent of the child implies."""
    parents, children = _possibly_redundant(taxonomy)
    order = taxonomy.topological_order
    inner = order[taxonomy.children_of.degrees[order] > 0]
    rank = np.zeros(len(taxonomy), dtype=np.int64)
    rank[inner] = np.arange(len(inner))
    wanted, numbers = np.unique(rank[parents], return_inverse=True)
    parents_of = _parents_of_each(taxonomy) if len(wanted) else []
    redundant = []
    for start in range(0, len(wanted), BATCH_SIZE):
        batch = wanted[start : start + BATCH_SIZE]
        marks = {index: 1 << bit for bit, index in enumerate(inner[batch].tolist())}
        ancestors = _marked_ancestors(inner[batch[0] :].tolist(), parents_of, marks)
        for k in np.flatnonzero(numbers // BATCH_SIZE == start // BATCH_SIZE).tolist():
            parent, child = int(parents[k]), int(children[k])
            mark = marks[parent]
            if any(ancestors[other] & mark for other in parents_of[child] if other != parent):
                redundant.append((k, parent, child))
    return [(parent, child) for _, parent, child in sorted(redundant)]


def _possibly_redundant(taxonomy: Taxonomy) -> tuple[Indices, Indices]:
    """Return the relations whose child has another parent on a deeper level."""
    parents, children = taxonomy.relation_indices
    levels = taxonomy.levels[parents]
    deepest = np.zeros(len(taxonomy), dtype=np.int64)
    np.maximum.at(deepest, children, levels)
    possible = levels < deepest[children]
    return parents[possible], children[possible]


def _parents_of_each(taxonomy: Taxonomy) -> list[list[int]]:
    targets: list[int] = taxonomy.parents_of.targets.tolist()
    offsets = taxonomy.parents_of.offsets.tolist()
    return [targets[offsets[i] : offsets[i + 1]] for i in range(len(taxonomy))]


def _marked_ancestors(
    order: Sequence[int], parents_of: Sequence[Sequence[int]], marks: Mapping[int, int]
) -> list[int]:
    """Return the marks of each concept and its ancestors, as the bits of one integer."""
    ancestors = [0] * len(parents_of)
    for index in order:
        bits = marks.get(index, 0)
        for parent in parents_of[index]:
            bits |= ancestors[parent]
        ancestors[index] = bits
    return ancestors


_LOCAL_NAME = re.compile(r"[^/#:]+$")

STRUCTURE_CHECKS: tuple[Callable[[Taxonomy], Iterator[Finding]], ...] = (
    isolated_concepts,
    deprecated_parents,
    orphan_concepts,
    redundant_relations,
    long_chains,
    hubs,
)

LABEL_CHECKS: tuple[Callable[[LabelIndex], Iterator[Finding]], ...] = (
    repeated_labels,
    similar_labels,
    labels_as_synonyms,
)


def check_file(
    path: Path, format: str | None = None, options: ReadOptions = DEFAULT_OPTIONS
) -> list[Finding]:
    """Return all findings in a file; if the file cannot be read, return only the reason."""
    try:
        file = TaxonomyFile.open(path, format, options)
    except FileCycleError as error:
        return list(_cycles(error))
    except FormatError as error:
        if not (path.is_file() or error.path.is_file()):
            raise
        place = f"line {error.line}" if error.line else str(error.path)
        finding = make_finding("unreadable", place, error.message)
        return [replace(finding, path=error.path, line=error.line or 0)]
    file.refuse_unused_options()
    parsed = file.parsed
    notes = [_note_finding(note, path) for note in parsed.notes]
    # A concept that the file itself declares as a top concept is not an orphan.
    declared = {("orphan-concept", id) for id in parsed.tops}
    findings = check_taxonomy(parsed.taxonomy, partial(file.format.subject_lines, file.file))
    return _locate(file, notes + [one for one in findings if (one.code, one.place) not in declared])


def check_taxonomy(taxonomy: Taxonomy, find_lines: FindLines = no_lines) -> list[Finding]:
    """Return all findings; of two concepts, the later one in the file gets the finding."""
    findings = [finding for check in STRUCTURE_CHECKS for finding in check(taxonomy)]
    # A deprecated concept may have the same label as its replacement.
    labels = LabelIndex.of(taxonomy.active, find_lines)
    return findings + [finding for check in LABEL_CHECKS for finding in check(labels)]


def _cycles(error: FileCycleError) -> Iterator[Finding]:
    """Yield one finding per cycle, on the first of its lines."""
    for cycle, lines in zip(error.cycles, error.lines, strict=True):
        finding = make_finding("cycle", cycle[0], cycle_message(cycle, lines))
        yield replace(finding, path=error.path, line=lines[0] if lines else 0)


def _note_finding(note: Note, path: Path) -> Finding:
    """Return a note of the file reader as a finding."""
    severity = CODES[note.code].severity if note.code in CODES else "warning"
    place = note.place or str(path)
    return Finding(note.code, severity, place, note.message, path=note.path, line=note.line)


def _locate(file: TaxonomyFile, findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings with the known positions of their concepts."""
    keys = [(finding.place, finding.parent) for finding in findings]
    unknown = {key for key, finding in zip(keys, findings, strict=True) if not finding.line}
    positions = file.positions(unknown)
    located = []
    for key, finding in zip(keys, findings, strict=True):
        path, line = positions.get(key, (finding.path, finding.line))
        located.append(_with_column(file, replace(finding, path=path or _main(file), line=line)))
    return located


def _main(file: TaxonomyFile) -> Path:
    """Return the file of the concepts, or the directory if they are in several files."""
    paths = {source.path for source in file.parsed.sources}
    return paths.pop() if len(paths) == 1 else file.path


def _with_column(file: TaxonomyFile, finding: Finding) -> Finding:
    """Add the column of the concept's label or id to a finding."""
    is_sheet = bool(file.file.delimiter)
    if not finding.line or finding.path is None or is_sheet or finding.place not in file.taxonomy:
        return finding
    text = file.file.sibling(finding.path).lines[finding.line - 1 : finding.line]
    local = _LOCAL_NAME.search(finding.place)
    label = file.taxonomy.concept(finding.place).label
    for name in filter(None, (label, finding.place, local and local[0])):
        found = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", "".join(text))
        if found:
            return replace(finding, column=found.start() + 1, end_column=found.end() + 1)
    return finding

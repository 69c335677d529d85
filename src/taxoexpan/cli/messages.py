"""Messages on standard error, and JSON on standard output."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from taxoexpan.phrasing import join_words, pluralize, shortened_message, visible, visible_json

if TYPE_CHECKING:
    from taxoexpan.expansion import AppliedSuggestions
    from taxoexpan.formats.taxonomy_file import TaxonomyFile
    from taxoexpan.placement.adding.acceptance import Acceptance
    from taxoexpan.placement.suggesting.suggestions import Suggestion
    from taxoexpan.report.page import Page
    from taxoexpan.taxonomy import Additions, Concept, Taxonomy
    from taxoexpan.taxonomy.known_names import FilteredConcepts

MAX_NOTES = 10
MAX_NAMED = 5


def note(message: str) -> None:
    """Print a message on standard error, and ignore a closed pipe or a full disk.

    It is escaped and indented, so that no label or file name in it can look like another message.
    """
    text = visible(shortened_message(message), keep="\n")
    first = len(text) - len(text.lstrip("\n"))
    with suppress(OSError):
        print(text[:first] + text[first:].replace("\n", "\n  "), file=sys.stderr)


def print_line(text: str) -> None:
    """Print a line on standard output, with control characters escaped."""
    print(visible(shortened_message(text)))


def note_some(messages: Sequence[str], rest: str) -> None:
    """Print the first messages, and the number of the others."""
    for message in messages[:MAX_NOTES]:
        note(message)
    if len(messages) > MAX_NOTES:
        note(f"note: … and {len(messages) - MAX_NOTES:,} more{rest}")


def as_json(content: object) -> str:
    """Return a result as a JSON string."""
    return readable_json(content) + "\n"


def readable_json(content: object) -> str:
    """Return a value as JSON, with all control characters escaped, even if JSON allows them."""
    return visible_json(json.dumps(content, ensure_ascii=False, indent=2))


def print_json(content: object) -> None:
    """Print a result as JSON on standard output."""
    print(as_json(content), end="")


def write_report(path: Path, page: Page, force: bool) -> None:
    """Write an HTML report."""
    from taxoexpan.files import write_whole
    from taxoexpan.report.page import render

    write_whole({path: render(page).encode()}, force)
    note(f"report written to {path}")


def spell_files(files: Sequence[Path]) -> str:
    """Return the names of written files; `-` is standard output."""
    return " and ".join("standard output" if str(path) == "-" else str(path) for path in files)


def print_file_notes(*files: TaxonomyFile) -> None:
    """Print the notes that were made while reading taxonomy files, each note once."""
    # A new version usually has what its reader noticed about the old one, on another line.
    found: dict[tuple[str, str], tuple[str, dict[str, None]]] = {}
    for file in files:
        for each in file.notes:
            _, paths = found.setdefault((each.id or each.place, each.message), (each.place, {}))
            paths[str(file.path)] = None
    notes = [
        f"note: {join_words(list(paths))}, {place}: {message}"
        for (_, message), (place, paths) in found.items()
    ]
    note_some(notes, f"; see taxoexpan check {files[-1].path}")


def print_language(file: TaxonomyFile) -> None:
    """Print in which of several languages the labels of a file are read, and why."""
    if file.language_choice:
        note(f"{file.language_choice}; choose another with --language")


def print_other_language(taxonomy: Taxonomy, concepts: Sequence[Concept]) -> None:
    """Print a note if new terms look like the names in other languages, which a model ignores."""
    from taxoexpan.taxonomy.language_guess import other_language

    foreign = [name for names in taxonomy.foreign_names.values() for name in names]
    known = {"own": taxonomy.labels, "other": foreign}
    if found := other_language(known, "own", [concept.label for concept in concepts]):
        note(
            f"note: {found.count:,} of {len(concepts):,} new terms look like names in another "
            "language than the labels of this model; for good suggestions, train a model with "
            "--language and the language of the terms"
        )


def print_filtered(taxonomy: Taxonomy, concepts: FilteredConcepts) -> None:
    """Print which concepts of a list are already present, repeated, or similar to existing ones."""
    present = []
    for concept, known in concepts.present:
        deprecated = ", deprecated" if known.deprecated else ""
        identity = f"{concept.label!r} is {known.label!r} ({visible(known.id)}{deprecated})"
        present.append(f"already present: {identity}; not placed")
    note_some(present, " are already present")
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


def print_no_parent(without_parent: Sequence[Suggestion], count: int) -> None:
    """Print how many of the `count` new concepts have no suitable parent, and name some."""
    if not without_parent:
        return
    names = ", ".join(repr(each.query.label) for each in without_parent[:MAX_NAMED])
    rest = ", …" if len(without_parent) > MAX_NAMED else ""
    verb = "has" if len(without_parent) == 1 else "have"
    note(
        f"note: {len(without_parent):,} of {count:,} new concepts {verb} no suitable parent in the "
        f"taxonomy: {names}{rest}"
    )


def print_merges(merged: Sequence[Suggestion], outcome: str = "") -> None:
    """Print which new concepts are synonyms of existing ones, and how they were treated."""
    lines = []
    for suggestion in merged:
        known = suggestion.parent.label or suggestion.parent.id
        probably = f"probably ({suggestion.confidence_or_score:.2f}) " if suggestion.rank else ""
        lines.append(f"{suggestion.query.label!r} is {probably}a synonym of {known!r}{outcome}")
    note_some(lines, f" are probably synonyms{outcome}")


def print_applied(taxonomy: Taxonomy, applied: AppliedSuggestions, acceptance: Acceptance) -> None:
    """Print what was added and what was not, and the output file."""
    accepted = applied.accepted
    present = [
        f"already present: {concept.label!r} is {known.label!r} ({visible(known.id)}); not added"
        for concept, known in accepted.already_present
    ]
    note_some(present, " are already present")
    for message in _deprecated_notes(taxonomy, applied.additions):
        note(message)
    print_merges(accepted.merged, "" if acceptance.allow_merges else "; not added")
    rejected = [f"note: {reason}" for reason in accepted.rejected_changes]
    note_some(rejected, " moves and synonyms were rejected")
    if accepted.left_out:
        note(f"{pluralize(accepted.left_out, 'concept')} left out{_reason(acceptance)}")
    if applied.written.lost:
        lost = " and ".join(applied.written.lost)
        note(f"note: this file has no place for {lost}; they were not written")
    print_protected(applied.protected)
    blank = [f"left blank: {each}" for each in applied.written.left_blank]
    note_some(blank, " properties were left blank")
    files = spell_files(applied.written.files)
    where = f"; expanded taxonomy in {files}" if files else ""
    note(f"{_counts(applied.additions, acceptance)}{where}")


def print_protected(count: int) -> None:
    """Print how many values got an apostrophe, so that no spreadsheet computes them."""
    if count:
        texts = "1 new text starts" if count == 1 else f"{count:,} new texts start"
        reason = "because a spreadsheet would compute it as a formula"
        note(f"note: {texts} with an added apostrophe, {reason}; --keep-formulas adds none")


def _deprecated_notes(taxonomy: Taxonomy, additions: Additions) -> list[str]:
    """Return one note per deprecated concept that gets a child or a synonym."""
    notes = []
    for parent, child in additions.relations:
        if parent in taxonomy and taxonomy.concept(parent).deprecated:
            label = taxonomy.concept(parent).label
            notes.append(f"note: {label!r}, the parent of {visible(child)}, is deprecated")
    for id, name in additions.synonyms:
        if taxonomy.concept(id).deprecated:
            label = taxonomy.concept(id).label
            notes.append(f"note: {label!r}, which gets the synonym {name!r}, is deprecated")
    return notes


def _reason(acceptance: Acceptance) -> str:
    """Return the reason why concepts were left out."""
    thresholds = []
    if acceptance.min_score:
        thresholds.append(f"a score of {acceptance.min_score} or more")
    if acceptance.min_confidence:
        thresholds.append(f"a confidence of {acceptance.min_confidence:.3g} or more")
    return f": no parent with {' and '.join(thresholds)}" if thresholds else ""


def _counts(additions: Additions, acceptance: Acceptance) -> str:
    """Describe how much was added, and how much was moved and merged if that is allowed."""
    concepts = pluralize(len(additions.concepts), "concept")
    counts = [f"{concepts} and {pluralize(len(additions.relations), 'relation')} added"]
    if acceptance.allow_moves:
        counts.append(f"{pluralize(len(additions.moves), 'relation')} moved below new concepts")
    if acceptance.allow_merges:
        counts.append(f"{pluralize(len(additions.synonyms), 'synonym')} added")
    return ", ".join(counts)

"""Messages of several commands on standard error, and JSON on standard output."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from taxoexpan.phrasing import join_words, pluralize, shortened_message, visible, visible_json

if TYPE_CHECKING:
    from taxoexpan.archive import ModelSummary
    from taxoexpan.expansion import AppliedSuggestions
    from taxoexpan.formats.taxonomy_file import TaxonomyFile
    from taxoexpan.model import TaxoExpan
    from taxoexpan.placement.adding.acceptance import Acceptance
    from taxoexpan.placement.fitting.judged_taxonomy import JudgedTaxonomy
    from taxoexpan.placement.learned.calibrators import Calibrators
    from taxoexpan.placement.suggesting.suggestions import Suggestion
    from taxoexpan.report.page import Page
    from taxoexpan.taxonomy import Additions, Concept, Taxonomy
    from taxoexpan.taxonomy.known_names import FilteredConcepts

MAX_NOTES = 10
MAX_NAMED = 5
FEW_QUERIES = 20
"""With fewer held-out concepts, validation figures say little."""
PRECISIONS = (0.95, 0.9, 0.8)
"""Precisions for which `train` prints the confidence threshold and the coverage."""


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
    """Return a value as JSON, with all control characters escaped, even if JSON allows them."""
    return visible_json(json.dumps(content, ensure_ascii=False, indent=2))


def print_json(content: object) -> None:
    """Print a result as JSON on standard output."""
    print(as_json(content))


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
        f"note: {', '.join(filter(None, (join_words(list(paths)), place)))}: {message}"
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
            "language than the labels that are read; read the taxonomy in their language "
            "(--language), and train a model with it"
        )


def print_filtered(taxonomy: Taxonomy, concepts: FilteredConcepts) -> None:
    """Print which concepts of a list are already present, repeated, or similar to existing ones."""
    _print_present(concepts.present, "not placed")
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


def _print_present(present: Sequence[tuple[Concept, Concept]], outcome: str) -> None:
    """Print which new concepts the taxonomy already has, and under which id."""
    lines = []
    for concept, known in present:
        id = visible(known.id) + (", deprecated" if known.deprecated else "")
        lines.append(f"already present: {concept.label!r} is {known.label!r} ({id}); {outcome}")
    note_some(lines, " are already present")


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
        is_known = suggestion.is_decided or not suggestion.rank
        probably = "" if is_known else f"probably ({suggestion.confidence_or_score:.2f}) "
        lines.append(f"{suggestion.query.label!r} is {probably}a synonym of {known!r}{outcome}")
    note_some(lines, f" are probably synonyms{outcome}")


def print_applied(taxonomy: Taxonomy, applied: AppliedSuggestions, acceptance: Acceptance) -> None:
    """Print what was added and what was not, and the output file."""
    accepted = applied.accepted
    print_other_language(taxonomy, applied.additions.concepts)
    chosen = {s.query.id: s.parent for s in accepted.suggestions if s.is_decided and not s.is_merge}
    for new, known in accepted.already_present:
        parent = chosen.get(new.id, known)
        if parent.id not in (known.id, *taxonomy.parents(known.id)):
            fix = "apply to a version without it, or move it yourself"
            note(f"note: {new.label!r} is not moved below {parent.label!r}, as accepted; {fix}")
    _print_present(accepted.already_present, "not added")
    for message in _deprecated_notes(taxonomy, applied.additions):
        note(message)
    fix = "; not added; accept the row of a parent instead, or use --allow-merges"
    print_merges(accepted.merged, "" if acceptance.allow_merges else fix)
    rejected = [f"note: {reason}" for reason in accepted.rejected_changes]
    note_some(rejected, " moves and synonyms were rejected")
    if accepted.left_out:
        note(f"{pluralize(accepted.left_out, 'concept')} left out{_reason(acceptance)}")
    if applied.written.lost:
        lost = " and ".join(applied.written.lost)
        note(f"note: this file has no place for {lost}; they were not written")
    print_protected(applied.protected)
    if applied.written.left_blank:
        note(f"note: left blank in the new concepts: {', '.join(applied.written.left_blank)}")
    files = spell_files(applied.written.files)
    where = f"; expanded taxonomy in {files}" if files else ""
    note(f"{_counts(applied.additions, acceptance)}{where}")


def print_protected(count: int) -> None:
    """Print how many values got an apostrophe, so that no spreadsheet computes them."""
    if count:
        texts = "1 new text starts" if count == 1 else f"{count:,} new texts start"
        reason = "because a spreadsheet would compute it as a formula"
        note(f"note: {texts} with an added apostrophe, {reason}")


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


def begin_training(model: TaxoExpan, taxonomy: Taxonomy, quiet: bool) -> None:
    """Load the libraries of the encoder, and print the size of the taxonomy."""
    model.encoder.prepare(["ready"])  # first: its libraries may lose a Ctrl-C while they load
    if not quiet:
        note(f"training on {len(taxonomy):,} concepts, {len(taxonomy.relations):,} relations")


def print_training(model: TaxoExpan, quiet: bool) -> None:
    """Print the confidence that a model has learned, and problems of its training."""
    if not quiet:
        print_confidence(model.calibrators)
    print_confidence_limits(model)
    metrics = model.training.validation
    count = 0 if metrics is None else metrics.queries
    if count < FEW_QUERIES:
        note(
            f"note: {pluralize(count, 'leaf', 'leaves')} to validate on; the taxonomy has too few "
            "for good results"
        )
    history = model.history
    if history is not None and history.interrupted:
        skipped = ", and the encoder was not fine-tuned" if history.skipped_fine_tuning else ""
        note(f"stopped by Ctrl-C; the best weights so far are kept (epoch {history.best}){skipped}")
    tuning = model.tower_history
    if tuning is not None and tuning.interrupted:
        kept = f"the best state so far is kept (epoch {tuning.best})"
        if not tuning.best:
            kept = "no epoch was better than the encoder as it came, which is kept"
        note(f"fine-tuning stopped by Ctrl-C; {kept}")


def print_confidence(calibrators: Calibrators) -> None:
    """Print the calibration error and the confidence thresholds that a model has learned."""
    if calibrators.calibration is None:
        return
    reliability = calibrators.calibration.reliability
    note(f"confidence: expected calibration error {reliability.error:.3f} (cross-validated)")
    thresholds = {p: reliability.threshold(p) for p in PRECISIONS}
    for precision, threshold in thresholds.items():
        if threshold is not None:
            confidence = reliability.confidence
            coverage = sum(c >= threshold for c in confidence) / len(confidence)
            note(
                f"confidence: at {threshold:.2f} or more, {precision:.0%} of the suggestions are "
                f"right; this accepts {coverage:.0%} of the held-out concepts"
            )
    if not any(threshold is not None for threshold in thresholds.values()):
        note(
            f"confidence: no threshold reaches {PRECISIONS[-1]:.0%} precision on the held-out "
            "concepts"
        )


def print_confidence_limits(model: TaxoExpan | ModelSummary) -> None:
    """Print that a model has no confidence, with the fix, or that its confidence is coarse."""
    from taxoexpan.placement.learned.calibrators import missing_confidence
    from taxoexpan.placement.learned.confidence import FEW_HELD_OUT

    calibration = model.calibrators.calibration
    if calibration is None:
        missing = missing_confidence(model.taxonomy, model.config)
        reason = missing or "the model has no confidence"
        note(f"note: {reason}; scores do not say how often suggestions are right")
    elif (count := len(calibration.reliability.right)) < FEW_HELD_OUT:
        note(
            f"note: the confidence is coarse, because it was learned from only {count} held-out "
            "leaves; review accepted suggestions, too"
        )


def print_training_advice(model: TaxoExpan | ModelSummary) -> None:
    """Advise more training if updates have added many concepts to the taxonomy."""
    added, trained = len(model.growth.added), model.training.concepts
    if model.growth.is_training_advised(trained):
        count = f"{pluralize(added, 'concept')} ({100 * added / trained:.0f} %)"
        fix = "train --from MODEL learns from them, and ranks better"
        note(f"note: updates have added {count} since the training; {fix}")


def print_decisions(judged: JudgedTaxonomy) -> None:
    """Print how many decisions of each kind were learned from, and how many were left out."""
    placed = pluralize(len(judged.placed), "accepted concept")
    merged = pluralize(judged.merged, "merge")
    rejected = pluralize(judged.rejections.count, "rejected placement")
    note(f"learned from {placed}, {merged} and {rejected}")
    if judged.present:
        count = pluralize(judged.present, "accepted concept is", "accepted concepts are")
        note(f"note: {count} in the taxonomy by now, where the parents may differ")
    if judged.without_parent:
        count = pluralize(judged.without_parent, "decision is", "decisions are")
        note(f"note: {count} left out: the parent is not in the taxonomy, or deprecated")

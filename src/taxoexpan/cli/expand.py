"""Train, suggest and apply in one step: from a taxonomy and new concepts to a larger taxonomy."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from taxoexpan.cli.argument_types import fraction
from taxoexpan.cli.arguments import (
    TrainingOptions,
    acceptance,
    add_acceptance,
    add_glossary,
    add_keep_formulas,
    add_new_concepts,
    add_output,
    add_report,
    add_taxonomy,
    add_together,
    add_training,
    read_options,
    training_options,
)
from taxoexpan.cli.decision_messages import print_rule, print_undecided
from taxoexpan.cli.fitting import fit_model
from taxoexpan.cli.glossary_messages import print_glossary
from taxoexpan.cli.messages import (
    note,
    print_applied,
    print_file_notes,
    print_filtered,
    print_no_parent,
    write_report,
)

if TYPE_CHECKING:
    from taxoexpan.expansion import AppliedSuggestions, Expansion, ExpansionRequest, PlacedConcepts
    from taxoexpan.model import TaxoExpan
    from taxoexpan.report.html import Page


ALL_HELP = (
    "add all new concepts (default: only those that have a suitable parent and a confidence of 0.5 "
    "or more; the others are undecided in the file of suggestions)"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_taxonomy(parser)
    add_new_concepts(parser)
    add_output(parser, "the taxonomy file to write, or - for standard output", required=True)
    add_acceptance(parser, ALL_HELP)
    parser.add_argument(
        "--accept-at-precision",
        type=fraction,
        metavar="FRACTION",
        help="accept only above a confidence threshold, chosen so that this fraction of the "
        "accepted suggestions is right on held-out concepts; not with --min-confidence",
    )
    add_training(parser)
    add_glossary(parser)
    parser.add_argument(
        "--suggestions",
        type=Path,
        metavar="CSV",
        help="file for the ranked parents, with what was accepted and what is undecided (default: "
        "next to OUT, as OUT.suggestions.csv)",
    )
    parser.add_argument("--model", type=Path, metavar="DIR", help="also save the model")
    add_together(parser)
    add_report(parser, "also write a report to read in a browser")
    add_keep_formulas(parser)


def run(options: argparse.Namespace) -> int:
    """Train, suggest and apply."""
    from taxoexpan.expansion import ExpansionRequest
    from taxoexpan.files import output_lock

    request = ExpansionRequest(
        taxonomy=options.taxonomy,
        new=options.new,
        output=options.output,
        suggestions=options.suggestions,
        model=options.model,
        report=options.report,
        force=options.force,
        acceptance=acceptance(options),
        accept_at_precision=options.accept_at_precision,
        together=options.together,
        glossary=options.glossary,
        format=options.format,
        read_options=read_options(options),
        keep_formulas=options.keep_formulas,
    )
    with output_lock(request.output):
        expand(request, training_options(options))
    return 0


def expand(request: ExpansionRequest, training: TrainingOptions) -> PlacedConcepts:
    """Expand a taxonomy file, and print every step."""
    from taxoexpan.expansion import prepare_expansion
    from taxoexpan.placement.adding.acceptance import no_suitable_parent

    expansion = prepare_expansion(request, progress=not training.quiet)
    print_file_notes(expansion.file)
    print_filtered(expansion.taxonomy, expansion.concepts)
    _print_definitions(expansion)
    ranked = expansion.place(_trained_model(expansion, training))
    if request.model:
        note(f"model written to {request.model}")
    count = len({suggestion.query.id for suggestion in ranked.suggestions})
    print_no_parent(no_suitable_parent(ranked.suggestions), count)
    placed = expansion.decide(ranked)
    if expansion.writes_suggestions:
        note(f"suggestions written to {request.suggestions_file}")
    applied = expansion.write(placed)
    print_applied(expansion.taxonomy, applied, request.acceptance)
    print_rule(expansion, placed)
    print_undecided(expansion, placed, applied.accepted.undecided)
    if request.report:
        write_report(request.report, _page(expansion, placed, applied), request.force)
    return placed


def _print_definitions(expansion: Expansion) -> None:
    """Print what was found in the glossary, if there is one."""
    path, found = expansion.request.glossary, expansion.looked_up
    if path and found:
        matches = {"concepts": found.taxonomy_matches, "new concepts": found.new_matches}
        print_glossary(path, found.glossary, matches)


def _trained_model(expansion: Expansion, training: TrainingOptions) -> TaxoExpan | None:
    """Return a trained model, if the expansion needs one."""
    from taxoexpan.placement.learned.missing_confidence import refuse_missing_confidence

    if not expansion.needs_model:
        return None
    model = training.new_model()
    if expansion.request.needs_confidence:
        refuse_missing_confidence(expansion.taxonomy, model.config)
    fit_model(model, expansion.training_taxonomy, training.quiet, expected=expansion.queries)
    return model


def _page(expansion: Expansion, placed: PlacedConcepts, applied: AppliedSuggestions) -> Page:
    """Return the report: what was added, and what was not."""
    from taxoexpan.report import joint_page, suggestions_page

    request, taxonomy = expansion.request, expansion.taxonomy
    title = f"{request.new.name} in {request.taxonomy.name}"
    about = (title, datetime.now(UTC), expansion.concepts.present, applied.additions)
    if request.together:
        return joint_page(taxonomy, placed.suggestions, *about)
    return suggestions_page(
        taxonomy, placed.suggestions, placed.evidence, placed.calibrators, *about
    )

"""Train, suggest and apply in one go: from a taxonomy and new concepts to a larger taxonomy."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from taxoexpan.cli.apply import write_choice
from taxoexpan.cli.arguments import (
    add_changes,
    add_choice,
    add_new_concepts,
    add_output,
    add_taxonomy,
    add_together,
    add_training,
    allowed_changes,
    fit_model,
    least_confidence,
    make_model,
    read_taxonomy,
    reading_of,
    refuse_unchangeable_file,
    refuse_without_confidence,
    screen_concepts,
    settings_of,
    share,
)
from taxoexpan.cli.messages import note
from taxoexpan.cli.report_output import add_report, note_homeless, refuse_inside, write_report
from taxoexpan.errors import ConfigurationError

if TYPE_CHECKING:
    from taxoexpan.explain import Evidence
    from taxoexpan.placement.calibrators import Calibrators
    from taxoexpan.placement.suggestions import Suggestion
    from taxoexpan.taxonomy import Additions, Taxonomy
    from taxoexpan.taxonomy.known_names import FilteredConcepts


RANKED = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    add_taxonomy(parser)
    add_new_concepts(parser)
    add_output(parser, "the file to write", required=True)
    add_choice(parser)
    add_changes(parser)
    parser.add_argument(
        "--accept-at-precision",
        type=share,
        metavar="SHARE",
        help="accept parents from the confidence on at which this share of them is right",
    )
    add_training(parser)
    parser.add_argument("--suggestions", type=Path, metavar="CSV", help="keep the ranked parents")
    parser.add_argument("--model", type=Path, metavar="DIR", help="keep the model")
    add_together(parser)
    add_report(parser, "a report to read in a browser: each new concept, where it went and why")


def run(options: argparse.Namespace) -> int:
    """Do all three steps."""
    from taxoexpan.files import write_whole
    from taxoexpan.formats.concept_list import read_concepts
    from taxoexpan.formats.taxonomy_file import rehearse
    from taxoexpan.placement.calibrators import Calibrators
    from taxoexpan.placement.suggestions import suggestions_csv

    _refuse_contradictions(options)
    _refuse_outputs(options)
    settings_of(options)
    taxonomy = read_taxonomy(options.taxonomy, options)
    refuse_unchangeable_file(options)
    screening = screen_concepts(taxonomy, read_concepts(options.new))
    rehearse(
        options.taxonomy,
        screening.new,
        options.top_k,
        options.output,
        options.format,
        options.force,
        reading_of(options),
        allowed_changes(options),
    )
    suggestions: list[Suggestion] = []
    evidence: list[Evidence] = []
    calibrators = Calibrators()
    if screening.new or options.model:
        model = make_model(options)
        if options.accept_at_precision is not None:
            refuse_without_confidence(model, taxonomy)
        fit_model(model, options, taxonomy, expected=screening.new)
        most = max(RANKED, options.top_k)
        if options.together:
            suggestions = model.rank_together(screening.new)
        elif options.report:
            suggestions, evidence = model.explain(screening.new, most)
        else:
            suggestions = model.rank(screening.new, most)
        calibrators = model.calibrators
    if options.model:
        model.save(options.model, options.force)
        note(f"model written to {options.model}")
    if options.suggestions:
        write_whole({options.suggestions: suggestions_csv(suggestions).encode()}, options.force)
        note(f"suggestions in {options.suggestions}")
    note_homeless(suggestions)
    # After the model is safe: there may be no such confidence, and another can be asked for then.
    options.min_confidence = least_confidence(options, calibrators) if suggestions else 0.0
    added = write_choice(options, taxonomy, suggestions)
    if options.report:
        # Last, since it tells what was added.
        _write_report(options, taxonomy, screening, suggestions, evidence, calibrators, added)
    return 0


def _refuse_contradictions(options: argparse.Namespace) -> None:
    """Say before any work which options do not go together."""
    if options.accept_at_precision is not None and options.min_confidence:
        message = "--min-confidence and --accept-at-precision both say from where on to accept"
        raise ConfigurationError(f"{message}; give one of them")
    if options.together and (options.allow_moves or options.allow_merges):
        message = "--together finds new concepts a place among each other, and proposes no moves"
        mend = "leave it out, or --allow-moves and --allow-merges"
        raise ConfigurationError(f"{message} and no merges; {mend}")
    thresholds = options.accept_at_precision is not None or options.min_confidence
    if options.together and thresholds:
        message = "--together places all at once, and has no confidence for each"
        raise ConfigurationError(f"{message}; leave out one of the two")


def _refuse_outputs(options: argparse.Namespace) -> None:
    """Say before any work that something would be lost."""
    from taxoexpan.archive import OWN as MODEL_PARTS
    from taxoexpan.files import preflight, refuse_replacing

    if options.report and options.model:
        refuse_inside(options.report, options.model)
    beside = list(filter(None, (options.suggestions, options.report, options.model)))
    preflight([options.output, *beside], [options.new], options.force)
    preflight(beside, [options.taxonomy], options.force)
    if options.model:
        refuse_replacing(options.model, MODEL_PARTS, options.force)
    if options.report:
        refuse_inside(options.report, options.taxonomy, "is an input")


def _write_report(
    options: argparse.Namespace,
    taxonomy: Taxonomy,
    screening: FilteredConcepts,
    suggestions: list[Suggestion],
    evidence: list[Evidence],
    calibrators: Calibrators,
    added: Additions,
) -> None:
    """The report on what was added, and on what was not."""
    from taxoexpan.report import suggestions_page, together_page

    title = f"{options.new.name} in {options.taxonomy.name}"
    told = (title, datetime.now(UTC), screening.present, added)
    if options.together:
        page = together_page(taxonomy, suggestions, *told)
    else:
        page = suggestions_page(taxonomy, suggestions, evidence, calibrators, *told)
    write_report(options, page)

"""Rank parents for new concepts with a trained model."""

from __future__ import annotations

import argparse
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from taxoexpan.cli.argument_types import positive
from taxoexpan.cli.arguments import (
    add_device,
    add_glossary,
    add_ids,
    add_keep_formulas,
    add_new_concepts,
    add_output,
    add_report,
    add_together,
    id_policy,
)
from taxoexpan.cli.messages import (
    note,
    print_confidence_limits,
    print_filtered,
    print_training_advice,
    write_report,
)
from taxoexpan.cli.model_arguments import add_encoder_location, add_model
from taxoexpan.cli.placement_engine import (
    RAY,
    add_engine,
    blocks_from_ray,
    refuse_engine_conflicts,
)
from taxoexpan.cli.suggestion_output import (
    SuggestionSummary,
    text_output,
    with_few_warnings,
    write_csv,
    write_json,
)
from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.phrasing import pluralize

if TYPE_CHECKING:
    from taxoexpan.archive import ModelSummary
    from taxoexpan.explain import Evidence
    from taxoexpan.explain.suggested_block import SuggestedBlock
    from taxoexpan.model import TaxoExpan
    from taxoexpan.placement.suggesting.suggestions import Suggestion
    from taxoexpan.progress import Progress
    from taxoexpan.report.html import Page
    from taxoexpan.taxonomy import Taxonomy
    from taxoexpan.taxonomy.known_names import FilteredConcepts


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_model(parser)
    add_new_concepts(parser)
    add_glossary(parser)
    add_output(
        parser,
        "the file to write: CSV, or Parquet if the name ends in .parquet (default: CSV on standard "
        "output)",
    )
    parser.add_argument(
        "--top-k",
        type=positive,
        default=5,
        help="number of parents to suggest per concept (default: 5)",
    )
    add_encoder_location(parser)
    add_device(parser)
    parser.add_argument(
        "--evidence",
        action="store_true",
        help='fill the column "why" with an explanation of the first suggestion of each concept; '
        "with --json, also give the numbers behind it",
    )
    add_together(parser)
    add_ids(parser)
    add_engine(parser)
    add_report(parser, "also write a report to read in a browser")
    add_keep_formulas(parser)
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="write JSON instead of CSV")
    output.add_argument(
        "--table", action="store_true", help="write a human-readable table instead of CSV"
    )


def run(options: argparse.Namespace) -> int:
    """Write the ranked parents."""
    from taxoexpan.files import preflight, refuse_inside
    from taxoexpan.progress import Progress

    _refuse_conflicts(options)
    outputs = list(filter(None, (options.output, options.report)))
    inputs = filter(None, (options.new, options.model, options.glossary))
    preflight(outputs, list(inputs), options.force)
    for path in outputs:
        refuse_inside(path, options.model)
    about, concepts = _new_concepts(options)
    model = None if options.engine == RAY else _load(options, about)
    print_filtered(about.taxonomy, concepts)
    if options.glossary:
        concepts = _with_definitions(options.glossary, concepts, about.taxonomy)
    summary = SuggestionSummary()
    # Without -o the suggestions themselves may go to the terminal, where they show the progress.
    bar = Progress("suggestions", len(concepts.new), "concepts", shown=bool(options.output))
    with closing(_blocks(options, model, about.taxonomy, concepts)) as blocks, bar:
        kept = _write_suggestions(options, blocks, concepts, summary, bar)
    if options.report and model is not None:
        suggestions = [each for block in kept for each in block.suggestions]
        evidence = [each for block in kept for each in block.evidence]
        page = _page(options, model, suggestions, evidence, concepts)
        write_report(options.report, page, options.force)
    if summary.queries and not options.together:
        print_confidence_limits(about)
        print_training_advice(about)
    summary.print()
    if options.output:
        ranked = pluralize(len(concepts.new), "new concept")
        note(f"{ranked} ranked; suggestions written to {options.output}")
    return 0


def _refuse_conflicts(options: argparse.Namespace) -> None:
    """Refuse options that exclude each other, before any work."""
    from taxoexpan.placement.suggesting.tables import check_arrow, is_parquet

    if options.together and options.evidence:
        message = "--together has no evidence per concept"
        raise ConfigurationError(f"{message}; omit one of the two")
    refuse_engine_conflicts(options)
    if options.output and is_parquet(options.output):
        if options.json or options.table:
            message = f"{options.output} is the name of a Parquet file"
            raise ConfigurationError(f"{message}; choose another, or omit --json and --table")
        check_arrow(options.output)


def _load(options: argparse.Namespace, about: ModelSummary) -> TaxoExpan:
    """Load the rest of a model whose files are checked and whose taxonomy is read."""
    from taxoexpan.archive import load_archive
    from taxoexpan.model import TaxoExpan

    archive = load_archive(options.model, options.features, options.device, about)
    return TaxoExpan.from_archive(archive, options.device)


def _write_suggestions(
    options: argparse.Namespace,
    blocks: Iterable[SuggestedBlock],
    concepts: FilteredConcepts,
    summary: SuggestionSummary,
    bar: Progress,
) -> list[SuggestedBlock]:
    """Write the suggestions in the requested form; return them if an output needs all of them."""
    from taxoexpan.placement.suggesting.tables import is_parquet, parquet_file

    kept: list[SuggestedBlock] = []
    keeps = options.report or options.table

    def noted() -> Iterator[SuggestedBlock]:
        for block in with_few_warnings(blocks):
            summary.add(block.suggestions)
            bar.move_to(summary.queries)
            if keeps:
                kept.append(block)
            yield block

    if options.output and is_parquet(options.output):
        with parquet_file(options.output, options.force) as write_rows:
            for block in noted():
                write_rows(block.suggestions)
        return kept
    with text_output(options.output, options.force) as write:
        if options.table:
            from taxoexpan.cli.text_table import placements_table

            suggestions = [each for block in noted() for each in block.suggestions]
            write(placements_table(suggestions) + "\n")
        elif options.json:
            present = [
                {"query": concept.label, "id": known.id, "label": known.label}
                for concept, known in concepts.present
            ]
            write_json(noted(), write, _needs_evidence(options), present)
        else:
            write_csv(noted(), write, options.keep_formulas)
    return kept


def _new_concepts(options: argparse.Namespace) -> tuple[ModelSummary, FilteredConcepts]:
    """Return what is known of the model, and the new concepts with their ids.

    This happens before the encoder is loaded.
    """
    from taxoexpan.formats.concept_list import read_concepts

    new, ids = read_concepts(options.new), id_policy(options)
    from taxoexpan.archive import load_summary
    from taxoexpan.taxonomy.known_names import filter_known_names

    about = load_summary(options.model)
    return about, filter_known_names(about.taxonomy, new, ids)


def _with_definitions(
    path: Path, concepts: FilteredConcepts, taxonomy: Taxonomy
) -> FilteredConcepts:
    """Look up definitions of the new concepts in a glossary."""
    from taxoexpan.cli.glossary_messages import print_glossary
    from taxoexpan.features.glossary.glossary import Glossary

    glossary = Glossary.read(path, concepts.new, progress=True)
    defined = glossary.define_concepts(concepts.new, taxonomy)
    print_glossary(path, glossary, {"new concepts": defined.matches})
    return replace(concepts, new=defined.concepts)


def _needs_evidence(options: argparse.Namespace) -> bool:
    """Return whether an option needs the evidence for the suggestions."""
    return not options.together and bool(options.evidence or options.report)


def _blocks(
    options: argparse.Namespace,
    model: TaxoExpan | None,
    taxonomy: Taxonomy,
    concepts: FilteredConcepts,
) -> Generator[SuggestedBlock]:
    """Yield the suggestions, and their evidence if an option needs it."""
    from taxoexpan.explain.suggested_block import SuggestedBlock

    explain = _needs_evidence(options)
    if model is None:
        yield from blocks_from_ray(options, taxonomy, concepts.new, explain)
    elif options.together:
        _ensure_joint_prior(model, options.model)
        yield SuggestedBlock(model.suggest_together(concepts.new), [])
    else:
        yield from model.suggest_blocks(concepts.new, options.top_k, explain)


def _ensure_joint_prior(model: TaxoExpan, directory: Path) -> None:
    """Learn what joint placement needs, if the model lacks it, and save it with the model."""
    if model.calibrators.joint_priors is not None:
        return
    model.fit_joint_prior()
    try:
        model.save(directory, force=True)
    except FormatError as error:
        note(f"note: the prior for joint placement could not be saved ({error.message})")
    else:
        note(f"note: learned the prior for joint placement and saved it in {directory}")


def _page(
    options: argparse.Namespace,
    model: TaxoExpan,
    suggestions: Sequence[Suggestion],
    evidence: Sequence[Evidence],
    concepts: FilteredConcepts,
) -> Page:
    """Return the report on the suggestions."""
    from taxoexpan.report import joint_page, suggestions_page

    about = (f"Suggestions for {options.new.name}", datetime.now(UTC), concepts.present)
    if options.together:
        return joint_page(model.taxonomy, suggestions, *about)
    return suggestions_page(model.taxonomy, suggestions, evidence, model.calibrators, *about)

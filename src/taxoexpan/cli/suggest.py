"""Rank parents for new concepts with a trained model."""

from __future__ import annotations

import argparse
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from taxoexpan.cli.arguments import (
    add_device,
    add_glossary,
    add_ids,
    add_new_concepts,
    add_output,
    add_report,
    add_together,
    id_policy,
    positive,
)
from taxoexpan.cli.messages import (
    as_json,
    note,
    print_confidence_limits,
    print_filtered,
    print_merges,
    print_no_parent,
    write_report,
)
from taxoexpan.cli.placement_engine import (
    RAY,
    add_engine,
    refuse_engine_conflicts,
    suggested_blocks,
)
from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.phrasing import pluralize

if TYPE_CHECKING:
    from taxoexpan.archive import ModelSummary
    from taxoexpan.explain import Evidence
    from taxoexpan.model import SuggestedBlock, TaxoExpan
    from taxoexpan.placement.suggestion_summary import SuggestionSummary
    from taxoexpan.placement.suggestions import Suggestion
    from taxoexpan.report.html import Page
    from taxoexpan.taxonomy import Taxonomy
    from taxoexpan.taxonomy.known_names import FilteredConcepts


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("model", type=Path, metavar="MODEL", help="a model directory, from train")
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
    parser.add_argument(
        "--features",
        metavar="ENCODER",
        help="new location of the encoder's files, if they were moved after training, such as "
        "vectors:NEW_PATH",
    )
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
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="write JSON instead of CSV")
    output.add_argument(
        "--table", action="store_true", help="write a human-readable table instead of CSV"
    )


def run(options: argparse.Namespace) -> int:
    """Write the ranked parents."""
    from taxoexpan.files import preflight, refuse_inside

    _refuse_conflicts(options)
    outputs = list(filter(None, (options.output, options.report)))
    inputs = filter(None, (options.new, options.model, options.glossary))
    preflight(outputs, list(inputs), options.force)
    for path in outputs:
        refuse_inside(path, options.model)
    about, concepts = _new_concepts(options)
    model = None if options.engine == RAY else _load(options)
    print_filtered(about.taxonomy, concepts)
    if options.glossary:
        concepts = _with_definitions(options.glossary, concepts, about.taxonomy)
    with closing(_blocks(options, model, about.taxonomy, concepts)) as blocks:
        if options.output and not (options.json or options.table or options.report):
            text, found = "", _stream(options, blocks)
        else:
            text, found = _write_at_once(options, model, blocks, concepts)
    if found.queries and not options.together:
        print_confidence_limits(about)
    print_merges(found.merged)
    print_no_parent(found.without_parent, found.queries)
    if options.output:
        ranked = pluralize(len(concepts.new), "new concept")
        note(f"{ranked} ranked; suggestions written to {options.output}")
    else:
        print(text, end="")
    return 0


def _refuse_conflicts(options: argparse.Namespace) -> None:
    """Refuse options that exclude each other, before any work."""
    from taxoexpan.placement.suggestion_file import check_suggestion_file, is_parquet

    if options.together and options.evidence:
        message = "--together has no evidence per concept"
        raise ConfigurationError(f"{message}; omit one of the two")
    refuse_engine_conflicts(options)
    if options.output and not (options.json or options.table):
        check_suggestion_file(options.output)
    elif options.output and is_parquet(options.output):
        message = f"{options.output} is the name of a Parquet file"
        raise ConfigurationError(f"{message}; choose another, or omit --json and --table")


def _load(options: argparse.Namespace) -> TaxoExpan:
    from taxoexpan.model import TaxoExpan

    return TaxoExpan.load(options.model, options.device, options.features)


def _new_concepts(options: argparse.Namespace) -> tuple[ModelSummary, FilteredConcepts]:
    """Return what is known of the model, and the new concepts with their ids.

    This happens before the encoder is loaded.
    """
    from taxoexpan.formats.concept_list import read_concepts

    new, ids = read_concepts(options.new), id_policy(options)
    from taxoexpan.archive import load_summary
    from taxoexpan.taxonomy.known_names import filter_known_names

    summary = load_summary(options.model)
    return summary, filter_known_names(summary.taxonomy, new, ids)


def _blocks(
    options: argparse.Namespace,
    model: TaxoExpan | None,
    taxonomy: Taxonomy,
    concepts: FilteredConcepts,
) -> Generator[SuggestedBlock]:
    """Yield the suggestions for blocks of new concepts."""
    if model is not None and options.together:
        from taxoexpan.model import SuggestedBlock

        _ensure_joint_prior(model, options.model)
        yield SuggestedBlock(model.suggest_together(concepts.new), [])
        return
    yield from suggested_blocks(options, model, taxonomy, concepts.new)


def _stream(options: argparse.Namespace, blocks: Iterable[SuggestedBlock]) -> SuggestionSummary:
    """Write a table block by block, so that it need not fit in memory."""
    from taxoexpan.placement.suggestion_file import suggestion_file
    from taxoexpan.placement.suggestion_summary import SuggestionSummary

    found = SuggestionSummary()
    with suggestion_file(options.output, options.force) as write:
        for block in blocks:
            write(block.suggestions)
            found.add(block.suggestions)
    return found


def _write_at_once(
    options: argparse.Namespace,
    model: TaxoExpan | None,
    blocks: Iterable[SuggestedBlock],
    concepts: FilteredConcepts,
) -> tuple[str, SuggestionSummary]:
    """Write all suggestions as one text, which is also returned, and the report."""
    from taxoexpan.files import write_whole
    from taxoexpan.placement.suggestion_file import write_suggestions
    from taxoexpan.placement.suggestion_summary import SuggestionSummary

    suggestions: list[Suggestion] = []
    evidence: list[Evidence] = []
    for block in blocks:
        suggestions += block.suggestions
        evidence += block.evidence
    explained = evidence if options.evidence or options.report else None
    text = _as_text(options, suggestions, explained, concepts)
    if options.output and (options.json or options.table):
        write_whole({options.output: text.encode()}, options.force)
    elif options.output:
        write_suggestions(options.output, suggestions, options.force)
    if options.report and model is not None:
        page = _page(options, model, suggestions, evidence, concepts)
        write_report(options.report, page, options.force)
    return text, SuggestionSummary().add(suggestions)


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


def _as_text(
    options: argparse.Namespace,
    suggestions: Sequence[Suggestion],
    evidence: Sequence[Evidence] | None,
    concepts: FilteredConcepts,
) -> str:
    """Return the suggestions in the requested form."""
    from taxoexpan.cli.text_table import placements_table
    from taxoexpan.placement.suggestions import suggestions_csv

    if options.table:
        return placements_table(suggestions) + "\n"
    if not options.json:
        return suggestions_csv(suggestions)
    content: dict[str, object] = {"suggestions": [each.as_dict() for each in suggestions]}
    if evidence is not None:
        content["evidence"] = [each.to_dict() for each in evidence]
    content["already_present"] = [
        {"query": concept.label, "id": known.id, "label": known.label}
        for concept, known in concepts.present
    ]
    return as_json(content)

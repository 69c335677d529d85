"""Rank parents for new concepts with a trained model."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from taxoexpan.cli.arguments import (
    add_device,
    add_new_concepts,
    add_output,
    add_together,
    positive,
    screen_concepts,
)
from taxoexpan.cli.messages import as_json, note
from taxoexpan.cli.report_output import (
    add_report,
    note_homeless,
    note_merges,
    refuse_inside,
    write_report,
)
from taxoexpan.errors import ConfigurationError

if TYPE_CHECKING:
    from taxoexpan.explain import Evidence
    from taxoexpan.placement.suggestions import Suggestion
    from taxoexpan.taxonomy.known_names import FilteredConcepts


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("model", type=Path, metavar="MODEL", help="a model directory, from train")
    add_new_concepts(parser)
    add_output(parser, "the CSV file to write (standard output unless given)")
    parser.add_argument(
        "--top-k", type=positive, default=5, help="parents for each new concept (default 5)"
    )
    parser.add_argument(
        "--features",
        metavar="SPEC",
        help="where the model's vectors are now, if they have moved since the training",
    )
    add_device(parser)
    parser.add_argument(
        "--evidence",
        action="store_true",
        help="say why each first parent was chosen; with --json also in figures",
    )
    add_together(parser)
    add_report(parser, "a report to read in a browser, with the evidence")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="JSON instead of CSV")
    how.add_argument("--table", action="store_true", help="a table to read instead of CSV")


def run(options: argparse.Namespace) -> int:
    """Write the ranked parents."""
    from taxoexpan.files import preflight, write_whole
    from taxoexpan.formats.concept_list import read_concepts
    from taxoexpan.placement.selection import merges

    if options.together and options.evidence:
        message = "--together places all at once, and has no evidence for each"
        raise ConfigurationError(f"{message}; leave out one of the two")
    outputs = list(filter(None, (options.output, options.report)))
    preflight(outputs, [options.new, options.model], options.force)
    for path in outputs:
        refuse_inside(path, options.model)
    concepts = read_concepts(options.new)
    from taxoexpan.model import TaxoExpan

    model = TaxoExpan.load(options.model, options.device, options.features)
    screening = screen_concepts(model.taxonomy, concepts)
    evidence: list[Evidence] | None = None
    if options.together:
        suggestions = model.rank_together(screening.new)
    elif options.evidence or options.report:
        suggestions, evidence = model.explain(screening.new, options.top_k)
    else:
        suggestions = model.rank(screening.new, options.top_k)
    text = _as_text(options, suggestions, evidence, screening)
    if options.output:
        write_whole({options.output: text.encode()}, options.force)
    if options.report:
        from taxoexpan.report import suggestions_page, together_page

        told = (f"Places for {options.new.name}", datetime.now(UTC), screening.present)
        if options.together:
            page = together_page(model.taxonomy, suggestions, *told)
        else:
            found = (model.taxonomy, suggestions, evidence or [], model.calibrators)
            page = suggestions_page(*found, *told)
        write_report(options, page)
    note_merges(merges(suggestions))
    note_homeless(suggestions)
    if options.output:
        note(f"{len(screening.new)} new concepts ranked; suggestions in {options.output}")
    else:
        print(text, end="")
    return 0


def _as_text(
    options: argparse.Namespace,
    suggestions: Sequence[Suggestion],
    evidence: Sequence[Evidence] | None,
    screening: FilteredConcepts,
) -> str:
    """The suggestions in the form that was asked for."""
    from taxoexpan.cli.text_table import placements_table
    from taxoexpan.placement.suggestions import suggestions_csv

    if options.table:
        return placements_table(suggestions) + "\n"
    if not options.json:
        return suggestions_csv(suggestions)
    told: dict[str, object] = {"suggestions": [each.as_dict() for each in suggestions]}
    if evidence is not None:
        told["evidence"] = [each.to_dict() for each in evidence]
    told["already_present"] = [
        {"query": concept.label, "id": known.id, "label": known.label}
        for concept, known in screening.present
    ]
    return as_json(told)

"""Train, suggest and apply in one go: from a taxonomy and new concepts to a larger taxonomy."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from taxoexpan.cli.apply import write_choice
from taxoexpan.cli.options import (
    add_choice,
    add_new_concepts,
    add_output,
    add_taxonomy,
    add_training,
    fit_model,
    least_confidence,
    make_model,
    note,
    read_taxonomy,
    reading_of,
    screen_concepts,
    settings_of,
    share,
)

if TYPE_CHECKING:
    from taxoexpan.decisions import Suggestion

RANKED = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    add_taxonomy(parser)
    add_new_concepts(parser)
    add_output(parser, "the file to write", required=True)
    add_choice(parser)
    parser.add_argument(
        "--accept-at-precision",
        type=share,
        metavar="SHARE",
        help="accept parents from the confidence on at which this share of them is right",
    )
    add_training(parser)
    parser.add_argument("--suggestions", type=Path, metavar="CSV", help="keep the ranked parents")
    parser.add_argument("--model", type=Path, metavar="DIR", help="keep the model")


def run(options: argparse.Namespace) -> int:
    """Do all three steps."""
    from taxoexpan.archive import OWN as MODEL_PARTS
    from taxoexpan.decisions import suggestions_csv
    from taxoexpan.files import preflight, refuse_replacing, write_whole
    from taxoexpan.formats.catalogue import rehearse
    from taxoexpan.formats.concepts import read_concepts

    beside = list(filter(None, (options.suggestions, options.model)))
    preflight([options.output, *beside], [options.new], options.force)
    preflight(beside, [options.taxonomy], options.force)
    if options.model:
        refuse_replacing(options.model, MODEL_PARTS, options.force)
    settings_of(options)
    taxonomy = read_taxonomy(options.taxonomy, options)
    screening = screen_concepts(taxonomy, read_concepts(options.new))
    rehearse(
        options.taxonomy,
        screening.new,
        options.top_k,
        options.output,
        options.format,
        options.force,
        reading_of(options),
    )
    suggestions: list[Suggestion] = []
    if screening.new or options.model:
        model = make_model(options)
        fit_model(model, options, taxonomy, expected=screening.new)
        suggestions = model.rank(screening.new, max(RANKED, options.top_k))
        options.min_confidence = least_confidence(options, model.trust)
    if options.model:
        model.save(options.model, options.force)
        note(f"model written to {options.model}")
    if options.suggestions:
        write_whole({options.suggestions: suggestions_csv(suggestions).encode()}, options.force)
        note(f"suggestions in {options.suggestions}")
    write_choice(options, taxonomy, suggestions)
    return 0

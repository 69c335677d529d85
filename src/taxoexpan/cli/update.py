"""Add what a newer version of the taxonomy has changed to a model, without training."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from taxoexpan.cli.arguments import (
    add_device,
    add_glossary,
    add_output,
    add_taxonomy,
    read_defined_taxonomy,
)
from taxoexpan.cli.messages import note, print_json, print_training_advice
from taxoexpan.cli.model_arguments import add_encoder_location, add_model
from taxoexpan.errors import FormatError
from taxoexpan.phrasing import pluralize

if TYPE_CHECKING:
    from taxoexpan.model import TaxoExpan
    from taxoexpan.placement.fitting.updating import UpdateReport


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_model(parser)
    add_taxonomy(parser, "the newer version of the model's taxonomy, or - for standard input")
    add_output(parser, "the model directory to write (default: MODEL itself is replaced)")
    add_glossary(parser)
    add_encoder_location(parser)
    add_device(parser)
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.add_argument("--json", action="store_true", help="print the changes as JSON")


def run(options: argparse.Namespace) -> int:
    """Update and save."""
    from taxoexpan.files import check_directory, refuse_inside
    from taxoexpan.model_directory import OWN

    output = options.output or options.model
    is_in_place = output.resolve() == options.model.resolve()
    if options.model.is_dir():
        with _other_place_suggested(is_in_place):
            check_directory(output, OWN, options.force or is_in_place)
    refuse_inside(options.taxonomy, output, "is replaced as a whole")
    taxonomy = read_defined_taxonomy(options.taxonomy, options)
    from taxoexpan.model import TaxoExpan

    model = TaxoExpan.load(options.model, options.device, options.features)
    model.encoder.show_progress(not options.quiet)
    report = model.update(taxonomy)
    if report.changes or not is_in_place:
        model.save(output, options.force or is_in_place)
    _print_update(report, output, is_in_place)
    if model.growth:
        note(f"since the training: {model.growth.sentence(model.training.concepts)}")
    print_training_advice(model)
    if options.json:
        print_json(_as_json(model, report))
    return 0


@contextmanager
def _other_place_suggested(is_in_place: bool) -> Iterator[None]:
    """Suggest -o if the model cannot be replaced."""
    try:
        yield
    except FormatError as error:
        if not is_in_place:
            raise
        problem = error.message.rpartition(";")[0]
        message = f"{problem}; use -o to write the updated model to another place"
        raise FormatError(error.path, message) from None


def _print_update(report: UpdateReport, output: Path, is_in_place: bool) -> None:
    """Say what has changed since the last version, and how much was encoded for it."""
    if not report.changes:
        kept = "the model stays as it is" if is_in_place else f"a copy was written to {output}"
        note(f"nothing has changed; {kept}")
        return
    c = report.changes
    concepts = f"{pluralize(len(c.added), 'concept')} added, {len(c.removed):,} removed"
    note(f"{concepts}, {len(c.changed):,} changed; {_relations(report)}")
    encoded = [f"{pluralize(report.vectors, 'concept')}", f"{pluralize(report.keys, 'anchor')}"]
    if report.texts:
        encoded.append(f"{pluralize(report.texts, 'text')} of the fine-tuned encoder")
    note(f"encoded {', '.join(encoded)}, of a taxonomy of {report.concepts:,} concepts")
    note(f"model written to {output}")


def _relations(report: UpdateReport) -> str:
    added, removed = report.changes.relations_added, report.changes.relations_removed
    return f"{pluralize(len(added), 'relation')} added, {len(removed):,} removed"


def _as_json(model: TaxoExpan, report: UpdateReport) -> dict[str, object]:
    record = model.training
    since = model.growth.figures(record.concepts, record.relations)
    return {**report.as_dict(), "since_training": since}

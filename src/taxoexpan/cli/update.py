"""Update a model to a newer version of its taxonomy, without retraining."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from taxoexpan.cli.glossaries import read_taxonomy
from taxoexpan.cli.messages import note, print_json
from taxoexpan.cli.model_options import ModelOptions
from taxoexpan.cli.training_messages import print_training_advice
from taxoexpan.option_declarations import argument, json_option, output_option, switch
from taxoexpan.phrasing import pluralize
from taxoexpan.shared_options import GlossaryOptions, QuietOptions, ReadingOptions

if TYPE_CHECKING:
    from taxoexpan.placement.fitting.updating import UpdateReport


@dataclass(frozen=True, kw_only=True)
class Options(ModelOptions, GlossaryOptions, ReadingOptions, QuietOptions):
    """The options of `update`."""

    model: Path = argument("MODEL", "model directory, written by train")
    taxonomy: Path = argument(
        "TAXONOMY",
        "newer version of the taxonomy on which the model was trained, or - for standard input",
    )
    output: Path | None = output_option("output model directory (default: replace MODEL)")
    force: bool = switch("overwrite existing output files")
    json: bool = json_option("print the changes")


def run(options: Options) -> int:
    """Update a model and save it."""
    from taxoexpan.files import check_directory, real_path, refuse_inside
    from taxoexpan.model_directory import OWN

    output = options.output or options.model
    is_in_place = real_path(output) == real_path(options.model)
    if options.model.is_dir():
        check_directory(output, OWN, options.force or is_in_place)
    refuse_inside(options.taxonomy, output, "is replaced as a whole")
    taxonomy = read_taxonomy(options.taxonomy, options, options.glossary, options.quiet)
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
        record = model.training
        since = model.growth.figures(record.concepts, record.relations)
        print_json({**report.as_dict(), "since_training": since})
    return 0


def _print_update(report: UpdateReport, output: Path, is_in_place: bool) -> None:
    """Print the changes since the last version, and how much was encoded."""
    if not report.changes:
        kept = "the model stays as it is" if is_in_place else f"a copy was written to {output}"
        note(f"nothing has changed; {kept}")
        return
    c = report.changes
    note(
        f"{pluralize(len(c.added), 'concept')} added, {len(c.removed):,} removed, "
        f"{len(c.changed):,} changed; {pluralize(len(c.relations_added), 'relation')} added, "
        f"{len(c.relations_removed):,} removed"
    )
    encoded = [f"{pluralize(report.vectors, 'concept')}", f"{pluralize(report.keys, 'anchor')}"]
    if report.texts:
        encoded.append(f"{pluralize(report.texts, 'text')} of the text encoder")
    note(f"encoded {', '.join(encoded)}, of a taxonomy of {report.concepts:,} concepts")
    note(f"model written to {output}")

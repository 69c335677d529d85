"""Find relations that may be wrong: hold out leaves and compare predicted with actual parents."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from datetime import UTC, datetime
from pathlib import Path

from taxoexpan.cli.glossaries import read_taxonomy
from taxoexpan.cli.messages import announce, as_json, note, print_json
from taxoexpan.errors import FormatError
from taxoexpan.option_declarations import (
    PATH,
    POSITIVE,
    json_option,
    option,
    output_option,
    switch,
)
from taxoexpan.shared_options import (
    GlossaryOptions,
    TaxonomyOptions,
    TrainingOptions,
)

EXTENSIONS = (".csv", ".json")
"""The file name extensions of the output, which determine its format."""


@dataclass(frozen=True, kw_only=True)
class Options(TaxonomyOptions, TrainingOptions, GlossaryOptions):
    """The options of `clean`."""

    output: Path = output_option("output file: .csv or .json", MISSING)
    force: bool = switch("overwrite existing output files")
    folds: int = option("number of cross-validation folds", 5, POSITIVE)
    top: int = option("maximum number of relations to write", 100, POSITIVE)
    inner: bool = switch("also check concepts that have children, not only leaves")
    work: Path | None = option(
        "directory for intermediate results (default: OUT.folds); an interrupted run resumes "
        "from it when the same command is run again",
        kind=PATH,
        metavar="DIR",
    )
    report: Path | None = option("also write an HTML report", kind=PATH, metavar="HTML")
    json: bool = json_option("also print the suspicious relations")


def run(options: Options) -> int:
    """Score the relations of all leaves, and write those for which another parent is likelier."""
    from taxoexpan.files import output_lock, preflight, write_whole

    if options.output.suffix not in EXTENSIONS:
        message = "unknown output format"
        raise FormatError(
            options.output, message, fix=f"the file name must end in {' or '.join(EXTENSIONS)}"
        )
    outputs = list(filter(None, (options.output, options.report)))
    preflight(outputs, list(filter(None, (options.taxonomy, options.glossary))), options.force)
    from taxoexpan.config import changed_settings
    from taxoexpan.expansion import check_training

    check_training(options)
    taxonomy = read_taxonomy(options.taxonomy, options, options.glossary, options.quiet)

    from taxoexpan.curation.cleaning.fold_scoring import ModelOptions
    from taxoexpan.curation.cleaning.folds import remove_folds, suspicious_relations_csv
    from taxoexpan.curation.cleaning.self_cleaning import EXPLAINED, clean
    from taxoexpan.report.page import render
    from taxoexpan.report.suspicious_relations_page import suspicious_relations_page

    settings = changed_settings(options, options.epochs)
    work = options.work or options.output.with_name(f"{options.output.name}.folds")
    try:
        with output_lock(options.output):
            relations = clean(
                taxonomy,
                ModelOptions(options.preset, options.seed or 0, options.device, settings),
                options.folds,
                options.inner,
                work,
                None if options.quiet else note,
                max(options.top, EXPLAINED),
            )
    except KeyboardInterrupt:
        if work.exists():
            announce(f"\nthe finished folds are saved in {work}; run the same command to resume")
        raise
    doubted = [each for each in relations if each.has_better_parent]
    shown = doubted[: options.top]
    found = {"suspicious_relations": [each.as_json() for each in shown]}
    if options.output.suffix == ".json":
        text = as_json(found) + "\n"
    else:
        text = suspicious_relations_csv(shown)
    texts = {options.output: text}
    if options.report:
        title = f"Suspicious relations of {options.taxonomy.name}"
        about = len(relations), title, datetime.now(UTC)
        texts[options.report] = render(suspicious_relations_page(taxonomy, shown, *about))
    write_whole({path: text.encode() for path, text in texts.items()}, options.force)
    remove_folds(work)
    if not relations:
        note("note: no relation has another possible parent to compare with, so none is suspicious")
    where = " and ".join(map(str, outputs))
    note(
        f"{len(relations):,} relations checked; another parent is more likely for "
        f"{len(doubted):,}; the {len(shown):,} most suspicious are in {where}"
    )
    if options.json:
        print_json({"checked": len(relations), "files": list(map(str, outputs)), **found})
    return 0

"""Rank parents for new concepts with a trained model."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from taxoexpan.cli.glossaries import defined_concepts
from taxoexpan.cli.messages import note, note_above, warn
from taxoexpan.cli.model_options import ModelOptions
from taxoexpan.cli.reports import write_report
from taxoexpan.cli.suggestion_output import (
    SuggestionSummary,
    placements_table,
    text_output,
    with_few_warnings,
    write_csv,
    write_json,
)
from taxoexpan.cli.taxonomy_messages import named_present, print_filtered, print_other_language
from taxoexpan.cli.training_messages import print_confidence_limits, print_training_advice
from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.option_declarations import POSITIVE, json_option, option, output_option, switch
from taxoexpan.phrasing import pluralize
from taxoexpan.shared_options import (
    SUGGEST_DEFAULTS,
    GlossaryOptions,
    IdOptions,
    NewConceptOptions,
    PlacementOptions,
    QuietOptions,
    SuggestOptions,
)

if TYPE_CHECKING:
    from taxoexpan.explain.explanation import SuggestedBlock
    from taxoexpan.model import TaxoExpan
    from taxoexpan.progress import Progress
    from taxoexpan.taxonomy import Taxonomy
    from taxoexpan.taxonomy.known_names import FilteredConcepts


RAY = "ray"


@dataclass(frozen=True, kw_only=True)
class Options(
    ModelOptions,
    NewConceptOptions,
    SuggestOptions,
    GlossaryOptions,
    PlacementOptions,
    IdOptions,
    QuietOptions,
):
    """The options of `suggest`."""

    output: Path | None = output_option(
        "output file: CSV, or Parquet if the name ends in .parquet (default: CSV on standard "
        "output)"
    )
    force: bool = switch("overwrite existing output files")
    json: bool = json_option("instead of CSV, write the suggestions")
    table: bool = switch("write a human-readable table instead of CSV")
    engine: str = option(
        "execution engine: local (this process) or ray (several processes or machines, with Ray)",
        "local",
        choices=("local", RAY),
    )
    workers: int | None = option(
        "with --engine ray: number of workers, each with its own copy of the model (default: one "
        "per core, at most eight per machine)",
        None,
        POSITIVE,
    )
    address: str | None = option(
        "with --engine ray: address of a running Ray cluster that includes this machine; the "
        "model directory must have the same path on all machines",
        metavar="HOST:PORT",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.json and self.table:
            raise ConfigurationError(
                "a table is not JSON", fix="omit one of the two", option="table"
            )
        ranking = SuggestOptions.of(self)
        for name in (each.name for each in fields(ranking)) if self.together else ():
            if getattr(ranking, name) != getattr(SUGGEST_DEFAULTS, name):
                message = "concepts that are placed together have one parent each, without evidence"
                raise ConfigurationError(message, fix="omit one of the two", option="together")
        for name in ("together", "report") if self.engine == RAY else ():
            if getattr(self, name):
                message = "Ray places concepts in several processes, and this needs one"
                raise ConfigurationError(message, fix="omit it, or use --engine local", option=name)
        for name in ("workers", "address") if self.engine != RAY else ():
            if getattr(self, name) is not None:
                raise ConfigurationError("this belongs to Ray", fix="add --engine ray", option=name)

    @property
    def needs_evidence(self) -> bool:
        """Whether an option needs the evidence for the suggestions."""
        return not self.together and bool(self.explain or self.report)


def run(options: Options) -> int:
    """Write the ranked parents."""
    from taxoexpan.formats.concept_list import read_concepts
    from taxoexpan.progress import Progress
    from taxoexpan.taxonomy.id_policy import IdPolicy

    _refuse_outputs(options)
    new = read_concepts(options.new)
    ids = IdPolicy.of(options)
    from taxoexpan.archive import load_archive, load_summary
    from taxoexpan.taxonomy.known_names import filter_known_names

    # The ids are checked before the encoder is loaded.
    about = load_summary(options.model)
    concepts = filter_known_names(about.taxonomy, new, ids)
    model = None
    if options.engine != RAY:
        from taxoexpan.model import TaxoExpan

        archive = load_archive(options.model, options.features, options.device, about)
        model = TaxoExpan.from_archive(archive, options.device)
    print_other_language(about.taxonomy, new)
    print_filtered(about.taxonomy, concepts)
    defined = defined_concepts(options.glossary, concepts.new, about.taxonomy, options.quiet)
    concepts = replace(concepts, new=tuple(defined))
    summary = SuggestionSummary()
    # Without -o the suggestions themselves may go to the terminal, where they show the progress.
    shown = bool(options.output) and not options.quiet
    bar = Progress("suggestions", len(concepts.new), "concepts", shown=shown)
    with ExitStack() as outputs:  # the suggestions appear after the report
        with closing(_blocks(options, model, about.taxonomy, concepts)) as blocks, bar:
            kept = _write_suggestions(options, blocks, concepts, summary, bar, outputs)
        if options.report and model is not None:
            _write_report(options, options.report, model, kept, concepts)
    if summary.queries and not options.together:
        print_confidence_limits(about)
        print_training_advice(about)
    summary.print()
    if options.output:
        ranked = pluralize(len(concepts.new), "new concept")
        note(f"{ranked} ranked; suggestions written to {options.output}")
    return 0


def _refuse_outputs(options: Options) -> None:
    """Refuse outputs that cannot be written, and missing libraries, before any work."""
    from taxoexpan.decisions.suggestion_tables import check_arrow, is_parquet
    from taxoexpan.files import preflight, refuse_inside

    if options.engine == RAY:
        from taxoexpan.cluster.placement import check_ray

        check_ray()
        from taxoexpan.cluster.session import refuse_ray_client

        refuse_ray_client(options.address)
    if options.output and is_parquet(options.output):
        if options.json or options.table:
            message = f"{options.output} is the name of a Parquet file"
            raise ConfigurationError(message, fix="choose another, or omit --json and --table")
        check_arrow(options.output)
    outputs = list(filter(None, (options.output, options.report)))
    inputs = filter(None, (options.new, options.model, options.glossary))
    preflight(outputs, list(inputs), options.force)
    for path in outputs:
        refuse_inside(path, options.model)


def _write_suggestions(
    options: Options,
    blocks: Iterable[SuggestedBlock],
    concepts: FilteredConcepts,
    summary: SuggestionSummary,
    bar: Progress,
    outputs: ExitStack,
) -> list[SuggestedBlock]:
    """Write the suggestions in the requested form; return them if another output needs all.

    A file gets its name when `outputs` is closed.
    """
    from taxoexpan.decisions.suggestion_tables import is_parquet, parquet_file

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
        write_rows = outputs.enter_context(parquet_file(options.output, options.force))
        for block in noted():
            write_rows(block.suggestions)
        return kept
    write = outputs.enter_context(text_output(options.output, options.force))
    if options.table:
        suggestions = [each for block in noted() for each in block.suggestions]
        write(placements_table(suggestions) + "\n")
    elif options.json:
        write_json(noted(), write, options.needs_evidence, named_present(concepts.present))
    else:
        write_csv(noted(), write)
    return kept


def _blocks(
    options: Options,
    model: TaxoExpan | None,
    taxonomy: Taxonomy,
    concepts: FilteredConcepts,
) -> Generator[SuggestedBlock]:
    """Yield the suggestions, with evidence if an option needs it."""
    from taxoexpan.explain.explanation import SuggestedBlock, query_blocks

    ranking = replace(SuggestOptions.of(options), explain=options.needs_evidence)
    if model is None:
        from taxoexpan.cluster import ClusterOptions, suggest_on_cluster

        yield from suggest_on_cluster(
            options.model,
            taxonomy,
            concepts.new,
            ClusterOptions(options.workers, options.address),
            ranking,
            device=options.device,
            features=options.features,
            report=note_above,
        )
    elif options.together:
        _ensure_joint_prior(model, options.model)
        yield SuggestedBlock(model.suggest_together(concepts.new).flat, [])
    else:
        for block in query_blocks(concepts.new):
            yield model.suggest_block(block, ranking)


def _ensure_joint_prior(model: TaxoExpan, directory: Path) -> None:
    """Learn the priors of joint placement if the model lacks them, and save them with the model."""
    if model.calibrators.joint_priors is not None:
        return
    model.fit_joint_prior()
    try:
        model.save(directory, force=True)
    except FormatError as error:
        warn(f"the prior for joint placement could not be saved ({error.message})")
    else:
        note(f"note: learned the prior for joint placement and saved it in {directory}")


def _write_report(
    options: Options,
    path: Path,
    model: TaxoExpan,
    blocks: Sequence[SuggestedBlock],
    concepts: FilteredConcepts,
) -> None:
    """Write the report on the suggestions."""
    from taxoexpan.report.suggestions_page import joint_page, suggestions_page

    suggestions = [each for block in blocks for each in block.suggestions]
    about = (f"Suggestions for {options.new.name}", datetime.now(UTC), concepts.present)
    if options.together:
        page = joint_page(model.taxonomy, suggestions, *about)
    else:
        evidence = [each for block in blocks for each in block.evidence]
        found = model.taxonomy, suggestions, evidence, model.calibrators
        page = suggestions_page(*found, *about)
    write_report(path, page, options.force)

"""Find new concepts in a text corpus and write them as input for suggest or expand."""

from __future__ import annotations

from dataclasses import MISSING, asdict, dataclass
from pathlib import Path

from taxoexpan.cli.glossaries import read_taxonomy
from taxoexpan.cli.messages import as_json, note
from taxoexpan.errors import FormatError
from taxoexpan.option_declarations import (
    PATH,
    POSITIVE,
    argument,
    json_option,
    option,
    output_option,
    switch,
)
from taxoexpan.phrasing import pluralize
from taxoexpan.shared_options import QuietOptions, ReadingOptions


@dataclass(frozen=True, kw_only=True)
class Options(ReadingOptions, QuietOptions):
    """The options of `discover`."""

    corpus: Path = argument(
        "CORPUS",
        "documents, one per line or row: .txt, .csv, .tsv or .jsonl (optionally gzipped), or a "
        "directory of such files; a header row is not skipped",
    )
    taxonomy: Path = option(
        "existing taxonomy; concepts that it already contains are not listed",
        MISSING,
        PATH,
        metavar="TAXONOMY",
    )
    output: Path | None = output_option("CSV file to write (default: standard output)")
    force: bool = switch("overwrite existing output files")
    top: int = option("maximum number of concepts", 500, POSITIVE)
    min_count: int = option(
        "ignore phrases that occur less often on their own, outside longer ones", 5, POSITIVE
    )
    workers: int | None = option(
        "number of worker processes (default: one per core)", None, POSITIVE
    )
    json: bool = json_option("instead of CSV, write the concepts")


def run(options: Options) -> int:
    """Write the new concepts as a table or as JSON."""
    from taxoexpan.curation.discovery import discover, discovered_concepts_table
    from taxoexpan.files import preflight, write_whole

    if options.output:
        preflight([options.output], [options.corpus, options.taxonomy], options.force)
    concepts = discover(
        options.corpus,
        read_taxonomy(options.taxonomy, options),
        top=options.top,
        min_count=options.min_count,
        workers=options.workers,
        progress=not options.quiet,
    )
    if not concepts:
        times = pluralize(options.min_count, "time")
        message = f"no new phrase occurs at least {times}"
        raise FormatError(options.corpus, message, fix="lower --min-count or add more texts")
    if options.json:
        text = as_json([asdict(concept) for concept in concepts]) + "\n"
    else:
        path = options.output or Path("new.csv")
        text = discovered_concepts_table(path, concepts)
    if not options.output:
        print(text, end="")
        return 0
    write_whole({options.output: text.encode()}, options.force)
    note(f"{pluralize(len(concepts), 'new concept')} in {options.output}")
    return 0

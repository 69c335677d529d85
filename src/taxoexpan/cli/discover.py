"""Find new concepts in a text corpus, as a list for suggest or expand."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from taxoexpan.cli.argument_types import positive
from taxoexpan.cli.arguments import add_keep_formulas, add_output, add_read_options, read_taxonomy
from taxoexpan.cli.messages import as_json, note
from taxoexpan.errors import ConfigurationError, FormatError

if TYPE_CHECKING:
    from taxoexpan.curation.discovery import DiscoveredConcept


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "corpus",
        type=Path,
        nargs="?",
        metavar="CORPUS",
        help="documents, one per line or row: .txt, .csv, .tsv or .jsonl (optionally gzipped), or "
        "a folder of such files; a header row is read as a document",
    )
    parser.add_argument(
        "--taxonomy",
        type=Path,
        metavar="TAXONOMY",
        required=True,
        help="taxonomy for which to find new concepts",
    )
    add_read_options(parser)
    add_output(parser, "CSV file to write (default: standard output)")
    add_keep_formulas(parser)
    parser.add_argument("--top", type=positive, help="maximum number of concepts (default: 500)")
    parser.add_argument(
        "--min-count",
        type=positive,
        help="ignore phrases with fewer mentions (default: 5)",
    )
    parser.add_argument(
        "--workers",
        type=positive,
        help="number of processes that read the corpus (default: one per core)",
    )
    _add_sharding(parser)
    parser.add_argument("--json", action="store_true", help="write JSON instead of CSV")
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def _add_sharding(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments that divide the work among several machines."""
    sharding = parser.add_argument_group("for a corpus that several machines read")
    step = sharding.add_mutually_exclusive_group()
    step.add_argument(
        "--shard",
        metavar="I/N",
        help="count the phrases of every N-th document, from the I-th, and write them to -o",
    )
    step.add_argument(
        "--merge",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="merge the files of all shards: counts give the phrases to look for, "
        "observations the new concepts",
    )
    sharding.add_argument(
        "--phrases",
        type=Path,
        metavar="FILE",
        help="with --shard: observe these phrases, from the merged counts, instead of counting",
    )


def run(options: argparse.Namespace) -> int:
    """Write the new concepts, or an intermediate file of a discovery in shards."""
    from taxoexpan.files import preflight

    if (options.corpus is None) == (options.merge is None):
        raise ConfigurationError("give either a corpus or --merge with the files of all shards")
    if options.phrases and not options.shard:
        raise ConfigurationError("--phrases says what to look for in a shard; add --shard")
    if options.shard and not options.output:
        raise ConfigurationError("--shard writes an intermediate file; name it with -o")
    step = _step(options)
    _refuse_unused(options, step)
    _fill_defaults(options)
    if options.output:
        inputs = [options.corpus, options.taxonomy, options.phrases, *(options.merge or ())]
        preflight([options.output], [path for path in inputs if path], options.force)
    return step(options)


def _step(options: argparse.Namespace) -> Callable[[argparse.Namespace], int]:
    """Return the function for the whole discovery, or for one step of a discovery in shards."""
    if options.shard:
        return _run_shard
    if options.merge:
        from taxoexpan.curation.discovery.sharded_discovery import holds_counts

        return _merge_counts if holds_counts(options.merge[0]) else _merge_found
    return _discover


def _refuse_unused(options: argparse.Namespace, step: Callable[..., int]) -> None:
    """Refuse options that belong to another step of a discovery in shards."""
    steps = {
        "top": (_merge_found, "when the observations are merged"),
        "json": (_merge_found, "when the observations are merged"),
        "min_count": (_merge_counts, "when the counts are merged"),
    }
    for name, (own, when) in steps.items():
        if getattr(options, name) and step not in (own, _discover):
            flag = f"--{name.replace('_', '-')}"
            message = f"{flag} has no effect in this step of a discovery in shards"
            raise ConfigurationError(f"{message}; give it {when}, and omit it here")


def _fill_defaults(options: argparse.Namespace) -> None:
    from taxoexpan.curation.discovery.term_discovery import MIN_COUNT, TOP

    options.top = options.top or TOP
    options.min_count = options.min_count or MIN_COUNT


def _run_shard(options: argparse.Namespace) -> int:
    """Count the phrases of one shard, or observe chosen ones in it."""
    from taxoexpan.curation.discovery.corpus_shard import Shard
    from taxoexpan.curation.discovery.shard_files import write_shard_file
    from taxoexpan.curation.discovery.sharded_discovery import (
        count_shard,
        observe_shard,
        read_phrases,
    )

    shard = Shard.parse(options.shard)
    phrases = read_phrases(options.phrases) if options.phrases else None
    taxonomy = read_taxonomy(options.taxonomy, options)
    workers, progress = options.workers, not options.quiet
    if phrases is None:
        counted = count_shard(options.corpus, taxonomy, shard, workers=workers, progress=progress)
        write_shard_file(options.output, counted, options.force, checked=True)
        note(f"phrases of shard {shard} counted; merge the counts of all shards next")
    else:
        observed = observe_shard(
            options.corpus, taxonomy, shard, phrases, workers=workers, progress=progress
        )
        write_shard_file(options.output, observed, options.force, checked=True)
        note(f"phrases of shard {shard} observed; merge the observations of all shards next")
    return 0


def _merge_counts(options: argparse.Namespace) -> int:
    """Write the phrases that are to be observed in all shards."""
    from taxoexpan.curation.discovery.shard_files import write_shard_file
    from taxoexpan.curation.discovery.sharded_discovery import merge_counts
    from taxoexpan.phrasing import pluralize

    if not options.output:
        raise ConfigurationError("merged counts give an intermediate file; name it with -o")
    taxonomy = read_taxonomy(options.taxonomy, options)
    phrases, max_error = merge_counts(options.merge, taxonomy, min_count=options.min_count)
    candidates = pluralize(len(phrases.tracked.candidates), "candidate")
    if not phrases.tracked.candidates:
        raise _nothing_found(options.merge[0], options)
    if max_error:
        note(
            f"note: rare phrases were dropped to save memory, so counts may be too low by up to "
            f"{max_error:,}, and other rare candidates may be found than without shards"
        )
    write_shard_file(options.output, phrases, options.force, checked=True)
    note(f"{candidates} in {options.output}; observe them in every shard next, with --phrases")
    return 0


def _merge_found(options: argparse.Namespace) -> int:
    """Write the new concepts of all shards."""
    from taxoexpan.curation.discovery.sharded_discovery import merge_observations

    taxonomy = read_taxonomy(options.taxonomy, options)
    concepts = merge_observations(options.merge, taxonomy, top=options.top)
    return _write(options, concepts, options.merge[0])


def _discover(options: argparse.Namespace) -> int:
    """Write the new concepts of a whole corpus."""
    from taxoexpan.curation.discovery import discover

    concepts = discover(
        options.corpus,
        read_taxonomy(options.taxonomy, options),
        top=options.top,
        min_count=options.min_count,
        workers=options.workers,
        progress=not options.quiet,
    )
    return _write(options, concepts, options.corpus)


def _write(options: argparse.Namespace, concepts: list[DiscoveredConcept], source: Path) -> int:
    """Write the new concepts as a table or as JSON."""
    from dataclasses import asdict

    from taxoexpan.curation.discovery import discovered_concepts_table
    from taxoexpan.files import write_whole
    from taxoexpan.phrasing import pluralize

    if not concepts:
        raise _nothing_found(source, options)
    duplicates = sum(bool(concept.might_duplicate) for concept in concepts)
    if options.json:
        text = as_json([asdict(concept) for concept in concepts])
    else:
        text = discovered_concepts_table(
            options.output or Path("new.csv"), concepts, options.keep_formulas
        )
    if options.output:
        write_whole({options.output: text.encode()}, options.force, checked=True)
        note(
            f"{pluralize(len(concepts), 'new concept')} in {options.output}; {duplicates} may be "
            "in the taxonomy already (see the column might_duplicate)"
        )
    else:
        print(text, end="")
    return 0


def _nothing_found(source: Path, options: argparse.Namespace) -> FormatError:
    from taxoexpan.phrasing import pluralize

    times = pluralize(options.min_count, "time")
    message = f"no new phrase occurs at least {times}; lower --min-count or add more texts"
    return FormatError(source, message)

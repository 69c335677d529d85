"""Discovery in shards: each pass over the corpus is divided among processes or machines.

The phrases to look for depend on the counts of the whole corpus. So there are two rounds, and each
round ends with a merge: count the phrases in every shard, choose the phrases from all counts,
observe these phrases in every shard, and rank them by all observations.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from taxoexpan.curation.discovery.candidates import choose_candidates
from taxoexpan.curation.discovery.contexts import observe_phrases
from taxoexpan.curation.discovery.corpus_shard import CorpusIdentity, Shard, ShardedDocuments
from taxoexpan.curation.discovery.phrase_counts import CAPACITY, PhraseCounts, count_phrases
from taxoexpan.curation.discovery.shard_files import (
    ChosenPhrases,
    CountedShard,
    ObservedShard,
    Origin,
    ShardFile,
    as_block,
    observations_of,
    read_shard_file,
)
from taxoexpan.curation.discovery.term_discovery import (
    MIN_COUNT,
    TOP,
    DiscoveredConcept,
    documents_with_progress,
    keys_of_words,
    rank_observed,
    refuse_other_domain,
)
from taxoexpan.errors import FormatError
from taxoexpan.features.encoder import Encoder
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.known_names import known_names
from taxoexpan.taxonomy.stored_columns import taxonomy_digest

_S = TypeVar("_S", CountedShard, ObservedShard)


def count_shard(
    corpus: Path,
    taxonomy: Taxonomy,
    shard: Shard,
    *,
    workers: int | None = None,
    progress: bool = False,
    capacity: int = CAPACITY,
) -> CountedShard:
    """Count the phrases of one shard: the first round."""
    documents = ShardedDocuments(documents_with_progress(corpus, "counting", progress), shard)
    total = count_phrases(iter(documents), keys_of_words(known_names(taxonomy)), workers, capacity)
    origin = Origin(taxonomy_digest(taxonomy), documents.identity)
    return CountedShard(origin, shard, total.counts, total.max_error)


def observe_shard(
    corpus: Path,
    taxonomy: Taxonomy,
    shard: Shard,
    phrases: ChosenPhrases,
    *,
    workers: int | None = None,
    progress: bool = False,
) -> ObservedShard:
    """Observe the chosen phrases in one shard: the second round."""
    _refuse_other_taxonomy(corpus, phrases.origin, taxonomy_digest(taxonomy))
    documents = ShardedDocuments(documents_with_progress(corpus, "reading", progress), shard)
    keys = keys_of_words(known_names(taxonomy))
    observations = observe_phrases(iter(documents), keys, phrases.tracked, workers)
    _refuse_changed_corpus(corpus, documents.identity, phrases.origin.corpus)
    return ObservedShard(phrases, shard, as_block(observations))


def merge_counts(
    paths: Sequence[Path],
    taxonomy: Taxonomy,
    *,
    min_count: int = MIN_COUNT,
    capacity: int = CAPACITY,
) -> tuple[ChosenPhrases, int]:
    """Choose the phrases from the counts of all shards; also return the largest error of a count.

    The files are read one after another, because the counts of a shard take much memory.
    """
    total, max_error, digest = PhraseCounts(capacity), 0, taxonomy_digest(taxonomy)
    headers: list[CountedShard] = []
    for path in paths:
        file = _expected(path, CountedShard)
        _refuse_other_taxonomy(path, file.origin, digest)
        total.add(file.counts)
        max_error += file.max_error
        headers.append(CountedShard(file.origin, file.shard, {}, file.max_error))
    _refuse_incomplete(paths, headers)
    tracked = choose_candidates(total, known_names(taxonomy), min_count)
    refuse_other_domain(paths[0], tracked, min_count)
    return ChosenPhrases(headers[0].origin, min_count, tracked), max_error + total.max_error


def merge_observations(
    paths: Sequence[Path],
    taxonomy: Taxonomy,
    *,
    top: int = TOP,
    encoder: Encoder | None = None,
) -> list[DiscoveredConcept]:
    """Rank the phrases by the observations of all shards, as `discover` does for a whole corpus."""
    files = [_expected(path, ObservedShard) for path in paths]
    _refuse_incomplete(paths, files)
    digest = taxonomy_digest(taxonomy)
    for path, file in zip(paths, files, strict=True):
        _refuse_other_taxonomy(path, file.phrases.origin, digest)
        if file.phrases != files[0].phrases:
            message = f"was observed with other phrases than {paths[0]}"
            raise FormatError(path, f"{message}; use the same file of phrases for all shards")
    if not files[0].phrases.tracked.candidates:
        return []
    return rank_observed(taxonomy, files[0].phrases.tracked, observations_of(files), top, encoder)


def read_phrases(path: Path) -> ChosenPhrases:
    """Read the file of phrases that the merge of the counts has written."""
    file = read_shard_file(path)
    if isinstance(file, ChosenPhrases):
        return file
    raise FormatError(path, "has no chosen phrases; merge the counts of all shards first")


def holds_counts(path: Path) -> bool:
    """Return whether a file has the counts of a shard, and not its observations."""
    file: ShardFile = read_shard_file(path)
    if isinstance(file, ChosenPhrases):
        message = "has chosen phrases, which are not merged"
        raise FormatError(
            path, f"{message}; use them to observe every shard, and merge the results"
        )
    return isinstance(file, CountedShard)


def _expected(path: Path, kind: type[_S]) -> _S:
    file = read_shard_file(path)
    if isinstance(file, kind):
        return file
    message = "does not have the same kind of content as the first file"
    raise FormatError(path, f"{message}; merge either counts or observations")


def _refuse_incomplete(paths: Sequence[Path], files: Sequence[_S]) -> None:
    """Refuse shards of different divisions or corpora, repeated shards, and missing ones."""
    count, size = files[0].shard.count, _corpus_of(files[0])
    seen: dict[int, Path] = {}
    for path, file in zip(paths, files, strict=True):
        if file.shard.count != count:
            message = f"is shard {file.shard}, but {paths[0]} is one of {count}"
            raise FormatError(path, f"{message}; divide the corpus into the same number of shards")
        _refuse_changed_corpus(path, _corpus_of(file), size)
        if file.shard.number in seen:
            message = f"is shard {file.shard}, and so is {seen[file.shard.number]}"
            raise FormatError(path, f"{message}; give every shard once")
        seen[file.shard.number] = path
    missing = next((number for number in range(1, count + 1) if number not in seen), None)
    if missing is not None:
        message = f"the shard {missing}/{count} is missing; merge all {count} shards"
        raise FormatError(paths[0], message)


def _corpus_of(file: CountedShard | ObservedShard) -> CorpusIdentity:
    return (file.origin if isinstance(file, CountedShard) else file.phrases.origin).corpus


def _refuse_changed_corpus(path: Path, found: CorpusIdentity, expected: CorpusIdentity) -> None:
    if found != expected:
        message = f"the corpus had {found.documents:,} documents with {found.characters:,} "
        message += f"characters, but that of the other files {expected.documents:,} with "
        message += f"{expected.characters:,}"
        if (found.documents, found.characters) == (expected.documents, expected.characters):
            message = "the corpus has the size of that of the other files, but other documents"
        message += "; give every process the same corpus"
        raise FormatError(path, message)


def _refuse_other_taxonomy(path: Path, origin: Origin, digest: str) -> None:
    if origin.taxonomy != digest:
        message = "the phrases were counted for another taxonomy"
        raise FormatError(path, f"{message}; use the same taxonomy in all steps")

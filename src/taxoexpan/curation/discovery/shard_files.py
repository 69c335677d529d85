"""The intermediate files of a discovery in shards: gzipped JSON with a kind and a version.

The format is described in `docs/reference/discovery-files.md`.
"""

from __future__ import annotations

import gzip
import json
import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from taxoexpan.curation.discovery.candidates import Candidate, TrackedPhrases
from taxoexpan.curation.discovery.corpus_shard import CorpusIdentity, Shard
from taxoexpan.curation.discovery.observations import BestTexts, BlockObservations, Observations
from taxoexpan.errors import FormatError
from taxoexpan.files import write_whole
from taxoexpan.formats.compression import decompressed

KIND, VERSION = "taxoexpan-discovery", 1


class Content(StrEnum):
    """What an intermediate file holds."""

    COUNTS = "counts"
    """The phrase counts of one shard."""
    PHRASES = "phrases"
    """The phrases to look for in all shards."""
    OBSERVATIONS = "observations"
    """The observations of these phrases in one shard."""


@dataclass(frozen=True)
class Origin:
    """The taxonomy (a digest) and the corpus from which a file was computed."""

    taxonomy: str
    corpus: CorpusIdentity


@dataclass(frozen=True)
class CountedShard:
    """The phrase counts of one shard; each is too low by at most `max_error`."""

    origin: Origin
    shard: Shard
    counts: Mapping[str, int]
    max_error: int


@dataclass(frozen=True)
class ChosenPhrases:
    """The phrases that were chosen from the counts of all shards."""

    origin: Origin
    min_count: int
    tracked: TrackedPhrases


@dataclass(frozen=True)
class ObservedShard:
    """The observations of the chosen phrases in one shard."""

    phrases: ChosenPhrases
    shard: Shard
    block: BlockObservations


ShardFile = CountedShard | ChosenPhrases | ObservedShard


def write_shard_file(path: Path, file: ShardFile, force: bool = False) -> None:
    """Write an intermediate file; the same content always gives the same bytes."""
    if isinstance(file, CountedShard):
        content = Content.COUNTS
        values = (
            _of_origin(file.origin)
            | _of_shard(file.shard)
            | {
                "max_error": file.max_error,
                "counts": dict(sorted(file.counts.items())),
            }
        )
    elif isinstance(file, ChosenPhrases):
        content, values = Content.PHRASES, _of_phrases(file)
    else:
        content = Content.OBSERVATIONS
        values = (
            _of_shard(file.shard) | _of_block(file.block) | {"phrases": _of_phrases(file.phrases)}
        )
    header = {"kind": KIND, "version": VERSION, "content": content.value}
    text = json.dumps(header | values, separators=(",", ":"))
    write_whole({path: gzip.compress(text.encode("ascii"), 6, mtime=0)}, force)


def read_shard_file(path: Path) -> ShardFile:
    """Read an intermediate file; another file or a damaged one is an error."""
    values = _read_json(path)
    if not isinstance(values, dict) or values.get("kind") != KIND:
        message = "is damaged, or not an intermediate file of discover"
        raise FormatError(path, f"{message}; write it again, or give one that discover wrote")
    if values.get("version") != VERSION:
        message = f"has version {values.get('version')}, but this taxoexpan reads {VERSION}"
        raise FormatError(path, f"{message}; write all files with the same taxoexpan")
    try:
        return _READERS[Content(values["content"])](values)
    except (AttributeError, LookupError, TypeError, ValueError, OverflowError):
        raise FormatError(path, "is damaged; write it again") from None


def _read_json(path: Path) -> Any:
    try:
        return json.loads(decompressed(path, path.read_bytes()))
    except FileNotFoundError:
        raise FormatError(path, "no such file; check the name") from None
    except OSError as error:
        raise FormatError(path, f"cannot be read: {error.strerror}") from None
    except (FormatError, ValueError, RecursionError):
        return None  # reported as damaged


def observations_of(files: list[ObservedShard]) -> Observations:
    """Return the observations of all shards together."""
    observations = Observations(files[0].phrases.tracked.size)
    for file in files:
        observations.add(file.block)
    return observations


def as_block(observations: Observations) -> BlockObservations:
    """Return the observations of a shard as those of one large block of texts."""
    flat = observations.table.reshape(-1)
    cells = np.flatnonzero(flat)
    return BlockObservations(
        observations.texts,
        observations.sentences,
        cells,
        flat[cells],
        observations.forms,
        observations.abbreviations,
        observations.examples,
        observations.definitions,
    )


def _of_origin(origin: Origin) -> dict[str, Any]:
    return {"taxonomy_sha256": origin.taxonomy, "corpus": asdict(origin.corpus)}


def _origin(values: dict[str, Any]) -> Origin:
    corpus = values["corpus"]
    identity = CorpusIdentity(
        int(corpus["documents"]), int(corpus["characters"]), str(corpus["sha256"])
    )
    return Origin(str(values["taxonomy_sha256"]), identity)


def _of_shard(shard: Shard) -> dict[str, Any]:
    return {"shard": [shard.number, shard.count]}


def _shard(values: dict[str, Any]) -> Shard:
    number, count = values["shard"]
    return Shard(int(number), int(count))


def _counted(values: dict[str, Any]) -> CountedShard:
    counts = {phrase: int(count) for phrase, count in values["counts"].items()}
    return CountedShard(_origin(values), _shard(values), counts, int(values["max_error"]))


def _of_phrases(phrases: ChosenPhrases) -> dict[str, Any]:
    tracked = phrases.tracked
    return _of_origin(phrases.origin) | {
        "min_count": phrases.min_count,
        "candidates": [[c.spellings, c.cohesion, c.independence] for c in tracked.candidates],
        "known": [int(index) for index in tracked.known],
        "specific": sorted(tracked.specific),
        "numbers": dict(sorted(tracked.numbers.items())),
    }


def _finite(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError("is not finite")
    return number


def _phrases(values: dict[str, Any]) -> ChosenPhrases:
    candidates = [
        Candidate(tuple(map(str, spellings)), _finite(cohesion), _finite(independence))
        for spellings, cohesion, independence in values["candidates"]
    ]
    tracked = TrackedPhrases(
        candidates,
        [int(index) for index in values["known"]],
        frozenset(map(int, values["specific"])),
        {phrase: int(number) for phrase, number in values["numbers"].items()},
    )
    return ChosenPhrases(_origin(values), int(values["min_count"]), tracked)


def _of_block(block: BlockObservations) -> dict[str, Any]:
    return {
        "texts": block.texts,
        "sentences": block.sentences,
        "cells": block.cells.tolist(),
        "counts": block.counts.tolist(),
        "forms": [[*key, count] for key, count in sorted(block.forms.items())],
        "abbreviations": [[*key, count] for key, count in sorted(block.abbreviations.items())],
        "examples": [[number, *best] for number, best in sorted(block.examples.items())],
        "definitions": [[number, *best] for number, best in sorted(block.definitions.items())],
    }


def _observed(values: dict[str, Any]) -> ObservedShard:
    def numbered(name: str) -> Counter[tuple[int, str]]:
        return Counter({(int(n), str(text)): int(count) for n, text, count in values[name]})

    def best(name: str) -> BestTexts:
        return {int(number): (int(cost), str(text)) for number, cost, text in values[name]}

    block = BlockObservations(
        int(values["texts"]),
        int(values["sentences"]),
        np.array(values["cells"], np.int64),
        np.array(values["counts"], np.int64),
        numbered("forms"),
        numbered("abbreviations"),
        best("examples"),
        best("definitions"),
    )
    return ObservedShard(_phrases(values["phrases"]), _shard(values), block)


_READERS: dict[Content, Callable[[dict[str, Any]], ShardFile]] = {
    Content.COUNTS: _counted,
    Content.PHRASES: _phrases,
    Content.OBSERVATIONS: _observed,
}

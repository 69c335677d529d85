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
from taxoexpan.curation.discovery.observations import (
    COUNTS,
    BestTexts,
    BlockObservations,
    Observations,
)
from taxoexpan.errors import FormatError
from taxoexpan.files import write_whole
from taxoexpan.files.regular_file import parse_json, read_regular
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


def write_shard_file(
    path: Path, file: ShardFile, force: bool = False, checked: bool = False
) -> None:
    """Write an intermediate file; the same content always gives the same bytes.

    `checked` is as in `write_whole`.
    """
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
    write_whole({path: gzip.compress(text.encode("ascii"), 6, mtime=0)}, force, checked)


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
        return parse_json(decompressed(path, read_regular(path)))
    except FileNotFoundError:
        raise FormatError(path, "no such file; check the name") from None
    except OSError as error:
        raise FormatError(path, f"cannot be read: {error.strerror}") from None
    except (FormatError, ValueError):
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
    if not 1 <= _count(number) <= _count(count):
        raise ValueError("there is no such shard")
    return Shard(number, count)


def _count(value: object, limit: float = math.inf) -> int:
    """Return a whole number from 0 up to but not including a limit."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < limit:
        raise ValueError("there is no such number")
    return value


def _counted(values: dict[str, Any]) -> CountedShard:
    counts = {phrase: _count(count) for phrase, count in values["counts"].items()}
    return CountedShard(_origin(values), _shard(values), counts, _count(values["max_error"]))


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
    size = len(values["numbers"])
    tracked = TrackedPhrases(
        candidates,
        [_count(index) for index in values["known"]],
        frozenset(_count(number, size) for number in values["specific"]),
        {phrase: _count(number, size) for phrase, number in values["numbers"].items()},
    )
    if len(candidates) + len(tracked.known) > tracked.size:
        raise ValueError("there are fewer numbers than phrases")
    return ChosenPhrases(_origin(values), _count(values["min_count"]), tracked)


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
    phrases = _phrases(values["phrases"])
    size = phrases.tracked.size

    def numbered(name: str) -> Counter[tuple[int, str]]:
        rows = values[name]
        return Counter({(_count(n, size), str(text)): _count(count) for n, text, count in rows})

    def best(name: str) -> BestTexts:
        return {_count(n, size): (int(cost), str(text)) for n, cost, text in values[name]}

    cells = np.array([_count(cell, size * COUNTS) for cell in values["cells"]], np.int64)
    counts = np.array([_count(count, 2**62) for count in values["counts"]], np.int64)
    if len(cells) != len(counts):
        raise ValueError("there are not as many counts as cells")
    block = BlockObservations(
        _count(values["texts"]),
        _count(values["sentences"]),
        cells,
        counts,
        numbered("forms"),
        numbered("abbreviations"),
        best("examples"),
        best("definitions"),
    )
    return ObservedShard(phrases, _shard(values), block)


_READERS: dict[Content, Callable[[dict[str, Any]], ShardFile]] = {
    Content.COUNTS: _counted,
    Content.PHRASES: _phrases,
    Content.OBSERVATIONS: _observed,
}

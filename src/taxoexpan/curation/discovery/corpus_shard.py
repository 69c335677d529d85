"""A shard: the share of a corpus's documents that one process reads."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from taxoexpan.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Shard:
    """Shard `number` of `count`, from 1; it has every `count`-th document of the corpus."""

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read a shard that is written as 2/8."""
        match = re.fullmatch(r"([0-9]+)/([0-9]+)", text)
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            message = f"the shard {text!r} must be a number and the number of shards"
            raise ConfigurationError(f"{message}, such as 2/8, from 1/8 to 8/8")
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


@dataclass(frozen=True, slots=True)
class CorpusIdentity:
    """The size and the checksum of a whole corpus: whether two processes have read the same one."""

    documents: int
    characters: int
    sha256: str


class ShardedDocuments:
    """Iterates over the documents of one shard, and identifies the whole corpus meanwhile.

    Consecutive documents belong to different shards, so that all shards take about as long.
    """

    def __init__(self, documents: Iterable[str], shard: Shard) -> None:
        self._documents, self._shard = documents, shard
        self._documents_read = self._characters_read = 0
        self._digest = hashlib.sha256()

    def __iter__(self) -> Iterator[str]:
        for document in self._documents:
            own = self._documents_read % self._shard.count == self._shard.number - 1
            self._documents_read += 1
            self._characters_read += len(document)
            self._digest.update(f"{len(document)} {document}".encode("utf-8", "surrogatepass"))
            if own:
                yield document

    @property
    def identity(self) -> CorpusIdentity:
        """The size and the checksum of the corpus as far as it was read."""
        checksum = self._digest.hexdigest()
        return CorpusIdentity(self._documents_read, self._characters_read, checksum)

"""Suggestions that are written block by block, so that a long list needs little memory."""

from __future__ import annotations

import sys
import tempfile
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from taxoexpan.cli.messages import MAX_NOTES, note, print_merges, print_no_parent, readable_json

if TYPE_CHECKING:
    from taxoexpan.explain.suggested_block import SuggestedBlock
    from taxoexpan.placement.suggesting.suggestions import Suggestion

Write = Callable[[str], object]


@dataclass
class SuggestionSummary:
    """What is reported of all suggestions: their number of queries, merges, and missing parents."""

    queries: int = 0
    merged: list[Suggestion] = field(default_factory=list)
    without_parent: list[Suggestion] = field(default_factory=list)

    def add(self, suggestions: Sequence[Suggestion]) -> None:
        """Count the suggestions of a block of queries."""
        from taxoexpan.placement.adding.acceptance import merges, no_suitable_parent

        self.queries += len({suggestion.query.id for suggestion in suggestions})
        self.merged += merges(suggestions)
        self.without_parent += no_suitable_parent(suggestions)

    def print(self) -> None:
        """Print which queries are synonyms of existing concepts, or have no suitable parent."""
        print_merges(self.merged)
        print_no_parent(self.without_parent, self.queries)


@contextmanager
def text_output(path: Path | None, force: bool) -> Iterator[Write]:
    """Yield a function that appends text to a file, which appears as a whole, or to stdout."""
    from taxoexpan.files import whole_file

    if path is None:
        yield sys.stdout.write
        return
    with whole_file(path, force) as file:
        yield lambda text: file.write(text.encode())


def write_csv(blocks: Iterable[SuggestedBlock], write: Write, keep_formulas: bool = False) -> None:
    """Write the suggestions as a CSV table."""
    from taxoexpan.placement.suggesting.tables import suggestions_csv

    write(suggestions_csv([]))
    for block in blocks:
        write(suggestions_csv(block.suggestions, keep_formulas, header=False))


def write_json(
    blocks: Iterable[SuggestedBlock],
    write: Write,
    with_evidence: bool,
    present: Sequence[Mapping[str, str]],
) -> None:
    """Write a JSON object with the suggestions, the evidence, and the concepts already present."""
    # The evidence follows all suggestions, so it waits in a file.
    with tempfile.TemporaryFile("w+", encoding="utf-8") as waiting:
        write('{\n  "suggestions": ')
        suggestions, evidence = JsonArray(write), JsonArray(waiting.write)
        for block in blocks:
            suggestions.extend(each.as_dict() for each in block.suggestions)
            evidence.extend(each.to_dict() for each in block.evidence)
        suggestions.close()
        evidence.close()
        if with_evidence:
            write(',\n  "evidence": ')
            waiting.seek(0)
            for text in _pieces(waiting):
                write(text)
        write(',\n  "already_present": ')
        others = JsonArray(write)
        others.extend(present)
        others.close()
        write("\n}\n")


class JsonArray:
    """Writes an array inside a JSON object item by item, with the layout of `json.dumps`."""

    def __init__(self, write: Write) -> None:
        self._write, self._is_empty = write, True

    def extend(self, items: Iterable[object]) -> None:
        """Write some items."""
        for item in items:
            text = readable_json(item)
            self._write("[\n" if self._is_empty else ",\n")
            self._write(textwrap.indent(text, "    "))
            self._is_empty = False

    def close(self) -> None:
        """Write the end of the array."""
        self._write("[]" if self._is_empty else "\n  ]")


def _pieces(file: TextIO) -> Iterator[str]:
    while text := file.read(1 << 20):
        yield text


def with_few_warnings(blocks: Iterable[SuggestedBlock]) -> Iterator[SuggestedBlock]:
    """Yield the blocks, and afterwards repeat the first warnings of all blocks."""
    remaining, caught = iter(blocks), list[Warning | str]()
    while True:
        with warnings.catch_warnings(record=True) as found:
            block = next(remaining, None)
        caught += [each.message for each in found]
        if block is None:
            break
        yield block
    for message in caught[:MAX_NOTES]:
        warnings.warn(message, stacklevel=2)
    if len(caught) > MAX_NOTES:
        note(f"note: … and {len(caught) - MAX_NOTES:,} more warnings of this kind")

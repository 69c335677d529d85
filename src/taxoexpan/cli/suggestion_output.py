"""Suggestions as CSV, JSON or a text table; a long list is written block by block."""

from __future__ import annotations

import shutil
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from taxoexpan.cli.addition_messages import print_merges
from taxoexpan.cli.messages import MAX_NOTES, as_json, note, warn
from taxoexpan.phrasing import ranked_numbers, visible

if TYPE_CHECKING:
    from taxoexpan.decisions.suggestion import Suggestion
    from taxoexpan.explain.explanation import SuggestedBlock

Write = Callable[[str], object]

HEAD = ("TERM", "PARENT", "CONFIDENCE", "DECISION", "PATH", "RUNNERS-UP")
PATH = HEAD.index("PATH")

MAX_NAMED = 5
"""How many concepts without a suitable parent are named."""


@dataclass
class SuggestionSummary:
    """The number of queries, the merges, and the queries without a suitable parent."""

    queries: int = 0
    merged: list[Suggestion] = field(default_factory=list)
    without_parent: list[Suggestion] = field(default_factory=list)

    def add(self, suggestions: Sequence[Suggestion]) -> None:
        """Count the suggestions of a block of queries."""
        first: dict[str, Suggestion] = {}
        for suggestion in sorted(suggestions, key=lambda s: s.rank):
            first.setdefault(suggestion.query.id, suggestion)
        self.queries += len(first)
        for suggestion in first.values():
            if suggestion.is_merge:
                self.merged += [suggestion] * (not suggestion.why)  # the others were printed
            elif suggestion.place:
                self.without_parent.append(suggestion)

    def print(self) -> None:
        """Print which queries are synonyms of existing concepts, or have no suitable parent."""
        print_merges(self.merged)
        print_no_parent(self.without_parent, self.queries)


def print_no_parent(without_parent: Sequence[Suggestion], count: int) -> None:
    """Print how many of the `count` new concepts have no suitable parent, and name some."""
    if not without_parent:
        return
    names = ", ".join(repr(each.query.label) for each in without_parent[:MAX_NAMED])
    rest = ", …" if len(without_parent) > MAX_NAMED else ""
    verb = "has" if len(without_parent) == 1 else "have"
    note(
        f"note: {len(without_parent):,} of {count:,} new concepts {verb} no suitable parent in the "
        f"taxonomy: {names}{rest}"
    )


@contextmanager
def text_output(path: Path | None, force: bool) -> Iterator[Write]:
    """Yield a function that writes strings to a file (which appears when complete) or to stdout."""
    from taxoexpan.files import whole_file

    if path is None:
        yield partial(print, end="")
        return
    with whole_file(path, force) as file:

        def write(text: str) -> None:
            file.write(text.encode())
            file.flush()  # a full disk is noticed before another output is written

        yield write


def write_csv(blocks: Iterable[SuggestedBlock], write: Write) -> None:
    """Write the suggestions as a CSV table."""
    from taxoexpan.decisions.suggestion_tables import suggestions_csv

    write(suggestions_csv([]))
    for block in blocks:
        write(suggestions_csv(block.suggestions, header=False))


def write_json(
    blocks: Iterable[SuggestedBlock],
    write: Write,
    with_evidence: bool,
    present: Sequence[Mapping[str, str]],
) -> None:
    """Write a JSON object with the suggestions, the evidence, and the concepts already present."""
    evidence: list[str] = []  # it follows all suggestions

    def rows() -> Iterator[str]:
        for block in blocks:
            evidence.extend(as_json(each.to_dict()) for each in block.evidence)
            yield from (as_json(each.as_json()) for each in block.suggestions)

    write('{\n  "suggestions": ')
    _write_array(rows(), write)
    if with_evidence:
        write(',\n  "evidence": ')
        _write_array(evidence, write)
    write(',\n  "already_present": ')
    _write_array(map(as_json, present), write)
    write("\n}\n")


def _write_array(items: Iterable[str], write: Write) -> None:
    """Write an array inside a JSON object item by item, with the layout of `json.dumps`."""
    start = "[\n"
    for item in items:
        write(start + textwrap.indent(item, "    "))
        start = ",\n"
    write("[]" if start == "[\n" else "\n  ]")


def with_few_warnings(blocks: Iterable[SuggestedBlock]) -> Iterator[SuggestedBlock]:
    """Yield the blocks, and afterwards print the first warnings of all blocks."""
    remaining = iter(blocks)
    caught = list[Warning | str]()
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
        warn(f"… and {len(caught) - MAX_NOTES:,} more warnings of this kind")


def placements_table(suggestions: Sequence[Suggestion], runners_up: int = 2) -> str:
    """Return a table with one line per term, followed by its explanation if there is one.

    The column of decisions is shown if there are any; `=` marks a probable synonym of a concept.
    """
    rows = [list(HEAD)]
    reasons = [""]
    if all(suggestion.confidence is None for suggestion in suggestions):
        rows[0][HEAD.index("CONFIDENCE")] = "SCORE"
    for _, group in groupby(suggestions, key=lambda suggestion: suggestion.query.id):
        ranked = sorted(group, key=_is_coarse, reverse=True)
        rows.append([visible(cell) for cell in _row(ranked[: 1 + runners_up])])
        reasons.append(visible(next((each.why for each in ranked if each.why), "")))
    decided = any(suggestion.decision for suggestion in suggestions)
    hidden = -1 if decided else HEAD.index("DECISION")
    width = shutil.get_terminal_size((160, 40)).columns
    lines = []
    for line, why in zip(_aligned(rows, width, hidden), reasons, strict=True):
        lines += [line, *textwrap.wrap(why, width, initial_indent="    ", subsequent_indent="    ")]
    return "\n".join(lines)


def _row(shown: Sequence[Suggestion]) -> list[str]:
    """Return the table row of one term, given its first suggestions."""
    best = shown[0]
    numbers = ranked_numbers([s.confidence_or_score for s in shown], [s.score for s in shown])
    others = [f"{_named(s)} {number}" for s, number in zip(shown[1:], numbers[1:], strict=True)]
    path = " > ".join(best.path)
    return [
        best.query.label,
        _named(best),
        numbers[0],
        "coarse" if _is_coarse(best) else best.decision.value,
        path,
        ", ".join(others),
    ]


def _is_coarse(suggestion: Suggestion) -> bool:
    """Return whether a suggestion is an accepted coarse placement."""
    from taxoexpan.decisions.suggestion import SuggestionKind

    return suggestion.kind == SuggestionKind.COARSE and suggestion.is_decided


def _named(suggestion: Suggestion) -> str:
    return f"= {suggestion.parent.label}" if suggestion.is_merge else suggestion.parent.label


def _aligned(rows: list[list[str]], width: int, hidden: int) -> list[str]:
    """Align the columns except the hidden one; a narrow terminal shortens the path."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    widths[:2] = [min(size, 28) for size in widths[:2]]
    shown = [column for column in range(len(HEAD)) if column != hidden]
    others = sum(widths[column] + 2 for column in shown if column != PATH)
    widths[PATH] = max(20, min(widths[PATH], width - others))
    return [
        "  ".join(
            _cut(row[column], widths[column], from_left=column == PATH).ljust(widths[column])
            for column in shown
        ).rstrip()
        for row in rows
    ]


def _cut(cell: str, size: int, from_left: bool) -> str:
    if len(cell) <= size:
        return cell
    return "…" + cell[1 - size :] if from_left else cell[: size - 1] + "…"

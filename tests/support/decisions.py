"""What `taxoexpan apply` and `taxoexpan expand` do with suggestions, for all tests.

Tests write suggestions as the CSV table that users edit, and import no module that decides about
them: this module does it for them.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from taxoexpan import Concept, Suggestion, TaxoExpan, Taxonomy, read_taxonomy
from taxoexpan.archive import load_archive
from taxoexpan.decisions.additions import to_additions
from taxoexpan.decisions.decision import decide, marked
from taxoexpan.decisions.feedback import Feedback, Rejections
from taxoexpan.decisions.parent_lookup import read_decisions
from taxoexpan.decisions.policies import policy_of
from taxoexpan.decisions.suggestion import SuggestionKind, Suitability, Verdict, prepared
from taxoexpan.decisions.suggestion_tables import (
    parquet_file,
    read_rows,
    suggestions_csv,
)
from taxoexpan.formats.format import Target
from taxoexpan.formats.registry import FORMATS
from taxoexpan.placement.learned.abstention import AbstentionModel
from taxoexpan.placement.proposals import (
    related_concepts,
    with_further_parents,
    with_inserts,
    with_merge,
    with_similar,
)
from tests.support.command_line import run

__all__ = ["Feedback", "Rejections", "SuggestionKind", "Suitability", "Verdict", "read_decisions"]

Row = dict[str, str]
"""The cells of a row by the names of their columns."""


def table(*lines: str) -> str:
    """Return a CSV table of these lines."""
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Applied:
    """A taxonomy before and after `taxoexpan apply`, and what the command has printed."""

    old: Taxonomy
    new: Taxonomy
    messages: str

    @property
    def placed(self) -> dict[str, list[str]]:
        """The ids of the parents of each new concept, by its label."""
        added = [id for id in self.new if id not in self.old]
        return {self.new.concept(id).label: list(self.new.parents(id)) for id in added}

    @property
    def moved(self) -> dict[str, list[str]]:
        """The ids of the parents of each old concept that was moved, by its id."""
        parents = {id: list(self.new.parents(id)) for id in self.old}
        return {id: own for id, own in parents.items() if own != list(self.old.parents(id))}

    @property
    def synonyms(self) -> dict[str, list[str]]:
        """The synonyms that old concepts have gained, by the id of the concept."""
        gained = {
            id: self.new.concept(id).synonyms[len(self.old.concept(id).synonyms) :]
            for id in self.old
        }
        return {id: list(names) for id, names in gained.items() if names}

    @property
    def left_out(self) -> int:
        """The number of concepts that were left out, as printed."""
        lines = self.messages.splitlines()
        return sum(int(line.split()[0]) for line in lines if "left out" in line)


def apply(folder: Path, taxonomy: Taxonomy, rows: str, *options: object) -> Applied:
    """Run `taxoexpan apply` with a table of suggestions, and read the expanded file."""
    output = folder / "expanded.csv"
    inputs = _inputs(folder, taxonomy, rows)
    messages = run("apply", *inputs, "-o", output, "--force", *options).err
    return Applied(taxonomy, read_taxonomy(output), messages)


def refusal(folder: Path, taxonomy: Taxonomy, rows: str, *options: object) -> str:
    """Return the message of `taxoexpan apply`, which must fail and write nothing."""
    output = folder / "refused.csv"
    inputs = _inputs(folder, taxonomy, rows)
    messages = run("apply", *inputs, "-o", output, *options, status=2).err
    assert not output.exists()
    return messages


def _inputs(folder: Path, taxonomy: Taxonomy, rows: str) -> tuple[Path, Path]:
    """Write a taxonomy and a table of suggestions."""
    old = folder / "old.csv"
    decisions = folder / "decisions.csv"
    for path, text in FORMATS["rows"].write(taxonomy, Target(old)).files.items():
        path.write_bytes(text.encode("utf-8"))
    decisions.write_bytes(rows.encode("utf-8"))
    return old, decisions


def decided_by_expand(taxonomy: Taxonomy, rows: str, **options: Any) -> list[Row]:
    """Return the rows of the file of suggestions that `taxoexpan expand` writes for these rows."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "suggestions.csv"
        path.write_bytes(rows.encode("utf-8"))
        suggestions = read_decisions(path, taxonomy)
    decisions = decide(taxonomy, suggestions, policy_of(**options))
    return list(csv.DictReader(io.StringIO(written(marked(suggestions, decisions)))))


def table_of(rows: Sequence[Row]) -> str:
    """Return a CSV table of these rows."""
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0])
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def expanded(
    taxonomy: Taxonomy, suggestions: Sequence[Suggestion], **options: Any
) -> tuple[Taxonomy, list[str]]:
    """Return a taxonomy with accepted suggestions, and a message per refused move and synonym."""
    decisions = decide(taxonomy, prepared(taxonomy, suggestions), policy_of(**options))
    applied = to_additions(taxonomy, decisions)
    return taxonomy.expanded(applied.additions), [each.message for each in applied.refused]


def read_suggestions(path: Path) -> list[Suggestion]:
    """Read a table of suggestions, without a taxonomy to look up parents in."""
    return read_rows(path)


def written(suggestions: Iterable[Suggestion], details: bool = False) -> str:
    """Return a table of suggestions, on request with definitions, synonyms and curators."""
    return suggestions_csv(suggestions, details)


def write_parquet(path: Path, blocks: Iterable[Sequence[Suggestion]]) -> None:
    """Write a Parquet file of suggestions block by block, as `taxoexpan suggest` does."""
    with parquet_file(path) as write:
        for block in blocks:
            write(block)


def proposed(
    taxonomy: Taxonomy,
    query: Concept,
    parents: Sequence[tuple[str, float | None]],
    same: tuple[str, float] | None = None,
) -> list[Suggestion]:
    """Return what a model proposes for a concept, given the confidence of its ranked parents.

    `same` is a concept with the probability that the query is a synonym of it.
    """
    suggestions = [
        Suggestion(
            query, rank, taxonomy.concept(id), taxonomy.short_path(id), 0.5 / rank, confidence
        )
        for rank, (id, confidence) in enumerate(parents, start=1)
    ]
    anchors = np.array([[taxonomy.index(id) for id, _ in parents]])
    suggestions = with_further_parents(suggestions, related_concepts(taxonomy, anchors)[0])
    suggestions = with_inserts(taxonomy, suggestions)
    if same is not None:
        known, probability = same
        log_odds = math.log(probability / (1 - probability))
        suggestions = with_merge(taxonomy, suggestions, taxonomy.index(known), log_odds)
    return with_similar(taxonomy, suggestions)


def abstaining_model(directory: Path, least_similarity: float) -> TaxoExpan:
    """Load a model that finds no suitable parent for concepts that are similar to nothing."""
    archive = load_archive(directory, device="cpu")
    abstention = AbstentionModel((least_similarity, least_similarity), (1.0, 1.0), threshold=0.0)
    calibrators = replace(archive.calibrators, abstention=abstention)
    return TaxoExpan.from_archive(replace(archive, calibrators=calibrators), "cpu")

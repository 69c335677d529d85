"""Suggestions: proposals for a query, and the decisions about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from operator import attrgetter
from typing import Annotated, Any

from taxoexpan.decisions.columns import Cell, columns_of
from taxoexpan.errors import TaxonomyError
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.id_assignment import with_ids
from taxoexpan.taxonomy.id_policy import DEFAULT_IDS, IdPolicy


class SuggestionKind(StrEnum):
    """The kinds of suggestions for a query.

    Examples:
        >>> from taxoexpan import SuggestionKind
        >>> SuggestionKind.MERGE == "merge"
        True
    """

    ATTACH = "attach"
    """Add the query below the parent."""
    COARSE = "coarse"
    """Add the query below the parent, although its true parent is probably further down."""
    ALSO = "also"
    """Add the query below the parent, in addition to its first parent."""
    INSERT = "insert"
    """Add the query below the parent, and move some of the parent's children below the query."""
    MERGE = "merge"
    """Make the query a synonym of the suggested concept."""
    SIMILAR = "similar"
    """Merge the query, whose name is nearly the same; a person decides whether it is the same."""


class Suitability(StrEnum):
    """Whether the query has a suitable parent; all queries have one if this was not learned.

    Examples:
        >>> from taxoexpan import Suitability
        >>> Suitability.NONE == "none"
        True
    """

    POSSIBLE = ""
    NONE = "none"


class Verdict(StrEnum):
    """The decision about a suggestion, by `expand` or by a person.

    Examples:
        >>> from taxoexpan import Verdict
        >>> Verdict("accepted")
        <Verdict.ACCEPTED: 'accepted'>
    """

    OPEN = ""
    """No decision: the rank and the thresholds count."""
    ACCEPTED = "accepted"
    """Applied, whatever its rank and the thresholds."""
    UNDECIDED = "undecided"
    """Left for review; applied only if a threshold is given that it reaches."""
    REJECTED = "rejected"
    """Never applied."""


class Decider(StrEnum):
    """Who has accepted or rejected a suggestion.

    Examples:
        >>> from taxoexpan import Decider
        >>> Decider("person")
        <Decider.PERSON: 'person'>
    """

    UNKNOWN = ""
    """It is not decided, or the file does not say by whom."""
    PERSON = "person"
    """A person, in a review."""
    POLICY = "policy"
    """A rule, such as that of `expand`."""


Target = tuple[str, bool]
"""What a rejection is about: the id of the suggested concept, and whether it is a merge."""


def rejected_parents(rejected: Iterable[Target]) -> frozenset[str]:
    """Return the ids of the parents below which nothing is placed, given what is rejected."""
    return frozenset(id for id, is_merge in rejected if not is_merge)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A possible parent of a query, or an existing concept that it may be a synonym of.

    The columns of the CSV table, JSON, Parquet, the decision store and the API follow from its
    annotated fields.

    Examples:
        >>> from taxoexpan import Concept, Suggestion
        >>> kefir, milk = Concept("1", "kefir"), Concept("2", "milk")
        >>> suggestion = Suggestion(kefir, 1, milk, ("food", "milk"), score=0.8, confidence=0.9)
        >>> suggestion.parent.label, suggestion.is_merge
        ('milk', False)
    """

    query: Concept
    rank: Annotated[
        int, Cell("The position among the suggestions for the query; 0 if a person made it.")
    ]
    parent: Concept
    path: Annotated[tuple[str, ...], Cell("The labels from a root down to the parent.", " > ")] = ()
    score: Annotated[float, Cell("The softmax probability over all concepts.", digits=".6g")] = 1.0
    confidence: Annotated[
        float | None,
        Cell(
            "The probability that the suggestion is right, if the model has learned it.",
            digits=".4f",
        ),
    ] = None
    decision: Annotated[Verdict, Cell("What was decided about it.")] = field(
        default=Verdict.OPEN, kw_only=True
    )
    kind: Annotated[SuggestionKind, Cell("What is proposed.")] = SuggestionKind.ATTACH
    place: Annotated[Suitability, Cell("Whether the query has a suitable parent at all.")] = (
        Suitability.POSSIBLE
    )
    moves: Annotated[
        tuple[str, ...],
        Cell("For an insert: the ids of the children that might move below the new concept."),
    ] = ()
    why: Annotated[str, Cell("The explanation, if it was requested, or of a similar name.")] = ""
    levels: Annotated[
        tuple[float, ...],
        Cell(
            "For each label of the path: the probability that the true parent is there or below.",
            " > ",
            ".4g",
        ),
    ] = ()
    sure_from: Annotated[
        float | None,
        Cell(
            "The branch confidence (levels) at which a place is sure: 90 % of such places are true."
        ),
    ] = None
    decided_by: Annotated[Decider, Cell("Who decided about it, if this is known.")] = field(
        default=Decider.UNKNOWN, kw_only=True
    )
    curator: str = field(default="", kw_only=True)
    """Who decided about it in a review; empty otherwise."""
    line: int | None = field(default=None, kw_only=True, compare=False, repr=False)
    """The line of the table from which it was read."""

    @classmethod
    def restored(cls, query: Concept, values: Mapping[str, Any]) -> Suggestion:
        """Return a suggestion from the values of its columns; None stands for the default."""
        own = {
            name: column.type(values[name])
            for name, column in COLUMNS.items()
            if name == column.attribute and values.get(name) is not None
        }
        return cls(query=query, parent=Concept(values["parent_id"], values["parent_label"]), **own)

    @classmethod
    def at(
        cls, taxonomy: Taxonomy, query: Concept, index: int, rank: int = 0, **values: Any
    ) -> Suggestion:
        """Return a suggestion of the concept at an index, with all that follows from it."""
        return cls(query, rank, **(values_of_parent(taxonomy, index) | values))

    def moved_up(self, taxonomy: Taxonomy, index: int, depth: int) -> Suggestion:
        """Return a coarse placement below the concept at an index, this deep in the path from 0."""
        # A long path leaves out some labels, and must keep as many as there are levels.
        of_parent = values_of_parent(taxonomy, index) | {"path": self.path[: depth + 1]}
        return replace(
            self,
            **of_parent,
            rank=0,
            levels=self.levels[: depth + 1],
            score=self.levels[depth],
            confidence=self.levels[depth],
            kind=SuggestionKind.COARSE,
            moves=(),
            why="",
        )

    @property
    def is_ranked(self) -> bool:
        """Whether a model has ranked it; what a person has named has no rank."""
        return self.rank > 0

    @property
    def is_decided(self) -> bool:
        """Whether it is accepted, or a person's own (without a rank), and so always applied."""
        if self.decision in (Verdict.ACCEPTED, Verdict.REJECTED):
            return self.decision == Verdict.ACCEPTED
        return not self.is_ranked

    @property
    def is_merge(self) -> bool:
        """Whether the query would become a synonym of an existing concept."""
        return self.kind in (SuggestionKind.MERGE, SuggestionKind.SIMILAR)

    @property
    def target(self) -> Target:
        """What is suggested; a rejection holds for all suggestions with the same one."""
        return self.parent.id, self.is_merge

    @property
    def lineage(self) -> tuple[tuple[str, float], ...]:
        """The labels of the path with their branch confidence; empty if it is not known."""
        return tuple(zip(self.path, self.levels, strict=True)) if self.levels else ()

    @property
    def branch_confidence(self) -> float | None:
        """The probability that the true parent is the parent or below it, if it is known."""
        return self.levels[-1] if self.levels else None

    @property
    def confidence_or_score(self) -> float:
        """The confidence, or the score if there is no confidence."""
        return self.score if self.confidence is None else self.confidence

    @property
    def measure(self) -> str:
        """The name of `confidence_or_score`."""
        return "score" if self.confidence is None else "confidence"

    def values(self) -> dict[str, Any]:
        """Return the values of all columns; several strings are a tuple."""
        return dict(zip(COLUMNS, _values(self), strict=True))

    def cells(self) -> dict[str, str | int | float | None]:
        """Return the cells of all columns, with joined strings and rounded numbers."""
        values = self.values()
        return values | {name: column.cell(values[name]) for name, column in _CONVERTED.items()}

    def as_json(self) -> dict[str, Any]:
        """Return the values of all columns for JSON, with lists and rounded numbers."""
        values = self.values()
        return values | {name: column.plain(values[name]) for name, column in _CONVERTED.items()}


class SuggestionError(TaxonomyError):
    """A suggestion that cannot be applied to a taxonomy."""

    def __init__(self, suggestion: Suggestion, problem: str, *, fix: str) -> None:
        self.suggestion = suggestion
        super().__init__(problem, fix=fix)


COLUMNS = columns_of(Suggestion)
# The other values are written as they are.
_CONVERTED = {
    name: column for name, column in COLUMNS.items() if column.type is tuple or column.digits
}
_values = attrgetter(*(column.attribute for column in COLUMNS.values()))


def values_of_parent(taxonomy: Taxonomy, index: int) -> dict[str, Any]:
    """Return the values of a suggestion that follow from its parent, the concept at an index."""
    parent = taxonomy.concept_at(index)
    return {"parent": parent, "path": taxonomy.short_path(parent.id)}


def grouped_by_position(
    suggestions: Iterable[Suggestion], concepts: Sequence[Concept]
) -> list[list[Suggestion]]:
    """Return the suggestions of each concept; the query's id is the concept's position."""
    groups: list[list[Suggestion]] = [[] for _ in concepts]
    for suggestion in suggestions:
        index = int(suggestion.query.id)
        groups[index].append(replace(suggestion, query=concepts[index]))
    return groups


def prepared(
    taxonomy: Taxonomy, suggestions: Sequence[Suggestion], ids: IdPolicy = DEFAULT_IDS
) -> list[Suggestion]:
    """Return suggestions of a file or a store with ids, and with the parents of a taxonomy."""
    named = with_query_ids(taxonomy, suggestions, ids)
    return [with_known_parent(taxonomy, suggestion) for suggestion in named]


def with_query_ids(
    taxonomy: Taxonomy, suggestions: Sequence[Suggestion], ids: IdPolicy = DEFAULT_IDS
) -> list[Suggestion]:
    """Give every query an id; all rows with the same label and no id share one."""
    without_id = {s.query.label: s.query for s in suggestions if not s.query.id}
    # The ids of other rows are taken as well.
    others = list({s.query.id: s.query for s in suggestions if s.query.id}.values())
    named = with_ids(taxonomy, [*others, *without_id.values()], ids)[len(others) :]
    queries = {query.label: query for query in named}
    return [s if s.query.id else replace(s, query=queries[s.query.label]) for s in suggestions]


def with_known_parent(taxonomy: Taxonomy, suggestion: Suggestion) -> Suggestion:
    """Return a suggestion with the taxonomy's parent; a ranked one must have the same label."""
    id = suggestion.parent.id
    given = suggestion.parent.label
    if id not in taxonomy:
        return suggestion
    parent = taxonomy.concept(id)
    if suggestion.is_ranked and given and given != parent.label:
        problem = f"the parent {id!r} of {suggestion.query.label!r} is {parent.label!r}"
        fix = "read the taxonomy in the language of the suggestions, or, to choose another parent"
        raise SuggestionError(
            suggestion,
            f"{problem} in the taxonomy, but {given!r} in the suggestions",
            fix=f"{fix}, change the parent_id and clear the rank",
        )
    return replace(suggestion, parent=parent)

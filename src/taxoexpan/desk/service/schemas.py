"""The objects of the API's requests and answers, and their limits."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from taxoexpan.desk.service.suggester import PlacedQuery
from taxoexpan.placement.suggesting.suggestions import Place, Suggestion, SuggestionKind
from taxoexpan.taxonomy import Concept, Taxonomy

MAX_LABEL = 1_000
MAX_DEFINITION = 20_000
MAX_SYNONYMS = 100
MAX_TOP_K = 100
MAX_ID = 2_000
MAX_PAGE = 1_000
MAX_SEARCH_RESULTS = 100
MAX_OFFSET = 2**31


EXAMPLE: dict[str, Any] = {
    "label": "cashew milk",
    "definition": "A drink made from cashews.",
    "synonyms": [],
}
Label = Annotated[str, Field(min_length=1, max_length=MAX_LABEL)]


class NewConcept(BaseModel):
    """A new concept."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [EXAMPLE]})

    label: Label = Field(
        description="Its name.", examples=["cashew milk"], json_schema_extra={"pattern": r"\S"}
    )
    definition: str = Field(default="", max_length=MAX_DEFINITION, description="What it is.")
    synonyms: list[Label] = Field(
        default_factory=list, max_length=MAX_SYNONYMS, description="Its other names."
    )
    id: str | None = Field(
        default=None, max_length=MAX_ID, description="Your own id; the answer repeats it."
    )

    @field_validator("label")
    @classmethod
    def _not_blank(cls, label: str) -> str:
        if not label.strip():
            raise ValueError("the label is blank; send a name")
        return label

    def concept(self) -> Concept:
        """Return the concept as the model takes it."""
        names = tuple(name for name in self.synonyms if name.strip())
        return Concept(self.id or "", self.label, names, self.definition)


class SuggestRequest(BaseModel):
    """New concepts, and how many parents to suggest for each."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"concepts": [EXAMPLE], "top_k": 3, "explain": True}]},
    )

    concepts: list[NewConcept] = Field(min_length=1, description="The concepts to place.")
    top_k: int = Field(default=5, ge=1, le=MAX_TOP_K, description="Parents per concept.")
    explain: bool = Field(default=False, description="Say why, for the first parent of each.")


class ConceptReference(BaseModel):
    """A concept of the taxonomy."""

    id: str
    label: str


class LocatedConcept(ConceptReference):
    """A concept of the taxonomy, with the labels from a root down to it."""

    path: list[str]

    @classmethod
    def at(cls, taxonomy: Taxonomy, index: int) -> LocatedConcept:
        """Describe the concept at an index."""
        id = taxonomy.ids[index]
        return cls(id=id, label=taxonomy.labels[index], path=list(taxonomy.path(id)))


class SuggestedParent(BaseModel):
    """One possible parent, or, for a merge, the concept that the new one may be a synonym of."""

    rank: int
    kind: SuggestionKind
    parent: LocatedConcept
    score: float = Field(description="The softmax probability over all concepts.")
    confidence: float | None = Field(
        description="The probability that the suggestion is right, if the model has learned it."
    )
    moves: list[str] = Field(
        description="For an insert: the ids of the children that might move below the new concept."
    )
    why: str = Field(description="The explanation; empty unless it was requested.")

    @classmethod
    def of(cls, suggestion: Suggestion) -> SuggestedParent:
        """Describe a suggestion, with the same digits as in a table of suggestions."""
        row: dict[str, Any] = suggestion.as_dict()
        parent, path = suggestion.parent, list(suggestion.path)
        return cls(
            rank=suggestion.rank,
            kind=suggestion.kind,
            parent=LocatedConcept(id=parent.id, label=parent.label, path=path),
            score=row["score"],
            confidence=row["confidence"],
            moves=list(suggestion.moves),
            why=suggestion.why,
        )


class QueryResult(BaseModel):
    """The answer for one concept."""

    id: str | None = Field(description="Your own id, if you sent one.")
    label: str
    known: list[LocatedConcept] = Field(
        description="The concepts that already have this name; then there are no suggestions."
    )
    has_parent: bool = Field(
        description="Whether the taxonomy has a suitable parent, as far as the model can tell."
    )
    suggestions: list[SuggestedParent]

    @classmethod
    def of(cls, taxonomy: Taxonomy, placed: PlacedQuery) -> QueryResult:
        """Describe the result of one concept."""
        return cls(
            id=placed.concept.id or None,
            label=placed.concept.label,
            known=[LocatedConcept.at(taxonomy, index) for index in placed.known],
            has_parent=all(s.place == Place.POSSIBLE for s in placed.suggestions),
            suggestions=[SuggestedParent.of(suggestion) for suggestion in placed.suggestions],
        )


class SuggestResponse(BaseModel):
    """The answers, in the order of the concepts."""

    results: list[QueryResult]


class ChildPage(BaseModel):
    """Some children of a concept, in the order of the taxonomy."""

    total: int
    offset: int
    items: list[ConceptReference]
    next_offset: int | None = Field(description="The offset of the next page, if there is one.")


class ConceptDetails(LocatedConcept):
    """A concept of the taxonomy with its neighbors."""

    definition: str
    synonyms: list[str]
    deprecated: bool
    parents: list[LocatedConcept]
    children: ChildPage


class SearchResponse(BaseModel):
    """The concepts that a text may mean, best first."""

    results: list[LocatedConcept]


class Health(BaseModel):
    """The state of the service."""

    status: str = Field(examples=["ok"])
    model: str = Field(description="The name of the model's directory.")
    concepts: int = Field(description="The number of concepts of the taxonomy.")


class FieldError(BaseModel):
    """What is wrong with one field."""

    field: str
    problem: str
    fix: str


class ProblemDetails(BaseModel):
    """An error (RFC 9457): what is wrong, and how to fix it."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[FieldError] = []

"""The request and response objects of the API, and their limits."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any, get_type_hints

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    create_model,
    field_validator,
    model_validator,
)

from taxoexpan.decisions.suggestion import COLUMNS, Suggestion, Suitability
from taxoexpan.desk.service.suggester import PlacedQuery
from taxoexpan.desk.web.problem import FieldProblem, ProblemError, invalid
from taxoexpan.option_declarations import declared_options
from taxoexpan.shared_options import SuggestOptions
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.name_search import NameIndex

MAX_LABEL = 1_000
MAX_DEFINITION = 20_000
MAX_SYNONYMS = 100
MAXIMA = {"top_k": 100}
"""The largest values of options; of others, `MAX_OPTION`."""
MAX_OPTION = 1_000_000
MAX_ID = 2_000
MAX_PAGE = 1_000
MAX_SEARCH_RESULTS = 100
MAX_OFFSET = 2**31

EXAMPLE: dict[str, Any] = {
    "label": "cashew milk",
    "definition": "A drink made from cashews.",
    "synonyms": [],
}
NOT_BLANK = (
    r"[^\u0009-\u000d\u001c-\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
)
r"""A character that `str.strip` keeps, in all regular expressions; their `\s` differ."""
Label = Annotated[str, Field(min_length=1, max_length=MAX_LABEL)]


class ConceptReference(BaseModel):
    """A concept of the taxonomy."""

    id: str
    label: str


class LocatedConcept(ConceptReference):
    """A concept of the taxonomy, with the labels on the path from a root."""

    path: list[str]

    @classmethod
    def at(cls, taxonomy: Taxonomy, index: int) -> LocatedConcept:
        """Describe the concept at an index."""
        id = taxonomy.ids[index]
        return cls(id=id, label=taxonomy.labels[index], path=list(taxonomy.path(id)))


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
    """The concepts that match a text, best first."""

    results: list[LocatedConcept]


def find_concept(taxonomy: Taxonomy, id: str, search: str = "/v1/search") -> int:
    """Return the index of the concept with an id; the error suggests `search`."""
    if id not in taxonomy:
        problem = f"no concept has the id {id[:100]!r}"
        fix = f"search for its name with {search}"
        raise ProblemError.in_field(HTTPStatus.NOT_FOUND, "id", problem, fix)
    return taxonomy.index(id)


def describe_concept(taxonomy: Taxonomy, index: int, offset: int, limit: int) -> ConceptDetails:
    """Return a concept with its neighbors and one page of its children."""
    concept = taxonomy.concept_at(index)
    children = taxonomy.children_of.of(index).tolist()
    stop = offset + limit
    return ConceptDetails(
        **LocatedConcept.at(taxonomy, index).model_dump(),
        definition=concept.definition,
        synonyms=list(concept.synonyms),
        deprecated=concept.deprecated,
        parents=[LocatedConcept.at(taxonomy, i) for i in taxonomy.parents_of.of(index).tolist()],
        children=ChildPage(
            total=len(children),
            offset=offset,
            items=[
                ConceptReference(id=taxonomy.ids[child], label=taxonomy.labels[child])
                for child in children[offset:stop]
            ],
            next_offset=stop if stop < len(children) else None,
        ),
    )


def search_concepts(taxonomy: Taxonomy, index: NameIndex, text: str, limit: int) -> SearchResponse:
    """Return the concepts that match a text, best first."""
    found = index.search(text, limit)
    return SearchResponse(results=[LocatedConcept.at(taxonomy, each) for each in found])


class NewConcept(BaseModel):
    """A new concept."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [EXAMPLE]})

    label: Label = Field(
        description="Its name.", examples=["cashew milk"], json_schema_extra={"pattern": NOT_BLANK}
    )
    definition: str = Field(default="", max_length=MAX_DEFINITION, description="What it is.")
    synonyms: list[Label] = Field(
        default_factory=list, max_length=MAX_SYNONYMS, description="Its other names."
    )
    id: str | None = Field(
        default=None, max_length=MAX_ID, description="Your own id; the answer repeats it."
    )

    @model_validator(mode="before")
    @classmethod
    def _of_label(cls, value: object) -> object:
        if isinstance(value, str):
            return {"label": value}
        if not isinstance(value, dict | cls):
            fix = 'send "cashew milk" or {"label": "cashew milk"}'
            raise invalid("a concept is a label or an object", fix)
        return value

    @field_validator("label")
    @classmethod
    def _not_blank(cls, label: str) -> str:
        if not label.strip():
            raise invalid("the label is blank", "send a name")
        return label

    def concept(self) -> Concept:
        """Return the concept in the form that the model expects."""
        names = tuple(name for name in self.synonyms if name.strip())
        return Concept(self.id or "", self.label, names, self.definition)


def _or_label(schema: dict[str, Any]) -> None:
    """Describe that a concept may also be its label."""
    label = {"type": "string", "minLength": 1, "maxLength": MAX_LABEL, "pattern": NOT_BLANK}
    schema["items"] = {"anyOf": [schema["items"], label]}


def _number(value: object) -> object:
    """Refuse texts and truth values, which would be converted to numbers."""
    if isinstance(value, str | bool):
        raise invalid("it is not a number", "send a whole number, without quotes")
    return value


def _option_fields() -> dict[str, Any]:
    """Return the fields of a request that follow from the options of a ranking."""
    hints = get_type_hints(SuggestOptions)
    fields: dict[str, Any] = {}
    for name, (declared, default) in declared_options(SuggestOptions).items():
        text = f"{declared.help[:1].upper()}{declared.help[1:]}."
        about = Field(default=default, description=text)
        if declared.kind is None:
            fields[name] = (Annotated[bool, Strict()], about)
        else:
            limits = Field(ge=1, le=MAXIMA.get(name, MAX_OPTION))
            fields[name] = (Annotated[hints[name], limits, BeforeValidator(_number)], about)
    return fields


_Options = create_model("_Options", **_option_fields())


class SuggestRequest(_Options):  # type: ignore[misc, valid-type]  # made by create_model
    """New concepts, and the options of the ranking."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"concepts": [EXAMPLE], "top_k": 3, "explain": True}]},
    )

    concepts: list[NewConcept] = Field(
        min_length=1,
        description="The concepts to place, each an object or its label.",
        json_schema_extra=_or_label,
    )

    def options(self) -> SuggestOptions:
        """Return the options of the ranking."""
        return SuggestOptions(**{name: getattr(self, name) for name in _Options.model_fields})


_ELSEWHERE = ("path", "place", "decision", "decided_by")
"""Fields of a suggestion that the parent or the result contains, or that a service does not set."""
_OWN = [
    name for name, column in COLUMNS.items() if name == column.attribute and name not in _ELSEWHERE
]
_FIELDS: dict[str, Any] = {
    name: (COLUMNS[name].hint, Field(description=COLUMNS[name].about)) for name in _OWN
}
SuggestedParent = create_model(
    "SuggestedParent",
    __doc__="One possible parent, or the concept that the new one may be a synonym of.",
    parent=(LocatedConcept, ...),
    **_FIELDS,
)


def _suggested_parent(suggestion: Suggestion) -> BaseModel:
    """Describe a suggestion; numbers are rounded as in a table of suggestions."""
    values = suggestion.as_json()
    parent = LocatedConcept(
        id=suggestion.parent.id, label=suggestion.parent.label, path=list(suggestion.path)
    )
    described: BaseModel = SuggestedParent(parent=parent, **{name: values[name] for name in _OWN})
    return described


class QueryResult(BaseModel):
    """The result for one concept."""

    id: str | None = Field(description="Your own id, if you sent one.")
    label: str
    known: list[LocatedConcept] = Field(
        description="The concepts that already have this name; then there are no suggestions."
    )
    has_parent: bool = Field(
        description="Whether the taxonomy has a suitable parent, as far as the model can tell."
    )
    suggestions: list[SuggestedParent]  # type: ignore[valid-type]

    @classmethod
    def of(cls, taxonomy: Taxonomy, placed: PlacedQuery) -> QueryResult:
        """Return the result for one concept."""
        return cls(
            id=placed.concept.id or None,
            label=placed.concept.label,
            known=[LocatedConcept.at(taxonomy, index) for index in placed.known],
            has_parent=all(s.place == Suitability.POSSIBLE for s in placed.suggestions),
            suggestions=[_suggested_parent(each) for each in placed.suggestions],
        )


class SuggestResponse(BaseModel):
    """The results, in the order of the concepts."""

    results: list[QueryResult]


class Health(BaseModel):
    """The state of the service."""

    status: str = Field(examples=["ok"])
    model: str = Field(description="The name of the model's directory.", examples=["pantry"])
    concepts: int = Field(description="The number of concepts of the taxonomy.", examples=[93])


class ProblemDetails(BaseModel):
    """An error (RFC 9457) with its cause and its fix."""

    type: str
    title: str
    status: int
    detail: str
    fix: str = ""
    errors: list[FieldProblem] = []

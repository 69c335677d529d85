"""The arguments of the tools, and the answers that the service does not have."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from taxoexpan.curation.checks import CODES, Finding
from taxoexpan.curation.checks.findings import Severity
from taxoexpan.desk.service.api_schemas import NewConcept, SuggestRequest
from taxoexpan.desk.service.service_limits import (
    MAX_ID,
    MAX_LABEL,
    MAX_OFFSET,
    MAX_SEARCH_RESULTS,
)

MAX_CONCEPTS = 50
"""Concepts of one call: an assistant reads every answer, so they are fewer than in the service."""
MAX_PARENTS = 20
MAX_ITEMS = 200
"""Children or findings of one call."""

Offset = Annotated[int, Field(ge=0, le=MAX_OFFSET)]


def _known_code(code: str) -> str:
    if code not in CODES:
        raise ValueError(f"unknown code {code[:100]!r}; choose from {', '.join(CODES)}")
    return code


CodeName = Annotated[
    str, AfterValidator(_known_code), Field(json_schema_extra={"enum": list(CODES)})
]


class ToolArguments(BaseModel):
    """Arguments of a tool; unknown ones are refused."""

    model_config = ConfigDict(extra="forbid")


class SearchArguments(ToolArguments):
    """The arguments of `search`."""

    query: str = Field(
        min_length=1,
        max_length=MAX_LABEL,
        description="A name, or words or beginnings of words of it, in any order.",
    )
    limit: int = Field(
        default=20, ge=1, le=MAX_SEARCH_RESULTS, description="Concepts to return, at most."
    )


class ConceptArguments(ToolArguments):
    """The arguments of `concept`."""

    id: str = Field(min_length=1, max_length=MAX_ID, description="The id, as search returns it.")
    offset: Offset = Field(default=0, description="Children to skip.")
    limit: int = Field(default=50, ge=1, le=MAX_ITEMS, description="Children to return, at most.")


class SuggestArguments(SuggestRequest):
    """The arguments of `suggest`."""

    concepts: list[NewConcept] = Field(
        min_length=1, max_length=MAX_CONCEPTS, description="The new concepts to place."
    )
    top_k: int = Field(default=5, ge=1, le=MAX_PARENTS, description="Parents per concept.")
    explain: bool = Field(default=True, description="Say why, for the first parent of each.")


class CheckArguments(ToolArguments):
    """The arguments of `check`."""

    codes: list[CodeName] = Field(
        default_factory=list,
        max_length=len(CODES),
        description="Return only findings with these codes (default: all); unreadable and cycle "
        "are always returned, because nothing else could be checked.",
    )
    severity: Severity = Field(
        default="info", description="Return only findings that are at least this severe."
    )
    offset: Offset = Field(default=0, description="Findings to skip.")
    limit: int = Field(default=50, ge=1, le=MAX_ITEMS, description="Findings to return, at most.")


class FoundMistake(BaseModel):
    """A likely mistake; the folder of a file is nothing that an assistant has to know."""

    code: str
    severity: Severity
    place: str = Field(description="The id of a concept, a line of the file, or the file.")
    message: str
    line: int | None = Field(description="The line of the file, if it is known.")

    @classmethod
    def of(cls, finding: Finding) -> FoundMistake:
        """Describe a finding."""
        place = finding.place
        if finding.path is not None and place == str(finding.path):
            place = finding.path.name
        return cls(
            code=finding.code,
            severity=finding.severity,
            place=place,
            message=finding.message,
            line=finding.line or None,
        )


class CheckResponse(BaseModel):
    """Some findings, worst first."""

    source: str = Field(description="What was checked: the model's taxonomy, or a file.")
    total: int = Field(description="The number of findings that were asked for.")
    errors: int
    warnings: int
    offset: int
    items: list[FoundMistake]
    next_offset: int | None = Field(description="The offset of the next page, if there is one.")

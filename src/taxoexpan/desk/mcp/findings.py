"""The findings about a taxonomy that the tool `check` returns."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from threading import Lock

from pydantic import BaseModel, Field

from taxoexpan.curation.checks import SEVERITIES, Finding
from taxoexpan.curation.checks.all_checks import check_file, check_taxonomy
from taxoexpan.curation.checks.findings import ALWAYS_SHOWN, Severity
from taxoexpan.errors import FormatError
from taxoexpan.formats.text_file import DEFAULT_OPTIONS, ReadOptions
from taxoexpan.taxonomy import Taxonomy

Version = tuple[int, int] | None
"""A value that changes with the content of a file; None for a folder, which is always checked."""


class FoundMistake(BaseModel):
    """A likely mistake in the taxonomy, without the directory of the file."""

    code: str
    severity: Severity
    place: str = Field(description="The id of a concept, a line of the file, or the file.")
    message: str
    line: int | None = Field(description="The line of the file, if it is known.")


class CheckResponse(BaseModel):
    """One page of findings, worst first."""

    source: str = Field(description="What was checked: the model's taxonomy, or a file.")
    total: int = Field(description="The number of findings that were asked for.")
    errors: int
    warnings: int
    offset: int
    items: list[FoundMistake]
    next_offset: int | None = Field(description="The offset of the next page, if there is one.")


class CheckedTaxonomy:
    """Findings that are computed on first use, and again after the file has changed."""

    def __init__(
        self,
        source: str,
        check: Callable[[], list[Finding]],
        version: Callable[[], Version] = lambda: (0, 0),
    ) -> None:
        self.source = source
        self._check, self._version = check, version
        self._found: tuple[Version, list[Finding]] | None = None
        self._lock = Lock()

    @classmethod
    def of_model(cls, taxonomy: Taxonomy) -> CheckedTaxonomy:
        """Return the findings for the taxonomy of a model, which does not change."""
        return cls("the model's taxonomy", lambda: check_taxonomy(taxonomy))

    @classmethod
    def of_file(
        cls, path: Path, format: str | None = None, options: ReadOptions = DEFAULT_OPTIONS
    ) -> CheckedTaxonomy:
        """Return the findings for a taxonomy file, which may change."""
        if not path.exists():
            raise FormatError(path, "no such file; give the path of a taxonomy file")

        def version() -> Version:
            state = path.stat()
            return (state.st_mtime_ns, state.st_size) if path.is_file() else None

        return cls(path.name, lambda: check_file(path, format, options), version)

    def page(
        self,
        codes: Collection[str] = (),
        severity: Severity = "info",
        offset: int = 0,
        limit: int = 50,
    ) -> CheckResponse:
        """Return one page of the findings, filtered by code and by minimum severity."""
        worst = SEVERITIES[: SEVERITIES.index(severity) + 1]
        shown = {*codes, *ALWAYS_SHOWN}
        found = [
            finding
            for finding in self._findings()
            if finding.severity in worst and (not codes or finding.code in shown)
        ]
        severities = [finding.severity for finding in found]
        stop = offset + limit
        return CheckResponse(
            source=self.source,
            total=len(found),
            errors=severities.count("error"),
            warnings=severities.count("warning"),
            offset=offset,
            items=[_mistake(each) for each in found[offset:stop]],
            next_offset=stop if stop < len(found) else None,
        )

    def _findings(self) -> list[Finding]:
        """Return all findings, worst first."""
        with self._lock:  # two calls at the same time must not check twice
            version = self._version()
            if self._found is None or version is None or self._found[0] != version:
                findings = sorted(self._check(), key=lambda each: SEVERITIES.index(each.severity))
                self._found = version, findings
            return self._found[1]


def _mistake(finding: Finding) -> FoundMistake:
    place = finding.place
    if finding.path is not None and place == str(finding.path):
        place = finding.path.name
    return FoundMistake(
        code=finding.code,
        severity=finding.severity,
        place=place,
        message=finding.message,
        line=finding.line or None,
    )

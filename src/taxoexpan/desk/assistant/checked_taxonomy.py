"""The findings of the taxonomy that the tool `check` is about."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Lock

from taxoexpan.curation.checks import SEVERITIES, Finding
from taxoexpan.curation.checks.all_checks import check_file, check_taxonomy
from taxoexpan.curation.checks.findings import ALWAYS_SHOWN
from taxoexpan.desk.assistant.tool_schemas import CheckArguments, CheckResponse, FoundMistake
from taxoexpan.errors import FormatError
from taxoexpan.formats.text_file import DEFAULT_OPTIONS, ReadOptions
from taxoexpan.taxonomy import Taxonomy

Version = tuple[int, int] | None


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
        """Check the taxonomy of a model, which does not change."""
        return cls("the model's taxonomy", lambda: check_taxonomy(taxonomy))

    @classmethod
    def of_file(
        cls, path: Path, format: str | None = None, options: ReadOptions = DEFAULT_OPTIONS
    ) -> CheckedTaxonomy:
        """Check a taxonomy file."""
        if not path.exists():
            raise FormatError(path, "no such file; give the path of a taxonomy file")
        return cls(path.name, lambda: check_file(path, format, options), lambda: _version_of(path))

    def answer(self, arguments: CheckArguments) -> CheckResponse:
        """Return the findings that are asked for."""
        worst = SEVERITIES[: SEVERITIES.index(arguments.severity) + 1]
        found = [
            finding
            for finding in self._findings()
            if finding.severity in worst
            and (
                not arguments.codes
                or finding.code in arguments.codes
                or finding.code in ALWAYS_SHOWN
            )
        ]
        severities = [finding.severity for finding in found]
        stop = arguments.offset + arguments.limit
        return CheckResponse(
            source=self.source,
            total=len(found),
            errors=severities.count("error"),
            warnings=severities.count("warning"),
            offset=arguments.offset,
            items=[FoundMistake.of(each) for each in found[arguments.offset : stop]],
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


def _version_of(path: Path) -> Version:
    """Return what changes with the content of a file; nothing says so for a folder."""
    if not path.is_file():
        return None
    state = path.stat()
    return state.st_mtime_ns, state.st_size

"""What looks wrong in a taxonomy, each finding with a code, a severity and the place."""

from typing import TYPE_CHECKING, Any

from taxoexpan.curation.checks.findings import CODES, SEVERITIES, Finding, Severity

if TYPE_CHECKING:
    from taxoexpan.curation.checks.all_checks import lint, lint_file

__all__ = ["CODES", "SEVERITIES", "Finding", "Severity", "lint", "lint_file"]


def __getattr__(name: str) -> Any:
    """Import the checks, and all formats with them, only for those who run them."""
    if name in ("lint", "lint_file"):
        from taxoexpan.curation.checks import all_checks

        return getattr(all_checks, name)
    raise AttributeError(f"module 'taxoexpan.curation.checks' has no attribute {name!r}")

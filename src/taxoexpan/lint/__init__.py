"""What looks wrong in a taxonomy, each finding with a code, a severity and the place."""

from typing import TYPE_CHECKING, Any

from taxoexpan.lint.findings import CODES, SEVERITIES, Finding, Severity

if TYPE_CHECKING:
    from taxoexpan.lint.checking import lint, lint_file

__all__ = ["CODES", "SEVERITIES", "Finding", "Severity", "lint", "lint_file"]


def __getattr__(name: str) -> Any:
    """Import the checks, and all formats with them, only for those who run them."""
    if name in ("lint", "lint_file"):
        from taxoexpan.lint import checking

        return getattr(checking, name)
    raise AttributeError(f"module 'taxoexpan.lint' has no attribute {name!r}")

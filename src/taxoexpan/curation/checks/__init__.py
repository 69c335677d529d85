"""Checks that look for likely mistakes in a taxonomy; each finding has a code and a severity.

Exports the finding and its codes; the checks are in `all_checks`, which imports all file formats.
"""

from taxoexpan.curation.checks.findings import CODES, SEVERITIES, Finding, Severity, count_findings

__all__ = ["CODES", "SEVERITIES", "Finding", "Severity", "count_findings"]

"""Checks for likely mistakes in a taxonomy; each finding has a code and a severity."""

from taxoexpan.curation.checks.findings import CODES, SEVERITIES, Finding, Severity, count_findings

__all__ = ["CODES", "SEVERITIES", "Finding", "Severity", "count_findings"]

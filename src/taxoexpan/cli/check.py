"""Look for cycles, isolated concepts, repeated labels and redundant relations."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from taxoexpan.cli.options import add_taxonomy, print_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    add_taxonomy(parser)
    parser.add_argument("--json", action="store_true", help="findings for a program to read")


def run(options: argparse.Namespace) -> int:
    """Print every finding; 1 when there is a warning or an error."""
    from taxoexpan.lint import lint_file

    findings = lint_file(options.taxonomy, options.format)
    if options.json:
        print_json([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            print(f"{finding.severity:<8}{finding.code:<20}{finding.place}: {finding.message}")
        serious = sum(finding.severity != "info" for finding in findings)
        print(f"{len(findings)} findings, {serious} of them warnings or errors")
    return int(any(finding.severity != "info" for finding in findings))

"""Find cycles, isolated concepts, repeated and similar labels, redundant relations and more."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby

from taxoexpan.cli.arguments import add_taxonomy, read_options
from taxoexpan.cli.messages import print_json, print_line
from taxoexpan.curation.checks import CODES, SEVERITIES, Finding
from taxoexpan.errors import ConfigurationError
from taxoexpan.phrasing import pluralize

MAX_SHOWN = 50
"""Findings per code that are printed unless --select is given."""

ALWAYS_SHOWN = frozenset({"unreadable", "cycle"})
"""Codes that --select and --ignore do not hide, because nothing else could be checked."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_taxonomy(parser)
    parser.add_argument(
        "--select",
        type=_codes,
        metavar="CODE[,CODE…]",
        help="print only findings with these codes, without limiting their number",
    )
    parser.add_argument(
        "--ignore",
        type=_codes,
        metavar="CODE[,CODE…]",
        help="hide findings with these codes (unreadable and cycle are always printed)",
    )
    parser.add_argument(
        "--fail-on",
        choices=(*SEVERITIES, "never"),
        default="warning",
        help="exit with status 1 if a finding has this severity or a worse one (default: warning)",
    )
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    width = max(map(len, CODES)) + 2
    table = (f"  {name:<{width}}{code.severity:<9}{code.meaning}" for name, code in CODES.items())
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "codes:\n" + "\n".join(table)


def run(options: argparse.Namespace) -> int:
    """Print the findings, worst first; return 1 if one of them is a failure."""
    from taxoexpan.curation.checks.all_checks import check_file

    _refuse_unknown([*(options.select or ()), *(options.ignore or ())])
    findings = [
        finding
        for finding in check_file(options.taxonomy, options.format, read_options(options))
        if _is_wanted(finding, options.select, options.ignore)
    ]
    findings.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    if options.json:
        print_json([asdict(finding) for finding in findings])
    else:
        for line in _lines(findings, limit=None if options.select else MAX_SHOWN):
            print_line(line)
        print_line(_summary(findings))
    if options.fail_on == "never":
        return 0
    failing = SEVERITIES[: SEVERITIES.index(options.fail_on) + 1]
    return int(any(finding.severity in failing for finding in findings))


def _codes(text: str) -> list[str]:
    codes = [code.strip() for code in text.split(",") if code.strip()]
    if not codes:  # an empty variable in a script must not switch off every check
        raise argparse.ArgumentTypeError("no code is given")
    return codes


def _refuse_unknown(codes: Sequence[str]) -> None:
    for code in codes:
        if code not in CODES:
            raise ConfigurationError(f"unknown code {code!r}; choose from {', '.join(CODES)}")


def _is_wanted(
    finding: Finding, select: Sequence[str] | None, ignore: Sequence[str] | None
) -> bool:
    if finding.code in ALWAYS_SHOWN:
        return True
    selected = select is None or finding.code in select
    return selected and (ignore is None or finding.code not in ignore)


def _lines(findings: Sequence[Finding], limit: int | None) -> Iterator[str]:
    """One line per finding, grouped by severity and code, and at most `limit` per group."""
    order = {code: number for number, code in enumerate(CODES)}

    def group_key(finding: Finding) -> tuple[int, int, str]:
        number = order.get(finding.code, len(order))
        return SEVERITIES.index(finding.severity), number, finding.code

    for _, group in groupby(sorted(findings, key=group_key), key=group_key):
        same = list(group)
        start = f"{same[0].severity:<9}{same[0].code:<20}"
        for finding in same[:limit]:
            yield start + " ".join(f"{finding.place}: {finding.message}".split("\n"))
        if limit is not None and len(same) > limit:
            hidden = f"… and {len(same) - limit:,} more"
            yield f"{start}{hidden} (--select {same[0].code} or --json shows all)"


def _summary(findings: Sequence[Finding]) -> str:
    """The number of findings of each severity."""
    if not findings:
        return "0 findings"
    counts = Counter(finding.severity for finding in findings)
    return (
        f"{pluralize(len(findings), 'finding')}: {pluralize(counts['error'], 'error')}, "
        f"{pluralize(counts['warning'], 'warning')}, {counts['info']:,} for information"
    )

"""Find cycles, isolated concepts, repeated and similar labels, redundant relations and more."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from taxoexpan.cli.arguments import add_read_options, read_options
from taxoexpan.cli.messages import print_line
from taxoexpan.curation.checks import CODES, SEVERITIES, Finding, count_findings
from taxoexpan.curation.checks.findings import ALWAYS_SHOWN
from taxoexpan.errors import ConfigurationError

FORMATS = ("text", "json", "github", "gitlab", "markdown", "sarif")

MAX_SHOWN = 50
"""Findings per code that are printed unless --select is given."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "taxonomy",
        type=Path,
        nargs="+",
        metavar="TAXONOMY",
        help="taxonomy files; - is standard input",
    )
    add_read_options(parser)
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
    parser.add_argument(
        "--to",
        choices=FORMATS,
        default="text",
        help="how to print the findings: text (default), json, github (annotations of a workflow), "
        "gitlab (a code quality report), markdown (for a comment) or sarif",
    )
    parser.add_argument(
        "--json", action="store_const", const="json", dest="to", help="the same as --to json"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="also write all findings: FILE.sarif as SARIF, FILE.md as Markdown, FILE.json as "
        "JSON; can be repeated",
    )
    parser.add_argument("--force", action="store_true", help="overwrite existing outputs")
    width = max(map(len, CODES)) + 2
    table = (f"  {name:<{width}}{code.severity:<9}{code.meaning}" for name, code in CODES.items())
    parser.epilog = "codes:\n" + "\n".join(table)


def run(options: argparse.Namespace) -> int:
    """Print the findings, worst first; return 1 if one of them is a failure."""
    from taxoexpan.curation.checks.all_checks import check_file
    from taxoexpan.curation.finding_formats import FindingFormat, finding_format, render
    from taxoexpan.files import preflight, write_whole

    _refuse_unknown([*(options.select or ()), *(options.ignore or ())])
    formats = {path: finding_format(path) for path in options.output}
    preflight(options.output, options.taxonomy, options.force)
    # The two files of one taxonomy have the same findings.
    found = dict.fromkeys(
        finding
        for path in options.taxonomy
        for finding in check_file(path, options.format, read_options(options))
        if _is_wanted(finding, options.select, options.ignore)
    )
    findings = sorted(found, key=lambda finding: SEVERITIES.index(finding.severity))
    if options.to in ("text", "github"):
        _print_some(findings, options)
    else:
        print(render(findings, FindingFormat(options.to), options.taxonomy), end="")
    contents = {path: render(findings, formats[path], options.taxonomy) for path in formats}
    write_whole(
        {path: text.encode() for path, text in contents.items()}, options.force, checked=True
    )
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


def _print_some(findings: Sequence[Finding], options: argparse.Namespace) -> None:
    """Print the findings for a reader, at most some per code, and their number."""
    from taxoexpan.curation.finding_formats import github_annotations

    limit = None if options.select else MAX_SHOWN
    for group in _groups(findings):
        start = f"{group[0].severity:<9}{group[0].code:<20}"
        if options.to == "github":
            lines = github_annotations(group[:limit])
        else:
            lines = (start + _line(finding) for finding in group[:limit])
        for line in lines:
            print_line(line)
        if limit is not None and len(group) > limit:
            hidden = f"… and {len(group) - limit:,} more"
            print_line(f"{start}{hidden} (--select {group[0].code} or --json shows all)")
    print_line(count_findings(findings))


def _groups(findings: Sequence[Finding]) -> Iterator[list[Finding]]:
    """Group findings by severity and code, worst first."""
    order = {code: number for number, code in enumerate(CODES)}

    def group_key(finding: Finding) -> tuple[int, int, str]:
        number = order.get(finding.code, len(order))
        return SEVERITIES.index(finding.severity), number, finding.code

    for _, group in groupby(sorted(findings, key=group_key), key=group_key):
        yield list(group)


def _line(finding: Finding) -> str:
    """Return a finding as one line that starts with its file."""
    place = finding.place
    if finding.line and place != f"line {finding.line}":
        place += f" (line {finding.line})"
    if finding.path and place != str(finding.path):
        place = f"{finding.path}: {place}"
    return " ".join(f"{place}: {finding.message}".split("\n"))

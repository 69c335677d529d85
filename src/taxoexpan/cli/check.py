"""Find cycles, isolated concepts, repeated and similar labels, redundant relations and more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from taxoexpan.cli.messages import print_line
from taxoexpan.curation.checks import CODES, SEVERITIES, Finding, count_findings
from taxoexpan.curation.checks.findings import ALWAYS_SHOWN
from taxoexpan.errors import ConfigurationError
from taxoexpan.option_declarations import (
    PATH,
    OptionKind,
    argument,
    json_option,
    option,
    repeated,
    switch,
)
from taxoexpan.shared_options import ReadingOptions

MAX_SHOWN = 50
"""Findings per code that are printed unless --select is given."""


CODE_LIST = OptionKind(
    "a list of codes",
    lambda text: tuple(code.strip() for code in text.split(",") if code.strip()),
    # An empty variable in a script must not switch off every check.
    bool,
)

_WIDTH = max(map(len, CODES)) + 2
EPILOG = "codes:\n" + "\n".join(
    f"  {name:<{_WIDTH}}{code.severity:<9}{code.meaning}" for name, code in CODES.items()
)


@dataclass(frozen=True, kw_only=True)
class Options(ReadingOptions):
    """The options of `check`."""

    taxonomy: tuple[Path, ...] = argument(
        "TAXONOMY", "taxonomy files, or - for standard input", several=True
    )
    select: tuple[str, ...] | None = option(
        "print only findings with these codes, without shortening the list",
        None,
        CODE_LIST,
        metavar="CODE[,CODE…]",
    )
    ignore: tuple[str, ...] | None = option(
        "hide findings with these codes (the codes unreadable and cycle are always printed)",
        None,
        CODE_LIST,
        metavar="CODE[,CODE…]",
    )
    fail_on: str = option(
        "exit with status 1 if there is a finding of this severity or higher",
        "warning",
        choices=(*SEVERITIES, "never"),
    )
    to: str = option(
        "output format: text (default), json, github (annotations for GitHub Actions), gitlab (a "
        "code quality report), markdown (for a comment) or sarif (a format for static analysis)",
        "text",
        choices=("text", "json", "github", "gitlab", "markdown", "sarif"),
    )
    json: bool = json_option("the same as --to json: print the findings")
    output: tuple[Path, ...] = repeated(
        "also write all findings to FILE; the suffix (.sarif, .md or .json) selects the format; "
        "can be repeated",
        PATH,
        metavar="FILE",
        flags=("-o", "--output"),
    )
    force: bool = switch("overwrite existing output files")


def run(options: Options) -> int:
    """Print the findings, worst first; return 1 if one of them counts as a failure."""
    from taxoexpan.curation.checks.all_checks import check_file
    from taxoexpan.curation.finding_formats import FindingFormat, finding_format, render
    from taxoexpan.files import preflight, write_whole
    from taxoexpan.formats.taxonomy_file import read_options

    for code in (*(options.select or ()), *(options.ignore or ())):
        if code not in CODES:
            raise ConfigurationError(
                f"unknown code {code!r}", fix=f"choose from {', '.join(CODES)}"
            )
    formats = {path: finding_format(path) for path in options.output}
    preflight(options.output, options.taxonomy, options.force)
    # The two files of one taxonomy have the same findings.
    found = dict.fromkeys(
        finding
        for path in options.taxonomy
        for finding in check_file(path, options.format, read_options(options))
        if finding.code in ALWAYS_SHOWN
        or (
            (options.select is None or finding.code in options.select)
            and finding.code not in (options.ignore or ())
        )
    )
    findings = sorted(found, key=lambda finding: SEVERITIES.index(finding.severity))
    to = "json" if options.json else options.to
    if to in ("text", "github"):
        _print_some(findings, to, None if options.select else MAX_SHOWN)
    else:
        print(render(findings, FindingFormat(to), options.taxonomy), end="")
    contents = {path: render(findings, formats[path], options.taxonomy) for path in formats}
    write_whole({path: text.encode() for path, text in contents.items()}, options.force)
    if options.fail_on == "never":
        return 0
    failing = SEVERITIES[: SEVERITIES.index(options.fail_on) + 1]
    return int(any(finding.severity in failing for finding in findings))


def _print_some(findings: Sequence[Finding], to: str, limit: int | None) -> None:
    """Print the number of findings, and a limited number of findings per code."""
    from taxoexpan.curation.finding_formats import github_annotations

    codes = list(CODES)

    def group_key(finding: Finding) -> tuple[int, int]:
        return SEVERITIES.index(finding.severity), codes.index(finding.code)

    for _, found in groupby(sorted(findings, key=group_key), key=group_key):
        group = list(found)
        start = f"{group[0].severity:<9}{group[0].code:<20}"
        if to == "github":
            lines = github_annotations(group[:limit])
        else:
            lines = (start + _line(finding) for finding in group[:limit])
        for line in lines:
            print_line(line)
        if limit is not None and len(group) > limit:
            hidden = f"… and {len(group) - limit:,} more"
            print_line(f"{start}{hidden} (--select {group[0].code} or --json shows all)")
    print_line(count_findings(findings))


def _line(finding: Finding) -> str:
    """Return a finding as one line that starts with its file."""
    place = finding.place
    if finding.line and place != f"line {finding.line}":
        place += f" (line {finding.line})"
    if finding.path and place != str(finding.path):
        place = f"{finding.path}: {place}"
    return " ".join(f"{place}: {finding.message}".split("\n"))

"""Look for cycles, loose concepts, repeated and similar labels, needless relations and more."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby

from taxoexpan.cli.arguments import add_taxonomy, read_options
from taxoexpan.cli.messages import print_json
from taxoexpan.curation.checks import CODES, SEVERITIES, Finding
from taxoexpan.errors import ConfigurationError

MOST_SHOWN = 50
"""How many findings of one code a person is shown who has not asked for that code."""

UNCHECKED = frozenset({"unreadable", "cycle"})
"""What is told to those who select other codes or ignore these: nothing could be checked."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    add_taxonomy(parser)
    parser.add_argument(
        "--select", type=_codes, metavar="CODE[,CODE…]", help="only these, and all of them"
    )
    parser.add_argument("--ignore", type=_codes, metavar="CODE[,CODE…]", help="all but these")
    parser.add_argument(
        "--fail-on",
        choices=(*SEVERITIES, "never"),
        default="warning",
        help="from which severity on the exit status is 1 (default warning)",
    )
    parser.add_argument("--json", action="store_true", help="findings for a program to read")
    width = max(map(len, CODES)) + 2
    table = (f"  {name:<{width}}{code.severity:<9}{code.meaning}" for name, code in CODES.items())
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "codes:\n" + "\n".join(table)


def run(options: argparse.Namespace) -> int:
    """Print the findings, the gravest first; 1 when there is one that counts as failure."""
    from taxoexpan.curation.checks import lint_file

    _refuse_unknown([*(options.select or ()), *(options.ignore or ())])
    findings = [
        finding
        for finding in lint_file(options.taxonomy, options.format, read_options(options))
        if _wanted(finding, options.select, options.ignore)
    ]
    findings.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    if options.json:
        print_json([asdict(finding) for finding in findings])
    else:
        for line in _lines(findings, most=None if options.select else MOST_SHOWN):
            print(line)
        print(_summary(findings))
    if options.fail_on == "never":
        return 0
    failing = SEVERITIES[: SEVERITIES.index(options.fail_on) + 1]
    return int(any(finding.severity in failing for finding in findings))


def _codes(text: str) -> list[str]:
    codes = [code.strip() for code in text.split(",") if code.strip()]
    if not codes:  # an empty variable in a script must not switch every check off
        raise argparse.ArgumentTypeError("no code is given")
    return codes


def _refuse_unknown(codes: Sequence[str]) -> None:
    for code in codes:
        if code not in CODES:
            raise ConfigurationError(f"no code is called {code!r}; choose from {', '.join(CODES)}")


def _wanted(finding: Finding, select: Sequence[str] | None, ignore: Sequence[str] | None) -> bool:
    if finding.code in UNCHECKED:
        return True
    selected = select is None or finding.code in select
    return selected and (ignore is None or finding.code not in ignore)


def _lines(findings: Sequence[Finding], most: int | None) -> Iterator[str]:
    """A line a finding, those of one severity and code together, and not too many of them."""
    order = {code: place for place, code in enumerate(CODES)}

    def kind(finding: Finding) -> tuple[int, int, str]:
        place = order.get(finding.code, len(order))
        return SEVERITIES.index(finding.severity), place, finding.code

    for _, together in groupby(sorted(findings, key=kind), key=kind):
        alike = list(together)
        start = f"{alike[0].severity:<9}{alike[0].code:<20}"
        for finding in alike[:most]:
            yield start + " ".join(f"{finding.place}: {finding.message}".splitlines())
        if most is not None and len(alike) > most:
            hidden = f"… and {len(alike) - most:,} more"
            yield f"{start}{hidden} (--select {alike[0].code} or --json shows all)"


def _summary(findings: Sequence[Finding]) -> str:
    """How many findings there are of each severity."""
    if not findings:
        return "0 findings"
    counts = Counter(finding.severity for finding in findings)
    errors, warnings = counts["error"], counts["warning"]
    return (
        f"{len(findings):,} {_plural('finding', len(findings))}: "
        f"{errors:,} {_plural('error', errors)}, {warnings:,} {_plural('warning', warnings)}, "
        f"{counts['info']:,} for information"
    )


def _plural(word: str, count: int) -> str:
    return word if count == 1 else word + "s"

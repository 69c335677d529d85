"""Print how many statements of each package the tests reach.

Run `make coverage`, which measures the tests and then calls this script. With --missing N it also
lists the modules with the most statements that no test reaches, and their lines.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePath

PACKAGE = "taxoexpan"


@dataclass(frozen=True)
class ModuleCoverage:
    """The statements of one module, and the lines that no test reached."""

    path: PurePath
    statements: int
    missing: tuple[int, ...]

    @property
    def package(self) -> str:
        """The package directly below the top one, or the module's own name."""
        parts = self.path.parts
        return parts[parts.index(PACKAGE) + 1]


def read_report(report: Path) -> list[ModuleCoverage]:
    """Read the file that `coverage json` writes."""
    files = json.loads(report.read_text(encoding="utf-8"))["files"]
    return [
        ModuleCoverage(
            PurePath(path), found["summary"]["num_statements"], tuple(found["missing_lines"])
        )
        for path, found in files.items()
    ]


def package_rows(modules: Iterable[ModuleCoverage]) -> list[tuple[str, int, int]]:
    """Return name, statements and missed statements per package, packages before modules."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for module in modules:
        counts[module.package][0] += module.statements
        counts[module.package][1] += len(module.missing)
    names = sorted(counts, key=lambda name: (name.endswith(".py"), name))
    return [(name, *counts[name]) for name in names if counts[name][0]]


def format_table(rows: Iterable[tuple[str, int, int]]) -> str:
    """Format the rows, with the total as the last line."""
    rows = list(rows)
    total = ("total", sum(row[1] for row in rows), sum(row[2] for row in rows))
    lines = [f"{'package':<22} {'statements':>10} {'missed':>7} {'covered':>8}"]
    for name, statements, missed in [*rows, total]:
        share = 100 * (statements - missed) / statements if statements else 100
        lines.append(f"{name:<22} {statements:>10} {missed:>7} {share:>7.1f}%")
    return "\n".join(lines)


def ranges(lines: Iterable[int]) -> str:
    """Write lines as ranges.

    >>> ranges([3, 4, 5, 9])
    '3-5, 9'
    """
    runs: list[list[int]] = []
    for line in lines:
        if runs and line == runs[-1][1] + 1:
            runs[-1][1] = line
        else:
            runs.append([line, line])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def main() -> None:
    """Read the measured data below the current folder, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--missing", type=int, default=0, metavar="N", help="modules to list")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "coverage.json"
        command = [sys.executable, "-m", "coverage", "json", "--quiet", "-o", str(report)]
        subprocess.run(command, check=True)
        modules = read_report(report)
    print(format_table(package_rows(modules)))
    for module in sorted(modules, key=lambda found: -len(found.missing))[: arguments.missing]:
        if module.missing:
            print(f"{module.path}: {ranges(module.missing)}")


if __name__ == "__main__":
    main()

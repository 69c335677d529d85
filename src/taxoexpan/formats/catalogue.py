"""All formats: each is asked in turn whether a file is its own, unless the user names one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.files import refuse_overwriting, write_whole
from taxoexpan.formats import edges, paths, rows, terms
from taxoexpan.formats.draft import Document
from taxoexpan.formats.source import Source, read_bytes
from taxoexpan.taxonomy import Additions, Concept, Taxonomy


class Format(Protocol):
    """What a format's module offers."""

    NAME: str
    ABOUT: str

    def recognises(self, source: Source) -> bool:
        """Whether the file looks like one of this format."""

    def read(self, source: Source) -> Document:
        """The taxonomy in the file."""

    def extend(self, source: Source, expanded: Taxonomy, additions: Additions) -> dict[str, str]:
        """What to append, by the suffix of the file it belongs to."""

    def holds(self, source: Source) -> frozenset[str]:
        """Which of ids, labels, synonyms and definitions the file has a place for."""


FORMATS: dict[str, Format] = {module.NAME: module for module in (terms, paths, edges, rows)}

DECISIVE_SUFFIXES = (".terms", ".taxo", ".tsv", ".tab")
"""Names that say how a file is read, whatever is in it."""


def read(path: Path, format: str | None = None) -> Document:
    """Read a taxonomy, and what was noticed about its file."""
    source = Source.load(path)
    return find_format(source, format).read(source)


def find_format(source: Source, name: str | None = None) -> Format:
    """The format of a file, sniffed unless named."""
    if name is not None:
        if name not in FORMATS:
            known = ", ".join(FORMATS)
            raise ConfigurationError(f"no format is called {name!r}; choose one of {known}")
        return FORMATS[name]
    for format in FORMATS.values():
        if format.recognises(source):
            return format
    known = "; ".join(f"{format.NAME} ({format.ABOUT})" for format in FORMATS.values())
    raise FormatError(
        source.path,
        f"not recognised; a table needs a header such as child,parent. Known formats: {known}",
    )


@dataclass(frozen=True, slots=True)
class Written:
    """The files that were written, and what of the additions they had no place for."""

    files: tuple[Path, ...]
    lost: list[str]


def write_expanded(
    path: Path,
    additions: Additions,
    output: Path,
    format: str | None = None,
    force: bool = False,
) -> Written:
    """Write the taxonomy of `path` with the additions to `output`, every old byte kept.

    The new concepts are appended in the style of the file.
    """
    source = Source.load(path)
    chosen = find_format(source, format)
    contents = _contents(source, chosen, additions, output)
    write_whole(contents, force)
    return Written(tuple(contents), _unheld(additions, chosen.holds(source)))


def rehearse(
    path: Path,
    concepts: Sequence[Concept],
    parents: int,
    output: Path,
    format: str | None = None,
    force: bool = False,
) -> None:
    """Refuse now what `write_expanded` would refuse after the training.

    The concepts are put under the first ones of the taxonomy, to see whether the file can hold
    them and as many parents; nothing is written.
    """
    source = Source.load(path)
    chosen = find_format(source, format)
    above = chosen.read(source).taxonomy.ids[:parents]
    apart = list({concept.label: concept for concept in concepts}.values())
    relations = [(parent, concept.id) for concept in apart for parent in above]
    for target in _contents(source, chosen, Additions(apart, relations), output):
        refuse_overwriting(target, force)


def _contents(
    source: Source, format: Format, additions: Additions, output: Path
) -> dict[Path, bytes]:
    """Every file to write: the old bytes, and what is added."""
    expanded = format.read(source).taxonomy.expanded(additions)
    parts = format.extend(source, expanded, additions)
    contents = {}
    for (suffix, added), target in zip(
        parts.items(), _targets(source.path, output, parts), strict=True
    ):
        old = source.path.with_suffix(suffix)
        kept = read_bytes(old) if old.exists() else b""
        contents[target] = kept + added.encode("utf-8")
    return contents


def _targets(path: Path, output: Path, suffixes: Collection[str]) -> list[Path]:
    """Where each part goes: one file under the very name given, several beside each other."""
    if len(suffixes) > 1:
        stem = output.with_suffix("") if output.suffix in suffixes else output
        return [stem.with_name(stem.name + suffix) for suffix in suffixes]
    suffix = output.suffix.lower()
    if suffix in DECISIVE_SUFFIXES and suffix != path.suffix.lower():
        message = f"a file named {suffix} is read otherwise than {path.name}"
        raise FormatError(output, f"{message}; let the name end in {path.suffix}")
    return [output]


def _unheld(additions: Additions, held: frozenset[str]) -> list[str]:
    """What of the additions the file has no place for."""
    given = {
        "ids": any(concept.id != concept.label for concept in additions.concepts),
        "labels": any(concept.id != concept.label for concept in additions.concepts),
        "synonyms": any(concept.synonyms for concept in additions.concepts),
        "definitions": any(concept.definition for concept in additions.concepts),
    }
    return [name for name, there in given.items() if there and name not in held]

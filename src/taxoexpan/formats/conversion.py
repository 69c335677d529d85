"""From one format to another; what the copy does not hold is found by reading it back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from taxoexpan.errors import ConfigurationError
from taxoexpan.files import whole_directory, write_whole
from taxoexpan.formats.output import Copy, Target
from taxoexpan.formats.rdf import skos
from taxoexpan.formats.registry import FORMATS, Format, find_format, named_format
from taxoexpan.formats.taxonomy_file import open_source
from taxoexpan.formats.text_file import DEFAULT_OPTIONS, ReadOptions
from taxoexpan.formats.wordnet import wordnet_format
from taxoexpan.phrasing import pluralize
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.difference import Difference


@dataclass(frozen=True)
class Conversion:
    """What was written where, and what is not in it."""

    files: tuple[Path, ...]
    taxonomy: Taxonomy
    copy: Taxonomy
    """What is read back from the files."""
    ids: Mapping[str, str]
    """What an old id is in the copy, for those that changed."""
    losses: list[str]


def convert(
    path: Path,
    target: Target,
    format: str | None = None,
    to: str | None = None,
    options: ReadOptions = DEFAULT_OPTIONS,
    force: bool = False,
) -> Conversion:
    """Write the taxonomy of a file in another format, and say what that one has no place for."""
    source = open_source(path, options)
    old, new = find_format(source, format), target_format(target.path, to)
    document = old.read(source)
    reread = document.taxonomy
    if old.NAME == new.NAME == skos.NAME:
        text, losses = skos.transcode(source, target.path)
        copy = Copy({target.path: text})
    else:
        copy = new.write(document.taxonomy, target)
        reread = _reread(copy, new)
        losses = [*_losses(document.taxonomy, copy, reread), *_left_behind(document.ignored)]
    _write(copy, target.path, new, force)
    files = (target.path,) if new.NAME == wordnet_format.NAME else tuple(copy.files)
    ids = {id: copy.id_of(id) for id in document.taxonomy if copy.id_of(id) != id}
    return Conversion(files, document.taxonomy, reread, ids, losses)


def target_format(path: Path, name: str | None = None) -> Format:
    """The format of a file to be made, by its name unless the user says it."""
    if name is not None:
        return named_format(name)
    suffix = path.suffix.lower()
    for format in FORMATS.values():
        if suffix in format.SUFFIXES:
            return format
    known = ", ".join(suffix for format in FORMATS.values() for suffix in format.SUFFIXES)
    raise ConfigurationError(
        f"which format is {path.name} to have? let the name end in one of {known}, "
        f"or give --to with one of {', '.join(FORMATS)}"
    )


def _write(copy: Copy, path: Path, format: Format, force: bool) -> None:
    contents = {file: text.encode("utf-8") for file, text in copy.files.items()}
    if format.NAME != wordnet_format.NAME:
        write_whole(contents, force)
        return
    with whole_directory(path, [file.name for file in contents], force) as staging:
        for file, content in contents.items():
            (staging / file.name).write_bytes(content)


def _losses(taxonomy: Taxonomy, copy: Copy, reread: Taxonomy) -> list[str]:
    """What differs between a taxonomy and its copy, in a person's words."""
    difference = Difference(_renamed(taxonomy, copy), reread)
    changed = [(change.old, change.new) for change in difference.changed]
    counts = {
        "id": ("written otherwise", sum(copy.id_of(id) != id for id in taxonomy)),
        "concept": ("missing", len(difference.removed)),
        "further concept": ("there", len(difference.added)),
        "label": ("written otherwise", len(difference.relabelled)),
        "relation": ("missing", len(difference.relations_removed)),
        "further relation": ("there", len(difference.relations_added)),
        "synonym": (
            "missing",
            sum(len(set(old.synonyms) - set(new.synonyms)) for old, new in changed),
        ),
        "definition": (
            "missing or shorter",
            sum(old.definition != new.definition for old, new in changed),
        ),
        "deprecated concept": (
            "not marked as such",
            sum(old.deprecated > new.deprecated for old, new in changed),
        ),
    }
    return [f"{how}: {pluralize(count, noun)}" for noun, (how, count) in counts.items() if count]


def _reread(copy: Copy, format: Format) -> Taxonomy:
    with TemporaryDirectory() as folder:
        for file, text in copy.files.items():
            (Path(folder) / file.name).write_text(text, encoding="utf-8", newline="")
        first = Path(folder) / next(iter(copy.files)).name
        return format.read(
            open_source(Path(folder) if format.NAME == wordnet_format.NAME else first)
        ).taxonomy


def _renamed(taxonomy: Taxonomy, copy: Copy) -> Taxonomy:
    return Taxonomy(
        [replace(concept, id=copy.id_of(concept.id)) for concept in taxonomy.concepts],
        [(copy.id_of(parent), copy.id_of(child)) for parent, child in taxonomy.relations],
    )


def _left_behind(ignored: Mapping[str, int]) -> list[str]:
    """What the old file holds that no taxonomy does."""
    if not ignored:
        return []
    most = sorted(ignored.items(), key=lambda item: -item[1])
    named = ", ".join(f"{name} ({count:,})" for name, count in most)
    return [f"not part of a taxonomy, and left behind: {named}"]

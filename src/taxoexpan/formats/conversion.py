"""Conversion between formats; reading the result back shows what the new format cannot store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from taxoexpan.errors import ConfigurationError
from taxoexpan.files import whole_directory, write_whole
from taxoexpan.formats.output import Copy, Target
from taxoexpan.formats.rdf import skos
from taxoexpan.formats.registry import FORMATS, Format, named_format
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.formats.text_file import DEFAULT_OPTIONS, ReadOptions, TextFile
from taxoexpan.formats.wordnet import wordnet_format
from taxoexpan.phrasing import pluralize
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.difference import Difference


@dataclass(frozen=True)
class Conversion:
    """The written files, and how their taxonomy differs from the original.

    `copy` is the taxonomy that is read back from the files; `ids` maps old ids to new ones,
    for those that changed.
    """

    files: tuple[Path, ...]
    taxonomy: Taxonomy
    copy: Taxonomy
    ids: Mapping[str, str]
    losses: list[str]


def convert(
    path: Path,
    target: Target,
    format: str | None = None,
    to: str | None = None,
    options: ReadOptions = DEFAULT_OPTIONS,
    force: bool = False,
) -> Conversion:
    """Write the taxonomy of a file in another format, and list what the new format cannot store."""
    new = target_format(target.path, to)
    original = TaxonomyFile.open(path, format, options)
    taxonomy = reread = original.taxonomy
    if original.format.NAME == new.NAME == skos.NAME:
        text, losses = skos.transcode(original.file, target.path)
        copy = Copy({target.path: text})
    else:
        copy = new.write(taxonomy, target)
        reread = _read_back(copy, new)
        losses = [*_losses(taxonomy, copy, reread), *_ignored_content(original.parsed.ignored)]
    _write(copy, target.path, new, force)
    files = (target.path,) if new.NAME == wordnet_format.NAME else tuple(copy.files)
    ids = {id: copy.id_of(id) for id in taxonomy if copy.id_of(id) != id}
    return Conversion(files, taxonomy, reread, ids, losses)


def target_format(path: Path, name: str | None = None) -> Format:
    """The format of a file to write, by its suffix unless the name of the format is given."""
    if name is not None:
        return named_format(name)
    suffix = path.suffix.lower()
    for format in FORMATS.values():
        if suffix in format.SUFFIXES:
            return format
    known = ", ".join(suffix for format in FORMATS.values() for suffix in format.SUFFIXES)
    raise ConfigurationError(
        f"the name {path.name} does not say in which format to write; use a name that ends in "
        f"one of {known}, or give to=FORMAT with one of {', '.join(FORMATS)}"
    ).naming("to=FORMAT")


def _write(copy: Copy, path: Path, format: Format, force: bool) -> None:
    contents = {file: text.encode("utf-8") for file, text in copy.files.items()}
    if format.NAME != wordnet_format.NAME:
        write_whole(contents, force)
        return
    with whole_directory(path, [file.name for file in contents], force) as staging:
        for file, content in contents.items():
            (staging / file.name).write_bytes(content)


def _losses(taxonomy: Taxonomy, copy: Copy, reread: Taxonomy) -> list[str]:
    """Describe the differences between a taxonomy and its copy."""
    difference = Difference(_with_new_ids(taxonomy, copy), reread)
    changed = [(change.old, change.new) for change in difference.changed]
    counts = {
        "id": ("changed", sum(copy.id_of(id) != id for id in taxonomy)),
        "concept": ("missing", len(difference.removed)),
        "additional concept": ("present", len(difference.added)),
        "label": ("changed", len(difference.relabelled)),
        "relation": ("missing", len(difference.relations_removed)),
        "additional relation": ("present", len(difference.relations_added)),
        "synonym": (
            "missing",
            sum(len(set(old.synonyms) - set(new.synonyms)) for old, new in changed),
        ),
        "definition": (
            "missing or shortened",
            sum(old.definition != new.definition for old, new in changed),
        ),
        "deprecated concept": (
            "not marked as deprecated",
            sum(old.deprecated > new.deprecated for old, new in changed),
        ),
    }
    return [f"{how}: {pluralize(count, noun)}" for noun, (how, count) in counts.items() if count]


def _read_back(copy: Copy, format: Format) -> Taxonomy:
    with TemporaryDirectory() as folder:
        for file, text in copy.files.items():
            (Path(folder) / file.name).write_text(text, encoding="utf-8", newline="")
        first = Path(folder) / next(iter(copy.files)).name
        path = Path(folder) if format.NAME == wordnet_format.NAME else first
        return format.read(TextFile.open(path)).taxonomy


def _with_new_ids(taxonomy: Taxonomy, copy: Copy) -> Taxonomy:
    return Taxonomy(
        [replace(concept, id=copy.id_of(concept.id)) for concept in taxonomy.concepts],
        [(copy.id_of(parent), copy.id_of(child)) for parent, child in taxonomy.relations],
    )


def _ignored_content(ignored: Mapping[str, int]) -> list[str]:
    """Describe the content of the old file that a taxonomy does not represent."""
    if not ignored:
        return []
    by_count = sorted(ignored.items(), key=lambda item: -item[1])
    named = ", ".join(f"{name} ({count:,})" for name, count in by_count)
    return [f"not part of a taxonomy, and not converted: {named}"]

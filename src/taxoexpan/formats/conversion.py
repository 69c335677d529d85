"""Conversion between formats; reading the result back shows the losses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.files import STANDARD_STREAM, write_whole
from taxoexpan.formats.builder import LANGUAGE_TAGS
from taxoexpan.formats.compression import format_suffix
from taxoexpan.formats.format import DEFAULT_BASE, Copy, Format, Target
from taxoexpan.formats.registry import FORMATS, RDF, find_format, named_format
from taxoexpan.formats.tables.formulas import is_computed_file, protect_taxonomy
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.formats.text_file import DEFAULT_OPTIONS, ReadOptions, TextFile
from taxoexpan.phrasing import pluralize
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.difference import Difference, with_other_ids

_MAX_NAMED = 3
"""How many concepts a message about a loss names."""


@dataclass(frozen=True)
class Conversion:
    """The written files, and the differences between the original and the `copy` read back.

    `ids` maps changed ids. `base` is the start of the IRIs that replaced other ids, or "".
    """

    files: tuple[Path, ...]
    taxonomy: Taxonomy
    copy: Taxonomy
    ids: Mapping[str, str]
    losses: list[str]
    base: str = ""
    protected: int = 0
    """The number of concepts that got an apostrophe, because a spreadsheet would compute them."""


def convert(
    path: Path,
    target: Target,
    format: str | None = None,
    to: str | None = None,
    options: ReadOptions = DEFAULT_OPTIONS,
    force: bool = False,
) -> Conversion:
    """Write the taxonomy of a file in another format, and list the data that format cannot store.

    In CSV files, strings that a spreadsheet would compute get an apostrophe.
    """
    syntax = f".{to}"
    if FORMATS.owner(syntax) in RDF and to not in FORMATS:
        # Only the syntax is named; the vocabulary stays, and a new one is SKOS.
        target = replace(target, syntax=syntax)
        to = None
    new = FORMATS["skos"] if target.syntax else target_format(target.path, to)
    original = TaxonomyFile.open(path, format, options)
    original.refuse_unused_options()
    target = like_original(target, original)
    # Where only the syntax of an RDF file changes, all statements are kept.
    if original.format.is_rdf and (new is original.format or (to is None and new.is_rdf)):
        from taxoexpan.formats.rdf.serialization import transcode

        text, losses = transcode(original.file, target)
        contents = Copy({target.path: text}).contents()
        write_whole(contents, force)
        taxonomy = original.taxonomy
        return Conversion(tuple(contents), taxonomy, taxonomy, {}, losses)
    return write_copy(original.taxonomy, new, target, force, original.parsed.ignored)


def like_original(target: Target, original: TaxonomyFile) -> Target:
    """Return the target with the base and the language tags of the original file."""
    if target.base == DEFAULT_BASE:
        target = replace(target, base=original.format.base)
    parsed = original.parsed
    if parsed.language or parsed.other_tags:
        target = replace(target, language=parsed.language, other_tags=parsed.other_tags)
    return target


def write_copy(
    taxonomy: Taxonomy,
    format: Format,
    target: Target,
    force: bool = False,
    ignored: Mapping[str, int] = MappingProxyType({}),
) -> Conversion:
    """Write a whole taxonomy as new files; `ignored` is content of the original that it lacks."""
    protected = 0
    if is_computed_file(format, target.path):
        taxonomy, protected = protect_taxonomy(taxonomy)
    copy = format.write(taxonomy, target)
    contents = copy.contents()
    reread = _read_back(contents, target.path, format)
    losses = [*_losses(taxonomy, copy, reread), *_ignored_content(ignored, format)]
    write_whole(contents, force)
    ids = {id: copy.id_of(id) for id in taxonomy if copy.id_of(id) != id}
    base = target.base if any(id.startswith(target.base) for id in ids.values()) else ""
    return Conversion(tuple(contents), taxonomy, reread, ids, losses, base, protected)


def target_format(path: Path, name: str | None = None) -> Format:
    """Return the format with this name, or else the format for the suffix of a file to write."""
    if name is not None:
        format = named_format(name)
        if not format.is_written:
            raise ConfigurationError(
                f"the format {name} is only read", fix="choose another one to write"
            )
        return format
    owner = FORMATS.owner(format_suffix(path))
    if owner is not None:
        return FORMATS[owner]
    formats = [format for format in FORMATS.values() if format.is_written]
    width = max(len(format.name) for format in formats)
    rows = [f"  {f.name:<{width}}  {', '.join(f.suffixes) or '-'}" for f in formats]
    message = f"the name {path.name} does not say in which format to write"
    fix = "use one of these suffixes, or give one of these names as the format to write"
    raise ConfigurationError(message, fix="\n".join([f"{fix}:", *rows]))


def _losses(taxonomy: Taxonomy, copy: Copy, reread: Taxonomy) -> list[str]:
    """Describe the differences between a taxonomy and its copy."""
    with_new_ids = with_other_ids(taxonomy, copy.ids)
    difference = Difference(with_new_ids, reread)
    changed = [(change.old, change.new) for change in difference.changed]
    synonyms = [
        f"{name!r} of {old.label!r}"
        for old, new in changed
        for name in dict.fromkeys(old.synonyms)
        if name not in new.synonyms
    ]
    shortened = [old for old, new in changed if old.definition != new.definition]
    not_marked = [old for old, new in changed if old.deprecated > new.deprecated]
    relabeled = [f"{c.old.label!r} to {c.new.label!r}" for c in difference.relabeled]
    found = {
        "changed: id": [repr(id) for id in taxonomy if copy.id_of(id) != id],
        "missing: concept": _labels(difference.removed),
        "present: additional concept": _labels(difference.added),
        "changed: label": relabeled,
        "missing: relation": _relations(with_new_ids, difference.relations_removed),
        "present: additional relation": _relations(reread, difference.relations_added),
        "missing: synonym": synonyms,
        "missing or shortened: definition": _labels(shortened),
        "not marked as deprecated: deprecated concept": _labels(not_marked),
    }
    losses = []
    for kind, names in found.items():
        how, noun = kind.split(": ")
        some = ", ".join([*names[:_MAX_NAMED], *["…"] * (len(names) > _MAX_NAMED)])
        losses += [f"{how}: {pluralize(len(names), noun)} ({some})"] if names else []
    return losses


def _labels(concepts: Iterable[Concept]) -> list[str]:
    return [repr(concept.label) for concept in concepts]


def _relations(taxonomy: Taxonomy, relations: Iterable[tuple[str, str]]) -> list[str]:
    label = taxonomy.concept
    return [f"{label(child).label!r} under {label(parent).label!r}" for parent, child in relations]


def _read_back(contents: Mapping[Path, bytes], target: Path, format: Format) -> Taxonomy:
    """Read the new files, which must be recognized as files of this format."""
    file = TextFile(next(iter(contents)), "").with_parts(contents)
    try:
        found = format.name if target == STANDARD_STREAM else find_format(file).name
    except FormatError:
        found = "no known format"
    if found != format.name:
        known = ", ".join(format.suffixes) or format.usual_suffix
        message = f"a file with this name would be read as {found}, not as {format.name}"
        raise FormatError(target, message, fix=f"use a name that ends in {known}")
    return format.read(file).taxonomy


def _ignored_content(ignored: Mapping[str, int], new: Format) -> list[str]:
    """Describe the content of the old file that a taxonomy does not represent."""
    by_count = sorted(ignored.items(), key=lambda item: -item[1])
    lost = [(kind, n) for kind, n in by_count if not (new.is_rdf and kind == LANGUAGE_TAGS)]
    named = ", ".join(f"{kind} ({n:,})" for kind, n in lost)
    return [f"not part of a taxonomy, and not converted: {named}"] if lost else []

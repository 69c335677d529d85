"""Reading and expanding a taxonomy file, whatever its format."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from taxoexpan.errors import FormatError
from taxoexpan.files import refuse_overwriting, refuse_replacing, whole_directory, write_whole
from taxoexpan.formats.builder import ParsedTaxonomy
from taxoexpan.formats.json import json_format
from taxoexpan.formats.rdf import skos
from taxoexpan.formats.registry import PLAIN_SUFFIXES, SUFFIXES, Format, find_format
from taxoexpan.formats.text_file import DEFAULT_OPTIONS, ReadOptions, TextFile
from taxoexpan.taxonomy import Additions, Concept, Move, Taxonomy
from taxoexpan.taxonomy.names import normalize_name

_CHANGEABLE = {skos.NAME: ".ttl", json_format.NAME: ".tsv"}
"""Names of files that hold all that these do, and moves besides; others become JSON."""


def read(
    path: Path, format: str | None = None, options: ReadOptions = DEFAULT_OPTIONS
) -> ParsedTaxonomy:
    """Read a taxonomy, and what was noticed about its file."""
    source = open_source(path, options)
    return find_format(source, format).read(source)


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
    options: ReadOptions = DEFAULT_OPTIONS,
) -> Written:
    """Write the taxonomy of `path` with the additions to `output`, every old byte kept.

    The new concepts are put in in the style of the file. Only where an old one moves, the place
    that told its parent changes; then the whole is read again before it is written.
    """
    source = open_source(path, options)
    chosen = find_format(source, format)
    contents = _contents(source, chosen, additions, output)
    if path.is_dir():
        _write_directory(path, contents, output, force)
    else:
        write_whole(contents, force)
    files = (output,) if path.is_dir() else tuple(contents)
    lost = _unheld(additions, chosen.supported_fields(source))
    return Written(files, [*lost, *chosen.NOT_INSERTED] if additions.concepts else [])


def rehearse(
    path: Path,
    concepts: Sequence[Concept],
    parents: int,
    output: Path,
    format: str | None = None,
    force: bool = False,
    options: ReadOptions = DEFAULT_OPTIONS,
    changes: Collection[str] = (),
) -> None:
    """Refuse now what `write_expanded` would refuse after the training.

    The concepts are put under the first ones of the taxonomy, to see whether the file can hold
    them and as many parents; where `changes` are allowed, one of them between two old ones, and
    all as further names of another. Nothing is written.
    """
    source = open_source(path, options)
    chosen = find_format(source, format)
    old = chosen.read(source).taxonomy
    apart = list({concept.label: concept for concept in concepts}.values())
    relations = [(parent, concept.id) for concept in apart for parent in old.ids[:parents]]
    contents = _contents(source, chosen, Additions(apart, relations), output)
    if "moves" in changes and apart and old.relation_count:
        new, (parent, child) = apart[0], next(iter(old.relations))
        moves = [Move(child, parent, new.id)]
        _contents(source, chosen, Additions([new], [(parent, new.id)], moves=moves), output)
    if "synonyms" in changes and apart:
        names = {normalize_name(name): name for c in apart for name in (c.label, *c.synonyms)}
        _rehearse_names(source, chosen, old.ids[0], list(names.values()), output)
    if path.is_dir():
        refuse_replacing(output, _names(path), force)
        return
    for target in contents:
        refuse_overwriting(target, force)


def _rehearse_names(
    source: TextFile, format: Format, id: str, names: Sequence[str], output: Path
) -> None:
    """Refuse names that the file cannot hold as synonyms, of which one is told."""
    synonyms = [(id, name) for name in names]
    try:
        _contents(source, format, Additions([], [], synonyms=synonyms), output)
    except FormatError:
        if len(names) > 1:
            half = len(names) // 2
            for some in (names[:half], names[half:]):
                _rehearse_names(source, format, id, some, output)
            raise
        message = f"{names[0]!r} cannot stand among the synonyms of a concept here"
        raise FormatError(source.path, f"{message}; rename it, or do without merges") from None


def refuse_unchangeable(
    path: Path,
    wanted: Mapping[str, str],
    format: str | None = None,
    options: ReadOptions = DEFAULT_OPTIONS,
) -> None:
    """Refuse changes of old concepts that a file has no place for; each with its option's name."""
    source = open_source(path, options)
    _refuse_changes(source, find_format(source, format), wanted)


def open_source(path: Path, options: ReadOptions = DEFAULT_OPTIONS) -> TextFile:
    """A file with its text, or a directory."""
    return TextFile(path, "", options) if path.is_dir() else TextFile.load(path, options)


def _names(directory: Path) -> list[str]:
    """The files of a directory, without what lies in further directories."""
    return sorted(part.name for part in directory.iterdir() if part.is_file())


def _write_directory(path: Path, contents: Mapping[Path, bytes], output: Path, force: bool) -> None:
    """A directory with every file of the old one, some of them grown."""
    with whole_directory(output, _names(path), force) as staging:
        for name in _names(path):
            shutil.copyfile(path / name, staging / name)
        for target, content in contents.items():
            (staging / target.name).write_bytes(content)


def _contents(
    source: TextFile, format: Format, additions: Additions, output: Path
) -> dict[Path, bytes]:
    """Every file to write: the old text, with what is put in."""
    old = format.read(source).taxonomy
    for concept in additions.concepts:
        if concept.id in old.reserved:
            message = f"the id {concept.id!r} is used for something else here"
            raise FormatError(source.path, f"{message}; give {concept.label!r} another")
    changes = {"moves": additions.moves, "synonyms": additions.synonyms}
    wanted = {what: f"the {what}" for what, changed in changes.items() if changed}
    if wanted:
        _refuse_changes(source, format, wanted)
    expanded = old.expanded(additions)
    parts = format.extend(source, expanded, additions)
    contents = {}
    for part, target in zip(parts, _targets(source.path, output, list(parts)), strict=True):
        file = source
        if part != source.path:
            file = TextFile.load(part, may_be_blank=True) if part.exists() else TextFile(part, "")
        contents[target] = file.apply(parts[part])
    if wanted:
        grown = dict(zip((part.name for part in parts), contents.values(), strict=True))
        _refuse_unlike(source, format, old, expanded, grown)
    return contents


def _refuse_changes(source: TextFile, format: Format, wanted: Mapping[str, str]) -> None:
    for what in sorted(wanted.keys() - format.supported_changes(source)):
        name, suffix = source.path.name, _CHANGEABLE.get(format.NAME, ".json")
        message = f"no place for {what} of what is there, short of writing it anew ({format.NAME})"
        other = source.path.with_suffix(suffix).name
        mend = f"leave out {wanted[what]}, or first taxoexpan convert {name} {other}"
        raise FormatError(source.path, f"{message}; {mend}")


def _refuse_unlike(
    source: TextFile,
    format: Format,
    old: Taxonomy,
    expanded: Taxonomy,
    grown: Mapping[str, bytes],
) -> None:
    """What would not be read back as it should be: a move or a name too few, or anything more."""
    with TemporaryDirectory() as folder:
        for name, content in grown.items():
            (Path(folder) / name).write_bytes(content)
        try:
            copy = TextFile.load(Path(folder) / source.path.name, source.options)
            found = format.read(copy).taxonomy
        except FormatError as error:
            raise FormatError(source.path, f"with these changes: {error.message}") from None
    told, wanted = _outline(old, found), _outline(old, expanded)
    if told != wanted:
        message = (
            f"would not be read back as it should be: {_in_words(min(told ^ wanted, key=str))}"
        )
        mend = "leave that one out of the moves and merges, or rename the new concept"
        raise FormatError(source.path, f"{message}; {mend}")


def _in_words(difference: tuple[object, ...]) -> str:
    """What an outline has too much or too little of."""
    if len(difference) == 2:
        parent, child = (end[0] if isinstance(end, tuple) else end for end in difference)
        return f"{child!r} under {parent!r}"
    return f"the names of {difference[1]!r}"


def _outline(old: Taxonomy, grown: Taxonomy) -> set[tuple[object, ...]]:
    """Relations and old concepts, what is new known by its label: its id may become another."""
    known = {id for id in grown if id in old}
    names = {id: id if id in known else (grown.concept(id).label,) for id in grown}
    words = {
        (c.id, c.label, c.definition, c.deprecated, *sorted(c.synonyms))
        for c in map(grown.concept, known)
    }
    return words | {(names[parent], names[child]) for parent, child in grown.relations}


def _targets(path: Path, output: Path, parts: Sequence[Path]) -> list[Path]:
    """Where each part goes: one file under the very name given, several beside each other."""
    if path.is_dir():
        return [output / part.name for part in parts]
    suffixes = [part.suffix for part in parts]
    if len(parts) > 1:
        stem = output.with_suffix("") if output.suffix in suffixes else output
        return [stem.with_name(stem.name + suffix) for suffix in suffixes]
    suffix = output.suffix.lower()
    old = path.suffix.lower()
    if suffix in SUFFIXES and suffix != old and not {suffix, old} <= PLAIN_SUFFIXES:
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

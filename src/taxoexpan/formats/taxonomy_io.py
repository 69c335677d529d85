"""Reading and writing of taxonomies: the functions that a user of Python calls."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

from taxoexpan.errors import ChangedFileError, ConfigurationError, FormatError, TaxonomyError
from taxoexpan.formats.compression import format_suffix
from taxoexpan.formats.conversion import like_original, target_format, write_copy
from taxoexpan.formats.format import Target
from taxoexpan.formats.registry import FORMATS, PLAIN_SUFFIXES
from taxoexpan.formats.tables.formulas import is_computed_file, protect_additions
from taxoexpan.formats.taxonomy_file import TaxonomyFile, read_options
from taxoexpan.option_declarations import PATH, SWITCH, check_type
from taxoexpan.phrasing import join_words, pluralize
from taxoexpan.shared_options import ReadingOptions
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.difference import Difference, additions_between
from taxoexpan.taxonomy.source import Source


def read_taxonomy(
    path: str | Path,
    format: str | None = None,
    language: str | None = None,
    columns: str | Mapping[str, str | int] | None = None,
    codes: str | None = None,
    separator: str | None = None,
    sheet: str | None = None,
    instances: bool = False,
) -> Taxonomy:
    """Read a taxonomy file in any supported format, which is detected unless it is given.

    The taxonomy remembers the file, so that `write_taxonomy` can keep its bytes.

    Args:
        path: the file; for WordNet its directory.
        format: the name of the format, such as `skos` or `rows`.
        language: the tag of the labels to use, in a file with several languages.
        columns: the columns of a table by header or number from 1.
        codes: the column with hierarchical codes, which state the parents.
        separator: the text between several values in a cell, or between the labels of a path.
        sheet: the sheet of an Excel file.
        instances: whether the instance hypernyms of WordNet are relations, too.

    Examples:
        >>> from taxoexpan import read_taxonomy
        >>> instruments = read_taxonomy("examples/instruments.ttl")
        >>> len(instruments), instruments.concept_at(0).label
        (93, 'musical instruments')
    """
    PATH.check("path", path)
    options = ReadingOptions(
        format=format,
        language=language,
        columns=columns,
        codes=codes,
        separator=separator,
        sheet=sheet,
        instances=instances,
    )
    file = TaxonomyFile.open(Path(path), format, read_options(options))
    file.refuse_unused_options()
    return file.taxonomy.with_source(Source(Path(path).absolute(), options, file.digest))


def write_taxonomy(
    taxonomy: Taxonomy,
    path: str | Path,
    source: str | Path | Taxonomy | None = None,
    format: str | None = None,
    force: bool = False,
) -> None:
    """Write a taxonomy to a file, whole or not at all.

    If the taxonomy came from a file in the same format, only the new concepts, moves and synonyms
    are inserted, and every other byte of that file is kept. Otherwise the whole taxonomy is
    written in the format of `path`; a warning lists what the format cannot store. The result is
    read back before it is written.

    Args:
        taxonomy: the taxonomy.
        path: the file to write; its suffix selects the format.
        source: the file whose bytes are kept, or a taxonomy that was read from it (default: the
            file that `taxonomy` came from, also after `expand`). A loaded model does not know its
            file: name it here.
        format: the format, which an unknown suffix needs (default: selected by the suffix).
        force: whether an existing file is replaced.

    Examples:
        >>> from taxoexpan import Concept, Taxonomy, read_taxonomy, write_taxonomy
        >>> tools = Taxonomy([Concept("1", "tool"), Concept("2", "saw")], [("1", "2")])
        >>> write_taxonomy(tools, "tools.csv")
        >>> read_taxonomy("tools.csv").children("1")
        ('2',)
    """
    check_type("taxonomy", taxonomy, Taxonomy, "give the taxonomy first, and then the path")
    PATH.check("path", path)
    SWITCH.check("force", force)
    path = Path(path)
    known = _known_source(taxonomy, source)
    file = _source_file(known, known.path) if known and known.path else None
    if file is not None and _keeps_format(file, path, format):
        _insert(taxonomy, file, path, force)
        return
    if file is not None and source is not None:
        problem = f"{path.name} has another format than the source {file.path.name}"
        fix = "write a file with the same suffix, or leave out the source"
        raise ConfigurationError(problem, fix=fix, option="source")
    _write_anew(taxonomy, file, path, format, force)
    if known and known.path is None:
        message = f"{path.name} has only what a model stores of the file that it was trained on"
        hint = "to keep all else, such as labels in other languages, name that file as source"
        warnings.warn(f"{message}; {hint}", stacklevel=2)


def _known_source(taxonomy: Taxonomy, source: str | Path | Taxonomy | None) -> Source | None:
    """Return the file that a taxonomy came from, or the one that is given instead."""
    if source is None:
        return taxonomy.source
    if not isinstance(source, Taxonomy):
        PATH.check("source", source)
        return Source(Path(source), ReadingOptions(), "")
    if source.source is None or source.source.path is None:
        problem = "the taxonomy that is given as the source was not read from a file"
        raise ConfigurationError(problem, fix="give the path of a file", option="source")
    return source.source


def _source_file(source: Source, path: Path) -> TaxonomyFile:
    """Read the file again that a taxonomy came from; it must be the same."""
    file = TaxonomyFile.open(path, source.options.format, read_options(source.options))
    if source.digest and file.digest != source.digest:
        problem = "was changed since the taxonomy was read from it"
        fix = (
            "read it again, and expand that taxonomy (with a model: "
            "model.update(read_taxonomy(path)) first), or name the file to insert into as source"
        )
        raise ChangedFileError(path, problem, fix=fix)
    return file


def _keeps_format(file: TaxonomyFile, path: Path, format: str | None) -> bool:
    """Return whether an output is written in the format of the file, so that its bytes are kept."""
    if format is not None and format != file.format.name:
        return False
    new = format_suffix(path)
    old = format_suffix(file.path)
    if new == old or {new, old} <= PLAIN_SUFFIXES:
        return True
    return format is not None and FORMATS.owner(new) is None


def _insert(taxonomy: Taxonomy, file: TaxonomyFile, path: Path, force: bool) -> None:
    """Write a file with the new content of a taxonomy, and keep every old byte."""
    difference = Difference(file.taxonomy, taxonomy)
    try:
        additions = additions_between(difference)
    except TaxonomyError as error:
        fix = "write the taxonomy as a new file: give a path with the suffix of another format"
        raise FormatError(file.path, error.problem, fix=error.fix or fix) from None
    if difference.defined:
        count = pluralize(len(difference.defined), "definition")
        message = f"{count} of old concepts are not in {file.path.name}, and are not written"
        warnings.warn(message, stacklevel=3)
    if is_computed_file(file.format, file.path):
        additions, _ = protect_additions(file.taxonomy, additions)
    written = file.write(additions, path, force)
    if written.lost:
        _warn_of_losses(path, [join_words(written.lost)])


def _write_anew(
    taxonomy: Taxonomy, file: TaxonomyFile | None, path: Path, format: str | None, force: bool
) -> None:
    """Write a whole taxonomy as new files, with the language tags of the file it came from."""
    target = Target(path)
    ignored: Mapping[str, int] = {}
    if file is not None:
        target = like_original(target, file)
        ignored = file.parsed.ignored
    written = write_copy(taxonomy, target_format(path, format), target, force, ignored)
    if written.losses:
        _warn_of_losses(path, written.losses)


def _warn_of_losses(path: Path, losses: Sequence[str]) -> None:
    warnings.warn(f"{path.name} cannot store everything: {'; '.join(losses)}", stacklevel=4)

"""A taxonomy file of any format, which is opened once, checked, and written with additions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from taxoexpan.errors import ChangedFileError, FormatError, TaxonomyError
from taxoexpan.files import outputs
from taxoexpan.formats.builder import Note, ParsedTaxonomy
from taxoexpan.formats.compression import compressed, format_suffix
from taxoexpan.formats.format import Format
from taxoexpan.formats.registry import FORMATS, PLAIN_SUFFIXES, find_format
from taxoexpan.formats.tables.columns import checked_columns, columns_text
from taxoexpan.formats.text_file import DEFAULT_OPTIONS, ReadOptions, TextFile
from taxoexpan.shared_options import ReadingOptions
from taxoexpan.taxonomy import Additions, Concept, Move, Taxonomy
from taxoexpan.taxonomy.id_assignment import final_ids, with_ids
from taxoexpan.taxonomy.id_policy import DEFAULT_IDS, IdPolicy
from taxoexpan.taxonomy.names import normalize_name
from taxoexpan.taxonomy.source import UNKNOWN_FILE

_MAX_SIMULATED = 100
"""How many concepts are tried as the parent of a new one that gets a code."""

_MIN_FILLED = 2
_MIN_FRACTION_FILLED = 0.2
"""How often a kind of content must occur, and per concept, to be named if new concepts lack it."""


@dataclass(frozen=True, slots=True)
class WrittenFiles:
    """The written files, and the new contents of the old files.

    `lost` are kinds of data that the format cannot store; `left_blank` are kinds of content that
    many old concepts have, and no new one.
    """

    files: tuple[Path, ...]
    lost: list[str]
    left_blank: list[str]
    contents: dict[Path, bytes]


NOTHING_WRITTEN = WrittenFiles((), [], [], {})


@dataclass(frozen=True)
class TaxonomyFile:
    """A file with a taxonomy, which is read and parsed once, on opening."""

    file: TextFile
    format: Format
    parsed: ParsedTaxonomy
    chosen_format: str | None = None

    @classmethod
    def open(
        cls, path: Path, format: str | None = None, options: ReadOptions = DEFAULT_OPTIONS
    ) -> TaxonomyFile:
        """Read a taxonomy file; its format is detected unless it is given."""
        file = TextFile.open(path, options)
        found = find_format(file, format)
        parsed = found.read(file)
        parsed.taxonomy.source = UNKNOWN_FILE  # what reads it for Python knows more
        remarks = tuple(Note(0, remark, id="the workbook") for remark in file.remarks)
        return cls(file, found, replace(parsed, notes=(*remarks, *parsed.notes)), format)

    @property
    def read_flags(self) -> list[str]:
        """The command-line flags that read this file in the same way."""
        options = self.file.options
        chosen = self.chosen_format
        flags = ["--format", chosen] if chosen else []
        flags += ["--language", options.language] if options.language else []
        flags += ["--columns", columns_text(options.columns)] if options.columns else []
        flags += ["--separator", options.separator] if options.separator else []
        flags += ["--sheet", options.sheet] if options.sheet else []
        return flags + ["--instances"] * options.instances

    @property
    def unused_options(self) -> list[str]:
        """The names of the given reading options that have no meaning for this file."""
        options = self.file.options
        unused = {
            "columns": bool(options.columns) and not self.format.is_table,
            "separator": bool(options.separator) and self.format.name not in ("rows", "paths"),
            "sheet": options.sheet is not None and not self.file.delimiter,
        }
        return [name for name, is_unused in unused.items() if is_unused]

    def refuse_unused_options(self) -> None:
        """Raise an error about an option that has no meaning for this file."""
        for name in self.unused_options:
            kinds = {"sheet": "an Excel file", "separator": "a table with lists or paths in cells"}
            kind = kinds.get(name, "a table")
            message = f"this file is not {kind} ({self.format.name}), so an option has no meaning"
            raise FormatError(self.path, message, fix="leave it out", option=name)

    @property
    def path(self) -> Path:
        """The path of the file, or of a WordNet directory."""
        return self.file.path

    @property
    def taxonomy(self) -> Taxonomy:
        """The taxonomy in the file."""
        return self.parsed.taxonomy

    @property
    def digest(self) -> str:
        """A digest of the bytes that were read."""
        return self.file.digests

    @property
    def notes(self) -> tuple[Note, ...]:
        """The problems in the file that were corrected while reading it."""
        return self.parsed.notes

    @property
    def language_choice(self) -> str:
        """Which of several languages of the file was chosen, and why; empty if it was requested."""
        languages = self.parsed.languages
        return languages.description if languages and not self.file.options.language else ""

    def refuse_other_language(self, path: Path, concepts: Sequence[Concept]) -> None:
        """Refuse a list in another language of this file, unless the language was requested."""
        languages = self.parsed.languages
        requested = self.file.options.language
        found = languages.guess([each.label for each in concepts]) if languages else None
        if found is None or languages is None or requested:
            return
        message = f"{found.count:,} of {len(concepts):,} new terms look like {found.language}"
        message += f", but the labels of {self.path.name} are read in {languages.tag}"
        fix = f"choose {found.language}, or {languages.tag} if that is right"
        raise FormatError(path, message, fix=fix, option="language")

    def can_hold(
        self,
        concepts: Iterable[Concept],
        max_parents: int,
        output: Path,
        changes: Collection[str] = (),
        force: bool = False,
        ids: IdPolicy = DEFAULT_IDS,
    ) -> None:
        """Raise the error that `write` would raise, before any training.

        Simulates adding all concepts under `max_parents` concepts, and the `changes` ("moves" and
        "synonyms"). Writes nothing.
        """
        # In truth the concepts have several parents, and each may have its own range of numbers.
        ids = replace(ids, last=None)
        new = list({concept.label: concept for concept in concepts}.values())
        contents, _ = self._verified(self._simulated(new, max_parents, ids))
        targets = self._targets(output, contents)
        if "moves" in changes and new and self.taxonomy.relations:
            parent, child = self.taxonomy.relations[0]
            move = Move(child, parent, new[0].id)
            additions = Additions([new[0]], [(parent, new[0].id)], moves=[move])
            self._verified(self._with_final_ids(additions, ids))
        if "synonyms" in changes and new:
            names = {normalize_name(name): name for c in new for name in (c.label, *c.synonyms)}
            synonyms = [(self.taxonomy.ids[0], name) for name in names.values()]
            self._verified(Additions([], [], synonyms=synonyms))
        for target in targets:
            outputs.check_output(target, force)

    def _simulated(self, new: list[Concept], max_parents: int, ids: IdPolicy) -> Additions:
        """Return all concepts under the first parents, or one where codes are not used up."""
        starts = range(min(len(self.taxonomy), _MAX_SIMULATED))
        for size, start in [(len(new), 0), *((1, start) for start in starts)]:
            parents = self.taxonomy.ids[start : start + max_parents]
            relations = [(parent, concept.id) for concept in new[:size] for parent in parents]
            try:
                return self._with_final_ids(Additions(new[:size], relations), ids)
            except TaxonomyError:
                if start == starts[-1]:
                    raise
        return Additions([], [])

    def _with_final_ids(self, additions: Additions, ids: IdPolicy = DEFAULT_IDS) -> Additions:
        """Return additions whose concepts have no provisional ids any more."""
        concepts, relations = additions.concepts, additions.relations
        return additions.with_ids(final_ids(self.taxonomy, concepts, relations, ids))

    @property
    def supported_changes(self) -> Collection[str]:
        """The changes of existing concepts that the file can store: "moves" and "synonyms"."""
        return self.format.supported_changes(self.file)

    def unsupported_texts(self, concepts: Collection[Concept]) -> list[str]:
        """Return "synonyms" and "definitions" if concepts have them, and the file no place."""
        supported = self.format.supported_fields(self.file)
        found = _optional_texts(concepts)
        return [name for name in found if found[name] and name not in supported]

    @cached_property
    def has_single_parents(self) -> bool:
        """Whether a new concept can have only one parent, as in a file of paths; this is tried."""
        ids = self.taxonomy.ids
        pairs = [ids[:2], ids[-2:]]
        takes_two = any(map(self._takes, pairs))
        return not takes_two and any(self._takes(pair[:1]) for pair in pairs)

    def _takes(self, parents: Sequence[str]) -> bool:
        """Return whether a concept below all these parents could be written and read back."""
        (concept,) = with_ids(self.taxonomy, [Concept("", f"new concept {len(self.taxonomy)}")])
        added = Additions([concept], [(parent, concept.id) for parent in parents])
        try:
            self._verified(self._with_final_ids(added))
        except (FormatError, TaxonomyError):
            return False
        return True

    def check_changes(self, changes: Collection[str]) -> None:
        """Raise an error if the file cannot store these changes: "moves" and "synonyms"."""
        for kind in sorted(set(changes).difference(self.supported_changes)):
            name = self.path.name
            other = self.path.with_suffix(self.format.movable_suffix).name
            message = f"{kind} of existing concepts are not possible in this file"
            message += f" ({self.format.name}) without rewriting it"
            fix = f"leave them out, or first run taxoexpan convert {name} {other}"
            option = "allow_moves" if kind == "moves" else "allow_merges"
            raise FormatError(self.path, message, fix=fix, option=option)

    def write(self, additions: Additions, output: Path | None, force: bool = False) -> WrittenFiles:
        """Write the file with the additions to `output`, and keep every other byte.

        The result is read back and compared before anything is written. Without an output, only
        the new contents are returned. If the file to replace was changed, the result gets another
        name.
        """
        contents, reread = self._verified(additions)
        lost = list[str]()
        left_blank = list[str]()
        if additions.concepts:
            supported = self.format.supported_fields(self.file)
            lost = _unsupported(additions, supported, reread.taxonomy)
            if "definitions" in supported and any(
                new.definition and new.definition.strip() != read.definition
                for new, read in _read_back(additions.concepts, reread.taxonomy)
            ):
                lost.append("line breaks in definitions")
            left_blank = _left_blank(self.parsed, reread)
        if output is None:
            return WrittenFiles((), lost, left_blank, contents)

        def check() -> None:
            if self._is_replaced_by(output) and not self.file.is_current():
                raise ChangedFileError(output, "was changed by another program while this one ran")

        try:
            files = self._write_parts(contents, output, force, check)
            return WrittenFiles(files, lost, left_blank, contents)
        except ChangedFileError as error:
            kept = outputs.unused_name(output)
            self._write_parts(contents, kept)
            fix = f"it was not replaced; the result, without these changes, is {kept.name}"
            raise ChangedFileError(output, error.problem, fix=fix) from None

    def _is_replaced_by(self, output: Path) -> bool:
        """Return whether an output has a file of this taxonomy, under any of its names."""
        if output == outputs.STANDARD_STREAM:
            return False
        new, old = ({*map(outputs.real_path, self.format.parts(p))} for p in (output, self.path))
        return not new.isdisjoint(old)

    def _write_parts(
        self,
        contents: Mapping[Path, bytes],
        output: Path,
        force: bool = False,
        last_check: Callable[[], None] | None = None,
    ) -> tuple[Path, ...]:
        """Write the files of the taxonomy under the name of the output, and return their paths."""
        targets = self._targets(output, contents)
        outputs.write_whole(targets, force, last_check)
        return tuple(targets)

    def _changed(self, additions: Additions) -> dict[Path, bytes]:
        """Return the new content of every file that changes."""
        for concept in additions.concepts:
            if concept.id in self.taxonomy.reserved:
                message = f"the id {concept.id!r} is already used in this file for something else"
                raise FormatError(self.path, message, fix=f"give {concept.label!r} another id")
        lists = {"moves": additions.moves, "synonyms": additions.synonyms}
        self.check_changes([kind for kind, changed in lists.items() if changed])
        insertions = self.format.extend(self.file, self.taxonomy.expanded(additions), additions)
        return {
            part: self.file.sibling(part, optional=True).apply(inserted)
            for part, inserted in insertions.items()
        }

    def _verified(self, additions: Additions) -> tuple[dict[Path, bytes], ParsedTaxonomy]:
        """Return the new contents, and what is read from them, which is checked."""
        contents = self._changed(additions)
        changed = self.file.with_parts(contents)
        expanded = self.taxonomy.expanded(additions)
        reread = _check_read_back(changed, self.format, self.taxonomy, expanded)
        fields = self.format.supported_fields(self.file)
        _refuse_changed_texts(self.path, _read_back(additions.concepts, reread.taxonomy), fields)
        return contents, reread

    def _targets(self, output: Path, contents: Mapping[Path, bytes]) -> dict[Path, bytes]:
        """Return the files to write; a single file gets exactly the name of `output`."""
        targets = [output]
        if len(contents) > 1:
            targets = self.format.parts(output)
        else:
            new = format_suffix(output)
            old = format_suffix(self.path)
            if FORMATS.owner(new) and new != old and not {new, old} <= PLAIN_SUFFIXES:
                message = f"a {new} file would be read in another format than {self.path.name}"
                fix = f"use a name that ends in {old or self.path.name}"
                raise FormatError(output, message, fix=fix)
        written = zip(targets, contents.values(), strict=True)
        return {target: compressed(target, content) for target, content in written}

    def positions(
        self, wanted: Collection[tuple[str, str]]
    ) -> dict[tuple[str, str], tuple[Path, int]]:
        """Return the file and line of pairs (concept, parent), as far as they are found.

        A blank parent stands for the concept itself. Relations without a line get the child's.
        """
        if not wanted:
            return {}
        ids = {id for id, _ in wanted}
        sources = self.parsed.sources
        lines = self.format.subject_lines(self.file, ids)
        found = {(id, ""): (self.path, line) for id, line in lines.items()}
        if not self.format.is_rdf and not any(source.lines.any() for source in sources):
            sources = self.format.read_with_lines(self.file).sources
        for source in sources:
            found |= source.find({*wanted, *((id, "") for id in ids)})
        places = {each: found.get(each) or found.get((each[0], "")) for each in wanted}
        return {each: place for each, place in places.items() if place}


def read_options(options: ReadingOptions) -> ReadOptions:
    """Return the checked options for reading a file."""
    columns = checked_columns(options.columns or "")
    if options.codes is not None:
        columns = checked_columns({**columns, "codes": options.codes})
    separator = options.separator
    return ReadOptions(options.language, options.instances, columns, options.sheet, separator)


def _unsupported(additions: Additions, supported: frozenset[str], written: Taxonomy) -> list[str]:
    """Return the kinds of data in the additions that the format cannot store."""
    has_own_ids = any(concept.id != concept.label for concept in additions.concepts)
    given = {
        # A format that derives ids from labels may derive the same ones.
        "ids": any(concept.id not in written for concept in additions.concepts),
        "labels": has_own_ids,
        **_optional_texts(additions.concepts),
    }
    return [name for name, present in given.items() if present and name not in supported]


def _optional_texts(concepts: Collection[Concept]) -> dict[str, bool]:
    """Return whether some concepts have synonyms, and whether some have definitions."""
    return {
        "synonyms": any(concept.synonyms for concept in concepts),
        "definitions": any(concept.definition for concept in concepts),
    }


def _left_blank(before: ParsedTaxonomy, after: ParsedTaxonomy) -> list[str]:
    """Return the kinds of content that many old concepts have, and that no new concept got."""
    least = max(_MIN_FILLED, _MIN_FRACTION_FILLED * len(before.taxonomy))
    kinds = {kind: n for kind, n in before.ignored.items() if n >= least}
    return [kind for kind, n in kinds.items() if after.ignored.get(kind, 0) <= n]


def _check_read_back(
    file: TextFile, format: Format, old: Taxonomy, expanded: Taxonomy
) -> ParsedTaxonomy:
    """Return what is read from a changed file, which must equal the expanded taxonomy."""
    try:
        parsed = format.read(file)
    except FormatError as error:
        problem = f"with these changes: {error.problem}"
        raise FormatError(file.path, problem, fix=error.fix) from None
    reread = parsed.taxonomy
    different = _facts(old, reread, expanded) ^ _facts(old, expanded, reread)
    if different:
        fact = min(different, key=str)
        ends = [str(end[0] if isinstance(end, tuple) else end) for end in fact[:2]]
        what = " under ".join(map(repr, reversed(ends)))
        if len(fact) > 2:
            id, label = ends
            read = reread.concept(id).synonyms if id in reread else ()
            lost = [name for name in expanded.concept(id).synonyms if name not in read]
            what = f"the name {lost[0]!r}" if lost else f"the names of {label!r}"
        message = f"the changed file would not be read back as intended: {what} would differ"
        fix = "leave out this change, or rename the new concept"
        raise FormatError(file.path, message, fix=fix)
    return parsed


def _read_back(concepts: Sequence[Concept], reread: Taxonomy) -> list[tuple[Concept, Concept]]:
    """Return each new concept, and the same concept as it was read back."""
    # Where ids come from labels, the new concept has another id.
    by_label = dict(zip(reread.labels, reread.ids, strict=True))
    ids = [c.id if c.id in reread else by_label[c.label] for c in concepts]
    return [(concept, reread.concept(id)) for concept, id in zip(concepts, ids, strict=True)]


def _refuse_changed_texts(
    path: Path, read_back: Sequence[tuple[Concept, Concept]], fields: Collection[str]
) -> None:
    """Refuse a text of a new concept that the file would hold, but as another text.

    White space around a text does not count, nor do line breaks in a definition.
    """
    for new, read in read_back:
        label = new.label.strip()
        found_names = {*read.synonyms}
        names = {name.strip() for name in new.synonyms} - {""}
        changed = sorted((names ^ found_names) - {label, read.label})
        given = [name for name in new.synonyms if name.strip() not in found_names]
        texts = {
            "label": (label, read.label),
            "synonym": ((given or changed)[0], ", ".join(read.synonyms)) if changed else ("", ""),
            "definition": (" ".join(new.definition.split()), " ".join(read.definition.split())),
        }
        for kind, (text, found) in texts.items():
            # Without a definition, a note on the concept may be read as one.
            if f"{kind}s" in fields and text and text != found:
                message = f"the {kind} {text[:80]!r} of {label!r} would be read back as"
                fix = "change the signs that this file cannot store"
                raise FormatError(path, f"{message} {found[:80]!r}", fix=fix)


def _facts(old: Taxonomy, expanded: Taxonomy, other: Taxonomy) -> set[tuple[object, ...]]:
    """Return all concepts and relations, and the texts of all old concepts.

    A new concept whose id the other taxonomy lacks is identified by its label.
    """
    known = {id for id in expanded if id in old}
    names = {id: id if id in other else (expanded.concept(id).label,) for id in expanded}
    texts = {
        (c.id, c.label, c.definition, c.deprecated, *sorted(c.synonyms))
        for c in map(expanded.concept, known)
    }
    relations = {(names[parent], names[child]) for parent, child in expanded.relations}
    return texts | relations | {(name,) for name in names.values()}

"""The blocks of an Open Food Facts taxonomy, and the ids that it derives from names.

The ids follow `get_string_id_for_lang` and `sanitize_taxonomy_line` in openfoodfacts-server.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from taxoexpan.errors import FormatError
from taxoexpan.formats.builder import Note
from taxoexpan.formats.rdf.languages import Languages
from taxoexpan.formats.text_file import TextFile

_OTHER_LANGUAGE = r"[a-z]{2,3}(?:[-_][A-Za-z]{2,8})*"
NAMES = re.compile(r"([A-Za-z]{2}):\s*(.*)")
OTHER_NAMES = re.compile(rf"({_OTHER_LANGUAGE}):\s*(.*)")
"""Open Food Facts ignores languages with longer codes; here they are names in other languages."""
PARENT = re.compile(r"<\s*([A-Za-z]{2}):\s*(.*)")
PROPERTY = re.compile(rf"([A-Za-z0-9_.-]+):({_OTHER_LANGUAGE}):\s*(.*)")
DESCRIPTION = "description"
NO_LANGUAGE = "xx"
"""The language code of names that are the same in every language."""

_UNACCENTED_LANGUAGES = frozenset({"ca", "en", "es", "fr", "it", "nl", "pt", "sk", "xx"})
_UNACCENT = str.maketrans(
    {
        **dict(zip("àáâãäåçèéêëìíîïñòóôõöùúûüýÿ", "aaaaaaceeeeiiiinooooouuuuyy", strict=True)),
        "œ": "oe",
        "æ": "ae",
        "ß": "ss",
    }
)
_ENTITY = re.compile(r"&(?:quot|lt|gt);")
_SEPARATORS = re.compile(
    r"""[-\s\x00-\x1f\u200b!"#$%&'()*+,/:;<=>?@\[\\\]^_`{|}~¡¢£¤¥¦§¨©ª«¬®¯°±²³´µ¶·¸¹º»¼⅓½⅔¾¿×ˆ˜"""
    r"""\u2013\u2014\u2018\u2019\u201a“”„†‡•…‰‹›€™]+"""
)
_CASE_KEPT = re.compile(r"[a-z-]+\.[a-zA-Z0-9_-]{9,}")
_ROMAN_NUMERAL = re.compile(r"\(([ivx]+)\)", re.IGNORECASE)
_COMMA_IN_NUMBER = re.compile(r"(\d),(\d)")
_LONE_COMMA = re.compile(r"(?<!\d),|,(?!\d)")
_SEPARATOR = re.compile(r"\s*,\s*")
_PROTECTED = "\0"
"""Stands for a comma that belongs to a name; a text file cannot contain this character."""
_PLURALS = {"en": "s", "es": "s", "fr": "sx"}


@dataclass(frozen=True, slots=True)
class NameLine:
    """The names on a line (a label and its synonyms, or a parent), each with its key."""

    line: int
    language: str
    names: list[str]
    keys: list[str]

    @property
    def tag(self) -> str:
        """The language tag."""
        return language_tag(self.language)


@dataclass
class Block:
    """The lines between two blank lines, of which `last_line` is the last."""

    line: int
    last_line: int = 0
    parents: list[NameLine] = field(default_factory=list)
    names: list[NameLine] = field(default_factory=list)
    descriptions: list[tuple[str, str]] = field(default_factory=list)
    """Language tag and text."""

    @cached_property
    def id(self) -> str:
        """The id of the entry, which is made from its first name."""
        first = next((names for names in self.names if len(names.language) == 2), self.names[0])
        return f"{first.language}:{first.keys[0]}"


@dataclass(frozen=True)
class Entry:
    """An entry in the chosen language; several blocks may describe it."""

    blocks: Sequence[Block]
    languages: Languages

    @cached_property
    def lines(self) -> list[NameLine]:
        """The names in all languages."""
        return [line for block in self.blocks for line in block.names]

    @cached_property
    def label(self) -> NameLine:
        """The line with the label."""
        return min(self.lines, key=lambda line: self.languages.rank(line.tag))

    @cached_property
    def definition(self) -> str:
        """The description in the language of the label, or else in the chosen language."""
        texts = [text for block in self.blocks for text in block.descriptions if text[1]]
        matching = [text for tag, text in texts if tag == self.label.tag]
        return next(iter(matching or self.languages.matching(texts, self.label.tag)), "")

    def other_names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the synonyms, including names without a language, and the foreign names."""
        same: dict[str, None] = {}
        foreign: dict[str, None] = {}
        for line in self.lines:
            has_same_language = line.language == self.label.language
            is_same = has_same_language or not self.languages.is_foreign(line.tag)
            (same if is_same else foreign).update(dict.fromkeys(filter(None, line.names)))
        same.pop(self.label.names[0], None)
        return tuple(same), tuple(foreign)

    def tags(self) -> dict[str, str]:
        """Return the language tag of every text; the line of the label takes precedence."""
        tags: dict[str, str] = {}
        for line in (self.label, *self.lines):
            for name in line.names:
                tags.setdefault(name, line.tag)
        for tag, text in (each for block in self.blocks for each in block.descriptions):
            tags.setdefault(text, tag)
        return tags


@dataclass
class Blocks:
    """The blocks of a file, in file order; several blocks may describe one entry."""

    source: TextFile
    entries: list[Block] = field(default_factory=list)
    stopwords: dict[str, set[str]] = field(default_factory=dict)
    ignored: Counter[str] = field(default_factory=Counter)
    notes: list[Note] = field(default_factory=list)

    @classmethod
    def parse(cls, source: TextFile) -> Blocks:
        """Parse every line of a file."""
        blocks = cls(source)
        for block, lines in _split_blocks(source.lines):
            for number, line in lines:
                blocks._parse_line(block, number, line)
            if block.names:
                blocks.entries.append(block)
            elif block.parents:
                message = "parents without a name below them; this block is ignored"
                blocks.notes.append(Note(block.line, message))
        return blocks

    def find(self, language: str, key: str) -> str | None:
        """Return the id of the entry that a parent line names, ignoring stop words and plurals."""
        reduced = reduced_tag_id(language, key, self.stopwords.get(language, ()))
        return self.owners.get((language, key)) or self._by_reduced_name.get((language, reduced))

    def parent_id(self, parent: NameLine) -> str:
        """Return the id of a parent, or an id made from its name if the parent has no block."""
        key = parent.keys[0]
        return self.find(parent.language, key) or f"{parent.language}:{key}"

    @cached_property
    def by_id(self) -> dict[str, Entry]:
        """The entries by id."""
        by_id: dict[str, list[Block]] = {}
        for block in self.entries:
            by_id.setdefault(block.id, []).append(block)
        return {id: Entry(blocks, self.languages) for id, blocks in by_id.items()}

    @cached_property
    def languages(self) -> Languages:
        """The languages of the file; by default, the chosen one is the language of most ids."""
        labels: dict[str, list[tuple[str, str]]] = {}
        for block in self.entries:
            texts = [(line.tag, line.names[0]) for line in block.names]
            labels.setdefault(block.id, []).extend(texts)
        languages = Languages.choose(self.source, labels.values())
        ids = Counter(language_tag(id.partition(":")[0]) for id in labels)
        main = max(ids, key=lambda tag: ids[tag], default="")
        chosen = languages.chosen if self.source.options.language else main
        return replace(languages, chosen=chosen, main=main)

    @cached_property
    def owners(self) -> dict[tuple[str, str], str]:
        """The entry id of each name; ids take precedence over labels, and labels over synonyms."""
        table: dict[tuple[str, str], str] = {}
        for block in self.entries:
            table.setdefault((block.id[:2], block.id[3:]), block.id)
        for names in (slice(1), slice(None)):
            for block in self.entries:
                for line in block.names:
                    for key in line.keys[names]:
                        table.setdefault((line.language, key), block.id)
        return table

    @cached_property
    def _by_reduced_name(self) -> dict[tuple[str, str], str]:
        table: dict[tuple[str, str], str] = {}
        for (language, key), id in self.owners.items():
            reduced = reduced_tag_id(language, key, self.stopwords.get(language, ()))
            table.setdefault((language, reduced), id)
        return table

    def _parse_line(self, block: Block, number: int, line: str) -> None:
        """Add one line to its block, or count or note it if a taxonomy does not represent it."""
        if line.startswith("#"):
            self.ignored["comments"] += 1
        elif parent := PARENT.match(line):
            language = parent[1]
            name = parent[2].rstrip()
            key = label_key(language, name)
            block.parents.append(NameLine(number, language, [name], [key]))
        elif names := NAMES.match(line):
            self._add_names(block, number, names)
        elif found := PROPERTY.match(line):
            name = found[1]
            language = found[2]
            value = found[3].rstrip()
            if name == "stopwords":
                self.stopwords.setdefault(language, set()).update(split_tag_ids(language, value))
            if name == DESCRIPTION:
                block.descriptions.append((language_tag(language), value))
            else:
                self.ignored[name] += 1
        elif names := OTHER_NAMES.match(line):
            self._add_names(block, number, names)
        else:
            message = f"{line[:60]!r} is neither a parent, a name nor a property; it is ignored"
            self.notes.append(Note(number, message))

    def _add_names(self, block: Block, number: int, match: re.Match[str]) -> None:
        language = match[1]
        text = match[2].rstrip()
        names = split_names(text)
        keys = split_tag_ids(language, text)
        if not keys[0]:
            message = f"{match[0][:60]!r} starts with no name that has a letter or a digit"
            fix = "add a name, or remove the line"
            raise FormatError(self.source.path, message, fix=fix, line=number)
        block.names.append(NameLine(number, language, names, keys))


@lru_cache(maxsize=1000)
def language_tag(code: str) -> str:
    """Return the language tag for a code of the file, such as `nl-be` for `nl_be`."""
    return "" if code == NO_LANGUAGE else code.replace("_", "-").lower()


def _split_blocks(lines: Sequence[str]) -> Iterator[tuple[Block, list[tuple[int, str]]]]:
    """Yield the blocks between blank lines, with their numbered lines."""
    block: list[tuple[int, str]] = []
    for number, line in enumerate([*lines, ""], start=1):
        if line and not line.isspace():
            block.append((number, line))
        elif block:
            yield Block(block[0][0], block[-1][0]), block
            block = []


def tag_id(language: str, name: str) -> str:
    """Return the id of a name without the language code, or "" if no letters or digits are left."""
    text = unicodedata.normalize("NFC", name)
    if not _CASE_KEPT.fullmatch(text):
        # Character by character, because Perl has no special form of a final sigma.
        text = text.lower() if text.isascii() else "".join(map(str.lower, text))
        text = text.replace(".", "-")
    if language in _UNACCENTED_LANGUAGES and not text.isascii():
        text = text.translate(_UNACCENT)
    if "&" in text:
        text = _ENTITY.sub("-", text)
    return _SEPARATORS.sub("-", text).strip("-")


def split_names(text: str) -> list[str]:
    r"""Split the names on a line; `\,` and a comma between digits belong to a name."""
    if "," not in text:
        return [text.strip()]
    text = _COMMA_IN_NUMBER.sub(rf"\1{_PROTECTED}\2", text).replace("\\,", _PROTECTED)
    return [name.replace(_PROTECTED, ",").strip() for name in _SEPARATOR.split(text)]


def plain_numerals(text: str) -> str:
    """Return a line without the parentheses of its first roman numeral."""
    return _ROMAN_NUMERAL.sub(r"\1", text, count=1) if "(" in text else text


def label_key(language: str, label: str) -> str:
    """Return the id, without language code, of a label that is the first name on its line."""
    return tag_id(language, plain_numerals(label))


def split_tag_ids(language: str, text: str) -> list[str]:
    """Return the ids of the names on a line."""
    return [tag_id(language, name) for name in split_names(plain_numerals(text))]


def escape_commas(name: str) -> str:
    r"""Write `\,` for every comma in a name that would separate names."""
    escaped = _LONE_COMMA.sub(r"\\,", name)
    return escaped if split_names(escaped) == [name] else name.replace(",", "\\,")


def reduced_tag_id(language: str, id: str, stopwords: Collection[str]) -> str:
    """Return an id without stop words and plural endings, which parent lines may omit."""
    endings = _PLURALS.get(language, "")
    words = [word for word in id.split("-") if word not in stopwords]
    return "-".join(word[:-1] if word[-1:] in tuple(endings) else word for word in words)

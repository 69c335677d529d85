"""The columns of a table, which are recognized by their headers or chosen by the user."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field

from taxoexpan.errors import ConfigurationError

COLUMN_NAMES: Mapping[str, tuple[str, ...]] = {
    "id": (
        *("id", "conceptid", "identifier", "uri", "code", "queryid", "uniqueid", "uid", "uuid"),
        *("iri", "concepturi", "notation", "termid", "categoryid", "categorycode", "classid"),
        "nodeid",
    ),
    "label": (
        *("label", "name", "term", "concept", "title", "query", "preflabel", "category"),
        *("preferredlabel", "preferredterm", "preferredname", "conceptname", "conceptlabel"),
        *("termname", "categoryname", "classlabel", "nodename"),
    ),
    "parents": (
        *("parents", "parent", "parentid", "parentids", "broader", "parentcode", "parenturi"),
        *("broaderid", "broaderuri", "broaderconcept", "parentconcept", "parentuniqueid"),
        *("parentterm", "parentcategory", "broaderterm", "superclass", "subclassof", "subtypeof"),
    ),
    "parent_label": ("parentlabel", "parentname", "broaderlabel", "broadername", "parenttitle"),
    "child": ("child", "childid", "hyponym", "narrower", "childlabel", "childname", "subclass"),
    "parent": (
        *("parent", "parentid", "hypernym", "broader", "parentlabel", "parentname", "superclass"),
    ),
    "path": ("path", "categorypath", "fullpath", "fullname", "overturetaxonomy"),
    "definition": ("definition", "description", "gloss", "definitions"),
    "synonyms": (
        *("synonyms", "synonym", "altlabel", "aliases", "altlabels", "alternativelabel"),
        *("alternativelabels", "alternativeterms", "alias"),
    ),
    "deprecated": ("deprecated", "obsolete", "isdeprecated", "isobsolete"),
    "codes": (),  # only if chosen: the ids, which also state the parents
}
"""The headers that each column may have, in the order of preference, as `_key` writes them."""

FIELD_COLUMNS = {
    "ids": "id",
    "labels": "label",
    "synonyms": "synonyms",
    "definitions": "definition",
    "deprecated": "deprecated",
}
"""The column of each field of a concept."""

LEVEL = re.compile(r"level([1-9]\d?)")
"""The name of a level column."""

_RELATIONS = frozenset({"parents", "parent_label", "child", "parent", "path", "codes"})
"""Columns that relate concepts; if the user chooses one, others are not recognized."""

_EXCLUDED = {
    "codes": frozenset({"id", "parents", "parent_label", "child", "path"}),
    "path": frozenset({"parents", "parent_label", "child"}),
}
"""The columns that cannot be chosen together with a column that states the relations."""

_ALIASES = {"parent": "parents", "synonym": "synonyms", "name": "label"}
_LEVEL_HEADER = re.compile(
    r"(?P<stem>(?:.* )?(?:level|tier|lvl|l|category)) ?(?P<number>\d{1,3})"
    r"(?P<tail>(?: (?:name|label|category|term|value|title))?)"
)
_CHOICE = re.compile(r'\s*(\w+)\s*=\s*("(?:[^"]|"")*"|[^,"]*)\s*(?:,|\Z)')
_EXAMPLE = 'id="Unique ID",label=Name,parent=3'


@dataclass(frozen=True)
class Columns:
    """The index of each known column; level columns are named `level1`, `level2` and so on."""

    indices: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, header: Sequence[str], chosen: Mapping[str, str]) -> Columns:
        """Find the columns of a header; if a chosen column is missing, no column has relations."""
        places = {name: find_column(header, text) for name, text in chosen.items() if text}
        indices = {name: index for name, index in places.items() if index is not None}
        if len(indices) < len(places):
            return cls({name: index for name, index in indices.items() if name in ("id", "label")})
        if "parents" in indices:
            indices["parent"] = indices["parents"]
        free = {key: i for i, key in reversed(list(enumerate(map(_key, header))))}
        free = {key: i for key, i in free.items() if i not in indices.values()}
        relations_are_chosen = any(name in _RELATIONS or LEVEL.fullmatch(name) for name in chosen)
        for name, keys in COLUMN_NAMES.items():
            if name not in chosen and not (relations_are_chosen and name in _RELATIONS):
                known = next((free[key] for key in keys if key in free), None)
                indices |= {} if known is None else {name: known}
        if "codes" in indices:
            return cls(indices | {"id": indices["codes"]})
        narrower = indices.get("child") if "child" not in chosen else None
        if "label" in indices and narrower is not None and _key(header[narrower]) == "narrower":
            del indices["child"]  # the column repeats what the parents of other rows state
        levels = _levels(header) if not any(map(LEVEL.fullmatch, chosen)) else []
        if not levels and chosen.keys().isdisjoint({"id", "label", "definition"}):
            _recognize_codes(indices, free)
        return cls(indices | {f"level{n}": index for n, index in enumerate(levels, start=1)})

    def has(self, *names: str) -> bool:
        """Return whether the table has all these columns."""
        return all(name in self.indices for name in names)

    @property
    def levels(self) -> tuple[str, ...]:
        """The names of the level columns, from the top, if there are at least two."""
        numbers = [int(m[1]) for m in map(LEVEL.fullmatch, self.indices) if m]
        names = tuple(f"level{number}" for number in sorted(numbers))
        return names if len(names) > 1 else ()

    @property
    def has_parents(self) -> bool:
        """Whether the table has one row per concept, with its parents."""
        named = self.has("id") or self.has("label") or bool(self.levels)
        return named and (self.has("parents") or self.has("parent_label"))

    @property
    def has_relations(self) -> bool:
        """Whether the columns state relations between concepts."""
        edges = self.has("child", "parent")
        chosen = self.has("path") or self.has("codes")
        return edges or self.has_parents or chosen or bool(self.levels)


def find_column(header: Sequence[str], text: str) -> int | None:
    """Return the index of the column with this header, or with this number, counted from 1."""
    if not text:
        return None
    exact = [i for i, cell in enumerate(header) if cell == text]
    same = exact or [i for i, cell in enumerate(header) if _key(cell) == _key(text) != ""]
    if same:
        return same[0]
    return int(text) - 1 if text.isdecimal() and 1 <= int(text) <= len(header) else None


def are_numbers(header: Sequence[str], chosen: Mapping[str, str]) -> bool:
    """Return whether columns are chosen only by number, so that no header is known."""
    texts = [text for text in chosen.values() if text]
    return bool(texts) and all(text.isdigit() and text not in header for text in texts)


def columns_text(columns: Mapping[str, str]) -> str:
    """Return the string from which `checked_columns` reads these columns."""
    quoted = {name: column.replace('"', '""') for name, column in columns.items()}
    return ",".join(f'{name}="{column}"' for name, column in quoted.items())


def checked_columns(chosen: str | Mapping[str, str | int]) -> dict[str, str]:
    """Check the chosen columns, such as `label=Name,parent=3`, and return them by usual name."""
    pairs = _parse_choice(chosen) if isinstance(chosen, str) else chosen.items()
    checked: dict[str, str] = {}
    for given, column in pairs:
        name = _ALIASES.get(given, given)
        text = str(column).strip()
        if name not in COLUMN_NAMES and not LEVEL.fullmatch(name):
            known = ", ".join(n for n in COLUMN_NAMES if n != "parents")
            message = f"there is no column {given!r}"
            raise ConfigurationError(message, fix=f"choose from {known}, level1, level2, …")
        if name in checked:
            raise ConfigurationError(f"the column {name} is chosen twice", fix="give it once")
        other = next((other for other, same in checked.items() if text and same == text), None)
        if other is not None:
            message = f"{given} and {other} are the same column"
            raise ConfigurationError(message, fix="choose a column of its own for each")
        checked[name] = text
    _refuse_two_relations({name for name, text in checked.items() if text})
    return checked


def _refuse_two_relations(chosen: Set[str]) -> None:
    """Refuse columns of which only one can state the relations."""
    for name, others in _EXCLUDED.items():
        unused = sorted(chosen & others)
        if name in chosen and unused:
            message = f"the column {name} states the relations, so {unused[0]} would not be read"
            raise ConfigurationError(message, fix="choose only one of both", option="columns")


def _parse_choice(text: str) -> Iterator[tuple[str, str]]:
    position = 0
    while position < len(text):
        match = _CHOICE.match(text, position)
        if match is None:
            message = f"{text[position:]!r} is not a list of columns"
            raise ConfigurationError(message, fix=f"write it like {_EXAMPLE}", option="columns")
        value = match[2].strip()
        yield match[1], value[1:-1].replace('""', '"') if value.startswith('"') else value
        position = match.end()


def _key(header: str) -> str:
    """Return a header without case, spaces, underscores and punctuation."""
    return re.sub(r"[\W_]+", "", header.casefold())


def _recognize_codes(indices: dict[str, int], free: Mapping[str, int]) -> None:
    """Read the only column of codes as ids, and their names or descriptions as labels."""
    if not indices.keys().isdisjoint({"label", "path", "child"}):
        return
    codes = [i for key, i in free.items() if key.endswith("code")]
    unknown = [i for i in codes if i not in indices.values()]
    if "id" not in indices and len(unknown) == 1:
        indices["id"] = unknown[0]
    if indices.get("id") in codes and free.get("description", -1) == indices.get("definition"):
        indices["label"] = indices.pop("definition")
        return
    names = [i for key, i in free.items() if key.endswith(("name", "title", "label", "category"))]
    unknown = [i for i in names if i not in indices.values()]
    if indices.get("id") in codes and len(unknown) == 1:
        indices["label"] = unknown[0]


def _levels(header: Sequence[str]) -> list[int]:
    """Return the first group of headers that differ only in a number, counted from 0 or 1."""
    groups: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for index, cell in enumerate(header):
        text = " ".join(re.split(r"[\W_]+", cell.casefold().strip()))
        match = _LEVEL_HEADER.fullmatch(text.strip())
        if match:
            group = groups.setdefault((match["stem"], match["tail"]), [])
            group.append((int(match["number"]), index))
    for (start, first), *rest in groups.values():
        levels = [first]
        for number, index in rest:
            if number == start + len(levels):
                levels.append(index)
            else:  # the levels of another taxonomy in the same table
                break
        if start < 2 and len(levels) > 1:
            return levels
    return []

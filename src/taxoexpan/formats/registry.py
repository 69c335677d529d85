"""The list of all formats, and the detection of the format of a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import NamedTuple

from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.formats.format import Format
from taxoexpan.formats.tables.path_layouts import MARKER
from taxoexpan.formats.tables.table import column_error, is_table, open_if_table
from taxoexpan.formats.text_file import TextFile


class Declaration(NamedTuple):
    """A format that is not imported yet: its class, its description and its suffixes."""

    place: str
    about: str
    suffixes: tuple[str, ...] = ()


class Formats(Mapping[str, Format]):
    """Formats by name, in the order of detection; each format is imported when needed."""

    def __init__(self, declarations: Mapping[str, Declaration]) -> None:
        self._declarations = declarations
        self._imported: dict[str, Format] = {}

    def __getitem__(self, name: str) -> Format:
        if name not in self._imported:
            place, about, suffixes = self._declarations[name]
            module, class_name = place.split(":")
            found = getattr(import_module(f"taxoexpan.formats.{module}"), class_name)
            self._imported[name] = found(name, about, suffixes)
        return self._imported[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._declarations)

    def __len__(self) -> int:
        return len(self._declarations)

    def __contains__(self, name: object) -> bool:
        return name in self._declarations

    def owner(self, suffix: str) -> str | None:
        """Return the name of the format that owns a suffix."""
        owners = (name for name, each in self._declarations.items() if suffix in each.suffixes)
        return next(owners, None)

    def table(self) -> str:
        """Return a list of all formats, with one line per format."""
        width = max(map(len, self))
        return "\n".join(f"  {n:<{width}}  {each.about}" for n, each in self._declarations.items())


FORMATS = Formats(
    {
        "terms": Declaration(
            "terms:TermsFormat",
            "NAME.terms (id⇥name) and NAME.taxo (parent id⇥child id)",
            (".terms", ".taxo"),
        ),
        "wordnet": Declaration(
            "wordnet:WordNetFormat",
            "a directory with WordNet's data.noun and index.noun, data.verb and index.verb",
        ),
        "obo": Declaration(
            "obo:OboFormat",
            "[Term] stanzas with id, name, def, synonym and is_a, as in OBO ontologies",
            (".obo",),
        ),
        "owl": Declaration(
            "rdf.owl:OwlFormat",
            "OWL or RDFS classes in RDF/XML (.owl, .rdf), Turtle or another syntax of RDF",
            (".owl",),
        ),
        "skos": Declaration(
            "rdf.skos:SkosFormat",
            "SKOS in Turtle (.ttl), RDF/XML (.rdf), JSON-LD, N-Triples, TriG or N-Quads (.nq)",
            (".ttl", ".nt", ".rdf", ".xml", ".jsonld", ".nq", ".trig"),
        ),
        "obographs": Declaration(
            "obographs:OboGraphsFormat",
            "OBO Graphs, the JSON of ROBOT and OAK: graphs with nodes and is_a edges",
        ),
        "json": Declaration(
            "json.json_format:JsonFormat",
            "objects with children, objects with parents (also one per line), or nodes and edges",
            (".json", ".jsonl", ".ndjson"),
        ),
        "openfoodfacts": Declaration(
            "openfoodfacts.openfoodfacts_format:OpenFoodFactsFormat",
            "taxonomies of Open Food Facts: lines '< en: parent' and 'en: name, synonym'",
        ),
        "paths": Declaration(
            "tables.paths:PathsFormat",
            "lines A > B > C, also after an id; a table with path, or level 1, level 2, …",
            (".txt",),
        ),
        "edges": Declaration(
            "tables.edges:EdgesFormat",
            "a table child,parent; a label is its own id; a root has an empty parent",
        ),
        "rows": Declaration(
            "tables.rows:RowsFormat",
            "a table id,label,parents,definition,synonyms; several values in a cell: a|b",
            (".csv", ".tsv", ".tab", ".xlsx"),
        ),
        "outline": Declaration(
            "outline.outline_format:OutlineFormat",
            "lines indented below others, lists with bullets or numbers, Markdown headings",
            (".md", ".markdown"),
        ),
    }
)
"""In the order of detection: the most specific formats come first."""

TABLES = ("paths", "edges", "rows")
"""The formats of tables; the header decides between them, and no other cell."""

RDF = ("owl", "skos")
"""The formats of RDF files, whose statements decide between them."""

PLAIN_SUFFIXES = frozenset({".csv", ".txt", ""})
"""Suffixes that do not determine the format."""

MIND_MAPS = (".opml", ".mm", ".xmind")
"""Suffixes of OPML files and mind maps, which can be exported as outlines."""

SUGGESTION_COLUMNS = frozenset({"query", "query_id", "rank", "parent_id"})
"""The columns by which a table of suggestions is recognized."""


def find_format(file: TextFile, name: str | None = None) -> Format:
    """Return the format of a file, which is detected unless a name is given."""
    if file.is_directory:
        wordnet = FORMATS["wordnet"]
        if wordnet.can_read(file) and name in (None, wordnet.name):
            return wordnet
        message = "this is a directory, but neither WordNet nor a complete model"
        raise FormatError(file.path, message, fix="give a file")
    if name is not None:
        return named_format(name)
    # The columns of suggestions could be read as a taxonomy.
    table = open_if_table(file) if is_table(file) and not file.options.columns else None
    if table is not None and SUGGESTION_COLUMNS.issubset(table.header):
        message = "this is a table of suggestions, not a taxonomy"
        raise FormatError(
            file.path, message, fix="check the order of the arguments", line=table.line
        )
    if file.suffix in MIND_MAPS:
        message = "OPML files and mind maps are not read"
        raise FormatError(file.path, message, fix="export it as Markdown or indented text")
    for candidate in _candidates(file):
        if FORMATS[candidate].can_read(file):
            return FORMATS[candidate]
    raise _unrecognized(file)


def named_format(name: str) -> Format:
    """Return the format with this name."""
    if name not in FORMATS:
        known = ", ".join(FORMATS)
        raise ConfigurationError(f"there is no format {name!r}", fix=f"choose one of {known}")
    return FORMATS[name]


def _candidates(file: TextFile) -> list[str]:
    """Return the formats to try; the owner of the suffix is first, so content cannot change it."""
    if file.text.startswith(MARKER):
        return ["paths"]
    owner = FORMATS.owner(file.suffix)
    if is_table(file) or (file.options.columns and owner is None):
        return list(TABLES)
    if file.suffix in PLAIN_SUFFIXES or owner is None:
        return list(FORMATS)
    if owner in RDF:
        return list(RDF)
    return [owner, *(name for name in FORMATS if name != owner)]


def _unrecognized(file: TextFile) -> FormatError:
    """Return an error that lists the columns of a table, or else all formats."""
    if "\r" in file.text and "\n" not in file.text:
        message = "the lines end with CR, as Excel for Mac can save them"
        return FormatError(file.path, message, fix="save the file with LF")
    table = open_if_table(file) if is_table(file) or file.options.columns else None
    if table is not None and (len(table.header) > 1 or file.options.columns):
        return column_error(table, "; ".join([table.problem, *file.remarks]))
    if file.delimiter:
        message = "; ".join(["the sheet has only one column", *file.remarks])
        return FormatError(file.path, message)
    fix = f"if it is one of these, name it with the option format:\n{FORMATS.table()}"
    return FormatError(file.path, "the format is not recognized", fix=fix)

"""New concepts in a JSON file: the text of their objects, and where each is inserted."""

from __future__ import annotations

from collections.abc import Sequence

from taxoexpan.errors import FormatError
from taxoexpan.formats.json.conventions import INTEGER, Conventions
from taxoexpan.formats.json.edit import add_synonyms, move_children
from taxoexpan.formats.json.parser import Array, Object
from taxoexpan.formats.json.schema import SEPARATOR, JsonConcepts, find_key
from taxoexpan.formats.tables.table_file import labels_as_ids
from taxoexpan.formats.text_file import Insertion
from taxoexpan.taxonomy import Additions, Concept, Taxonomy


def insert_additions(
    concepts: JsonConcepts, expanded: Taxonomy, additions: Additions
) -> list[Insertion]:
    """Return the insertions for a file that was parsed with positions."""
    inserter = _Inserter(concepts, expanded, additions)
    conventions = inserter.conventions
    insertions = inserter.nested() if conventions.nests else inserter.flat()
    return [
        *(insertion for insertion in insertions if insertion.text),
        *move_children(concepts, additions.moves, inserter.format_id),
        *add_synonyms(concepts, inserter.style, conventions.keys["synonyms"], additions.names),
    ]


class _Inserter:
    """Formats the additions in the conventions and the style of the file."""

    def __init__(self, concepts: JsonConcepts, expanded: Taxonomy, additions: Additions) -> None:
        self.concepts, self.path = concepts, concepts.source.path
        self.conventions = Conventions(concepts)
        self.style = self.conventions.style()
        self.new = {concept.id: concept for concept in additions.concepts}
        self.relations = additions.relations
        self.parents: dict[str, list[str]] = {id: [] for id in self.new}
        self.children: dict[str, list[str]] = {}
        for parent, child in additions.relations:
            self.parents[child].append(parent)
            self.children.setdefault(parent, []).append(child)
        self.old_parents = [parent for parent in self.children if parent not in self.new]
        order = (expanded.ids[index] for index in expanded.topological_order.tolist())
        self.parents_first = [id for id in order if id in self.new]
        self._refuse_unsupported()
        self.written_ids: dict[str, str] = {}
        if not concepts.has_ids:
            nests = self.conventions.nests
            self.written_ids = (
                self._paths() if nests else labels_as_ids(concepts.source, expanded, additions)
            )

    def flat(self) -> list[Insertion]:
        """Append every new object to the list of concepts, and its relations where they belong."""
        style, root_list, edges = self.style, self.concepts.root_list, self.concepts.edges
        assert isinstance(root_list, Array)
        indent = style.entry_indent(root_list)
        lists_children = self.conventions.lists_children
        rows = []
        for id, concept in self.new.items():
            children = self._format_ids(self.children.get(id, ())) if lists_children else ()
            rows.append(self._object(concept, indent, children))
        insertions = [style.append(root_list, rows, style.multiline_rows)]
        if isinstance(edges, Array):
            lines = [self._edge(edges, parent, child) for parent, child in self.relations]
            insertions.append(style.append(edges, lines, style.multiline_rows))
        if lists_children:
            for parent in self.old_parents:
                ids = self._format_ids(self.children[parent])
                insertions += [self._add_children(entry, ids) for entry in self._objects(parent)]
        return insertions

    def nested(self) -> list[Insertion]:
        """Put every new object into its first parent, and a short reference into the others."""
        style, root_list = self.style, self.concepts.root_list
        indents: dict[str, str] = {}
        for id in self.parents_first:
            indents[id] = self._nested_indent(id, indents)
        texts: dict[str, str] = {}

        def child_texts(parent: str, indent: str, in_full: bool = True) -> list[str]:
            return [
                texts[child]
                if in_full and self.parents[child][0] == parent
                else self._object(self.new[child], indent, in_full=False)
                for child in self.children.get(parent, ())
            ]

        for id in reversed(self.parents_first):
            inner = style.deeper(indents[id], style.multiline_objects, style.multiline_rows)
            texts[id] = self._object(self.new[id], indents[id], child_texts(id, inner))
        insertions = []
        roots = [texts[id] for id in self.new if not self.parents[id]]
        if roots and isinstance(root_list, Array):
            insertions.append(style.append(root_list, roots, style.multiline_rows))
        for parent in self.old_parents:
            for number, entry in enumerate(self._objects(parent)):
                parts = child_texts(parent, self._child_indent(entry), in_full=number == 0)
                insertions.append(self._add_children(entry, parts))
        return insertions

    def _nested_indent(self, id: str, indents: dict[str, str]) -> str:
        """Return the indentation of a new object in its first parent or in the list of roots."""
        style, root_list = self.style, self.concepts.root_list
        if self.parents[id]:
            parent = self.parents[id][0]
            if parent in indents:
                return style.deeper(indents[parent], style.multiline_objects, style.multiline_rows)
            return self._child_indent(self._objects(parent)[0])
        if isinstance(root_list, Array):
            return style.entry_indent(root_list)
        message = f"the file can hold only one root; choose a parent for {self.new[id].label!r}"
        raise FormatError(self.path, message)

    def _objects(self, parent: str) -> list[Object]:
        """Return the objects of an old concept that list its children, or one that can do so."""
        objects = self.concepts.objects_by_id[parent]
        listing = [entry for entry in objects if find_key(entry, "children")]
        free = [entry for entry in objects if self.conventions.keys["children"] not in entry]
        with_label = [entry for entry in free if find_key(entry, "label")]
        if not listing and not free:
            message = f"the children of {parent!r} are null; write [] instead"
            raise FormatError(self.path, message, objects[0].line)
        return listing or with_label[:1] or free[:1]

    def _child_indent(self, entry: Object) -> str:
        """Return the indentation of an object that is added to the children of an old concept."""
        style, key = self.style, find_key(entry, "children")
        if key:
            return style.entry_indent(entry[key])
        indent = style.indent_at(entry.start)
        return style.deeper(indent, style.is_multiline(entry), style.multiline_rows)

    def _add_children(self, entry: Object, parts: Sequence[str]) -> Insertion:
        style, key = self.style, find_key(entry, "children")
        if key:
            return style.append(entry[key], parts, self._multiline_children)
        children = style.new_list(entry, parts, self._multiline_children)
        return style.add_member(entry, self.conventions.keys["children"], children)

    @property
    def _multiline_children(self) -> bool:
        style = self.style
        return style.multiline_rows if self.conventions.nests else style.multiline_words

    def _object(
        self, concept: Concept, indent: str, children: Sequence[str] = (), in_full: bool = True
    ) -> str:
        """Format a concept as an object, with the keys in the order of the file."""
        style, keys, required = self.style, self.conventions.keys, self.conventions.required
        inner = style.deeper(indent, style.multiline_objects)
        fields = {"id": self.format_id(concept.id)} if self.concepts.has_ids else {}
        fields["label"] = style.scalar(concept.label)
        if in_full:
            fields |= {
                field: text
                for field, (has_value, text) in self._details(concept, inner).items()
                if has_value or field in required
            }
            if children or "children" in required:
                fields["children"] = style.enclose("[]", children, inner, self._multiline_children)
        order = list(self.conventions.sample)
        members = sorted(
            ((keys[field], text) for field, text in fields.items()),
            key=lambda member: order.index(member[0]) if member[0] in order else len(order),
        )
        return style.object(members, indent, style.multiline_objects)

    def _details(self, concept: Concept, indent: str) -> dict[str, tuple[bool, str]]:
        """Return, for each optional field, whether the concept has a value, and its JSON text."""
        style, names_parents = self.style, self.conventions.names_parents
        parents = self._format_ids(self.parents[concept.id]) if names_parents else []
        synonyms = [style.scalar(name) for name in concept.synonyms]
        parent_list, synonym_list = (
            style.enclose("[]", values, indent, style.multiline_words)
            for values in (parents, synonyms)
        )
        first_parent = parents[0] if parents else "null"
        return {
            "parents": (
                bool(parents),
                first_parent if self.conventions.single_parent else parent_list,
            ),
            "synonyms": (bool(synonyms), synonym_list),
            "definition": (bool(concept.definition), style.scalar(concept.definition)),
            "deprecated": (concept.deprecated, style.scalar(concept.deprecated)),
        }

    def _edge(self, edges: Array, parent: str, child: str) -> str:
        """Format a relation like the first edge of the file."""
        style = self.style
        ends = {"parent": self.format_id(parent), "child": self.format_id(child)}
        sample = edges[0] if edges else Object(0, 0)
        multiline = style.is_multiline(sample) if edges else style.multiline_objects
        indent = style.entry_indent(edges)
        if isinstance(sample, Array):
            return style.enclose("[]", list(ends.values()), indent, multiline)
        keys = {end: find_key(sample, end) or end for end in ends}
        order = sorted(ends, key=lambda end: [*sample, *keys.values()].index(keys[end]))
        return style.object([(keys[end], ends[end]) for end in order], indent, multiline)

    def _format_ids(self, ids: Sequence[str]) -> list[str]:
        return [self.format_id(id) for id in ids]

    def format_id(self, id: str) -> str:
        """Return an id as the file writes it: a string, or a number in files with numeric ids."""
        written = self.written_ids.get(id, id)
        is_number = self.conventions.integer_ids and INTEGER.fullmatch(written)
        return written if is_number else self.style.scalar(written)

    def _paths(self) -> dict[str, str]:
        """Return the path of each new concept, which is its id in a file without ids."""
        paths: dict[str, str] = {}
        taken = set(self.concepts.ids)
        for id in self.parents_first:
            label, parents = self.new[id].label, self.parents[id]
            if len(parents) > 1:
                message = f"a concept without an id has one parent, but {label!r} was given several"
                raise FormatError(self.path, f"{message}; choose one")
            path = label
            if parents:
                path = f"{paths.get(parents[0], parents[0])}{SEPARATOR}{label}"
            if path in taken:
                message = f"the path {path!r} would occur twice; rename the new concept"
                raise FormatError(self.path, message)
            taken.add(path)
            paths[id] = path
        return paths

    def _refuse_unsupported(self) -> None:
        """Refuse concepts that would not be read back unchanged."""
        conventions = self.conventions
        for concept in self.new.values():
            texts = [concept.id, concept.label, concept.definition, *concept.synonyms]
            invalid = [text for text in texts if text != text.strip() or "\0" in text]
            if invalid or not concept.label:
                message = f"the new concept {concept.label!r} has the text {(invalid or [''])[0]!r}"
                raise FormatError(self.path, f"{message}; remove the outer spaces")
            if conventions.integer_ids and not INTEGER.fullmatch(concept.id):
                message = f"the ids of this file are integers, but {concept.id!r} is not"
                raise FormatError(self.path, f"{message}; give {concept.label!r} another id")
            count = len(self.parents[concept.id])
            if count > 1 and conventions.names_parents and conventions.single_parent:
                key = conventions.keys["parents"]
                message = f"{key!r} holds one parent, but {concept.label!r} was given {count}"
                raise FormatError(self.path, f"{message}; choose one")

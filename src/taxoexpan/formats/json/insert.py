"""New concepts in a JSON file: the text of their objects, and where each is inserted."""

from __future__ import annotations

from collections.abc import Sequence

from taxoexpan.errors import FormatError
from taxoexpan.formats.json.conventions import INTEGER, Conventions
from taxoexpan.formats.json.edit import add_synonyms, move_children, replace_value
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
        *move_children(concepts, additions.moves, inserter.format_id, inserter.format_label),
        *add_synonyms(concepts, inserter.style, conventions.keys["synonyms"], additions.names),
    ]


class _Inserter:
    """Formats the additions in the conventions and the style of the file."""

    def __init__(self, concepts: JsonConcepts, expanded: Taxonomy, additions: Additions) -> None:
        self.concepts, self.path = concepts, concepts.source.path
        self.expanded = expanded
        self.root_lists: list[Array] = [
            entries for entries in concepts.root_lists if isinstance(entries, Array)
        ]
        self.top_objects: dict[str, tuple[int, Object]] = {
            concepts.named_id(entry): (number, entry)
            for number, entries in enumerate(self.root_lists)
            for entry in entries
        }
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
        """Append every new object to a list of concepts, and its relations where they belong."""
        style, edges = self.style, self.concepts.edges
        lists_children = self.conventions.lists_children
        rows: dict[int, list[str]] = {}
        for id, concept in self.new.items():
            number = self._root_list(id)
            indent = style.entry_indent(self.root_lists[number])
            inner = style.deeper(indent, style.multiline_objects, self._multiline_children)
            below = self.children.get(id, ()) if lists_children else ()
            children = [self._child_reference(child, inner) for child in below]
            rows.setdefault(number, []).append(self._object(concept, indent, children))
        insertions = [
            style.append(self.root_lists[number], texts, style.multiline_rows)
            for number, texts in rows.items()
        ]
        if isinstance(edges, Array):
            lines = [self._edge(edges, parent, child) for parent, child in self.relations]
            insertions.append(style.append(edges, lines, style.multiline_rows))
        for parent in self.old_parents if lists_children else ():
            for entry in self._objects(parent):
                indent = self._child_indent(entry)
                below = self.children[parent]
                parts = [self._child_reference(child, indent) for child in below]
                insertions.append(self._add_children(entry, parts))
        return insertions

    def _root_list(self, id: str) -> int:
        """Return the number of the root list with the first parent of a new concept."""
        while self.parents.get(id):
            id = self.parents[id][0]
        return self.top_objects[id][0] if id in self.top_objects else len(self.root_lists) - 1

    def nested(self) -> list[Insertion]:
        """Put every new object into its first parent, and a short reference into the others.

        In a file that repeats whole concepts, it goes in full under every copy of every parent.
        """
        indents = self._indents_in_full()
        texts: dict[tuple[str, str], str] = {}

        def child_texts(parent: str, indent: str, in_full: bool) -> list[str]:
            return [
                texts[child, indent]
                if self.conventions.copies or (in_full and self.parents[child][0] == parent)
                else self._object(self.new[child], indent, in_full=False)
                for child in self.children.get(parent, ())
            ]

        for id in reversed(self.parents_first):
            for indent in indents[id]:
                children = child_texts(id, self._deeper(indent), in_full=True)
                texts[id, indent] = self._object(self.new[id], indent, children)
        insertions = []
        roots = [id for id in self.new if not self.parents[id]]
        if roots:
            root_list = self.root_lists[-1]
            indent = self.style.entry_indent(root_list)
            parts = [texts[id, indent] for id in roots]
            insertions.append(self.style.append(root_list, parts, self.style.multiline_rows))
        for parent in self.old_parents:
            for number, entry in enumerate(self._objects(parent)):
                parts = child_texts(parent, self._child_indent(entry), in_full=number == 0)
                insertions.append(self._add_children(entry, parts))
        return insertions

    def _indents_in_full(self) -> dict[str, set[str]]:
        """Return the indentations at which each new object is written in full."""
        indents: dict[str, set[str]] = {}
        for id in self.parents_first:
            places = indents.setdefault(id, set())
            if not self.parents[id]:
                places.add(self._root_indent(id))
            for parent in self.parents[id] if self.conventions.copies else self.parents[id][:1]:
                if parent in indents:
                    places.update(map(self._deeper, indents[parent]))
                else:
                    entries = self._objects(parent)
                    places.update(map(self._child_indent, entries))
        return indents

    def _deeper(self, indent: str) -> str:
        """Return the indentation of the children of a new object."""
        style = self.style
        return style.deeper(indent, style.multiline_objects, style.multiline_rows)

    def _root_indent(self, id: str) -> str:
        if self.root_lists:
            return self.style.entry_indent(self.root_lists[-1])
        message = f"the file can hold only one root; choose a parent for {self.new[id].label!r}"
        raise FormatError(self.path, message)

    def _objects(self, parent: str) -> list[Object]:
        """Return the objects of an old concept that list its children, or one that can do so."""
        objects = self.concepts.objects_by_id.get(parent, [])
        if not objects:
            message = f"{parent!r} has no object of its own, so it cannot get children"
            raise FormatError(self.path, f"{message}; add one, or choose another parent")
        if self.conventions.nests and self.conventions.copies:
            return objects
        if self.conventions.lists_children and parent in self.top_objects:
            return [self.top_objects[parent][1]]
        listing = [entry for entry in objects if find_key(entry, "children")]
        with_label = [entry for entry in objects if find_key(entry, "label")]
        return listing or with_label[:1] or objects[:1]

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
        new_key = self.conventions.keys["children"]
        if new_key in entry:
            return replace_value(style.text, entry, new_key, children)
        return style.add_member(entry, new_key, children)

    @property
    def _multiline_children(self) -> bool:
        by_objects = self.conventions.nests or self.conventions.child_object is not None
        return self.style.multiline_rows if by_objects else self.style.multiline_words

    def _object(
        self, concept: Concept, indent: str, children: Sequence[str] = (), in_full: bool = True
    ) -> str:
        """Format a concept as an object, with the keys in the order of the file."""
        style, keys = self.style, self.conventions.keys
        inner = style.deeper(indent, style.multiline_objects)
        fields = {"id": self.format_id(concept.id)} if self.concepts.has_ids else {}
        fields["label"] = style.scalar(concept.label)
        if in_full:
            values = self._details(concept, inner)
            if children:
                values["children"] = style.enclose("[]", children, inner, self._multiline_children)
            fields |= {**self.conventions.empty, **values}
        others = self.conventions.other_empty if in_full else {}
        order = list(self.conventions.sample)
        members = sorted(
            [*((keys[field], text) for field, text in fields.items()), *others.items()],
            key=lambda member: order.index(member[0]) if member[0] in order else len(order),
        )
        return style.object(members, indent, style.multiline_objects)

    def _details(self, concept: Concept, indent: str) -> dict[str, str]:
        """Return the JSON text of each optional field that has a value."""
        style, conventions = self.style, self.conventions
        sample = conventions.parent_object
        by_objects = sample is not None
        multiline = by_objects and style.is_multiline(sample)
        in_list = style.deeper(indent, style.multiline_words and not conventions.single_parent)
        parents = [
            self._reference(sample, id, in_list if multiline else indent)
            for id in (self.parents[concept.id] if conventions.names_parents else ())
        ]
        synonyms = [style.scalar(name) for name in concept.synonyms]
        parent_list, synonym_list = (
            style.enclose("[]", values, indent, style.multiline_words)
            for values in (parents, synonyms)
        )
        values = {
            "parents": (parents[0] if conventions.single_parent else parent_list)
            if parents
            else "",
            "synonyms": synonym_list if synonyms else "",
            "definition": style.scalar(concept.definition) if concept.definition else "",
            "deprecated": style.scalar(concept.deprecated) if concept.deprecated else "",
        }
        return {field: text for field, text in values.items() if text}

    def _child_reference(self, id: str, indent: str) -> str:
        return self._reference(self.conventions.child_object, id, indent)

    def _reference(self, sample: Object | None, id: str, indent: str) -> str:
        """Format a reference to a concept: its id, or an object with the keys of the sample."""
        if sample is None:
            return self.format_id(id)
        members = []
        for field, value in (("id", self.format_id(id)), ("label", self.format_label(id))):
            key = find_key(sample, field)
            members += [(key, value)] if key else []
        members.sort(key=lambda member: list(sample).index(member[0]))
        return self.style.object(members, indent, self.style.is_multiline(sample))

    def format_label(self, id: str) -> str:
        """Return the label of a concept as JSON text."""
        return self.style.scalar(self.expanded.concept(id).label)

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

"""Insertion of new concepts, moves and synonyms into a JSON file, in its conventions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from taxoexpan.errors import FormatError
from taxoexpan.formats.format import labels_as_ids
from taxoexpan.formats.json.document import Array, Number, Object
from taxoexpan.formats.json.editor import JsonEditor, in_order
from taxoexpan.formats.json.schema import KEYS, JsonConcepts, find_key
from taxoexpan.formats.text_file import Insertion
from taxoexpan.taxonomy import Additions, Concept, Taxonomy

_EMPTY: tuple[Any, ...] = (None, "", [], {}, False)
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")


class Inserter:
    """The additions to a file that was parsed with positions, in the conventions of the file."""

    def __init__(self, concepts: JsonConcepts, expanded: Taxonomy, additions: Additions) -> None:
        self.concepts = concepts
        self.path = concepts.source.path
        self.expanded = expanded
        self.additions = additions
        self.root_lists = [each for each in concepts.root_lists if isinstance(each, Array)]
        self.top_objects: dict[str, tuple[int, Object]] = {
            concepts.named_id(entry): (number, entry)
            for number, entries in enumerate(self.root_lists)
            for entry in entries
        }
        self.conventions = _Conventions(concepts)
        self.keys = self.conventions.keys
        self.language_keys = {each: concepts.language_key(each) for each in ("label", "definition")}
        rows = next(filter(None, [*self.root_lists, *map(concepts.children, concepts.objects)]), [])
        lists = dict.fromkeys((self.keys["children"], self.keys["edges"]), rows)
        self.editor = JsonEditor(concepts.source, concepts.objects, lists)
        self.new = {concept.id: concept for concept in additions.concepts}
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
        if not concepts.has_ids and not self.conventions.nests:
            self.written_ids = labels_as_ids(concepts.source, expanded, additions)

    def insertions(self) -> list[Insertion]:
        """Return all insertions."""
        added = self.nested() if self.conventions.nests else self.flat()
        return [*added, *self.moves(), *self.synonyms()]

    def flat(self) -> Iterator[Insertion]:
        """Append every new object to a list of concepts, and add its relations."""
        rows: dict[int, list[Any]] = {}
        for id, concept in self.new.items():
            root = id  # a new object is in the list of its first old ancestor
            while self.parents.get(root):
                root = self.parents[root][0]
            number, _ = self.top_objects.get(root, (len(self.root_lists) - 1, None))
            rows.setdefault(number, []).append(self._object(concept, self._references(id)))
        for number, entries in rows.items():
            yield from self.editor.append(self.root_lists[number], entries)
        edges = self.concepts.edges
        if isinstance(edges, Array):
            entries = [self._edge(edges, *relation) for relation in self.additions.relations]
            yield from self.editor.append(edges, entries, self.keys["edges"])
        for parent in self.old_parents if self.conventions.lists_children else ():
            for entry in self._objects(parent):
                yield from self._add_children(entry, self._references(parent))

    def nested(self) -> Iterator[Insertion]:
        """Put each new object into its first parent, and a reference (or copy) into the others."""
        full: dict[str, dict[str, Any]] = {}

        def children(parent: str, in_full: bool) -> list[Any]:
            return [
                full[child]
                if self.conventions.copies or (in_full and self.parents[child][0] == parent)
                else self._named(child)
                for child in self.children.get(parent, ())
            ]

        for id in reversed(self.parents_first):
            full[id] = self._object(self.new[id], children(id, in_full=True))
        roots = [id for id in self.new if not self.parents[id]]
        if roots and not self.root_lists:
            label = self.new[roots[0]].label
            message = "the file can hold only one root"
            raise FormatError(self.path, message, fix=f"choose a parent for {label!r}")
        if roots:
            yield from self.editor.append(self.root_lists[-1], [full[id] for id in roots])
        for parent in self.old_parents:
            for number, entry in enumerate(self._objects(parent)):
                yield from self._add_children(entry, children(parent, in_full=number == 0))

    def moves(self) -> Iterator[Insertion]:
        """Replace the old parent in children and edges, which name it by id or by an object."""
        new_parents = {(m.old_parent, m.child): m.new_parent for m in self.additions.moves}
        stated = (each for listed in self.concepts.relations() for each in listed)
        for parent, child, container, key, names_parent in stated if new_parents else ():
            new = new_parents.get((parent, child)) if names_parent else None
            if new is None or key is None:
                continue
            if not isinstance(container[key], Object):
                yield self.editor.set(container, key, self._id(new))
                continue
            for field, value in (("id", self._id(new)), ("label", self._label(new))):
                inner = find_key(container[key], field)
                if inner is not None:
                    yield self.editor.set(container[key], inner, value)

    def synonyms(self) -> Iterator[Insertion]:
        """Add synonyms to every list of synonyms of a concept, or to a new list."""
        for id, names in self.additions.names.items():
            entries = self.concepts.objects_by_id.get(id, [])
            with_synonyms = [entry for entry in entries if find_key(entry, "synonyms")]
            for entry in with_synonyms or self._first_labelled(entries):
                key = find_key(entry, "synonyms") or self.keys["synonyms"]
                yield from self.editor.add(entry, key, names)

    def _objects(self, parent: str) -> list[Object]:
        """Return the objects of an old concept that list its children, or one that can do so."""
        objects = self.concepts.objects_by_id.get(parent, [])
        if not objects:
            message = f"{parent!r} has no object of its own, so it cannot get children"
            raise FormatError(self.path, message, fix="add one, or choose another parent")
        if self.conventions.nests and self.conventions.copies:
            return objects
        if self.conventions.lists_children and parent in self.top_objects:
            return [self.top_objects[parent][1]]
        listing = [entry for entry in objects if find_key(entry, "children")]
        return listing or self._first_labelled(objects)

    def _first_labelled(self, objects: Sequence[Object]) -> list[Object]:
        """Return the first object with a label, or else the first object."""
        labelled = [entry for entry in objects if find_key(entry, "label")]
        return (labelled or list(objects))[:1]

    def _add_children(self, entry: Object, values: Sequence[Any]) -> list[Insertion]:
        key = find_key(entry, "children") or self.keys["children"]
        return self.editor.add(entry, key, values)

    def _named(self, id: str) -> dict[str, Any]:
        """Return a new concept as an object with only its id and its label."""
        ids = {self.keys["id"]: self._id(id)} if self.concepts.has_ids else {}
        return in_order({**ids, self.keys["label"]: self._label(id)}, self.conventions.sample)

    def _object(self, concept: Concept, children: Sequence[Any]) -> dict[str, Any]:
        """Return a concept as an object, with its keys in the order of the file."""
        conventions = self.conventions
        ids = self.parents[concept.id] if conventions.names_parents else ()
        parents = [self._reference(conventions.parent_object, id) for id in ids]
        fields = {
            "parents": parents[0] if conventions.single_parent and parents else parents,
            "synonyms": list(concept.synonyms),
            "definition": self._translated("definition", concept.definition),
            "deprecated": concept.deprecated,
            "children": list(children),
        }
        values = {self.keys[field]: value for field, value in fields.items() if value}
        named = self._named(concept.id)
        return in_order({**conventions.empty, **named, **values}, conventions.sample)

    def _references(self, parent: str) -> list[Any]:
        """Return references to the new children of a concept, if the file lists children."""
        children = self.children.get(parent, ()) if self.conventions.lists_children else ()
        return [self._reference(self.conventions.child_object, child) for child in children]

    def _reference(self, sample: Object | None, id: str) -> Any:
        """Return a reference to a concept: its id, or an object with the keys of the sample."""
        if sample is None:
            return self._id(id)
        values = {"id": self._id(id), "label": self._label(id)}
        keys = {find_key(sample, field): value for field, value in values.items()}
        return in_order({key: value for key, value in keys.items() if key}, sample)

    def _edge(self, edges: Array, parent: str, child: str) -> Any:
        """Return a relation in the form of the first edge of the file."""
        ends = {"parent": self._id(parent), "child": self._id(child)}
        sample = edges[0] if edges else {}
        if isinstance(sample, Array):
            return list(ends.values())
        return in_order({find_key(sample, end) or end: id for end, id in ends.items()}, sample)

    def _label(self, id: str) -> Any:
        return self._translated("label", self.expanded.concept(id).label)

    def _translated(self, field: str, text: str) -> Any:
        """Return a text as the file writes it: in quotes, or in an object by language."""
        key = self.language_keys[field]
        return {key: text} if key and text else text

    def _id(self, id: str) -> str:
        """Return an id as the file writes it: as a string, or as a number if ids are numeric."""
        written = self.written_ids.get(id, id)
        is_number = self.conventions.integer_ids and _INTEGER.fullmatch(written)
        return Number(written) if is_number else written

    def _refuse_unsupported(self) -> None:
        """Refuse concepts that would not be read back unchanged."""
        conventions = self.conventions
        for concept in self.new.values():
            if conventions.integer_ids and not _INTEGER.fullmatch(concept.id):
                message = f"the ids of this file are integers, but {concept.id!r} is not"
                raise FormatError(self.path, message, fix=f"give {concept.label!r} another id")
            is_path = conventions.nests and not self.concepts.has_ids
            is_single = is_path or (conventions.names_parents and conventions.single_parent)
            if len(self.parents[concept.id]) > 1 and is_single:
                message = f"a concept of this file has one parent, but {concept.label!r} was given"
                raise FormatError(self.path, f"{message} several", fix="choose one")


class _Conventions:
    """The keys of a file, the type of its ids, and the representation of relations.

    `keys` has the key of each field; `empty` has the value of each key that is present without
    content. Relations are edges, nesting (`nests`), or references to children (`lists_children`) or
    parents (`names_parents`), by id or by an object like `child_object` or `parent_object`.
    `copies` means that a nested file repeats whole concepts; `sample` has the usual order of keys.
    """

    def __init__(self, concepts: JsonConcepts) -> None:
        self.concepts = concepts
        indices = range(len(concepts.objects))
        references = concepts.references
        full: list[Any] = [concepts.objects[i] for i in sorted({*indices} - {*references})]
        leaves = [entry for entry in full if not concepts.children(entry)] or full
        leaves = list(filter(concepts.parents, leaves)) or leaves
        self.sample: Any = leaves[0] if leaves else concepts.objects[0]
        self.keys = {field: self._used_key(field) or names[0] for field, names in KEYS.items()}
        ids = [entry[key] for entry in concepts.objects if (key := find_key(entry, "id"))]
        integers = [isinstance(id, Number) and _INTEGER.fullmatch(id) for id in ids]
        self.integer_ids = bool(ids) and all(integers)
        self.child_object: Any = next((concepts.objects[i] for i in references), None)
        places = (place for e in concepts.objects for place in concepts.places(e, "parents"))
        parents = (container[key] for container, key in places)
        self.parent_object: Any = next((each for each in parents if isinstance(each, dict)), None)
        has_edges = concepts.edges is not None
        listed = (child for entry in concepts.objects for child in concepts.children(entry))
        by_ids = any(isinstance(child, str) for child in listed) or bool(references)
        nested = sum(outer >= 0 for outer in concepts.nested_in) > len(references)
        # Without any other sign of relations, lists of children count even if all are empty.
        has_lists = self._used_key("children")
        names_parents = self._used_key("parents") is not None
        only_empty_lists = has_lists and not names_parents and not by_ids
        is_tree = nested or not concepts.root_lists or only_empty_lists
        self.nests = not has_edges and bool(is_tree)
        self.lists_children = not has_edges and not self.nests and by_ids
        otherwise = has_edges or self.nests or self.lists_children
        self.names_parents = names_parents or not (otherwise or concepts.code_parents)
        named = [e[key] for e in concepts.objects if (key := find_key(e, "parents"))]
        is_singular = self.keys["parents"] != KEYS["parents"][0]
        self.single_parent = not any(isinstance(v, list) for v in named) if named else is_singular
        self.copies = self._has_copies()
        self.empty = self._empty_values(leaves)

    def _used_key(self, field: str) -> str | None:
        """Return the first key in the file for a field, even if its value is null."""
        keys = KEYS[field]
        return next((key for entry in self.concepts.objects for key in keys if key in entry), None)

    def _has_copies(self) -> bool:
        """Return whether repeated objects of a concept are full copies, not short references."""
        repeated = [same for same in self.concepts.objects_by_id.values() if len(same) > 1]
        parents = [same for same in repeated if any(map(self.concepts.children, same))]
        if parents:
            return all(all(map(self.concepts.children, same)) for same in parents)
        return bool(repeated) and all(same[0].keys() == e.keys() for same in repeated for e in same)

    def _empty_values(self, leaves: list[Any]) -> dict[str, Any]:
        """Return the empty values of the sample and of the parents of a root.

        A text that every leaf has is empty too.
        """
        roots = [entry for entry in self.concepts.objects if not self.concepts.parents(entry)]
        key = self.keys["parents"]
        empty = {name: value for name, value in self.sample.items() if value in _EMPTY}
        if any(key in entry for entry in roots[:1]):
            empty[key] = [] if isinstance(roots[0][key], list) else roots[0][key]
        for name in (self.keys["definition"], self.keys["synonyms"]):
            if name not in empty and leaves and all(name in entry for entry in leaves):
                empty[name] = [] if isinstance(leaves[0][name], list) else ""
        return empty

"""Changes as KGCL, the Knowledge Graph Change Language of OBO: one command per line.

The grammar (https://github.com/INCATools/kgcl) has no comments, prefixes or escaped apostrophes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from urllib.parse import quote

from taxoexpan.taxonomy import Concept
from taxoexpan.taxonomy.curies import Prefixes, is_long
from taxoexpan.taxonomy.difference import Change, Difference

SUBCLASS = "rdfs:subClassOf"
BROADER = "skos:broader"
"""The predicates from a child to its parent, in OWL and in SKOS."""

_APOSTROPHE = "\N{RIGHT SINGLE QUOTATION MARK}"
_NOT_IN_ID = re.compile(r"""[\s%<>'"]""")


@dataclass
class KgclWriter:
    """A writer of KGCL commands; `adapted` counts the strings that had to be changed."""

    prefixes: Prefixes = field(default_factory=Prefixes)
    language: str = ""
    predicate: str = SUBCLASS
    adapted: int = 0

    def commands(self, difference: Difference) -> list[str]:
        """Return the commands that turn the old taxonomy into the new one."""
        return [
            *self._creations(difference),
            *self._edges(difference),
            *(line for change in difference.changed for line in self._changes(change)),
            *(f"delete {self._id(concept.id)}" for concept in difference.removed),
        ]

    def _creations(self, difference: Difference) -> Iterator[str]:
        for concept in difference.added:
            yield f"create node {self._id(concept.id)} {self._label(concept.label)}"
            yield from self._changes(Change(Concept(concept.id, concept.label), concept))
        added = {concept.id for concept in difference.added}
        for parent, child in difference.relations_added:
            if child in added:
                yield f"create edge {self._edge(child, parent)}"

    def _edges(self, difference: Difference) -> Iterator[str]:
        """Yield a move for each pair of an old and a new parent, and the remaining edges."""
        for move in difference.moved:
            child = move.concept.id
            for old, new in zip_longest(move.removed_parents, move.added_parents):
                if old is None:
                    yield f"create edge {self._edge(child, new)}"
                elif new is None:
                    yield f"delete edge {self._edge(child, old)}"
                else:
                    ends = f"from {self._id(old)} to {self._id(new)}"
                    yield f"move {self._edge(child, old)} {ends}"

    def _changes(self, change: Change) -> Iterator[str]:
        """Yield the changes of the label, synonyms, definition and deprecation of a concept."""
        old = change.old
        new = change.new
        id = self._id(change.old.id)
        if old.label != new.label:
            yield f"rename {id} from {self._label(old.label)} to {self._label(new.label)}"
        for name in new.synonyms:
            if name not in old.synonyms:
                yield f"create exact synonym {self._label(name)} for {id}"
        for name in old.synonyms:
            if name not in new.synonyms:
                yield f"remove synonym {self._label(name)} for {id}"
        if old.definition != new.definition:
            yield self._definition(id, old.definition, new.definition)
        if old.deprecated != new.deprecated:
            yield f"{'obsolete' if new.deprecated else 'unobsolete'} {id}"

    def _definition(self, id: str, old: str, new: str) -> str:
        if not old:
            return f"add definition {self._text(new)} to {id}"
        if not new:
            return f"remove definition for {id}"
        return f"change definition of {id} from {self._text(old)} to {self._text(new)}"

    def _edge(self, child: str, parent: str) -> str:
        return f"{self._id(child)} {self.predicate} {self._id(parent)}"

    def _label(self, text: str) -> str:
        return self._text(text) + (f"@{self.language}" if self.language else "")

    def _text(self, text: str) -> str:
        """Quote a string; apostrophes become typographic, and line ends become spaces."""
        written = " ".join(text.split()).replace("'", _APOSTROPHE)
        self.adapted += written != text
        return f"'{written}'"

    def _id(self, id: str) -> str:
        """Return an id as a CURIE or an IRI; in other ids, encode spaces and quotes."""
        if (short := self.prefixes.compact(id)) and not _NOT_IN_ID.search(short):
            return short
        safe = "%'" if is_long(id) else ""  # in an IRI, percent signs start codes
        encoded = _NOT_IN_ID.sub(lambda found: quote(found[0], safe=safe), id)
        return f"<{encoded}>" if is_long(id) else encoded

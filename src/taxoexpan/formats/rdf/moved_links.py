"""The changed links of children that move, in Turtle and N-Triples."""

from __future__ import annotations

from collections.abc import Sequence

from taxoexpan.errors import FormatError
from taxoexpan.formats.rdf.turtle_links import TurtleLinks
from taxoexpan.formats.text_file import Insertion, TextFile
from taxoexpan.taxonomy import Move


def move_links(
    source: TextFile, moves: Sequence[Move], up: str, down: str = ""
) -> tuple[list[Insertion], set[tuple[str, str]]]:
    """Return the changed links, and the new pairs that a changed link down already states.

    `child up parent` becomes `child up new`, and `parent down child` becomes `parent down new`,
    where `up` and `down` are properties such as `skos:broader` and `skos:narrower`. A list of
    objects contains the new one only once.
    """
    new_parents = {(move.old_parent, move.child): move.new_parent for move in moves}
    insertions, linked_down, found = [], set[tuple[str, str]](), set[tuple[str, str]]()
    seen: set[tuple[int, str]] = set()
    turtle, content = TurtleLinks(source), source.text
    for one in turtle.links() if new_parents else ():
        is_down = one.predicate == down
        pair = (one.subject, one.object) if is_down else (one.object, one.subject)
        if not (is_down or one.predicate == up) or pair not in new_parents:
            continue
        new = new_parents[pair]
        found.add(pair)
        if is_down:
            linked_down.add((one.subject, new))
        repeated, previous_end = (one.list_start, new) in seen, one.previous_end
        seen.add((one.list_start, new))
        if repeated and previous_end is not None and "#" not in content[previous_end : one.start]:
            insertions.append(Insertion(previous_end, "", content[previous_end : one.end]))
        else:
            old = content[one.start : one.end]
            insertions.append(Insertion(one.start, turtle.format_iri(new, old), old))
    for parent, child in new_parents.keys() - found:
        message = f"the link from {child!r} to {parent!r} was not found in the text"
        remedy = "convert the file to .json first, or do not allow moves"
        raise FormatError(source.path, f"{message}; {remedy}", option="allow_moves")
    return insertions, linked_down

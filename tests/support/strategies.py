"""Random taxonomies with awkward names, and random files to write them into."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hypothesis import settings
from hypothesis import strategies as st

from taxoexpan.errors import CycleError
from taxoexpan.taxonomy import Additions, Concept, Move, Taxonomy

quickly = settings(max_examples=15, deadline=None)

# Signs that formats use themselves, and letters, marks and emoji of many kinds.
_SIGNS = list(",;\"'|#:>-_&./ \\*`~[](){}<!=+@^%")
_LETTERS = [
    *"abzAZ09éßñΩж水茶עض",
    "हि",
    "ก็",
    "e\u0301",
    "می\u200cخ",
    "🍏",
    "👩\u200d🍳",
    "\u00a0",
    "\u2028",
    "\x85",
    "\u202e",
]
_BREAKS = ["\t", "\n", "\r\n", "\r"]


_MISTAKABLE = [
    *("_a_", "**a** b", "`a`", "~~a~~", "[a](b)", "[a](b) - c", "![a](b)", "[x] a", "- a", "* a"),
    *("1. a", "1.2) a", "# a", "a #", "> a", "---", "***", "```", "<b>a</b>", "<!-- a -->"),
    *("&amp;", "a\\", "\\_a", "\\u0041", "a: b", "a # b", "a > b", "a, b", "a|b", "a;b", '"a"'),
    *("'a", "=a", "@a", "a@en", '"a"@en', "a^^b", "_:a", "a:b", "http://a.org/b", "{a}", "a ! b"),
    *("1.0", "007", "1e5", "TRUE", "null", "nan", "2024-01-01", "_x0041_", "a\ufeff"),
]
"""Names that a format might take for something else."""


def names(without: str = "", breaks: bool = False) -> st.SearchStrategy[str]:
    """Names without outer white space; with `breaks`, tabs and line ends inside."""
    marks = [mark for mark in _SIGNS if mark not in without]
    pieces = st.sampled_from([*_LETTERS, *marks, *(_BREAKS if breaks else [])])
    joined = st.lists(pieces, min_size=1, max_size=8).map("".join)
    mistakable = [name for name in _MISTAKABLE if set(name).isdisjoint(without)]
    return joined.map(str.strip).filter(bool) | st.sampled_from(mistakable)


@dataclass(frozen=True)
class Growth:
    """A taxonomy and what is added to it."""

    old: Taxonomy
    additions: Additions


@st.composite
def growths(
    draw: st.DrawFn,
    ids: st.SearchStrategy[str] | None = None,
    labels: st.SearchStrategy[str] | None = None,
    most_parents: int = 3,
    details: bool = False,
) -> Growth:
    """A taxonomy of at least one concept, and some below it; a label is the id unless given."""
    own = draw(st.lists(ids if ids is not None else names(), min_size=1, max_size=9, unique=True))
    words = st.text("abc é水", min_size=1, max_size=5).map(str.strip).filter(bool)
    concepts = [
        Concept(
            id,
            id if labels is None else draw(labels),
            tuple(draw(st.lists(words, max_size=2))) if details else (),
            draw(st.just("") | words) if details else "",
        )
        for id in own
    ]
    relations = [
        (own[parent], own[child])
        for child in range(1, len(own))
        for parent in draw(st.sets(st.integers(0, child - 1), max_size=most_parents))
    ]
    split = draw(st.integers(1, len(own)))
    order = draw(st.permutations(range(split)))
    return Growth(
        Taxonomy([concepts[i] for i in order], [r for r in relations if r[1] in own[:split]]),
        Additions(
            tuple(draw(st.permutations(concepts[split:]))),
            tuple(r for r in relations if r[1] in own[split:]),
        ),
    )


@st.composite
def insertions(
    draw: st.DrawFn, growths: st.SearchStrategy[Growth], most_parents: int = 3
) -> Growth:
    """The same with claims of new concepts on their parents' children, in any order.

    Most often leaves become new, and come under what has children.
    """
    growth = draw(growths)
    whole = growth.old.expanded(growth.additions)
    if draw(st.integers(0, 3)) and len(whole.relations) > 1:
        new = draw(st.lists(st.sampled_from(whole.leaves), min_size=1, max_size=3, unique=True))
        old = whole.without(new)
        above = [id for id in old if old.children(id)] or list(old.ids)
        few = st.lists(st.sampled_from(above), min_size=1, max_size=most_parents, unique=True)
        relations = [(parent, id) for id in new for parent in draw(few)] if above else []
        growth = Growth(old, Additions(tuple(map(whole.concept, new)), tuple(relations)))
    claims = [
        Move(child, parent, new)
        for parent, new in growth.additions.relations
        if parent in growth.old
        for child in growth.old.children(parent)
        if draw(st.booleans())
    ]
    moves = tuple(draw(st.permutations(claims)))
    return Growth(growth.old, replace(growth.additions, moves=moves))


def with_safe_moves(old: Taxonomy, additions: Additions) -> Additions:
    """Return the additions with those claims that can be granted one after the other."""
    moves = list[Move]()
    for move in additions.moves:
        if move.child in {made.child for made in moves}:
            continue
        try:
            old.expanded(replace(additions, moves=(*moves, move), synonyms=()))
        except CycleError:
            continue
        moves.append(move)
    return replace(additions, moves=tuple(moves))


def taxonomies() -> st.SearchStrategy[Taxonomy]:
    """Taxonomies of one to nine concepts, with synonyms and definitions."""
    return growths(details=True).map(lambda growth: growth.old)


@dataclass(frozen=True)
class Style:
    """How a text lies on disk."""

    newline: str = "\n"
    mark: bytes = b""
    closed: bool = True

    def encode(self, lines: list[str]) -> bytes:
        """The bytes of a file of these lines."""
        text = self.newline.join(lines) + (self.newline if self.closed else "")
        return self.mark + text.encode("utf-8")


STYLES = [
    Style(newline, mark, closed)
    for newline in ("\n", "\r\n")
    for mark in (b"", b"\xef\xbb\xbf")
    for closed in (True, False)
]


def styles() -> st.SearchStrategy[Style]:
    """Every way in which a text may lie on disk."""
    return st.sampled_from(STYLES)

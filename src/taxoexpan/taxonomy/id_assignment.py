"""The assignment of ids to new concepts, which may have to wait until the parent is known.

Three styles depend on the parent's id: hierarchical codes, padded codes, and numbered stems.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count

from taxoexpan.errors import ConfigurationError, TaxonomyError
from taxoexpan.taxonomy.additions import Additions
from taxoexpan.taxonomy.concept import Concept
from taxoexpan.taxonomy.curies import OBO_BASE
from taxoexpan.taxonomy.id_policy import DEFAULT_IDS, IdPolicy, fitting_policy, number_template
from taxoexpan.taxonomy.ids import (
    NUMBER,
    IdMaker,
    are_paths,
    id_style,
    next_and_width,
    numbered,
    numbering,
    slug,
)
from taxoexpan.taxonomy.taxonomy import Taxonomy

ParentStyle = Callable[[str, Sequence[str]], IdMaker]
"""A function of the id of a parent and the ids of its children, which makes ids below it."""

PROVISIONAL = "new:"
"""How an id begins that will be replaced when the parent is known (see `resolve_ids`)."""


def with_ids(
    taxonomy: Taxonomy, concepts: Sequence[Concept], policy: IdPolicy = DEFAULT_IDS
) -> list[Concept]:
    """Give an unused id to concepts without one; it is provisional if it depends on the parent."""
    taken = {*taxonomy, *taxonomy.reserved, *(concept.id for concept in concepts)}
    unnamed = [concept for concept in concepts if not concept.id]
    if not unnamed:
        return list(concepts)
    policy = fitting_policy(taxonomy, policy)
    make, ids = _id_maker(taxonomy, policy), list[str]()
    for concept in unnamed:
        id = next((id for id in make(concept.label) if id not in taken), None)
        if id is None:
            message = f"new ids needed: {len(unnamed)}; free numbers {policy.span}: {len(ids)}"
            raise TaxonomyError(f"{message}; give a larger range of ids")
        taken.add(id)
        ids.append(id)
    made = iter(ids)
    return [c if c.id else replace(c, id=next(made)) for c in concepts]


def _id_maker(taxonomy: Taxonomy, policy: IdPolicy) -> IdMaker:
    """Return a function that makes ids, or provisional ids if they depend on the parent."""
    if _parent_style(taxonomy, policy) is not None:
        return lambda label: numbered(PROVISIONAL + slug(label))
    if policy.kind == "style":
        return id_style(taxonomy)
    if policy.kind == "range":
        style = numbering(taxonomy.ids)
        if style is None:
            message = "the ids of this taxonomy have no common numbering, so a range has no meaning"
            fix = "also give a template of ids, as in ABC:{number:07}"
            raise ConfigurationError(f"{message}; {fix}")
        policy = replace(policy, template=number_template(*style[:2]))
    return policy.maker("", taxonomy.ids)


def _parent_style(taxonomy: Taxonomy, policy: IdPolicy) -> ParentStyle | None:
    """Return the style of ids that depend on the parent's id, or None if they do not."""
    if policy.template is not None:
        return policy.maker if policy.template.has("parent") else None
    if policy.kind == "range" or are_paths(taxonomy):
        return None
    codes = hierarchical_codes(taxonomy) or padded_codes(taxonomy)
    return codes or branch_numbers(taxonomy)


def resolve_ids(
    taxonomy: Taxonomy, additions: Additions, policy: IdPolicy = DEFAULT_IDS
) -> tuple[Additions, dict[str, str]]:
    """Replace provisional ids by ids that fit the first parent; also return the new ids."""
    waiting = [c for c in additions.concepts if c.id.startswith(PROVISIONAL)]
    if not waiting:
        return additions, {}
    policy = fitting_policy(taxonomy, policy)
    style = _parent_style(taxonomy, policy)
    if style is not None:
        new = _ids_below_parents(taxonomy, additions, waiting, style)
    elif any(id.startswith(PROVISIONAL) for id in taxonomy):
        return additions, {}  # in this file, they are ordinary ids
    else:
        # These are provisional ids from another policy.
        others = [c for c in additions.concepts if not c.id.startswith(PROVISIONAL)]
        named = with_ids(taxonomy, [*others, *(replace(c, id="") for c in waiting)], policy)
        ids = (concept.id for concept in named[len(others) :])
        new = dict(zip((concept.id for concept in waiting), ids, strict=True))
    return _renamed(additions, new), new


def _ids_below_parents(
    taxonomy: Taxonomy, additions: Additions, waiting: Sequence[Concept], style: ParentStyle
) -> dict[str, str]:
    """Return new ids for the waiting concepts, made from the ids of their first parents."""
    parent_of = {child: parent for parent, child in reversed(additions.relations)}
    taken = {*taxonomy, *taxonomy.reserved, *(concept.id for concept in additions.concepts)}
    siblings: dict[str, list[str]] = {}
    new: dict[str, str] = {}
    unplaced = {concept.id: concept for concept in waiting}
    while unplaced:
        ready = [c for c in unplaced.values() if parent_of.get(c.id) not in unplaced]
        for concept in ready or list(unplaced.values()):
            parent = parent_of.get(concept.id, "")
            parent = new.get(parent, parent)
            if parent not in siblings:
                siblings[parent] = list(taxonomy.children(parent)) if parent in taxonomy else []
            made = style(parent, siblings[parent])(concept.label)
            id = next((id for id in made if id not in taken), None)
            if id is None:
                message = f"no id is free below {parent!r} for {concept.label!r}"
                raise TaxonomyError(f"{message}; give it an id, or set a range or a template")
            siblings[parent].append(id)
            taken.add(id)
            new[concept.id] = id
            del unplaced[concept.id]
    return new


def _renamed(additions: Additions, new: dict[str, str]) -> Additions:
    """Return the additions with other ids for the new concepts."""

    def of(id: str) -> str:
        return new.get(id, id)

    return replace(
        additions,
        concepts=tuple(replace(c, id=of(c.id)) for c in additions.concepts),
        relations=tuple((of(parent), of(child)) for parent, child in additions.relations),
        moves=tuple(move._replace(new_parent=of(move.new_parent)) for move in additions.moves),
    )


MIN_FRACTION = 0.8
"""The fraction of the ids, and of the relations between them, that must follow the pattern."""
MIN_RELATIONS = 5
"""With fewer relations that follow it, the pattern may be a coincidence."""
_REST = re.compile(r"(?P<separator>[^0-9A-Za-z\s]?)(?P<number>\d{1,100})")
_DIGITS = re.compile(r"\d+")


def hierarchical_codes(taxonomy: Taxonomy) -> ParentStyle | None:
    """Return the style in which a child's id is its parent's id, a separator, and a number.

    The separator and the width of the number may depend on the level, as in `A`, `A1`, `A1.1`.
    """
    ids, (parents, children) = taxonomy.ids, taxonomy.relation_indices
    levels: dict[int, list[re.Match[str]]] = {}
    for parent, child in zip(parents.tolist(), children.tolist(), strict=True):
        rest = _REST.fullmatch(ids[child], len(ids[parent]))
        if rest and ids[child].startswith(ids[parent]):
            levels.setdefault(_level(ids[parent]), []).append(rest)
    if not levels:
        return None
    needed = max(MIN_RELATIONS, MIN_FRACTION * len(parents))
    usual = _most_common([match for matches in levels.values() for match in matches])
    by_level = {}
    if usual[2] < needed:
        by_level = {level: _most_common(matches) for level, matches in levels.items()}
        if sum(uses for _, _, uses in by_level.values()) < needed:
            return None

    def below(parent: str, siblings: Sequence[str]) -> IdMaker:
        separator, width, _ = by_level.get(_level(parent), usual)
        # Without separators, a longer number would be a code of the next level.
        last = None if separator or by_level else 10**width - 1
        return IdPolicy(number_template(parent + separator, width), last=last).maker("", siblings)

    return below


def _level(id: str) -> int:
    """Return the number of numbers in an id, such as two in hg-2-3."""
    return len(_DIGITS.findall(id))


def _most_common(rests: Sequence[re.Match[str]]) -> tuple[str, int, int]:
    """Return the most common separator, the width of its numbers, and how often it occurs."""
    separator, uses = Counter(rest["separator"] for rest in rests).most_common(1)[0]
    numbers = [rest["number"] for rest in rests if rest["separator"] == separator]
    padded = any(number.startswith("0") and len(number) > 1 for number in numbers)
    width = Counter(map(len, numbers)).most_common(1)[0][0] if padded or not separator else 1
    return separator, width, uses


STEPS = (2, 3, 1)
"""How many digits a level may have, in the order of preference."""


def padded_codes(taxonomy: Taxonomy) -> ParentStyle | None:
    """Return the style of codes of a fixed length, with zeros at the end of the codes of groups."""
    ids, (parents, children) = taxonomy.ids, taxonomy.relation_indices
    lengths = {len(id) for id in ids}
    if len(lengths) != 1 or not all(id.isascii() and id.isdigit() for id in ids):
        return None
    length = lengths.pop()

    def stem(code: str, step: int) -> str:
        """Return a code without the levels of zeros at its end."""
        return code[: -(-len(code.rstrip("0")) // step) * step]

    pairs = [(ids[p], ids[c]) for p, c in zip(parents.tolist(), children.tolist(), strict=True)]
    found = {
        step: sum(
            len(stem(child, step)) == len(stem(parent, step)) + step
            and child.startswith(stem(parent, step))
            for parent, child in pairs
        )
        for step in STEPS
        if length % step == 0
    }
    step = max(found, key=lambda step: found[step])
    if found[step] < max(MIN_RELATIONS, MIN_FRACTION * len(pairs)):
        return None

    def below(parent: str, siblings: Sequence[str]) -> IdMaker:
        start = stem(parent, step)
        zeros = "0" * (length - len(start) - step)
        # A code without zeros at its end has no codes below it.
        last = 10**step - 1 if len(start) < length else 0
        return IdPolicy(number_template(start, step, zeros), last=last).maker("", siblings)

    return below


MIN_OWN = 0.05
MIN_OWN_IDS = 5
"""A stem with a smaller fraction of the ids, or with fewer ids, belongs to imported concepts."""
MAX_REPEATED = 0.01
"""The fraction of numbers that may occur with several stems, if the stems share one numbering."""
_NUMBERED = re.compile(rf"(?P<stem>.*?[^0-9])(?P<number>{NUMBER})")


def branch_numbers(taxonomy: Taxonomy) -> ParentStyle | None:
    """Return the style of numbered ids, if the branches of the taxonomy have their own stems."""
    matches = [_NUMBERED.fullmatch(id) for id in taxonomy.ids]
    numbers: dict[str, list[str]] = {}
    for match in filter(None, matches):
        numbers.setdefault(match["stem"], []).append(match["number"])
    numbered = sum(map(len, numbers.values()))
    pairs = [(matches[p], matches[c]) for p, c in zip(*taxonomy.relation_indices, strict=True)]
    same = sum(bool(p and c and p["stem"] == c["stem"]) for p, c in pairs)
    if not pairs or numbered < MIN_FRACTION * len(matches) or same < MIN_FRACTION * len(pairs):
        return None
    needed = max(MIN_OWN_IDS, MIN_OWN * numbered)
    own = {stem: found for stem, found in numbers.items() if len(found) >= needed}
    every = [number for found in own.values() for number in found]
    shared = len({int(number) for number in every}) >= (1 - MAX_REPEATED) * len(every)
    # The prefix of an OBO id is the name of an ontology.
    foreign = all(stem.startswith(OBO_BASE) for stem in own)
    if len(own) < 2 or foreign or (any(":" in stem for stem in own) and not shared):
        return None
    largest = max(own, key=lambda stem: len(own[stem]))
    widths = {stem: next_and_width(every if shared else own[stem])[1] for stem in own}
    common = count(next_and_width(every)[0])
    following = {stem: common if shared else count(next_and_width(own[stem])[0]) for stem in own}

    def below(parent: str, siblings: Sequence[str]) -> IdMaker:
        """Continue the numbers of the stem of the parent, or else of a sibling."""
        known = (_NUMBERED.fullmatch(id) for id in (parent, *siblings))
        stems = [f"{parent}_", *(match["stem"] for match in known if match)]
        stem = next((stem for stem in stems if stem in own), largest)
        return lambda _: (f"{stem}{number:0{widths[stem]}d}" for number in following[stem])

    return below

"""The assignment of ids to new concepts, which may have to wait until the parent is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from taxoexpan.errors import ConfigurationError, TaxonomyError
from taxoexpan.taxonomy.concept import Concept
from taxoexpan.taxonomy.id_policy import DEFAULT_IDS, IdPolicy, IdTemplate, fitting_policy
from taxoexpan.taxonomy.ids import IdMaker, are_paths, id_style, numbered, numbering, slug
from taxoexpan.taxonomy.parent_codes import BranchNumbers, HierarchicalCodes, PaddedCodes
from taxoexpan.taxonomy.taxonomy import Taxonomy

ParentStyle = IdPolicy | HierarchicalCodes | PaddedCodes | BranchNumbers
"""How ids are made from the id of the parent."""

PROVISIONAL = "new:"
"""How an id begins that will be replaced when the parent is known (see `final_ids`)."""


def with_ids(
    taxonomy: Taxonomy, concepts: Sequence[Concept], policy: IdPolicy = DEFAULT_IDS
) -> list[Concept]:
    """Give an unused id to concepts without one; it is provisional if it depends on the parent."""
    taken = {*taxonomy, *taxonomy.reserved, *(concept.id for concept in concepts)}
    unnamed = [concept for concept in concepts if not concept.id]
    if not unnamed:
        return list(concepts)
    policy = fitting_policy(taxonomy, policy)
    make = _id_maker(taxonomy, policy)
    ids = list[str]()
    for concept in unnamed:
        id = next((id for id in make(concept.label) if id not in taken), None)
        if id is None:
            start = "up to" if policy.first is None else f"from {policy.first} to"
            span = f"{start} {policy.last}"
            message = f"new ids needed: {len(unnamed)}; free numbers {span}: {len(ids)}"
            raise TaxonomyError(message, fix="give a larger range of ids")
        taken.add(id)
        ids.append(id)
    made = iter(ids)
    return [c if c.id else replace(c, id=next(made)) for c in concepts]


def _id_maker(taxonomy: Taxonomy, policy: IdPolicy) -> IdMaker:
    """Return a function that makes ids, or provisional ids if they depend on the parent."""
    if _parent_style(taxonomy, policy) is not None:
        return lambda label: numbered(PROVISIONAL + slug(label))
    if policy == DEFAULT_IDS:
        return id_style(taxonomy)
    if policy.template is None:
        style = numbering(taxonomy.ids)
        if style is None:
            message = "the ids of this taxonomy have no common numbering, so a range has no meaning"
            fix = "also give a template of ids, as in ABC:{number:07}"
            raise ConfigurationError(message, fix=fix)
        stem = style[0].replace("{", "{{").replace("}", "}}")
        width = min(style[1], 99)
        policy = replace(policy, template=IdTemplate(f"{stem}{{number:0{width}}}"))
    return policy.maker("", taxonomy.ids)


def _parent_style(taxonomy: Taxonomy, policy: IdPolicy) -> ParentStyle | None:
    """Return the style of ids that depend on the parent's id, or None if they do not."""
    if policy.template is not None:
        return policy if policy.template.has("parent") else None
    if policy != DEFAULT_IDS or are_paths(taxonomy):
        return None
    codes = HierarchicalCodes.of(taxonomy) or PaddedCodes.of(taxonomy)
    return codes or BranchNumbers.of(taxonomy)


def final_ids(
    taxonomy: Taxonomy,
    concepts: Sequence[Concept],
    relations: Sequence[tuple[str, str]],
    policy: IdPolicy = DEFAULT_IDS,
) -> dict[str, str]:
    """Return ids that fit the first parents of new concepts, by their provisional ids."""
    waiting = [c for c in concepts if c.id.startswith(PROVISIONAL)]
    if not waiting:
        return {}
    policy = fitting_policy(taxonomy, policy)
    style = _parent_style(taxonomy, policy)
    if style is not None:
        return _ids_below_parents(taxonomy, concepts, relations, style)
    if any(id.startswith(PROVISIONAL) for id in taxonomy):
        return {}  # in this file, they are ordinary ids
    # These are provisional ids from another policy.
    others = [c for c in concepts if not c.id.startswith(PROVISIONAL)]
    named = with_ids(taxonomy, [*others, *(replace(c, id="") for c in waiting)], policy)
    ids = (concept.id for concept in named[len(others) :])
    return dict(zip((concept.id for concept in waiting), ids, strict=True))


def _ids_below_parents(
    taxonomy: Taxonomy,
    concepts: Sequence[Concept],
    relations: Sequence[tuple[str, str]],
    style: ParentStyle,
) -> dict[str, str]:
    """Return new ids for concepts with provisional ones, made from the ids of first parents."""
    parent_of = {child: parent for parent, child in reversed(relations)}
    taken = {*taxonomy, *taxonomy.reserved, *(concept.id for concept in concepts)}
    siblings: dict[str, list[str]] = {}
    new: dict[str, str] = {}
    unplaced = {c.id: c for c in concepts if c.id.startswith(PROVISIONAL)}
    while unplaced:
        ready = [c for c in unplaced.values() if parent_of.get(c.id) not in unplaced]
        for concept in ready or list(unplaced.values()):
            parent = parent_of.get(concept.id, "")
            parent = new.get(parent, parent)
            if parent not in siblings:
                siblings[parent] = list(taxonomy.children(parent)) if parent in taxonomy else []
            if isinstance(style, IdPolicy):
                made = style.maker(parent, siblings[parent])(concept.label)
                id = next((id for id in made if id not in taken), "")
            else:
                id = style.child_of(parent, siblings[parent], taken)
            if not id:
                message = f"no id is free below {parent!r} for {concept.label!r}"
                raise TaxonomyError(
                    message, fix="give it an id, a template or a larger range of ids"
                )
            siblings[parent].append(id)
            taken.add(id)
            new[concept.id] = id
            del unplaced[concept.id]
    return new

"""The assignment of ids to new concepts, which may have to wait until the parent is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from taxoexpan.errors import ConfigurationError, TaxonomyError
from taxoexpan.taxonomy.additions import Additions
from taxoexpan.taxonomy.concept import Concept
from taxoexpan.taxonomy.id_policy import DEFAULT_IDS, IdPolicy, IdTemplate, fitting_policy
from taxoexpan.taxonomy.ids import are_paths, id_style, next_number, numbered, numbering, slug
from taxoexpan.taxonomy.parent_codes import BranchNumbers, HierarchicalCodes, PaddedCodes
from taxoexpan.taxonomy.taxonomy import Taxonomy

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
    candidates, ids = _candidates(taxonomy, policy), list[str]()
    for concept in unnamed:
        id = next((id for id in candidates(concept.label) if id not in taken), None)
        if id is None:
            raise _range_used_up(policy, len(ids), len(unnamed))
        taken.add(id)
        ids.append(id)
    made = iter(ids)
    return [c if c.id else replace(c, id=next(made)) for c in concepts]


def _range_used_up(policy: IdPolicy, found: int, needed: int) -> TaxonomyError:
    needs = f"{needed} new concepts need ids" if needed > 1 else "a new concept needs an id"
    free = f"only {found}" if found else "none"
    verb = "is" if found == 1 else "are"
    message = f"{needs}, but {free} of the numbers {policy.span} {verb} free"
    return TaxonomyError(f"{message}; give a larger range of ids")


def _candidates(taxonomy: Taxonomy, policy: IdPolicy) -> Callable[[str], Iterator[str]]:
    """Return a function that makes ids, or provisional ids if they depend on the parent."""
    if _parent_style(taxonomy, policy) is not None:
        return lambda label: numbered(PROVISIONAL + slug(label))
    if policy.template is not None:
        return _template_ids(policy.template, policy, taxonomy)
    if policy.kind == "range":
        return _numbers_in_range(taxonomy, policy)
    return id_style(taxonomy)


ParentStyle = IdTemplate | HierarchicalCodes | PaddedCodes | BranchNumbers
"""How ids are made from the id of the parent."""


def _parent_style(taxonomy: Taxonomy, policy: IdPolicy) -> ParentStyle | None:
    """Return the style of ids that depend on the parent's id, or None if they do not."""
    if policy.template is not None:
        return policy.template if policy.template.has("parent") else None
    if policy.kind == "range" or are_paths(taxonomy):
        return None
    codes = HierarchicalCodes.of(taxonomy) or PaddedCodes.of(taxonomy)
    return codes or BranchNumbers.of(taxonomy)


def resolve_ids(
    taxonomy: Taxonomy, additions: Additions, policy: IdPolicy = DEFAULT_IDS
) -> tuple[Additions, dict[str, str]]:
    """Replace provisional ids by ids that fit the first parent; also return the new ids."""
    waiting = [c for c in additions.concepts if c.id.startswith(PROVISIONAL)]
    if not waiting:
        return additions, {}
    policy = fitting_policy(taxonomy, policy)
    style = _parent_style(taxonomy, policy)
    if style is None:
        return _with_independent_ids(taxonomy, additions, policy)
    new = _ids_below_parents(taxonomy, additions, waiting, style, policy)
    return _renamed(additions, new), new


def _ids_below_parents(
    taxonomy: Taxonomy,
    additions: Additions,
    waiting: Sequence[Concept],
    style: ParentStyle,
    policy: IdPolicy,
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
            if isinstance(style, IdTemplate):
                id = _child_by_template(style, policy, concept, parent, siblings[parent], taken)
            else:
                id = style.child_of(parent, siblings[parent], taken)
            siblings[parent].append(id)
            taken.add(id)
            new[concept.id] = id
            del unplaced[concept.id]
    return new


def _with_independent_ids(
    taxonomy: Taxonomy, additions: Additions, policy: IdPolicy
) -> tuple[Additions, dict[str, str]]:
    """Replace provisional ids from another policy by ids that do not depend on the parent."""
    if any(id.startswith(PROVISIONAL) for id in taxonomy):
        return additions, {}  # in this file, they are ordinary ids
    waiting = [c for c in additions.concepts if c.id.startswith(PROVISIONAL)]
    others = [c for c in additions.concepts if not c.id.startswith(PROVISIONAL)]
    named = with_ids(taxonomy, [*others, *(replace(c, id="") for c in waiting)], policy)
    new = {old.id: concept.id for old, concept in zip(waiting, named[len(others) :], strict=True)}
    return _renamed(additions, new), new


def _child_by_template(
    template: IdTemplate,
    policy: IdPolicy,
    concept: Concept,
    parent: str,
    siblings: Sequence[str],
    taken: set[str],
) -> str:
    """Fill a template that has the parent's id, with a number after the ids of the siblings."""
    name = slug(concept.label)
    if not template.has("number"):
        filled = (template.fill(spelled, parent, 0) for spelled in numbered(name))
        return next(id for id in filled if id not in taken)
    matches = [match for match in map(template.pattern(parent).fullmatch, siblings) if match]
    numbers = policy.numbers_from(next_number(int(match["number"]) for match in matches))
    filled = (template.fill(name, parent, number) for number in numbers)
    id = next((id for id in filled if id not in taken), None)
    if id is None:
        message = f"none of the numbers {policy.span} is free below {parent!r}"
        fix = "give a larger range of ids"
        raise TaxonomyError(f"{message} for {concept.label!r}; {fix}")
    return id


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


def _template_ids(
    template: IdTemplate, policy: IdPolicy, taxonomy: Taxonomy
) -> Callable[[str], Iterator[str]]:
    """Return a function that makes ids by a template without a parent."""
    if not template.has("number"):
        return lambda label: (template.fill(name, "", 0) for name in numbered(slug(label)))
    pattern = template.pattern("")
    matches = [match for match in map(pattern.fullmatch, taxonomy.ids) if match]
    numbers = policy.numbers_from(next_number(int(match["number"]) for match in matches))
    return lambda label: (template.fill(slug(label), "", number) for number in numbers)


def _numbers_in_range(taxonomy: Taxonomy, policy: IdPolicy) -> Callable[[str], Iterator[str]]:
    """Return a function that makes ids from the usual stem and the numbers of a range."""
    style = numbering(taxonomy.ids)
    if style is None:
        message = "the ids of this taxonomy have no common numbering, so a range has no meaning"
        raise ConfigurationError(f"{message}; also give a template of ids, as in ABC:{{number:07}}")
    stem, width, _ = style
    numbers = policy.numbers_from(0)
    return lambda _: (f"{stem}{number:0{width}d}" for number in numbers)

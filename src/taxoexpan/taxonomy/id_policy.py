"""How new concepts get their ids: in the style of the taxonomy, from a range, or by a template."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import Literal

from taxoexpan.errors import ConfigurationError
from taxoexpan.taxonomy.curies import OBO_BASE, is_long, obo_iri
from taxoexpan.taxonomy.id_templates import IdTemplate
from taxoexpan.taxonomy.ids import common_prefix
from taxoexpan.taxonomy.taxonomy import Taxonomy

_BLANK = re.compile(r"\s")
_CURIE = re.compile(r"(?P<prefix>[A-Za-z][\w.-]*):(?P<local>.+)")


@dataclass(frozen=True)
class IdPolicy:
    """What the user wants of new ids; by default they are in the style of the taxonomy.

    `first` and `last` are the range of the numbers in them.
    """

    template: IdTemplate | None = None
    first: int | None = None
    last: int | None = None

    def __post_init__(self) -> None:
        """Refuse an empty range."""
        if self.first is not None and self.first < 0:
            raise ConfigurationError(
                f"ids start at {self.first}; the first number must be 0 or more"
            )
        if self.last is not None and self.last < (self.first or 0):
            raise ConfigurationError(
                f"the range of ids from {self.first or 0} to {self.last} is empty; "
                "give the smaller number first"
            )
        has_range = self.first is not None or self.last is not None
        if has_range and self.template and not self.template.has("number"):
            message = f"the id template {self.template.text!r} has no {{number}}"
            raise ConfigurationError(f"{message}, so a range of numbers has no meaning")

    def numbers_from(self, default: int) -> Iterator[int]:
        """Return the numbers in order, from the first of the range, or from a default."""
        first = default if self.first is None else self.first
        return count(first) if self.last is None else iter(range(first, self.last + 1))

    @property
    def span(self) -> str:
        """The range in words."""
        return f"up to {self.last}" if self.first is None else f"from {self.first} to {self.last}"

    @property
    def kind(self) -> Literal["template", "range", "style"]:
        """What decides about the ids."""
        if self.template is not None:
            return "template"
        return "range" if self.first is not None or self.last is not None else "style"


DEFAULT_IDS = IdPolicy()


def fitting_policy(taxonomy: Taxonomy, policy: IdPolicy) -> IdPolicy:
    """Return the policy; a template of OBO ids is expanded if the taxonomy has OBO IRIs.

    A template whose ids would be no IRIs, or have blanks, unlike those of the taxonomy, is an
    error.
    """
    template, ids = policy.template, taxonomy.ids
    if template is None:
        return policy
    if _BLANK.search(template.text) and not any(map(_BLANK.search, ids)):
        raise _error(
            template, "gives ids with blanks, which no id has", _BLANK.sub("", template.text)
        )
    if template.text.startswith("{parent}") or is_long(template.text):
        return policy
    iris = [id for id in ids if is_long(id)]
    if len(iris) * 2 <= len(ids):
        return policy
    curie = _CURIE.fullmatch(template.text)
    if curie and sum(id.startswith(OBO_BASE) for id in iris) * 2 > len(ids):
        return replace(policy, template=IdTemplate(obo_iri(curie["prefix"], curie["local"])))
    local = curie["local"] if curie else template.text
    right = (common_prefix(iris) or "http://example.org/") + local
    raise _error(template, "gives no IRIs, but the ids of the taxonomy are IRIs", right)


def _error(template: IdTemplate, problem: str, right: str) -> ConfigurationError:
    message = f"the id template {template.text!r} {problem}"
    return ConfigurationError(f"{message}; for example, write {right!r}")

"""The policy for new ids: in the style of the taxonomy, from a range, or by a template."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from string import Formatter
from uuid import NAMESPACE_URL, uuid5

from taxoexpan.errors import ConfigurationError
from taxoexpan.shared_options import IdOptions
from taxoexpan.taxonomy.curies import OBO_BASE, is_long, obo_iri
from taxoexpan.taxonomy.ids import IdMaker, next_number, numbered, slug
from taxoexpan.taxonomy.taxonomy import Taxonomy

FIELDS = ("number", "slug", "uuid", "parent")
_WIDTH = re.compile(r"0\d{1,2}")


@dataclass(frozen=True)
class IdTemplate:
    """A template of ids, such as `FOOD:{number:07}` or `{parent}-{number}`; see `FIELDS`.

    With `{parent}`, the numbers start again under every parent.
    """

    text: str

    def __post_init__(self) -> None:
        """Refuse unknown fields, and a template that would give every concept the same id."""
        fields = [(name, spec or "") for _, name, spec, _ in self._parts() if name is not None]
        if any(conversion for *_, conversion in self._parts()):
            raise self._error("a conversion with ! has no meaning here")
        for name, spec in fields:
            if name not in FIELDS:
                known = ", ".join(f"{{{field}}}" for field in FIELDS)
                raise self._error(f"{{{name}}} is not a field", fix=f"the fields are {known}")
            if spec and (name != "number" or not _WIDTH.fullmatch(spec)):
                raise self._error(
                    f"{spec!r} is not a width", fix="write {number:07} for seven digits"
                )
        if not {name for name, _ in fields} & {"number", "slug", "uuid"}:
            raise self._error("it needs {number}, {slug} or {uuid}, so that the ids differ")

    def _parts(self) -> list[tuple[str, str | None, str | None, str | None]]:
        try:
            return list(Formatter().parse(self.text))
        except ValueError as error:
            raise self._error(str(error), fix="write {{ or }} for a brace") from None

    def _error(self, problem: str, fix: str = "") -> ConfigurationError:
        return ConfigurationError(f"the id template {self.text!r}: {problem}", fix=fix)

    def has(self, field: str) -> bool:
        """Return whether the template has a field."""
        return any(name == field for _, name, _, _ in self._parts())

    def fill(self, slug: str, parent: str, number: int) -> str:
        """Return the id with these values."""
        values = {"number": number, "slug": slug, "parent": parent}
        stem = self.text.format(**values, uuid="")
        return self.text.format(**values, uuid=uuid5(NAMESPACE_URL, stem + slug))

    def pattern(self, parent: str) -> re.Pattern[str]:
        """Return a pattern for the ids under a parent, with the group `number`."""
        expression = ""
        for literal, name, _, _ in self._parts():
            expression += re.escape(literal)
            if name == "number":
                expression += (
                    r"(?P<number>\d{1,100})" if "(?P<number>" not in expression else r"\d+"
                )
            elif name == "parent":
                expression += re.escape(parent)
            elif name is not None:
                expression += ".*?"
        return re.compile(expression)


_CURIE = re.compile(r"(?P<prefix>[A-Za-z][\w.-]*):(?P<local>.+)")


@dataclass(frozen=True)
class IdPolicy:
    """The user's template and range for new ids; the default is the style of existing ids."""

    template: IdTemplate | None = None
    first: int | None = None
    last: int | None = None

    def __post_init__(self) -> None:
        """Refuse a range for a template without a number."""
        has_range = self.first is not None or self.last is not None
        if has_range and self.template and not self.template.has("number"):
            message = f"the id template {self.template.text!r} has no {{number}}"
            raise ConfigurationError(f"{message}, so a range of numbers has no meaning")

    @classmethod
    def of(cls, options: IdOptions) -> IdPolicy:
        """Return the policy that the options describe."""
        template = IdTemplate(options.id_template) if options.id_template is not None else None
        first, last = options.id_range or (options.id_start, None)
        return cls(template, first, last)

    def maker(self, parent: str, known: Sequence[str]) -> IdMaker:
        """Return a function that fills the template; a number follows those in the known ids."""
        template = self.template or IdTemplate("{slug}")
        if not template.has("number"):
            return lambda label: (template.fill(name, parent, 0) for name in numbered(slug(label)))
        matches = filter(None, map(template.pattern(parent).fullmatch, known))
        following = next_number(int(match["number"]) for match in matches)
        first = following if self.first is None else self.first
        numbers = count(first) if self.last is None else iter(range(first, self.last + 1))
        return lambda label: (template.fill(slug(label), parent, number) for number in numbers)


DEFAULT_IDS = IdPolicy()


def fitting_policy(taxonomy: Taxonomy, policy: IdPolicy) -> IdPolicy:
    """Expand a template of OBO ids such as `SO:{number:07}` if the taxonomy uses OBO IRIs."""
    curie = _CURIE.fullmatch(policy.template.text) if policy.template else None
    iris = sum(id.startswith(OBO_BASE) for id in taxonomy.ids)
    if not curie or is_long(curie[0]) or iris * 2 <= len(taxonomy):
        return policy
    return replace(policy, template=IdTemplate(obo_iri(curie["prefix"], curie["local"])))

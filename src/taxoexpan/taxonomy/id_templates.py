"""Templates of ids, which say how the id of a new concept is made."""

from __future__ import annotations

import re
from dataclasses import dataclass
from string import Formatter
from uuid import NAMESPACE_URL, uuid5

from taxoexpan.errors import ConfigurationError

FIELDS = ("number", "slug", "uuid", "parent")
_WIDTH = re.compile(r"0\d{1,2}")


@dataclass(frozen=True)
class IdTemplate:
    """A template of ids, such as `FOOD:{number:07}` or `{parent}-{number}`.

    The fields are a number (with a width, if it is padded with zeros), the slug of the label, a
    UUID, and the id of the parent. With a parent, the numbers start again under every parent.
    """

    text: str

    def __post_init__(self) -> None:
        """Refuse unknown fields, and a template that gives every concept the same id."""
        fields = [(name, spec or "") for _, name, spec, _ in self._parts() if name is not None]
        if any(conversion for *_, conversion in self._parts()):
            raise self._error("a conversion with ! has no meaning here")
        for name, spec in fields:
            if name not in FIELDS:
                known = ", ".join(f"{{{field}}}" for field in FIELDS)
                raise self._error(f"{{{name}}} is not a field; the fields are {known}")
            if spec and (name != "number" or not _WIDTH.fullmatch(spec)):
                raise self._error(f"{spec!r} is no width; write {{number:07}} for seven digits")
        if not {name for name, _ in fields} & {"number", "slug", "uuid"}:
            raise self._error("it needs {number}, {slug} or {uuid}, so that the ids differ")

    def _parts(self) -> list[tuple[str, str | None, str | None, str | None]]:
        try:
            return list(Formatter().parse(self.text))
        except ValueError as error:
            raise self._error(f"{error}; write {{{{ or }}}} for a brace") from None

    def _error(self, message: str) -> ConfigurationError:
        return ConfigurationError(f"the id template {self.text!r}: {message}")

    def has(self, field: str) -> bool:
        """Whether the template has a field."""
        return any(name == field for _, name, _, _ in self._parts())

    def fill(self, slug: str, parent: str, number: int) -> str:
        """Return the id with these values."""
        values = {"number": number, "slug": slug, "parent": parent}
        stem = self.text.format(**values, uuid="")
        return self.text.format(**values, uuid=uuid5(NAMESPACE_URL, stem + slug))

    def pattern(self, parent: str) -> re.Pattern[str]:
        """Return what matches the ids with a number under a parent; the number is its group."""
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
